// Quantized convolutions by instructions for products of bytes. The image is unsigned and the
// weights are signed, so that
//   sum of (x - zero) w = sum of x w - zero sum of w
// for weights less their zero points. Padding holds the zero point. Where there are enough
// channels, a quad is of four of them: the image is put in quads once, and its windows are copied
// as quads, or used in place if they are single positions.
#include <algorithm>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/pack_cache.h"
#include "kernels/product.h"
#include "kernels/qlinear_conv_schedule.h"
#include "tensor/for_each.h"

namespace scanloom::kernels::qlinear_conv {
namespace {

std::int64_t row_bytes(const QLinearConvSchedule& plan) { return plan.quads() * kQuad; }

std::int64_t all_filters(const QLinearConvSchedule& plan) {
  return plan.geometry.group * plan.geometry.filters;
}

// What makes a filter's weights, of which no two differ by more than 255, signed bytes if it is
// subtracted.
template <class WeightAt>
std::int32_t shift_of(std::int64_t k, const WeightAt& weight_at) {
  int least = 0, most = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    least = std::min(least, weight_at(i));
    most = std::max(most, weight_at(i));
  }
  using Limits = std::numeric_limits<std::int8_t>;
  return std::max(0, most - Limits::max()) + std::min(0, least - Limits::min());
}

// The windows of a range as [quads][columns][kQuad]. A quad beyond the last tap repeats it: its
// weights are 0.
void unfold_quads(const QLinearConvSchedule& plan, const std::uint8_t* x, std::int64_t first,
                  std::int64_t count, std::uint8_t* to) {
  PairRun runs[kRuns];
  QuadRun quads;
  quads.step = plan.geometry.stride[static_cast<std::size_t>(plan.geometry.spatial - 1)];
  const std::int64_t row = plan.quad_row_bytes(count), last = plan.k - 1;
  for (std::int64_t begin = 0, done = 0; begin < count; begin += done) {
    const std::int64_t found = find_runs(plan, first + begin, count - begin, runs, done);
    for (std::int64_t i = 0; i < quads_of(plan.k); ++i) {
      quads.to = to + i * row + begin * kQuad;
      for (std::int64_t r = 0; r < found; ++r) {
        for (std::int64_t t = 0; t < kQuad; ++t)
          quads.taps[t] =
              x + plan.taps[static_cast<std::size_t>(std::min(i * kQuad + t, last))] + runs[r].at;
        quads.count = runs[r].count;
        plan.tables->interleave(quads);
        quads.to += quads.count * kQuad;
      }
    }
  }
}

void unfold_quads_of_channels(const QLinearConvSchedule& plan, const std::uint8_t* x,
                              std::int64_t first, std::int64_t count, std::uint8_t* to) {
  const ConvGeometry& g = plan.geometry;
  PairRun runs[kRuns];
  QuadRuns quads{.runs = runs};
  quads.step = g.stride[static_cast<std::size_t>(g.spatial - 1)];
  const std::int64_t row = plan.quad_row_bytes(count), taps = g.kernel_positions();
  for (std::int64_t begin = 0, done = 0; begin < count; begin += done) {
    quads.run_count = find_runs(plan, first + begin, count - begin, runs, done);
    for (std::int64_t i = 0; i < plan.quads(); ++i) {
      const std::int64_t tap = plan.taps[static_cast<std::size_t>(i % taps)];
      quads.x = x + (i / taps * plan.x_channel + tap) * kQuad;
      quads.to = to + i * row + begin * kQuad;
      plan.tables->copy_quads(quads);
    }
  }
}

/// Whether the planes of x are stored as those of the image, so that each is one line.
bool has_whole_planes(const QLinearConvSchedule& plan, const Operand& x) {
  const ConvGeometry& g = plan.geometry;
  std::int64_t given = 1;
  for (int axis = 0; axis < g.spatial; ++axis) {
    given *= x.dims[axis + 2];
    if (x.dims[axis + 2] > 1 && x.strides[axis + 2] != plan.x_axis[axis]) return false;
  }
  return given == plan.x_channel;
}

void write_line(const QLinearConvSchedule& plan, const QuadLine& line, std::int64_t step) {
  if (step == 1) return plan.tables->interleave_line(line);
  for (std::int64_t i = 0; i < line.count; ++i)
    for (std::int64_t t = 0; t < kQuad; ++t)
      line.to[i * kQuad + t] = static_cast<std::uint8_t>(line.rows[t][i * step] ^ line.flip);
}

}  // namespace

void place_quads(const Operand& x, QLinearConvSchedule& plan) {
  const ConvGeometry& g = plan.geometry;
  // Channels that fill the last quad take time to multiply.
  plan.of_channels = 8 * quads_of(g.channels) * kQuad <= 9 * g.channels;
  bool single = g.kernel_positions() == 1 && plan.x_channel == plan.positions;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(g.spatial); ++axis)
    single &= g.stride[axis] == 1 && g.pad[axis] == 0;
  plan.in_place = plan.of_channels && single && has_whole_planes(plan, x);
  plan.ranges =
      unfolded_ranges(plan.positions, (plan.quads() + g.filters) * std::int64_t{4}, g.group);
}

void write_quads(const QLinearConvSchedule& plan, const tensor::Call& call, std::int64_t i,
                 std::uint8_t* image) {
  const ConvGeometry& g = plan.geometry;
  const Operand& x = call.in(kX);
  const auto* const from = x.data<const std::uint8_t>() + i * x.strides[0];
  const int last = x.rank - 1;
  const bool whole = has_whole_planes(plan, x);
  const std::int64_t step = x.strides[last], quads = quads_of(g.channels);
  const tensor::Shape outer =
      whole ? tensor::Shape{}
            : tensor::Shape(std::span(x.dims + 2, static_cast<std::size_t>(g.spatial - 1)));
  const std::uint8_t flip = x.dtype == DType::i8 ? 0x80 : 0;
  const std::int64_t bytes = g.group * plan.group_bytes();
  const int threads = bytes > kMinThreadWork ? call.max_threads : 1;
  parallel_for(g.group * quads, threads, [&](std::int64_t quad) {
    const std::int64_t channel = quad / quads * g.channels + quad % quads * kQuad;
    const std::int64_t missing =
        std::max<std::int64_t>(0, quad % quads * kQuad + kQuad - g.channels);
    tensor::for_each_index(outer.dims(), [&](const tensor::Shape& index) {
      std::int64_t at = tensor::offset_of(index, x.strides + 2), to = quad * plan.x_channel;
      for (int axis = 0; axis < g.spatial; ++axis) {
        const std::int64_t position = axis < outer.rank() ? index[axis] : 0;
        to += (position + g.pad[static_cast<std::size_t>(axis)]) * plan.x_axis[axis];
      }
      QuadLine line{
          .count = whole ? plan.x_channel : x.dims[last], .to = image + to * kQuad, .flip = flip};
      for (std::int64_t t = 0; t < kQuad; ++t)
        line.rows[t] = from + (channel + std::min(t, kQuad - 1 - missing)) * x.strides[1] + at;
      write_line(plan, line, step);
    });
  });
}

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

std::shared_ptr<const void> pack_quads(
    const QLinearConvSchedule& plan, const std::function<int(std::int64_t, std::int64_t)>& weight) {
  const std::int64_t filters = plan.geometry.filters, row = row_bytes(plan),
                     all = all_filters(plan);
  const std::int64_t rows_bytes = plan.geometry.group * plan.quad_rows() * row;
  auto memory = packed_memory<std::byte>(rows_bytes + 2 * all * std::int64_t{sizeof(std::int32_t)});
  auto* const rows = reinterpret_cast<std::int8_t*>(memory.get());
  auto* const sums = reinterpret_cast<std::uint32_t*>(memory.get() + rows_bytes);
  auto* const shifts = reinterpret_cast<std::int32_t*>(sums + all);
  const std::int64_t taps = plan.geometry.kernel_positions();
  const auto place_of = [&](std::int64_t i) {
    const std::int64_t channel = i / taps;
    return plan.of_channels ? (channel / kQuad * taps + i % taps) * kQuad + channel % kQuad : i;
  };
  for (std::int64_t f = 0; f < all; ++f) {
    std::int8_t* const to = rows + (f / filters * plan.quad_rows() + f % filters) * row;
    if (plan.is_shifted) shifts[f] = shift_of(plan.k, [&](std::int64_t i) { return weight(f, i); });
    for (std::int64_t i = 0; i < plan.k; ++i) {
      const int value = weight(f, i);
      to[place_of(i)] = static_cast<std::int8_t>(value - shifts[f]);
      sums[f] += static_cast<std::uint32_t>(value);
    }
  }
  if (plan.is_shifted)
    for (std::int64_t group = 0; group < plan.geometry.group; ++group)
      for (std::int64_t i = 0; i < plan.k; ++i)
        rows[(group * plan.quad_rows() + filters) * row + place_of(i)] = 1;
  return memory;
}

QuadWeights quad_weights(const QLinearConvSchedule& plan) {
  const auto* const memory = static_cast<const std::byte*>(plan.weights.get());
  const auto* const sums = reinterpret_cast<const std::uint32_t*>(
      memory + plan.geometry.group * plan.quad_rows() * row_bytes(plan));
  return {reinterpret_cast<const std::int8_t*>(memory), sums,
          reinterpret_cast<const std::int32_t*>(sums + all_filters(plan))};
}

void multiply_quads(const QLinearConvSchedule& plan, const std::uint8_t* x, std::int64_t group,
                    std::int64_t first, std::int64_t count, std::uint8_t* windows,
                    std::int32_t* sums) {
  if (plan.of_channels && !plan.in_place)
    unfold_quads_of_channels(plan, x, first, count, windows);
  else if (!plan.of_channels)
    unfold_quads(plan, x, first, count, windows);
  const std::int64_t columns = plan.columns(count), filters = plan.quad_rows();
  const std::int8_t* const rows = quad_weights(plan).rows + group * filters * row_bytes(plan);
  QuadStrip strip{.quads = plan.quads(), .a_row = row_bytes(plan), .c_row = columns};
  strip.b_step = plan.in_place ? plan.x_channel * kQuad : plan.quad_row_bytes(count);
  const std::uint8_t* const b = plan.in_place ? x + first * kQuad : windows;
  strip.b_panel = kQuadColumns * kQuad;
  TallTiles tiles;
  for (std::int64_t column = 0; column < columns; column += kMaxQuadPanels * kQuadColumns) {
    strip.panels =
        static_cast<int>(std::min<std::int64_t>(kMaxQuadPanels, (columns - column) / kQuadColumns));
    strip.b = b + column * kQuad;
    if (plan.quad_fns->tall_signed_rows != nullptr && filters >= kMinTallRows) {
      strip.a = rows;
      strip.c = sums + column;
      plan.quad_fns->tall_signed_rows(strip, filters, tiles);
      continue;
    }
    for (std::int64_t f = 0; f < filters; f += kMaxQuadRows) {
      strip.a = rows + f * row_bytes(plan);
      strip.c = sums + f * columns + column;
      plan.quad_fns->signed_rows[std::min<std::int64_t>(kMaxQuadRows, filters - f) - 1](strip);
    }
  }
}

// Sums wrap.
void add_shifts(const QLinearConvSchedule& plan, std::int64_t group, std::int64_t count,
                std::int32_t* sums) {
  const std::int64_t filters = plan.geometry.filters, columns = plan.columns(count);
  const std::int32_t* const shifts = quad_weights(plan).shifts + group * filters;
  const std::int32_t* const windows = sums + filters * columns;
  for (std::int64_t f = 0; f < filters; ++f) {
    const auto shift = static_cast<std::uint32_t>(shifts[f]);
    std::int32_t* const row = sums + f * columns;
    if (shift != 0)
      for (std::int64_t i = 0; i < count; ++i)
        row[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(row[i]) +
                                           shift * static_cast<std::uint32_t>(windows[i]));
  }
}

}  // namespace scanloom::kernels::qlinear_conv
