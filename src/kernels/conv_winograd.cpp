// Tasks are strips of tiles, for all filters or some of them. The patches of a strip are
// transformed to a matrix of tiles and channels for each of 16 parts. These meet the transformed
// weights, a group of blocks of filters after another (conv_blocks.h), and what the products of a
// group sum up to is transformed to results while a cache holds it.
#include "kernels/conv_winograd.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "kernels/conv_blocks_run.h"
#include "kernels/conv_epilogue.h"
#include "kernels/conv_winograd_fns.h"
#include "kernels/conv_winograd_schedule.h"
#include "kernels/share_tasks.h"
#include "opmath/winograd.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::ConvGeometry;
using tensor::kWinogradParts;
using tensor::Operand;
using tensor::Status;

constexpr std::int64_t kFloat = WinogradSchedule::kFloatBytes;

struct WinogradMemory {
  float *input = nullptr, *sums = nullptr, *copied = nullptr, *results = nullptr;
  float *zeros = nullptr, *bias = nullptr;
  WinogradTile* tiles = nullptr;
  std::byte* epilogue = nullptr;
};

WinogradMemory memory_of(const WinogradSchedule& plan, std::byte* slot) {
  WinogradMemory m;
  const auto take = [&slot](std::int64_t elements) {
    return reinterpret_cast<float*>(std::exchange(slot, slot + elements * kFloat));
  };
  m.input = take(kWinogradParts * plan.input_part());
  m.sums = take(kWinogradParts * plan.sums_part());
  m.copied = take(plan.copied_elements());
  m.results = take(plan.result_elements());
  m.zeros = take(plan.zero_elements());
  m.bias = take(plan.bias_elements());
  m.tiles = reinterpret_cast<WinogradTile*>(take(plan.tile_bytes() / kFloat));
  m.epilogue = slot;
  return m;
}

/// The tiles of a task: [first, first + count) along each axis.
struct WinogradStrip {
  std::int64_t image = 0, images = 0, row = 0, rows = 0, column = 0, columns = 0;

  [[nodiscard]] std::int64_t tiles() const { return images * rows * columns; }
};

WinogradStrip strip_of(const WinogradSchedule& plan, std::int64_t number) {
  WinogradStrip s;
  const auto next = [&number](std::int64_t all, std::int64_t each, std::int64_t& first,
                              std::int64_t& count) {
    const std::int64_t pieces = WinogradSchedule::count_of(all, each);
    first = number % pieces * each;
    count = std::min(each, all - first);
    number /= pieces;
  };
  next(plan.columns, plan.strip_columns, s.column, s.columns);
  next(plan.rows, plan.strip_rows, s.row, s.rows);
  next(plan.geometry.batch, plan.strip_images, s.image, s.images);
  return s;
}

/// Positions of x along an axis.
struct Positions {
  std::int64_t begin = 0, end = 0;
};

/// Returns the positions that the tiles of a strip read.
Positions read_by(const ConvGeometry& g, std::size_t axis, std::int64_t first, std::int64_t count) {
  const std::int64_t begin = 2 * first - g.pad[axis];
  Positions p;
  p.begin = std::clamp<std::int64_t>(begin, 0, g.in[axis]);
  p.end = std::clamp<std::int64_t>(begin + positions_of_tiles(count, g.dilation[axis]), p.begin,
                                   g.in[axis]);
  return p;
}

/// Elements of x as patches read them: with adjacent channels.
struct WinogradSource {
  const float* data = nullptr;  ///< what would be position (0, 0) of image 0
  std::int64_t image = 0, row = 0, column = 0;
};

/// Copies the positions that a strip reads, with the channels last.
WinogradSource copy_positions(const WinogradSchedule& plan, const WinogradStrip& s, const float* x,
                              float* to) {
  const Positions rows = read_by(plan.geometry, 0, s.row, s.rows);
  const Positions columns = read_by(plan.geometry, 1, s.column, s.columns);
  const std::int64_t channels = plan.geometry.channels, width = columns.end - columns.begin;
  WinogradSource source{.column = plan.position()};
  source.row = width * source.column;
  source.image = (rows.end - rows.begin) * source.row;
  x += s.image * plan.x_image + rows.begin * plan.x_row + columns.begin * plan.x_column;
  for (std::int64_t image = 0; image < s.images; ++image) {
    const float* const from = x + image * plan.x_image;
    float* const first = to + image * source.image;
    if (plan.x_column == 1) {
      plan.transpose({.from = reinterpret_cast<const std::byte*>(from),
                      .to = reinterpret_cast<std::byte*>(first),
                      .rows = channels,
                      .columns = width,
                      .from_step = plan.x_channel * kFloat,
                      .to_step = source.column * kFloat,
                      .count = rows.end - rows.begin,
                      .from_next = plan.x_row * kFloat,
                      .to_next = source.row * kFloat});
      continue;
    }
    for (std::int64_t row = 0; row < rows.end - rows.begin; ++row)
      for (std::int64_t column = 0; column < width; ++column)
        for (std::int64_t c = 0; c < channels; ++c)
          first[row * source.row + column * source.column + c] =
              from[row * plan.x_row + column * plan.x_column + c * plan.x_channel];
  }
  source.data =
      to - s.image * source.image - rows.begin * source.row - columns.begin * source.column;
  return source;
}

/// Where the results of a strip are stored.
struct WinogradResults {
  std::int64_t image = 0, row = 0, position = 0;  ///< elements from one to the next
};

/// Describes the tiles of a strip, whose results begin at (0, 0) of the first image.
void lay_out_tiles(const WinogradSchedule& plan, const WinogradStrip& s,
                   const WinogradSource& source, const WinogradResults& results, const float* zeros,
                   WinogradTile* tile) {
  const ConvGeometry& g = plan.geometry;
  const auto lay_out = [&](std::int64_t image, std::int64_t row, std::int64_t column) {
    const float* const from = source.data + (s.image + image) * source.image;
    for (std::int64_t i = 0; i < kWinogradParts; ++i) {
      const std::int64_t y = row - g.pad[0] + i / 4 * g.dilation[0];
      const std::int64_t x = column - g.pad[1] + i % 4 * g.dilation[1];
      const bool inside = y >= 0 && y < g.in[0] && x >= 0 && x < g.in[1];
      tile->patch[i] = inside ? from + y * source.row + x * source.column : zeros;
    }
    tile->to = image * results.image + (row - 2 * s.row) * results.row +
               (column - 2 * s.column) * results.position;
    tile->has_row = row + g.dilation[0] < g.out[0];
    tile->has_column = column + g.dilation[1] < g.out[1];
  };
  for (std::int64_t image = 0; image < s.images; ++image)
    for (std::int64_t row = s.row; row < s.row + s.rows; ++row)
      for (std::int64_t column = s.column; column < s.column + s.columns; ++column, ++tile)
        lay_out(image, tensor::first_of_tile(row, g.dilation[0]),
                tensor::first_of_tile(column, g.dilation[1]));
}

/// Weights of so many bytes stay in the L2 cache from one strip to the next.
constexpr std::int64_t kCachedWeights = 512 * 1024;

/// Computes the sums of a group of filters: part by part, as the transformed patches of a part are
/// read again for each block. The weights of each product are fetched during the one before it.
void multiply_group(const WinogradSchedule& plan, const WinogradStrip& s, const float* packed,
                    const FilterBlock& group, const WinogradMemory& m) {
  const std::int64_t channels = plan.geometry.channels, lanes = plan.blocks->lanes;
  const std::int64_t taps = block_taps(*plan.blocks, channels);
  const ConvLine line;
  ConvBlock<float> p;
  p.lines = &line;
  p.line_count = 1;
  p.width = s.tiles();
  p.step = plan.input_tile();
  p.sums_step = group.vectors * lanes;
  const bool fetches = plan.packed_elements() * kFloat > kCachedWeights;
  const auto multiply = [&](const float* next) {
    p.ahead = fetches ? next : nullptr;
    if (p.weights != nullptr) plan.blocks->multiply(p);
    p.weights = next;
  };
  for (std::int64_t part = 0; part < kWinogradParts; ++part)
    for_each_filter_block(*plan.blocks, plan.block_vectors, group.vectors * lanes, LastBlock::idles,
                          [&](const FilterBlock& block) {
                            const std::int64_t width = block.vectors * lanes;
                            for (std::int64_t c = 0; c < channels; c += taps) {
                              multiply(packed +
                                       (group.first + block.first) * kWinogradParts * channels +
                                       (part * channels + c) * width);
                              p.vectors = block.vectors;
                              p.sums = m.sums + part * plan.sums_part() + block.first;
                              p.planes = m.input + part * plan.input_part();
                              p.taps = plan.channels.data() + c;
                              p.k = std::min(taps, channels - c);
                              p.ahead_bytes = p.k * width * kFloat / p.width;
                              p.resume = c > 0;
                            }
                          });
  const std::int64_t end = group.first + group.vectors * lanes;
  multiply(end < plan.geometry.filters ? packed + end * kWinogradParts * channels : nullptr);
}

/// Calls f(image, first position, count, first of `results`) for the runs of adjacent positions
/// of a strip.
template <class F>
void for_each_run(const WinogradSchedule& plan, const WinogradStrip& s, F&& f) {
  const ConvGeometry& g = plan.geometry;
  const std::int64_t rows = std::min(2 * s.rows, g.out[0] - 2 * s.row);
  const std::int64_t columns = std::min(2 * s.columns, g.out[1] - 2 * s.column);
  const bool whole = columns == g.out[1];
  for (std::int64_t image = 0; image < s.images; ++image)
    for (std::int64_t row = 0; row < (whole ? 1 : rows); ++row)
      f(s.image + image, (2 * s.row + row) * g.out[1] + 2 * s.column,
        whole ? rows * columns : columns, (image * rows + row) * columns);
}

/// The transform of the sums of a group of filters to results.
void transform_group(const WinogradSchedule& plan, const Call& call, const WinogradStrip& s,
                     const FilterBlock& group, const WinogradMemory& m,
                     const WinogradResults& results) {
  const ConvGeometry& g = plan.geometry;
  float* const y = call.out(0).data<float>();
  // Where the strip's first result is stored, if the channels are last.
  const std::int64_t first =
      s.image * plan.y_image + (2 * s.row * g.out[1] + 2 * s.column) * g.filters + group.first;
  WinogradOutput o;
  o.sums = m.sums;
  o.sums_part = plan.sums_part();
  o.sums_tile = group.vectors * plan.blocks->lanes;
  o.tiles = m.tiles;
  o.count = s.tiles();
  o.vectors = group.vectors;
  o.filters = group.filters;
  o.to = plan.last ? y + first : m.results;
  o.to_row = g.dilation[0] * results.row;
  o.to_position = g.dilation[1] * results.position;
  o.bias = call.has(2) ? m.bias + group.first : nullptr;
  o.finish = plan.epilogue.finish<float>(call, group.first, first);
  o.weights = call.in(1).data<const float>() + group.first * plan.w_filter;
  o.w_filter = plan.w_filter;
  o.channels = g.channels;
  plan.fns->output(o);
  if (plan.last) return;
  for_each_run(
      plan, s,
      [&](std::int64_t image, std::int64_t position, std::int64_t count, std::int64_t from) {
        plan.transpose(
            {.from = reinterpret_cast<const std::byte*>(m.results + from * results.position),
             .to = reinterpret_cast<std::byte*>(y + image * plan.y_image +
                                                group.first * plan.y_filter + position),
             .rows = count,
             .columns = group.filters,
             .from_step = results.position * kFloat,
             .to_step = plan.y_filter * kFloat});
      });
}

/// Calls f(group) for groups of blocks of the filters [first, first + filters).
template <class F>
void for_each_group(const WinogradSchedule& plan, std::int64_t first, std::int64_t filters, F&& f) {
  FilterBlock group{first, 0, 0};
  for_each_filter_block(*plan.blocks, plan.block_vectors, filters, LastBlock::idles,
                        [&](const FilterBlock& block) {
                          if (group.vectors + block.vectors > plan.group) {
                            f(group);
                            group = {first + block.first, 0, 0};
                          }
                          group.filters += block.filters;
                          group.vectors += block.vectors;
                        });
  f(group);
}

/// Copies the biases of all filters, after which come zeros.
void copy_biases(const WinogradSchedule& plan, const Call& call, float* to) {
  if (!call.has(2)) return;
  const Operand& bias = call.in(2);
  for (std::int64_t f = 0; f < plan.bias_elements(); ++f)
    to[f] = f < plan.geometry.filters ? bias.data<const float>()[f * bias.strides[0]] : 0;
}

/// Transforms the patches of a strip.
void transform_strip(const WinogradSchedule& plan, const Call& call, const WinogradStrip& s,
                     const WinogradResults& results, const WinogradMemory& m) {
  WinogradSource source{call.in(0).data<const float>(), plan.x_image, plan.x_row, plan.x_column};
  if (!plan.reads_last) source = copy_positions(plan, s, source.data, m.copied);
  lay_out_tiles(plan, s, source, results, m.zeros, m.tiles);
  plan.fns->input({.tiles = m.tiles,
                   .count = s.tiles(),
                   .channels = plan.geometry.channels,
                   .to = m.input,
                   .to_part = plan.input_part(),
                   .to_tile = plan.input_tile()});
}

WinogradResults results_of(const WinogradSchedule& plan, const WinogradStrip& s) {
  const ConvGeometry& g = plan.geometry;
  WinogradResults results;
  if (plan.last) {
    results.position = g.filters;
    results.row = g.out[1] * g.filters;
    results.image = plan.y_image;
  } else {
    results.position = plan.group * plan.blocks->lanes;
    results.row = std::min(2 * s.columns, g.out[1] - 2 * s.column) * results.position;
    results.image = std::min(2 * s.rows, g.out[0] - 2 * s.row) * results.row;
  }
  return results;
}

constexpr std::int64_t kManyChannels = 128;

/// `filled` is the strip whose transformed patches the memory holds, or -1.
void run_task(const WinogradSchedule& plan, const Call& call, const ConvEpilogue::Run& epilogue,
              const float* packed, std::int64_t number, std::byte* slot, std::int64_t& filled) {
  const WinogradMemory m = memory_of(plan, slot);
  const std::int64_t part = number % plan.parts, strip = number / plan.parts;
  const WinogradStrip s = strip_of(plan, strip);
  const std::int64_t first = part * plan.filters;
  const std::int64_t filters =
      part + 1 == plan.parts ? plan.geometry.filters - first : plan.filters;
  if (filled == -1) {
    std::fill_n(m.zeros, plan.zero_elements(), 0.0F);
    copy_biases(plan, call, m.bias);
  }
  const WinogradResults results = results_of(plan, s);
  if (std::exchange(filled, strip) != strip) transform_strip(plan, call, s, results, m);
  const auto finished = [&](std::int64_t filter, std::int64_t count) {
    for_each_run(
        plan, s,
        [&](std::int64_t image, std::int64_t position, std::int64_t positions, std::int64_t) {
          epilogue({.image = image,
                    .filter = filter,
                    .filters = count,
                    .first = position,
                    .count = positions},
                   m.epilogue);
        });
  };
  for_each_group(plan, first, filters, [&](const FilterBlock& group) {
    // Groups of many channels take as long as other tasks.
    if (plan.geometry.channels >= kManyChannels && call.stop_requested()) return;
    multiply_group(plan, s, packed, group, m);
    transform_group(plan, call, s, group, m, results);
    if (!plan.last) finished(group.first, group.filters);
  });
  if (plan.last) finished(first, filters);
}

Status run_winograd(const Call& call) noexcept {
  const WinogradSchedule& plan = *static_cast<const WinogradSchedule*>(call.prepared);
  const ConvEpilogue::Run epilogue(plan.epilogue, call);
  const std::int64_t slots = std::min<std::int64_t>(plan.slots, 2 * call.max_threads);
  const auto* packed = static_cast<const float*>(plan.packed.get());
  if (packed == nullptr) {
    auto* const to = reinterpret_cast<float*>(*call.scratch + plan.slots * plan.slot_bytes());
    pack_winograd(plan, call.in(1).data<const float>(), to, plan.slots > 1 ? call.max_threads : 1);
    packed = to;
  }
  const double work =
      static_cast<double>(kWinogradParts * plan.strip_tiles() * plan.geometry.channels) *
      static_cast<double>(plan.filters);
  std::array<std::int64_t, kWinogradTasks> filled;
  filled.fill(-1);
  return share_tasks(
      call, plan.strips() * plan.parts, slots, work, [&](std::int64_t task, std::int64_t slot) {
        run_task(plan, call, epilogue, packed, task, *call.scratch + slot * plan.slot_bytes(),
                 filled[static_cast<std::size_t>(slot)]);
      });
}

}  // namespace

Prepared prepare_conv_winograd(const PrepareCtx& ctx, const ConvGeometry& geometry) {
  if (geometry.batch == 0 || geometry.out_positions() == 0) return {.run = tensor::do_nothing};
  auto plan = std::make_shared<WinogradSchedule>();
  if (auto why = schedule_winograd(*plan, ctx, geometry)) return Prepared::no(*std::move(why));
  std::int64_t bytes = plan->slots * plan->slot_bytes();
  if (plan->packed == nullptr) bytes += plan->packed_elements() * kFloat;
  const std::uint32_t packed = plan->packed == nullptr ? 0 : 1U << 1;
  return {.state = std::move(plan), .scratch_bytes = bytes, .run = run_winograd, .packed = packed};
}

}  // namespace scanloom::kernels
