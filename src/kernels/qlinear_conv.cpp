// qlinear_conv: products of centred 8-bit numbers, summed exactly in 32 bits.
// ops/quantize/qlinear_conv.cpp states how sums become bytes. The image less its zero point, with
// its padding, is unfolded range by range into pairs of 16-bit numbers (integer_pairs.h) and
// multiplied by the weights. Vectors lie along the positions if there are enough of them, otherwise
// along the filters.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/conv_unfold.h"
#include "kernels/kernel.h"
#include "kernels/qlinear_conv_few.h"
#include "kernels/simd.h"
#include "opmath/conv_geometry.h"
#include "tensor/for_each.h"

namespace scanloom::kernels {
namespace qlinear_conv {
namespace {

using tensor::Call;
using tensor::ConvGeometry;
using tensor::Status;

// Windows smaller than this sum to less than 2^31.
constexpr std::int64_t kMaxWindow = 32'768;
// The greatest product of two differences of bytes.
constexpr std::int64_t kMaxProduct = 255 * 255;

// Runs of positions that are paired together.
constexpr std::int64_t kRuns = 64;

struct QLinearConvSchedule {
  ConvGeometry geometry;
  const ProductFns<std::int32_t>* fns = nullptr;  ///< for pairs
  PairFns pair;
  RequantizeFn<std::uint8_t> to_u8 = nullptr;
  RequantizeFn<std::int8_t> to_i8 = nullptr;
  std::int64_t k = 0, pairs = 0, positions = 0, image = 0;  ///< image: elements of x
  bool along_positions = true;  ///< vectors lie along positions, otherwise along filters
  UnfoldedRanges ranges;
  std::int64_t packed = 0;  ///< elements of a group's weights
  /// The weights less their zero points: rows of pairs, or panels.
  std::shared_ptr<const void> weights;
  std::int64_t x_axis[tensor::kMaxSpatial] = {}, x_channel = 1;  ///< of the centred image
  /// The offset of each tap of the first window in a group of the centred image. Empty if the image
  /// is stored without its padding, because that is too wide.
  std::vector<std::int64_t> taps;

  /// Elements of a slot: pairs, sums, and the 16-bit numbers unfolded before they are paired.
  [[nodiscard]] std::int64_t slot_elements() const {
    return ((taps.empty() ? 2 : 1) * pairs + geometry.filters) * ranges.size;
  }
  [[nodiscard]] std::int64_t image_elements() const {
    return (image + kPairSlackBytes / 2 + 31) / 32 * 16;
  }
};

// Writes the image less its zero point, row-major, inside its padding, which is already 0.
template <class T>
void centre(const QLinearConvSchedule& plan, const Operand& x, std::int64_t image, int zero,
            std::int16_t* padded) {
  const bool pads = !plan.taps.empty();
  const T* from = x.data<const T>() + image * x.strides[0];
  const int last = x.rank - 1;
  const std::int64_t step = x.strides[last], length = x.dims[last];
  const tensor::Shape outer(std::span(x.dims + 1, static_cast<std::size_t>(x.rank - 2)));
  tensor::for_each_index(outer.dims(), [&](const tensor::Shape& index) {
    const T* line = from + tensor::offset_of(index, x.strides + 1);
    std::int16_t* to = padded + index[0] * plan.x_channel;
    for (int axis = 0; axis + 2 < x.rank; ++axis) {
      const std::int64_t pad = pads ? plan.geometry.pad[static_cast<std::size_t>(axis)] : 0;
      const std::int64_t at = axis + 3 < x.rank ? index[axis + 1] : 0;
      to += (at + pad) * plan.x_axis[axis];
    }
    if (step == 1)
      for (std::int64_t i = 0; i < length; ++i) to[i] = static_cast<std::int16_t>(line[i] - zero);
    else
      for (std::int64_t i = 0; i < length; ++i)
        to[i] = static_cast<std::int16_t>(line[i * step] - zero);
  });
}

// Finds where the first taps of positions [first, first + count) lie, as runs of adjacent ones.
// Returns the number of runs, at most kRuns; they cover `done` positions.
std::int64_t find_runs(const QLinearConvSchedule& plan, std::int64_t first, std::int64_t count,
                       PairRun* runs, std::int64_t& done) {
  const ConvGeometry& g = plan.geometry;
  const int last = g.spatial - 1;
  const std::int64_t width = g.out[static_cast<std::size_t>(last)];
  const std::int64_t stride = g.stride[static_cast<std::size_t>(last)];
  std::int64_t found = 0;
  for (done = 0; done < count;) {
    std::int64_t position = (first + done) / width;
    const std::int64_t along = (first + done) % width;
    std::int64_t at = along * stride;
    for (int axis = last - 1; axis >= 0; --axis) {
      const auto i = static_cast<std::size_t>(axis);
      at += position % g.out[i] * g.stride[i] * plan.x_axis[axis];
      position /= g.out[i];
    }
    const std::int64_t length = std::min(width - along, count - done);
    PairRun* const before = found == 0 ? nullptr : runs + found - 1;
    if (before != nullptr && before->at + before->count * stride == at)
      before->count += length;
    else if (found == kRuns)
      return found;
    else
      runs[found++] = {at, length};
    done += length;
  }
  return found;
}

// The windows of a range as pairs of elements adjacent in k: [pairs][count].
void unfold_pairs(const QLinearConvSchedule& plan, const std::int16_t* x, std::int64_t first,
                  std::int64_t count, std::int32_t* to) {
  PairRun runs[kRuns];
  PairRuns pairs{.runs = runs};
  pairs.step = plan.geometry.stride[static_cast<std::size_t>(plan.geometry.spatial - 1)];
  for (std::int64_t begin = 0, done = 0; begin < count; begin += done) {
    pairs.run_count = find_runs(plan, first + begin, count - begin, runs, done);
    for (std::int64_t i = 0; i < plan.pairs; ++i) {
      // If the second of a pair is missing, its weight is 0.
      const auto at = static_cast<std::size_t>(2 * i);
      pairs.first = x + plan.taps[at];
      pairs.second = x + plan.taps[std::min(at + 1, plan.taps.size() - 1)];
      pairs.to = to + i * count + begin;
      plan.pair.of_runs(pairs);
    }
  }
}

// The same for an image stored without padding.
void unfold_unpadded(const QLinearConvSchedule& plan, const std::int16_t* x, std::int64_t first,
                     std::int64_t count, std::int16_t* rows, std::int32_t* to) {
  unfold(plan.geometry, x, plan.x_channel, plan.x_axis, first, count, rows);
  if (plan.k % 2 != 0) std::fill_n(rows + plan.k * count, count, std::int16_t{0});
  for (std::int64_t i = 0; i < plan.pairs; ++i)
    plan.pair.of_half_rows(rows + 2 * i * count, rows + (2 * i + 1) * count, count, to + i * count);
}

// Sums of a range for all filters of a group: [filters][count].
void multiply_range(const QLinearConvSchedule& plan, std::int64_t group,
                    const std::int32_t* windows, std::int64_t count, std::int32_t* sums) {
  Product<std::int32_t> p;
  const auto* const weights =
      static_cast<const std::int32_t*>(plan.weights.get()) + group * plan.packed;
  p.c = sums;
  if (plan.along_positions) {
    p.m = plan.geometry.filters;
    p.a = weights;
    p.a_row = plan.pairs;
    p.a_step = 1;
    p.b = {windows, plan.pairs, count, count, 1};
    p.c_row = count;
  } else {
    p.m = count;
    p.a = windows;
    p.a_row = 1;
    p.a_step = count;
    p.b = {nullptr, plan.pairs, plan.geometry.filters, 0, 1};
    p.packed = weights;
    p.c_row = 1;
    p.c_column = count;
  }
  multiply(*plan.fns, p, 1);
}

// For biases with which sums exceed 32 bits.
template <class Y>
void finish_wide(const Requantize& row, std::int64_t bias, Y* y) {
  for (std::int64_t i = 0; i < row.count; ++i)
    y[i] = limited<Y>(static_cast<float>(row.sums[i] + bias) * row.scale, row.zero);
}

template <class Y>
void finish_range(const QLinearConvSchedule& plan, const Call& call, std::int64_t group,
                  const std::int32_t* sums, std::int64_t count, Y* y) {
  const Operand& w_scale = call.in(kWScale);
  const float x_scale = *call.in(kXScale).data<const float>();
  const float y_scale = *call.in(kYScale).data<const float>();
  const std::int64_t greatest = std::numeric_limits<std::int32_t>::max() - kMaxProduct * plan.k;
  Requantize row{.count = count};
  row.zero = byte_at(call.in(kYZero), 0);
  for (std::int64_t i = 0; i < plan.geometry.filters; ++i) {
    const std::int64_t f = group * plan.geometry.filters + i;
    row.sums = sums + i * count;
    row.scale = x_scale * w_scale.data<const float>()[of_filter(w_scale, f)] / y_scale;
    row.bias = 0;
    if (call.has(kBias))
      row.bias = call.in(kBias).data<const std::int32_t>()[f * call.in(kBias).strides[0]];
    Y* const to = y + f * call.out(0).strides[1];
    if (row.bias > greatest || row.bias < -greatest)
      finish_wide(row, row.bias, to);
    else if constexpr (std::same_as<Y, std::uint8_t>)
      plan.to_u8(row, to);
    else
      plan.to_i8(row, to);
  }
}

template <class Y>
void run_task(const QLinearConvSchedule& plan, const Call& call, const std::int16_t* x,
              std::int64_t task, Y* y, std::int32_t* slot) {
  const std::int64_t group = task / plan.ranges.count,
                     first = task % plan.ranges.count * plan.ranges.size;
  const std::int64_t count = std::min(plan.ranges.size, plan.positions - first);
  std::int32_t* const sums = slot + plan.pairs * plan.ranges.size;
  auto* const rows =
      reinterpret_cast<std::int16_t*>(sums + plan.geometry.filters * plan.ranges.size);
  const std::int16_t* const own = x + group * plan.geometry.channels * plan.x_channel;
  if (plan.taps.empty())
    unfold_unpadded(plan, own, first, count, rows, slot);
  else
    unfold_pairs(plan, own, first, count, slot);
  multiply_range(plan, group, slot, count, sums);
  finish_range(plan, call, group, sums, count, y + first);
}

template <class X, class Y>
Status run(const Call& call) noexcept {
  const QLinearConvSchedule& plan = *static_cast<const QLinearConvSchedule*>(call.prepared);
  const ConvGeometry& g = plan.geometry;
  const Operand &x = call.in(kX), &y = call.out(0);
  if (y.empty()) return Status::ok;
  const int zero = byte_at(call.in(kXZero), 0);
  auto* const image = reinterpret_cast<std::int16_t*>(*call.scratch);
  auto* const slots = reinterpret_cast<std::int32_t*>(*call.scratch) + plan.image_elements();
  const std::int64_t tasks = g.group * plan.ranges.count;
  const std::int64_t work = tasks * plan.ranges.size * plan.k * g.filters;
  const int threads = work > kMinThreadWork ? call.max_threads : 1;
  if (!plan.taps.empty()) std::fill_n(image, plan.image, std::int16_t{0});
  for (std::int64_t i = 0; i < g.batch; ++i) {
    centre<X>(plan, x, i, zero, image);
    Y* const to = y.data<Y>() + i * y.strides[0];
    const auto work_of = [&](std::int64_t slot) {
      for (std::int64_t task = slot; task < tasks; task += plan.ranges.slots) {
        if (call.stop_requested()) return;
        run_task(plan, call, image, task, to, slots + slot * plan.slot_elements());
      }
    };
    if (threads > 1 && plan.ranges.slots > 1)
      parallel_for(plan.ranges.slots, threads, work_of);
    else
      for (std::int64_t slot = 0; slot < plan.ranges.slots; ++slot) work_of(slot);
  }
  return call.ok_or_stopped();
}

std::optional<Refusal> why_not(const PrepareCtx& ctx) {
  if (ctx.constants[kW] == nullptr || ctx.constants[kWZero] == nullptr)
    return "weights that are not constant";
  if (!ctx.inputs[kW].contiguous) return "weights that are not contiguous";
  if (!spatial_is_contiguous(ctx.outputs[0])) return "a result that is not contiguous";
  return std::nullopt;
}

// Pairs of the weights: a row for each filter, or panels of filters.
std::shared_ptr<const void> pack_weights(const PrepareCtx& ctx, const QLinearConvSchedule& plan) {
  const Operand &w = ctx.inputs[kW], &w_zero = ctx.inputs[kWZero];
  const std::int64_t filters = plan.geometry.filters, panel = plan.fns->panel;
  const auto weights = packed_memory<std::int32_t>(plan.geometry.group * plan.packed);
  for (std::int64_t f = 0; f < plan.geometry.group * filters; ++f) {
    const int zero = byte_at(w_zero, ctx.constants[kWZero], of_filter(w_zero, f));
    const auto at = [&](std::int64_t i) {
      return i < plan.k ? byte_at(w, ctx.constants[kW], f * plan.k + i) - zero : 0;
    };
    std::int32_t* const group = weights.get() + f / filters * plan.packed;
    const std::int64_t own = f % filters;
    for (std::int64_t i = 0; i < plan.pairs; ++i) {
      const std::int64_t to = plan.along_positions
                                  ? own * plan.pairs + i
                                  : (own / panel * plan.pairs + i) * panel + own % panel;
      group[to] = pair_of(at(2 * i), at(2 * i + 1));
    }
  }
  return weights;
}

// Packs the weights once for all bindings of a plan.
void take_weights(const PrepareCtx& ctx, QLinearConvSchedule& plan) {
  const Operand &w = ctx.inputs[kW], &w_zero = ctx.inputs[kWZero];
  const std::int64_t filters = plan.geometry.filters;
  plan.packed =
      plan.along_positions ? filters * plan.pairs : packed_elements(*plan.fns, plan.pairs, filters);
  const auto make = [&] { return pack_weights(ctx, plan); };
  if (ctx.packs == nullptr) {
    plan.weights = make();
    return;
  }
  std::vector<std::int64_t> layout{static_cast<std::int64_t>(ctx.isa), plan.along_positions ? 1 : 0,
                                   plan.geometry.group, filters, plan.k,
                                   static_cast<std::int64_t>(w.dtype),
                                   static_cast<std::int64_t>(w_zero.dtype), of_filter(w_zero, 1),
                                   // The zero points are another constant, which lives as long.
                                   reinterpret_cast<std::intptr_t>(ctx.constants[kWZero])};
  plan.weights = ctx.packs->get(
      {ctx.constants[kW], static_cast<int>(KernelId::qlinear_conv), std::move(layout)}, make);
}

/// Elements of the axis that windows read, including padding: from -pad on.
std::int64_t padded_size(const ConvGeometry& g, std::size_t axis) {
  return std::max((g.out[axis] - 1) * g.stride[axis] + (g.kernel[axis] - 1) * g.dilation[axis] + 1,
                  g.pad[axis] + g.in[axis]);
}

// Chooses sizes and strides of the centred image, and computes the offsets of the taps in it.
void place_image(QLinearConvSchedule& plan) {
  const ConvGeometry& g = plan.geometry;
  // If padding makes a large image several times larger, unfolding adds it instead.
  constexpr double kMaxPadding = 4, kSmall = 64 * 1024;
  double given = static_cast<double>(g.group * g.channels), padded = given;
  for (std::size_t i = 0; i < static_cast<std::size_t>(g.spatial); ++i) {
    given *= static_cast<double>(g.in[i]);
    padded *= static_cast<double>(padded_size(g, i));
  }
  const bool pads = plan.k > 0 && plan.k < kMaxWindow && plan.positions > 0 &&
                    padded <= std::max(kMaxPadding * given, kSmall);
  for (int axis = g.spatial - 1; axis >= 0; --axis) {
    const auto i = static_cast<std::size_t>(axis);
    plan.x_axis[axis] = plan.x_channel;
    plan.x_channel *= pads ? padded_size(g, i) : g.in[i];
  }
  plan.image = g.group * g.channels * plan.x_channel;
  if (!pads) return;
  const tensor::Shape kernel(std::span(g.kernel).first(static_cast<std::size_t>(g.spatial)));
  for (std::int64_t channel = 0; channel < g.channels; ++channel)
    tensor::for_each_index(kernel.dims(), [&](const tensor::Shape& tap) {
      std::int64_t at = channel * plan.x_channel;
      for (int axis = 0; axis < g.spatial; ++axis)
        at += tap[axis] * g.dilation[static_cast<std::size_t>(axis)] * plan.x_axis[axis];
      plan.taps.push_back(at);
    });
}

QLinearConvSchedule plan_of(const PrepareCtx& ctx, const ConvGeometry& geometry) {
  const SimdTables& tables = simd_tables(ctx.isa);
  QLinearConvSchedule plan;
  plan.geometry = geometry;
  plan.fns = &tables.i32_pairs;
  plan.pair = tables.pairs;
  plan.to_u8 = tables.to_u8;
  plan.to_i8 = tables.to_i8;
  plan.k = geometry.channels * geometry.kernel_positions();
  plan.pairs = (plan.k + 1) / 2;
  plan.positions = geometry.out_positions();
  place_image(plan);
  const std::int64_t lanes = plan.fns->panel / 2;
  plan.along_positions = plan.positions >= lanes || geometry.filters < lanes;
  plan.ranges = unfolded_ranges(plan.positions, plan.pairs * std::int64_t{sizeof(std::int32_t)},
                                geometry.group);
  return plan;
}

Prepared prepare(const PrepareCtx& ctx) {
  if (auto why = why_not(ctx)) return Prepared::no(*std::move(why));
  const auto geometry =
      tensor::conv_geometry(ctx.inputs[kX].shape(), ctx.inputs[kW].shape(), ctx.attrs);
  if (!geometry) return Prepared::no("the operands do not fit the attributes");
  if (has_few_products(*geometry)) return prepare_few_products(ctx, *geometry);
  auto plan = std::make_shared<QLinearConvSchedule>(plan_of(ctx, *geometry));
  if (plan->k >= kMaxWindow) return Prepared::no("sums that may not fit in 32 bits");
  take_weights(ctx, *plan);
  const std::int64_t scratch = plan->image_elements() + plan->ranges.slots * plan->slot_elements();
  return {
      .state = std::move(plan),
      .scratch_bytes = scratch * std::int64_t{sizeof(std::int32_t)},
      .run = run_of_bytes(ctx, []<class X, class Y>() -> tensor::KernelFn { return run<X, Y>; })};
}

}  // namespace
}  // namespace qlinear_conv

extern constinit const KernelDef qlinear_conv_kernel{
    .name = "qlinear_conv",
    .doc =
        "Quantized convolutions: exact products of pairs of 16-bit numbers over unfolded windows.",
    .prepare = qlinear_conv::prepare,
    .run = qlinear_conv::run<std::uint8_t, std::uint8_t>,
};

}  // namespace scanloom::kernels
