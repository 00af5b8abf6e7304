// Slice, SliceScatter and StridedSlice.
#include <limits>
#include <optional>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;
using ops::Composer;

namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

/// Slices x by inputs first .. first + 3: start, stop, step and, if given, axes.
Expected<ValueId> sliced(LayerCtx& ctx, ValueId x, int first) {
  SCANLOOM_TRY(const ValueId start, index_list(ctx, first));
  SCANLOOM_TRY(const ValueId stop, index_list(ctx, first + 1));
  SCANLOOM_TRY(const ValueId step, index_list(ctx, first + 2));
  ValueId axes;
  if (ctx.has(first + 3)) {
    SCANLOOM_TRY(axes, index_list(ctx, first + 3));
  }
  return ctx.op(ops::slice_op, {x, start, stop, axes, step});
}

}  // namespace

Expected<void> convert_slice(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId y, sliced(ctx, x, 1));
  ctx.set_output(0, y);
  return {};
}

// Slices the indices of all elements to find where the updates go.
Expected<void> convert_slice_scatter(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId data, ctx.in(0));
  SCANLOOM_TRY(const ValueId updates, ctx.in(1));
  Composer c(ctx.builder());
  const ValueId shape = c.shape(data), all = c.list({-1});
  const ValueId count = c.op(ops::reduce_op, {shape}, {{"kind", "prod"}, {"keepdims", 0}});
  const ValueId positions = c.reshape(c.count_up(count), shape);
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_TRY(const ValueId picked, sliced(ctx, positions, 2));
  const ValueId fitted = c.reshape(c.expand(updates, c.shape(picked)), all);
  const ValueId flat =
      c.op(ops::scatter_elements_op, {c.reshape(data, all), c.reshape(picked, all), fitted},
           {{"axis", 0}, {"reduction", "none"}});
  return ctx.emit(c, c.reshape(flat, shape));
}

namespace {

/// The masks of a StridedSlice; a missing entry is 0.
struct Masks {
  Ints begin, end, new_axis, shrink, ellipsis;

  static bool at(const Ints& mask, std::size_t i) { return i < mask.size() && mask[i] != 0; }
};

Expected<Masks> masks_of(LayerCtx& ctx) {
  Masks masks;
  SCANLOOM_TRY(masks.begin, ctx.attributes.integers("begin_mask"));
  SCANLOOM_TRY(masks.end, ctx.attributes.integers("end_mask"));
  SCANLOOM_TRY(masks.new_axis, ctx.attributes.integers("new_axis_mask"));
  SCANLOOM_TRY(masks.shrink, ctx.attributes.integers("shrink_axis_mask"));
  SCANLOOM_TRY(masks.ellipsis, ctx.attributes.integers("ellipsis_mask"));
  return masks;
}

/// A list of bounds, known or computed.
struct Bounds {
  ValueId value;
  std::optional<Ints> known;

  static Expected<Bounds> of(LayerCtx& ctx, int i) {
    Bounds bounds;
    SCANLOOM_TRY(bounds.value, index_list(ctx, i));
    if (ctx.constant(i) != nullptr) {
      SCANLOOM_TRY(bounds.known, ctx.constant_integers(i));
    }
    return bounds;
  }
  /// Returns entry i as a list with one element.
  [[nodiscard]] ValueId at(Composer& c, std::size_t i) const {
    return known ? c.list({(*known)[i]})
                 : c.gather(value, c.list({static_cast<std::int64_t>(i)}), 0);
  }
};

/// The effect of a StridedSlice on each input axis, then on the remaining axes.
class StridedSlice {
 public:
  StridedSlice(LayerCtx& ctx, Bounds begin, Bounds end, Ints strides, Masks masks)
      : c_(ctx.builder()),
        begin_(std::move(begin)),
        end_(std::move(end)),
        strides_(std::move(strides)),
        masks_(std::move(masks)) {}

  Expected<void> read(int rank);
  Expected<void> emit(LayerCtx& ctx, ValueId x);

 private:
  Expected<void> read_entry(std::size_t i, int axis);

  Composer c_;
  Bounds begin_, end_;
  Ints strides_;
  Masks masks_;
  std::vector<ValueId> starts_, ends_;  // by sliced axis; lists with one element
  Ints axes_, steps_;
  Ints shrunk_;                     // input axes from which one element is taken
  std::vector<ValueId> positions_;  // which one, a scalar; invalid if the slice took it
  Ints added_;                      // axes of the result
};

/// Processes entry i, which applies to input axis `axis`.
Expected<void> StridedSlice::read_entry(std::size_t i, int axis) {
  if (Masks::at(masks_.shrink, i)) {
    shrunk_.push_back(axis);
    positions_.emplace_back();
    if (begin_.known) {
      const std::int64_t first = (*begin_.known)[i];
      starts_.push_back(c_.list({first}));
      ends_.push_back(c_.list({first == -1 || first == kMax ? kMax : first + 1}));
      axes_.push_back(axis);
      steps_.push_back(1);
    } else {
      positions_.back() = c_.squeeze(begin_.at(c_, i), {0});
    }
    return {};
  }
  const std::int64_t stride = strides_[i];
  if (stride == 0) return invalid_model("entry {} of input 3 is 0, but a stride cannot be 0", i);
  const bool from_edge = Masks::at(masks_.begin, i), to_edge = Masks::at(masks_.end, i);
  if (from_edge && to_edge && stride == 1) return {};
  const bool forward = stride > 0;
  starts_.push_back(from_edge ? c_.list({forward ? 0 : kMax}) : begin_.at(c_, i));
  ends_.push_back(to_edge ? c_.list({forward ? kMax : kMin}) : end_.at(c_, i));
  axes_.push_back(axis);
  steps_.push_back(stride);
  return {};
}

Expected<void> StridedSlice::read(int rank) {
  int left = rank;  // input axes not covered by other entries, for the ellipsis
  bool has_ellipsis = false;
  for (std::size_t i = 0; i < strides_.size(); ++i) {
    if (Masks::at(masks_.ellipsis, i) && has_ellipsis)
      return invalid_model("attribute 'ellipsis_mask' marks more than one entry");
    has_ellipsis = has_ellipsis || Masks::at(masks_.ellipsis, i);
    if (!Masks::at(masks_.ellipsis, i) && !Masks::at(masks_.new_axis, i)) --left;
  }
  if (left < 0)
    return invalid_model("inputs 1 and 2 have entries for {} axes, but input 0 has {}", rank - left,
                         rank);
  int axis = 0, result_axis = 0;
  for (std::size_t i = 0; i < strides_.size(); ++i) {
    if (Masks::at(masks_.ellipsis, i)) {
      axis += left;
      result_axis += left;
    } else if (Masks::at(masks_.new_axis, i)) {
      added_.push_back(result_axis++);
    } else {
      SCANLOOM_CHECK_OK(read_entry(i, axis++));
      if (!Masks::at(masks_.shrink, i)) ++result_axis;
    }
  }
  return {};
}

Expected<void> StridedSlice::emit(LayerCtx& ctx, ValueId x) {
  if (!axes_.empty())
    x = c_.op(ops::slice_op,
              {x, c_.concat(starts_, 0), c_.concat(ends_, 0), c_.list(axes_), c_.list(steps_)});
  // From the last to the first, so that preceding axes keep their numbers.
  for (std::size_t i = shrunk_.size(); i-- > 0;)
    x = positions_[i].valid() ? c_.gather(x, positions_[i], shrunk_[i])
                              : c_.squeeze(x, {shrunk_[i]});
  if (!added_.empty()) x = c_.unsqueeze(x, added_);
  return ctx.emit(c_, x);
}

}  // namespace

Expected<void> convert_strided_slice(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x));
  SCANLOOM_TRY(Bounds begin, Bounds::of(ctx, 1));
  SCANLOOM_TRY(Bounds end, Bounds::of(ctx, 2));
  SCANLOOM_TRY(const std::int64_t count, list_length(ctx, 1));
  SCANLOOM_TRY(const std::int64_t ends, list_length(ctx, 2));
  // Each entry is an input axis, a new axis, or an ellipsis.
  if (count > rank + tensor::kMaxRank + 1)
    return invalid_model("input 1 has {} entries, but input 0 has {} axes", count, rank);
  Ints strides(static_cast<std::size_t>(count), 1);
  if (ctx.has(3)) {
    SCANLOOM_TRY(strides, ctx.constant_integers(3));
  }
  if (count != ends || count != static_cast<std::int64_t>(strides.size()))
    return invalid_model("inputs 1, 2 and 3 have {}, {} and {} entries", count, ends,
                         strides.size());
  SCANLOOM_TRY(Masks masks, masks_of(ctx));
  StridedSlice slice(ctx, std::move(begin), std::move(end), std::move(strides), std::move(masks));
  SCANLOOM_CHECK_OK(slice.read(rank));
  return slice.emit(ctx, x);
}

}  // namespace scanloom::openvino
