// Quantized convolutions line by line over bytes: as in qlinear_conv_lines.cpp, a task is a group,
// whose image is copied into its padding. Taps next to each other are quads as they are stored, and
// the zero point of the image is subtracted from whole sums, as in qlinear_conv_quads.cpp.
#include "kernels/qlinear_conv_byte_lines.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/byte_taps.h"
#include "kernels/qlinear_conv_finish.h"
#include "kernels/qlinear_conv_lines.h"
#include "tensor/for_each.h"

namespace scanloom::kernels::qlinear_conv {
namespace {

using tensor::Call;
using tensor::Status;

// How the weights are packed, as part of a key.
constexpr std::int64_t kByteLineForm = 4;
// The most results of a plane that are computed as one line.
constexpr std::int64_t kMaxFolded = 16 * 1024;
// A small task takes no longer than a poll.
constexpr std::int64_t kTasksBetweenPolls = 8;

struct ByteLineSchedule : LineResults {
  QLinearConvSchedule conv;
  const ByteTapFns* fns = nullptr;
  std::vector<std::int64_t> offsets;  ///< of the quads of taps in the image of a group
  /// The lines of x that are copied into its padding, and their offsets in x and in the image.
  ByteLines lines;
  struct Piece {
    std::int64_t from, to;
  };
  std::vector<Piece> pieces;
  std::int64_t slots = 1;

  [[nodiscard]] std::int64_t quads() const { return static_cast<std::int64_t>(offsets.size()); }
  [[nodiscard]] std::int64_t image_bytes() const {
    const std::int64_t beyond = kByteTapSlack + (folded > 1 ? 2 * pitch * step : 0);
    return (conv.geometry.channels * conv.x_channel + beyond + 63) / 64 * 64;
  }
  /// The image, and room for results that are not stored in place.
  [[nodiscard]] std::int64_t slot_bytes() const {
    return image_bytes() + (folded > 1 ? (computed() + 63) / 64 * 64 : 0);
  }
};

/// Taps of a row that a quad takes.
std::int64_t taps_together(const ConvGeometry& g) {
  return g.dilation[last_axis(g)] == 1 ? kQuad : 1;
}

std::int64_t quads_of_group(const QLinearConvSchedule& plan) {
  const ConvGeometry& g = plan.geometry;
  const std::int64_t row = g.kernel[last_axis(g)], each = taps_together(g);
  return plan.k / row * ((row + each - 1) / each);
}

/// Calls f(first tap, number of taps) for every quad, in the order of taps.
template <class F>
void for_each_quad(const QLinearConvSchedule& plan, const F& f) {
  const std::int64_t row = plan.geometry.kernel[last_axis(plan.geometry)];
  const std::int64_t each = taps_together(plan.geometry);
  for (std::int64_t first = 0; first < plan.k; first += row)
    for (std::int64_t tap = 0; tap < row; tap += each) f(first + tap, std::min(each, row - tap));
}

/// The quads of all filters, then the sums of their weights.
std::shared_ptr<const void> pack_quads_of_taps(const PrepareCtx& ctx,
                                               const QLinearConvSchedule& plan) {
  const std::int64_t filters = plan.geometry.group * plan.geometry.filters;
  const std::int64_t quads = quads_of_group(plan);
  auto memory = packed_memory<std::int32_t>(filters * (quads + 1));
  std::int32_t *to = memory.get(), *const sums = to + filters * quads;
  for (std::int64_t f = 0; f < filters; ++f)
    for_each_quad(plan, [&](std::int64_t tap, std::int64_t taps) {
      std::int8_t bytes[kQuad] = {};
      for (std::int64_t t = 0; t < taps; ++t) {
        bytes[t] = static_cast<std::int8_t>(weight_at(ctx, plan, f, tap + t));
        sums[f] += bytes[t];
      }
      std::memcpy(to++, bytes, sizeof(bytes));
    });
  return memory;
}

std::uint8_t flip_of(const Operand& x) { return x.dtype == DType::i8 ? 0x80 : 0; }

/// The zero point of the image as an unsigned byte.
int zero_of_image(const Call& call) {
  return byte_at(call.in(kXZero), 0) + (call.in(kX).dtype == DType::i8 ? 128 : 0);
}

/// Finds the pieces of a group. The lines of the last axis but one are copied together.
void place_image_of_group(const Operand& x, ByteLineSchedule& plan) {
  const ConvGeometry& g = plan.conv.geometry;
  const int last = x.rank - 1;
  tensor::Shape outer = line_axes(x, g);
  plan.lines = {.lines = 1, .length = x.dims[last], .flip = flip_of(x)};
  if (g.spatial > 1) {
    plan.lines.lines = std::exchange(outer[outer.rank() - 1], 1);
    plan.lines.from_step = x.strides[last - 1];
    plan.lines.to_step = plan.conv.x_axis[g.spatial - 2];
  }
  tensor::for_each_index(outer.dims(), [&](const tensor::Shape& index) {
    plan.pieces.push_back(
        {tensor::offset_of(index, x.strides + 1), line_in_image(plan.conv, index)});
  });
}

/// Copies the channels of a group as unsigned bytes inside their padding, which is there already.
void write_group(const ByteLineSchedule& plan, const std::uint8_t* from, std::int64_t step,
                 std::uint8_t* image) {
  ByteLines lines = plan.lines;
  for (const auto& [at, to] : plan.pieces) {
    lines.from = from + at;
    lines.to = image + to;
    if (step == 1) {
      plan.fns->copy(lines);
      continue;
    }
    for (std::int64_t line = 0; line < lines.lines; ++line)
      for (std::int64_t i = 0; i < lines.length; ++i)
        lines.to[line * lines.to_step + i] =
            static_cast<std::uint8_t>(lines.from[line * lines.from_step + i * step] ^ lines.flip);
  }
}

/// Computes results whose sums do not fit in 32 bits, or whose scale is not finite.
template <class Y>
void sum_plainly(const ByteTaps& taps, std::int64_t added, Y* to) {
  for (std::int64_t j = 0; j < taps.count; ++j) {
    std::int64_t sum = added;
    for (std::int64_t i = 0; i < taps.quads; ++i) {
      std::int8_t weights[kQuad];
      std::memcpy(weights, taps.weights + i, sizeof(weights));
      for (std::int64_t t = 0; t < kQuad; ++t)
        sum += std::int32_t{taps.x[j * taps.step + taps.offsets[i] + t]} * weights[t];
    }
    to[j] = limited<Y>(static_cast<float>(sum) * taps.scale, taps.zero);
  }
}

template <class Y>
void run_filter(const ByteLineSchedule& plan, const Call& call, std::int64_t filter,
                const std::uint8_t* image, Y* own, Y* to) {
  const std::int64_t filters = plan.conv.geometry.group * plan.conv.geometry.filters;
  const auto* const weights = static_cast<const std::int32_t*>(plan.conv.weights.get());
  const std::int64_t added = bias_of(call, filter) - std::int64_t{zero_of_image(call)} *
                                                         weights[filters * plan.quads() + filter];
  ByteTaps taps{.step = plan.step,
                .count = plan.computed(),
                .quads = plan.quads(),
                .offsets = plan.offsets.data(),
                .weights = weights + filter * plan.quads(),
                .bias = static_cast<std::int32_t>(added),
                .zero = byte_at(call.in(kYZero), 0),
                .scale = scale_of(call, filter)};
  const bool fits = sums_fit(plan.conv, call, filter) && std::isfinite(taps.scale);
  const auto run = [&](std::int64_t start, Y* results) {
    taps.x = image + start;
    if (!fits)
      sum_plainly(taps, added, results);
    else if constexpr (std::same_as<Y, std::uint8_t>)
      plan.fns->u8(taps, results);
    else
      plan.fns->i8(taps, results);
  };
  if (plan.folded == 1) {
    for (std::size_t line = 0; line < plan.starts.size(); ++line)
      run(plan.starts[line], to + static_cast<std::int64_t>(line) * plan.length);
    return;
  }
  run(plan.starts[0], own);
  plan.fns->copy({.from = reinterpret_cast<const std::uint8_t*>(own),
                  .from_step = plan.pitch,
                  .to = reinterpret_cast<std::uint8_t*>(to),
                  .to_step = plan.length,
                  .lines = plan.folded,
                  .length = plan.length});
}

template <class Y>
void run_group(const ByteLineSchedule& plan, const Call& call, std::int64_t image_index,
               std::int64_t group, std::uint8_t* slot) {
  const ConvGeometry& g = plan.conv.geometry;
  const Operand &x = call.in(kX), &y = call.out(0);
  write_group(
      plan,
      x.data<const std::uint8_t>() + image_index * x.strides[0] + group * g.channels * x.strides[1],
      x.strides[x.rank - 1], slot);
  auto* const own = reinterpret_cast<Y*>(slot + plan.image_bytes());
  for (std::int64_t f = group * g.filters; f < (group + 1) * g.filters; ++f)
    run_filter(plan, call, f, slot, own,
               y.data<Y>() + image_index * y.strides[0] + f * y.strides[1]);
}

template <class Y>
Status run_all(const Call& call) noexcept {
  const ByteLineSchedule& plan = *static_cast<const ByteLineSchedule*>(call.prepared);
  const ConvGeometry& g = plan.conv.geometry;
  if (call.out(0).empty()) return Status::ok;
  const std::int64_t tasks = g.batch * g.group;
  const std::int64_t work = tasks * plan.conv.positions * plan.conv.k * g.filters;
  const int threads = work > kMinThreadWork ? call.max_threads : 1;
  const std::int64_t slots = threads > 1 ? plan.slots : 1;
  parallel_for(slots, threads, [&](std::int64_t slot) {
    auto* const own = reinterpret_cast<std::uint8_t*>(*call.scratch) + slot * plan.slot_bytes();
    std::memset(own, zero_of_image(call), static_cast<std::size_t>(plan.image_bytes()));
    const std::int64_t first = tasks * slot / slots;
    for (std::int64_t task = first; task < tasks * (slot + 1) / slots; ++task) {
      if ((task - first) % kTasksBetweenPolls == 0 && call.stop_requested()) return;
      run_group<Y>(plan, call, task / g.group, task % g.group, own);
    }
  });
  return call.ok_or_stopped();
}

}  // namespace

bool sums_byte_lines(const PrepareCtx& ctx, const QLinearConvSchedule& plan) {
  const ConvGeometry& g = plan.geometry;
  if (byte_taps(ctx.isa) == nullptr || ctx.outputs[0].dtype == DType::i32) return false;
  if (plan.taps.empty() || g.group < 2 || g.stride[last_axis(g)] > 2) return false;
  // In cycles for 64 positions: a product of a quad takes four, one of whole quads that are
  // unfolded one for each tap, and unfolding a tap about eight.
  const std::int64_t filters = g.filters;
  return 4 * quads_of_group(plan) * filters <= plan.k * filters + 8 * plan.k &&
         weights_fit(ctx, plan);
}

Prepared prepare_byte_lines(const PrepareCtx& ctx, QLinearConvSchedule conv) {
  auto plan = std::make_shared<ByteLineSchedule>();
  plan->conv = std::move(conv);
  plan->fns = byte_taps(ctx.isa);
  for_each_quad(plan->conv, [&](std::int64_t tap, std::int64_t) {
    plan->offsets.push_back(plan->conv.taps[static_cast<std::size_t>(tap)]);
  });
  static_cast<LineResults&>(*plan) = line_results(plan->conv, kByteTapResults, kMaxFolded);
  place_image_of_group(ctx.inputs[kX], *plan);
  plan->conv.weights = packed_once(ctx, plan->conv, kByteLineForm,
                                   [&] { return pack_quads_of_taps(ctx, plan->conv); });
  plan->slots =
      std::min<std::int64_t>(plan->conv.geometry.batch * plan->conv.geometry.group, pool_threads());
  const std::int64_t bytes = plan->slots * plan->slot_bytes();
  return {.state = std::move(plan),
          .scratch_bytes = bytes,
          .run = ctx.outputs[0].dtype == DType::u8 ? run_all<std::uint8_t> : run_all<std::int8_t>};
}

}  // namespace scanloom::kernels::qlinear_conv
