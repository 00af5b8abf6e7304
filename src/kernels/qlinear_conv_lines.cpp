// Quantized convolutions line by line. A task is a group: its image less the zero point is written
// as 16-bit numbers inside its padding, which stays in L1, and each filter sums pairs
// of taps over the lines of results (TapLine). Taps next to each other are pairs as they are
// stored, so that nothing is unfolded. If lines are short, those of a plane are one line with some
// results in between that do not count.
#include "kernels/qlinear_conv_lines.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/qlinear_conv_finish.h"
#include "tensor/for_each.h"

namespace scanloom::kernels::qlinear_conv {
namespace {

using tensor::Call;
using tensor::Status;

// Results that are summed before they are finished.
constexpr std::int64_t kChunk = 1024;
// Positions that are computed together with 256 bits, and the results of a line that is rounded up.
constexpr std::int64_t kTogether = 16;
// How the weights are packed, as part of a key.
constexpr std::int64_t kLineForm = 3;

struct LineSchedule : LineResults {
  QLinearConvSchedule conv;
  std::vector<std::int64_t> offsets;  ///< of the pairs of taps in the image of a group
  std::int64_t slots = 1;

  [[nodiscard]] std::int64_t pairs() const { return static_cast<std::int64_t>(offsets.size()); }
  [[nodiscard]] std::int64_t image_elements() const {
    const std::int64_t beyond = kTapSlack + (folded > 1 ? 2 * pitch * step : 0);
    return (conv.geometry.channels * conv.x_channel + beyond + 31) / 32 * 32;
  }
  [[nodiscard]] std::int64_t sum_elements() const {
    return (std::max(kChunk, computed()) + kTapSlack + 15) / 16 * 16;
  }
  /// The image, the sums, and room for results that are not stored in place.
  [[nodiscard]] std::int64_t slot_bytes() const {
    return image_elements() * 2 + sum_elements() * 4 + (folded > 1 ? sum_elements() * 4 : 0);
  }
};

/// Pairs of a row of taps.
std::int64_t pairs_of_row(const ConvGeometry& g) {
  const std::int64_t taps = g.kernel[last_axis(g)];
  return g.dilation[last_axis(g)] == 1 ? (taps + 1) / 2 : taps;
}

std::int64_t pairs_of_group(const QLinearConvSchedule& plan) {
  const ConvGeometry& g = plan.geometry;
  return plan.k / g.kernel[last_axis(g)] * pairs_of_row(g);
}

/// Calls f(first tap, whether the next tap is its pair) for every pair, in the order of taps.
template <class F>
void for_each_pair(const QLinearConvSchedule& plan, const F& f) {
  const ConvGeometry& g = plan.geometry;
  const std::int64_t row = g.kernel[last_axis(g)], step = g.dilation[last_axis(g)] == 1 ? 2 : 1;
  for (std::int64_t first = 0; first < plan.k; first += row)
    for (std::int64_t tap = 0; tap < row; tap += step) f(first + tap, step == 2 && tap + 1 < row);
}

std::shared_ptr<const void> pack_pairs_of_taps(const PrepareCtx& ctx,
                                               const QLinearConvSchedule& plan) {
  const std::int64_t filters = plan.geometry.group * plan.geometry.filters;
  auto weights = packed_memory<std::int32_t>(filters * pairs_of_group(plan));
  std::int32_t* to = weights.get();
  for (std::int64_t f = 0; f < filters; ++f)
    for_each_pair(plan, [&](std::int64_t tap, bool has_next) {
      *to++ =
          pair_of(weight_at(ctx, plan, f, tap), has_next ? weight_at(ctx, plan, f, tap + 1) : 0);
    });
  return weights;
}

/// Writes the channels of a group as x - zero, inside their padding, which is 0 already.
template <class X>
void write_group(const LineSchedule& plan, const Operand& x, const X* from, int zero,
                 std::int16_t* image) {
  const int last = x.rank - 1;
  const std::int64_t step = x.strides[last], length = x.dims[last];
  const tensor::Shape outer = line_axes(x, plan.conv.geometry);
  tensor::for_each_index(outer.dims(), [&](const tensor::Shape& index) {
    const X* const line = from + tensor::offset_of(index, x.strides + 1);
    std::int16_t* const to = image + line_in_image(plan.conv, index);
    if (step == 1)
      for (std::int64_t i = 0; i < length; ++i) to[i] = static_cast<std::int16_t>(line[i] - zero);
    else
      for (std::int64_t i = 0; i < length; ++i)
        to[i] = static_cast<std::int16_t>(line[i * step] - zero);
  });
}

/// Lines whose results are stored without gaps: as many as a chunk holds.
template <class Y>
void run_lines(const LineSchedule& plan, const Call& call, std::int64_t filter, TapLine line,
               const std::int16_t* image, std::int32_t* sums, Y* to) {
  const auto lines = static_cast<std::int64_t>(plan.starts.size());
  const std::int64_t together = std::max<std::int64_t>(1, kChunk / plan.length);
  line.count = plan.length;
  for (std::int64_t first = 0; first < lines; first += together) {
    const std::int64_t count = std::min(together, lines - first);
    for (std::int64_t i = 0; i < count; ++i) {
      line.x = image + plan.starts[static_cast<std::size_t>(first + i)];
      plan.conv.tables->tap_sums(line, sums + i * plan.length);
    }
    finish_row(plan.conv, call, filter, {.sums = sums, .count = count * plan.length},
               to + first * plan.length);
  }
}

template <class Y>
void run_folded(const LineSchedule& plan, const Call& call, std::int64_t filter, TapLine line,
                const std::int16_t* image, std::int32_t* sums, Y* to) {
  line.x = image + plan.starts[0];
  line.count = plan.computed();
  plan.conv.tables->tap_sums(line, sums);
  auto* const finished = reinterpret_cast<Y*>(sums + plan.sum_elements());
  finish_row(plan.conv, call, filter, {.sums = sums, .count = line.count}, finished);
  for (std::int64_t i = 0; i < plan.folded; ++i)
    std::memcpy(to + i * plan.length, finished + i * plan.pitch,
                static_cast<std::size_t>(plan.length) * sizeof(Y));
}

template <class X, class Y>
void run_group(const LineSchedule& plan, const Call& call, std::int64_t image_index,
               std::int64_t group, std::byte* slot) {
  const ConvGeometry& g = plan.conv.geometry;
  const Operand &x = call.in(kX), &y = call.out(0);
  auto* const image = reinterpret_cast<std::int16_t*>(slot);
  auto* const sums = reinterpret_cast<std::int32_t*>(slot + plan.image_elements() * 2);
  write_group(plan, x,
              x.data<const X>() + image_index * x.strides[0] + group * g.channels * x.strides[1],
              byte_at(call.in(kXZero), 0), image);
  TapLine line{.step = plan.step, .pairs = plan.pairs(), .offsets = plan.offsets.data()};
  const auto* const weights = static_cast<const std::int32_t*>(plan.conv.weights.get());
  for (std::int64_t f = group * g.filters; f < (group + 1) * g.filters; ++f) {
    line.weights = weights + f * plan.pairs();
    Y* const to = y.data<Y>() + image_index * y.strides[0] + f * y.strides[1];
    if (plan.folded > 1)
      run_folded(plan, call, f, line, image, sums, to);
    else
      run_lines(plan, call, f, line, image, sums, to);
  }
}

template <class X, class Y>
Status run_all(const Call& call) noexcept {
  const LineSchedule& plan = *static_cast<const LineSchedule*>(call.prepared);
  const ConvGeometry& g = plan.conv.geometry;
  if (call.out(0).empty()) return Status::ok;
  const std::int64_t tasks = g.batch * g.group;
  const std::int64_t work = tasks * plan.conv.positions * plan.conv.k * g.filters;
  const int threads = work > kMinThreadWork ? call.max_threads : 1;
  const std::int64_t slots = threads > 1 ? plan.slots : 1;
  parallel_for(slots, threads, [&](std::int64_t slot) {
    std::byte* const own = *call.scratch + slot * plan.slot_bytes();
    std::memset(own, 0, static_cast<std::size_t>(plan.image_elements() * 2));
    for (std::int64_t task = tasks * slot / slots; task < tasks * (slot + 1) / slots; ++task) {
      if (call.stop_requested()) return;
      run_group<X, Y>(plan, call, task / g.group, task % g.group, own);
    }
  });
  return call.ok_or_stopped();
}

}  // namespace

tensor::Shape line_axes(const Operand& x, const ConvGeometry& g) {
  tensor::Shape axes(std::span(x.dims + 1, static_cast<std::size_t>(x.rank - 2)));
  axes[0] = g.channels;
  return axes;
}

std::int64_t line_in_image(const QLinearConvSchedule& plan, const tensor::Shape& index) {
  const ConvGeometry& g = plan.geometry;
  std::int64_t at = index[0] * plan.x_channel;
  for (int axis = 0; axis < g.spatial; ++axis) {
    const std::int64_t line = axis + 1 < g.spatial ? index[axis + 1] : 0;
    at += (line + g.pad[static_cast<std::size_t>(axis)]) * plan.x_axis[axis];
  }
  return at;
}

LineResults line_results(const QLinearConvSchedule& plan, std::int64_t together,
                         std::int64_t most) {
  const ConvGeometry& g = plan.geometry;
  LineResults found;
  found.step = g.stride[last_axis(g)];
  found.length = g.out[last_axis(g)];
  const tensor::Shape outer(std::span(g.out).first(last_axis(g)));
  tensor::for_each_index(outer.dims(), [&](const tensor::Shape& index) {
    std::int64_t start = 0;
    for (int axis = 0; axis + 1 < g.spatial; ++axis)
      start += index[axis] * g.stride[static_cast<std::size_t>(axis)] * plan.x_axis[axis];
    found.starts.push_back(start);
  });
  if (g.spatial != 2 || found.starts.size() < 2 || found.starts[1] % found.step != 0) return found;
  found.pitch = found.starts[1] / found.step;
  const auto blocks = [&](std::int64_t n) { return (n + together - 1) / together; };
  const auto lines = static_cast<std::int64_t>(found.starts.size());
  if (lines * found.pitch > most || blocks(lines * found.pitch) >= lines * blocks(found.length))
    return found;
  found.folded = lines;
  found.starts.resize(1);
  return found;
}

bool sums_lines(const QLinearConvSchedule& plan) {
  const ConvGeometry& g = plan.geometry;
  if (plan.taps.empty() || g.group < 2 || g.stride[last_axis(g)] > 2) return false;
  // In cycles per position: 16 products of a pair take one, unfolding a tap about 1/6.
  const std::int64_t filters = g.filters;
  return 6 * pairs_of_group(plan) * filters <= 3 * plan.k * filters + 16 * plan.k;
}

Prepared prepare_lines(const PrepareCtx& ctx, QLinearConvSchedule conv) {
  auto plan = std::make_shared<LineSchedule>();
  plan->conv = std::move(conv);
  for_each_pair(plan->conv, [&](std::int64_t tap, bool) {
    plan->offsets.push_back(plan->conv.taps[static_cast<std::size_t>(tap)]);
  });
  static_cast<LineResults&>(*plan) = line_results(plan->conv, kTogether, kChunk);
  plan->conv.weights =
      packed_once(ctx, plan->conv, kLineForm, [&] { return pack_pairs_of_taps(ctx, plan->conv); });
  plan->slots =
      std::min<std::int64_t>(plan->conv.geometry.batch * plan->conv.geometry.group, pool_threads());
  const std::int64_t bytes = plan->slots * plan->slot_bytes();
  return {.state = std::move(plan),
          .scratch_bytes = bytes,
          .run = run_of_bytes(
              ctx, []<class X, class Y>() -> tensor::KernelFn { return run_all<X, Y>; })};
}

}  // namespace scanloom::kernels::qlinear_conv
