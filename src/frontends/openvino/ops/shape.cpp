// Shape operations: Broadcast, Identity, Reshape, ShapeOf, Squeeze, Tile, Transpose, Unsqueeze.
#include <algorithm>
#include <numeric>

#include "frontends/openvino/ops/boxes.h"
#include "frontends/openvino/ops/broadcast.h"
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;
using ops::Composer;

Expected<void> convert_identity(LayerCtx& ctx) {
  if (ctx.constant(0) != nullptr) {
    ctx.alias_output();
    return {};
  }
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  return ctx.emit(ops::identity_op, {x});
}

// With special_zero a size of 0 means the size of the input.
Expected<void> convert_reshape(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId shape, index_list(ctx, 1));
  SCANLOOM_TRY(const bool special, ctx.attributes.boolean("special_zero", false));
  return ctx.emit(ops::reshape_op, {x, shape}, {{"allowzero", !special}});
}

Expected<void> convert_shape_of(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  Composer c(ctx.builder());
  const ValueId sizes = c.shape(x);
  if (ctx.version() < 3) return ctx.emit(c, sizes);
  return set_indices(ctx, c, 0, sizes, "output_type");
}

namespace {

/// Makes a run fail unless the list is a permutation of 0 ... rank - 1.
void check_permutation(LayerComposer& c, ValueId order, int rank) {
  const Best sorted = best_of(c, order, c.list({rank}), 0, false);
  const auto element = [&](ValueId list, std::int64_t i) { return c.gather(list, c.number(i), 0); };
  for (int axis = 0; axis < rank; ++axis)
    c.op(ops::check_equal_op, {element(sorted.values, axis), c.number(axis)},
         {{"text", "the order of axes has {} where a permutation has {}, in ascending order"}});
}

/// Transposes by an order that only the run knows, as a gather from the elements of x.
Expected<void> transpose_by_value(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.in(0);
  const int rank = c.rank(0, x);
  const ValueId order = c.cast(c.take(index_list(ctx, 1)), DType::i64);
  if (const std::int64_t count = c.known_size(order, 0); count >= 0 && count != rank)
    return invalid_model("input 1 names {} axes, but input 0 has {}", count, rank);
  check_permutation(c, order, rank);
  const ValueId sizes = c.gather(c.shape(x), order, 0);
  const ValueId strides =
      c.gather(c.op(ops::cumprod_op, {c.shape(x), c.number(0)}, {{"exclusive", 1}, {"reverse", 1}}),
               order, 0);
  ValueId positions = c.number(0);
  for (int axis = 0; axis < rank; ++axis) {
    const ValueId at = c.number(axis);
    const ValueId steps = c.mul(c.count_up(c.gather(sizes, at, 0)), c.gather(strides, at, 0));
    positions = c.add(
        positions, axis + 1 < rank ? c.unsqueeze(steps, ops::axes_between(1, rank - axis)) : steps);
  }
  return c.emit(c.gather(c.reshape(x, c.list({-1})), positions, 0));
}

}  // namespace

Expected<void> convert_transpose(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  if (!ctx.is_known(1)) return transpose_by_value(ctx);
  SCANLOOM_TRY(auto order, ctx.constant_integers(1));
  if (order.empty()) return ctx.emit(ops::transpose_op, {x});
  return ctx.emit(ops::transpose_op, {x}, {{"perm", std::move(order)}});
}

namespace {

/// Returns those of `axes` that have size 1 or, unless `all_known`, an unknown size. OpenVINO
/// leaves the others as they are.
Expected<std::vector<std::int64_t>> axes_of_one(LayerCtx& ctx, ValueId x,
                                                const std::vector<std::int64_t>& axes,
                                                bool all_known) {
  SCANLOOM_TRY(const int rank, ctx.rank(0, x));
  std::vector<std::int64_t> left;
  for (const std::int64_t given : axes) {
    const auto axis = tensor::normalise_axis(given, rank);
    if (!axis) return invalid_model("axis {} of input 1 is outside [-{}, {})", given, rank, rank);
    const tensor::Dim size = ctx.type(x).dims[static_cast<std::size_t>(*axis)];
    if (!size.is_constant() && all_known)
      return fail(Code::unsupported, "allow_axis_skip with an unknown size of axis {} of input 0",
                  *axis);
    if (!size.is_constant() || size == tensor::Dim(1)) left.push_back(*axis);
  }
  return left;
}

}  // namespace

// An empty list of axes means all axes of size 1, like an absent one.
Expected<void> convert_squeeze(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const bool skips, ctx.attributes.boolean("allow_axis_skip", false));
  if (!ctx.has(1)) return ctx.emit(ops::squeeze_op, {x});
  if (!ctx.is_known(1) && !skips) {
    SCANLOOM_TRY(const ValueId axes, index_list(ctx, 1));
    return ctx.emit(ops::squeeze_op, {x, axes});
  }
  SCANLOOM_TRY(auto axes, ctx.constant_integers(1));
  if (axes.empty()) return ctx.emit(ops::squeeze_op, {x});
  if (skips || ctx.type(x).ranked) {
    SCANLOOM_TRY(axes, axes_of_one(ctx, x, axes, skips));
    if (axes.empty()) return convert_identity(ctx);
  }
  return ctx.emit(ops::squeeze_op, {x}, {{"axes", std::move(axes)}});
}

Expected<void> convert_unsqueeze(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  if (!ctx.is_known(1)) {
    SCANLOOM_TRY(const ValueId axes, index_list(ctx, 1));
    return ctx.emit(ops::unsqueeze_op, {x, axes});
  }
  SCANLOOM_TRY(auto axes, ctx.constant_integers(1));
  return ctx.emit(ops::unsqueeze_op, {x}, {{"axes", std::move(axes)}});
}

// The shorter of shape and repeats is padded with ones at the front.
Expected<void> convert_tile(LayerCtx& ctx) {
  SCANLOOM_TRY(ValueId x, ctx.in(0));
  SCANLOOM_TRY(ValueId repeats, index_list(ctx, 1));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x));
  SCANLOOM_TRY(const std::int64_t count, list_length(ctx, 1));
  Composer c(ctx.builder());
  if (count > tensor::kMaxRank)
    return fail(Code::unsupported, "input 1 has {} repeats, more than {}", count, tensor::kMaxRank);
  if (count > rank) x = c.unsqueeze(x, ops::axes_between(0, static_cast<int>(count) - rank));
  if (count < rank) {
    const std::vector<std::int64_t> ones(static_cast<std::size_t>(rank - count), 1);
    repeats = c.join({c.list(ones), repeats});
  }
  return ctx.emit(c, c.op(ops::tile_op, {x, repeats}));
}

namespace {

/// Reshapes x to `rank` axes: its axis i becomes axis mapping[i], the others have size 1.
Expected<ValueId> on_axes(LayerCtx& ctx, ValueId x, int rank) {
  SCANLOOM_TRY(const int own, ctx.rank(0, x));
  SCANLOOM_TRY(auto mapping, axes_operand(ctx, 2, rank));
  Composer c(ctx.builder());
  if (own == 0 && mapping.size() == 1) mapping.clear();
  if (static_cast<int>(mapping.size()) != own)
    return invalid_model("input 2 maps {} axes, but input 0 has {}", mapping.size(), own);
  std::vector<std::int64_t> perm(mapping.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::ranges::sort(perm, {},
                    [&](std::int64_t axis) { return mapping[static_cast<std::size_t>(axis)]; });
  if (!std::ranges::is_sorted(perm)) x = c.transpose(x, perm);
  std::vector<std::int64_t> added;
  for (int axis = 0; axis < rank; ++axis)
    if (std::ranges::find(mapping, axis) == mapping.end()) added.push_back(axis);
  const ValueId placed = added.empty() ? x : c.unsqueeze(x, std::move(added));
  SCANLOOM_CHECK_OK(c.done());
  return placed;
}

}  // namespace

// Broadcasts to the target shape: axes of size 1 are repeated, in mode bidirectional also those of
// the target. Mode explicit maps each axis to one of the target.
Expected<void> convert_broadcast(LayerCtx& ctx) {
  SCANLOOM_TRY(ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId shape, index_list(ctx, 1));
  // OpenVINO writes "none" for explicit in version 1.
  SCANLOOM_TRY(
      std::string mode,
      ctx.version() < 3
          ? ctx.attributes.choice("mode", "numpy", {"numpy", "explicit", "none", "pdpd"})
          : ctx.attributes.choice("mode", "numpy", {"numpy", "explicit", "bidirectional"}));
  if (mode == "none") mode = "explicit";
  if (mode == "explicit" || mode == "pdpd") {
    SCANLOOM_TRY(const std::int64_t rank, list_length(ctx, 1));
    if (rank > tensor::kMaxRank)
      return fail(Code::unsupported, "input 1 has {} sizes, more than {}", rank, tensor::kMaxRank);
    if (mode == "explicit") {
      SCANLOOM_TRY(x, on_axes(ctx, x, static_cast<int>(rank)));
    } else {
      SCANLOOM_TRY(const std::int64_t start, ctx.attributes.integer("axis", 0));
      SCANLOOM_TRY(x, placed_at(ctx, x, 0, static_cast<int>(rank), start));
    }
  }
  return ctx.emit(ops::expand_op, {x, shape});
}

}  // namespace scanloom::openvino
