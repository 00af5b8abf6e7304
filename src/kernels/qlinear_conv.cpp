// qlinear_conv: products of centred 8-bit numbers, summed exactly in 32 bits.
// ops/quantize/qlinear_conv.cpp states how sums become bytes. The image less its zero point, with
// its padding, is unfolded range by range into pairs of 16-bit numbers (integer_pairs.h) and
// multiplied by the weights. Vectors lie along the positions if there are enough of them, otherwise
// along the filters. Machines that multiply bytes unfold the image's bytes instead
// (qlinear_conv_quads.cpp). Groups of few filters are summed line by line (qlinear_conv_lines.cpp,
// qlinear_conv_byte_lines.cpp).
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/kernel.h"
#include "kernels/qlinear_conv_byte_lines.h"
#include "kernels/qlinear_conv_few.h"
#include "kernels/qlinear_conv_finish.h"
#include "kernels/qlinear_conv_lines.h"
#include "kernels/qlinear_conv_schedule.h"
#include "kernels/simd.h"
#include "opmath/conv_geometry.h"
#include "tensor/for_each.h"

namespace scanloom::kernels {
namespace qlinear_conv {
namespace {

using tensor::Call;
using tensor::Status;

// Windows smaller than this sum to less than 2^31.
constexpr std::int64_t kMaxWindow = 32'768;

// Writes the image as element(byte), row-major, inside its padding, which has been filled.
template <class T, class Padded, class Element>
void centre(const QLinearConvSchedule& plan, const Operand& x, std::int64_t image,
            const Element& element, Padded* padded) {
  const bool pads = !plan.taps.empty();
  const T* from = x.data<const T>() + image * x.strides[0];
  const int last = x.rank - 1;
  const std::int64_t step = x.strides[last], length = x.dims[last];
  const tensor::Shape outer(std::span(x.dims + 1, static_cast<std::size_t>(x.rank - 2)));
  tensor::for_each_index(outer.dims(), [&](const tensor::Shape& index) {
    const T* line = from + tensor::offset_of(index, x.strides + 1);
    Padded* to = padded + index[0] * plan.x_channel;
    for (int axis = 0; axis + 2 < x.rank; ++axis) {
      const std::int64_t pad = pads ? plan.geometry.pad[static_cast<std::size_t>(axis)] : 0;
      const std::int64_t at = axis + 3 < x.rank ? index[axis + 1] : 0;
      to += (at + pad) * plan.x_axis[axis];
    }
    if (step == 1)
      for (std::int64_t i = 0; i < length; ++i) to[i] = element(line[i]);
    else
      for (std::int64_t i = 0; i < length; ++i) to[i] = element(line[i * step]);
  });
}

// The windows of a range as pairs of elements adjacent in k: rows of pair_row(count).
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
      pairs.to = to + i * QLinearConvSchedule::pair_row(count) + begin;
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
    plan.pair.of_half_rows(rows + 2 * i * count, rows + (2 * i + 1) * count, count,
                           to + i * QLinearConvSchedule::pair_row(count));
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
    p.b = {windows, plan.pairs, count, QLinearConvSchedule::pair_row(count), 1};
    p.c_row = count;
  } else {
    p.m = count;
    p.a = windows;
    p.a_row = 1;
    p.a_step = QLinearConvSchedule::pair_row(count);
    p.b = {nullptr, plan.pairs, plan.geometry.filters, 0, 1};
    p.packed = weights;
    p.c_row = 1;
    p.c_column = count;
  }
  multiply(*plan.fns, p, 1);
}

template <class Y>
void finish_range(const QLinearConvSchedule& plan, const Call& call, std::int64_t group,
                  const std::int32_t* sums, std::int64_t count, Y* y) {
  for (std::int64_t i = 0; i < plan.geometry.filters; ++i) {
    const std::int64_t f = group * plan.geometry.filters + i;
    finish_row(plan, call, f, {.sums = sums + i * plan.columns(count), .count = count},
               y + f * call.out(0).strides[1]);
  }
}

template <class Y>
void run_task(const QLinearConvSchedule& plan, const Call& call, const std::int32_t* image,
              std::int64_t task, Y* y, std::int32_t* slot) {
  const std::int64_t group = task / plan.ranges.count,
                     first = task % plan.ranges.count * plan.ranges.size;
  const std::int64_t count = std::min(plan.ranges.size, plan.positions - first);
  const auto* const own = reinterpret_cast<const std::byte*>(image) + group * plan.group_bytes();
  if (plan.quad_fns != nullptr) {
    std::int32_t* const sums = slot + plan.window_elements();
    multiply_quads(plan, reinterpret_cast<const std::uint8_t*>(own), group, first, count,
                   reinterpret_cast<std::uint8_t*>(slot), sums);
    if (plan.is_shifted) add_shifts(plan, group, count, sums);
    return finish_range(plan, call, group, sums, count, y + first);
  }
  std::int32_t* const sums = slot + plan.pairs * QLinearConvSchedule::pair_row(plan.ranges.size);
  auto* const rows =
      reinterpret_cast<std::int16_t*>(sums + plan.geometry.filters * plan.ranges.size);
  const auto* const padded = reinterpret_cast<const std::int16_t*>(own);
  if (plan.taps.empty())
    unfold_unpadded(plan, padded, first, count, rows, slot);
  else
    unfold_pairs(plan, padded, first, count, slot);
  multiply_range(plan, group, slot, count, sums);
  finish_range(plan, call, group, sums, count, y + first);
}

// Added to bytes of that type, it makes them unsigned.
template <class X>
constexpr int kToUnsigned = std::same_as<X, std::int8_t> ? 128 : 0;

// The padding is x's zero point. Images of quads have it as it is, others have 0.
void fill_padding(const QLinearConvSchedule& plan, const Call& call, std::int32_t* image) {
  if (plan.quad_fns != nullptr) {
    const int zero = byte_at(call.in(kXZero), 0) + (call.in(kX).dtype == DType::i8 ? 128 : 0);
    std::memset(image, zero, static_cast<std::size_t>(plan.geometry.group * plan.group_bytes()));
  } else if (!plan.taps.empty()) {
    std::fill_n(reinterpret_cast<std::int16_t*>(image), plan.image, std::int16_t{0});
  }
}

template <class X>
void write_image(const QLinearConvSchedule& plan, const Call& call, std::int64_t i,
                 std::int32_t* image) {
  const Operand& x = call.in(kX);
  if (plan.of_channels) {
    write_quads(plan, call, i, reinterpret_cast<std::uint8_t*>(image));
  } else if (plan.quad_fns != nullptr) {
    centre<X>(
        plan, x, i, [](X byte) { return static_cast<std::uint8_t>(byte + kToUnsigned<X>); },
        reinterpret_cast<std::uint8_t*>(image));
  } else {
    const int zero = byte_at(call.in(kXZero), 0);
    centre<X>(
        plan, x, i, [&](X byte) { return static_cast<std::int16_t>(byte - zero); },
        reinterpret_cast<std::int16_t*>(image));
  }
}

template <class X, class Y>
Status run(const Call& call) noexcept {
  const QLinearConvSchedule& plan = *static_cast<const QLinearConvSchedule*>(call.prepared);
  const ConvGeometry& g = plan.geometry;
  const Operand& y = call.out(0);
  if (y.empty()) return Status::ok;
  auto* const image = reinterpret_cast<std::int32_t*>(*call.scratch);
  auto* const slots = reinterpret_cast<std::int32_t*>(*call.scratch) + plan.image_elements();
  const std::int64_t tasks = g.group * plan.ranges.count;
  const std::int64_t work = tasks * plan.ranges.size * plan.k * g.filters;
  const int threads = work > kMinThreadWork ? call.max_threads : 1;
  if (!plan.in_place) fill_padding(plan, call, image);
  for (std::int64_t i = 0; i < g.batch; ++i) {
    write_image<X>(plan, call, i, image);
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
  const std::int64_t filters = plan.geometry.filters, panel = plan.fns->panel;
  const auto weights = packed_memory<std::int32_t>(plan.geometry.group * plan.packed);
  for (std::int64_t f = 0; f < plan.geometry.group * filters; ++f) {
    const auto at = [&](std::int64_t i) { return i < plan.k ? weight_at(ctx, plan, f, i) : 0; };
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

// How the weights are packed, as part of a key.
std::int64_t form_of(const QLinearConvSchedule& plan) {
  if (plan.quad_fns != nullptr) return plan.of_channels ? 5 : 2;
  return plan.along_positions ? 1 : 0;
}

void take_weights(const PrepareCtx& ctx, QLinearConvSchedule& plan) {
  const std::int64_t filters = plan.geometry.filters;
  plan.packed =
      plan.along_positions ? filters * plan.pairs : packed_elements(*plan.fns, plan.pairs, filters);
  plan.weights = packed_once(ctx, plan, form_of(plan), [&] {
    if (plan.quad_fns == nullptr) return pack_weights(ctx, plan);
    return pack_quads(plan,
                      [&](std::int64_t f, std::int64_t i) { return weight_at(ctx, plan, f, i); });
  });
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
  plan.tables = &byte_tables(ctx.isa);
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
  if (sums_byte_lines(ctx, *plan)) return prepare_byte_lines(ctx, *std::move(plan));
  if (sums_lines(*plan)) return prepare_lines(ctx, *std::move(plan));
  if (multiplies_bytes(ctx.isa) && plan->along_positions && !plan->taps.empty()) {
    plan->is_shifted = !weights_fit(ctx, *plan);
    plan->quad_fns = &quad_products(ctx.isa);
    place_quads(ctx.inputs[kX], *plan);
  }
  take_weights(ctx, *plan);
  const std::int64_t scratch = plan->image_elements() + plan->ranges.slots * plan->slot_elements();
  return {
      .state = std::move(plan),
      .scratch_bytes = scratch * std::int64_t{sizeof(std::int32_t)},
      .run = run_of_bytes(ctx, []<class X, class Y>() -> tensor::KernelFn { return run<X, Y>; })};
}

}  // namespace

bool weights_fit(const PrepareCtx& ctx, const QLinearConvSchedule& plan) {
  for (std::int64_t f = 0; f < plan.geometry.group * plan.geometry.filters; ++f)
    for (std::int64_t i = 0; i < plan.k; ++i) {
      const int weight = weight_at(ctx, plan, f, i);
      if (weight != static_cast<std::int8_t>(weight)) return false;
    }
  return true;
}

}  // namespace qlinear_conv

extern constinit const KernelDef qlinear_conv_kernel{
    .name = "qlinear_conv",
    .doc =
        "Quantized convolutions: exact products of pairs of 16-bit numbers over unfolded windows.",
    .prepare = qlinear_conv::prepare,
    .run = qlinear_conv::run<std::uint8_t, std::uint8_t>,
};

}  // namespace scanloom::kernels
