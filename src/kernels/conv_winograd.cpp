// Tasks are strips of tiles, for all filters or some of them. The patches of a strip are
// transformed to a matrix of tiles and channels for each of 16 parts. These meet the transformed
// weights, a group of blocks of filters after another (conv_blocks.h), and what the products of a
// group sum up to is transformed to results while a cache holds it.
#include "kernels/conv_winograd.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/thread_pool.h"
#include "kernels/conv_blocks_run.h"
#include "kernels/conv_epilogue.h"
#include "kernels/conv_planes.h"
#include "kernels/conv_planes_schedule.h"
#include "kernels/conv_winograd_fns.h"
#include "kernels/pack_cache.h"
#include "kernels/product.h"
#include "kernels/share_tasks.h"
#include "kernels/simd.h"
#include "opmath/winograd.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::ConvGeometry;
using tensor::kWinogradParts;
using tensor::Operand;
using tensor::Status;

constexpr std::int64_t kFloat = sizeof(float);

/// Elements up to the next cache line.
std::int64_t whole_lines(std::int64_t elements) { return (elements + 15) / 16 * 16; }

/// Elements from one part to the next: the 16 streams that a transform reads or writes should not
/// share sets of the L1 cache.
std::int64_t apart(std::int64_t elements) { return (elements + 1023) / 1024 * 1024 + 80; }

/// Returns a multiple.
std::int64_t rounded_up(std::int64_t count, std::int64_t of) { return (count + of - 1) / of * of; }

/// Positions along an axis that so many tiles of a strip read, padding included.
std::int64_t positions_of(std::int64_t tiles, std::int64_t dilation) {
  return 2 * rounded_up(tiles, dilation) + 2 * dilation;
}

struct WinogradSchedule {
  const WinogradFns* fns = nullptr;
  const ConvBlockFns<float>* blocks = nullptr;
  TransposeFn transpose = nullptr;
  ConvGeometry geometry;
  std::int64_t x_image = 0, x_channel = 0, x_row = 0, x_column = 0, w_filter = 0;
  std::int64_t y_image = 0, y_filter = 0;
  bool reads_last = false, last = false;  ///< whether x and y have their channels last
  // A strip: tiles of whole images, of whole lines of tiles or of parts of them. The last along
  // each axis may be smaller. The others have multiples of the dilation, so that the first result
  // of tile t, where a strip begins, is 2 t, and the results of a strip are adjacent.
  std::int64_t rows = 0, columns = 0;  ///< tiles of an image
  std::int64_t strip_images = 1, strip_rows = 1, strip_columns = 1;
  std::int64_t filters = 0, parts = 1;  ///< filters of a task, and tasks per strip
  std::int64_t group = 0;               ///< vectors of filters that are transformed together
  std::vector<std::int64_t> channels;   ///< 0, 1, 2 ...: the taps of products
  std::shared_ptr<const void> packed;   ///< null: transformed at the start of a call
  ConvEpilogue epilogue;
  std::int64_t slots = 1;

  [[nodiscard]] std::int64_t strip_tiles() const {
    return strip_images * strip_rows * strip_columns;
  }
  static std::int64_t count_of(std::int64_t all, std::int64_t each) {
    return (all + each - 1) / each;
  }
  [[nodiscard]] std::int64_t strips() const {
    return count_of(geometry.batch, strip_images) * count_of(rows, strip_rows) *
           count_of(columns, strip_columns);
  }
  [[nodiscard]] std::int64_t packed_elements() const {
    return kWinogradParts * block_weights(geometry.filters, geometry.channels, blocks->lanes);
  }

  // Elements of a slot's scratch memory, in this order.
  [[nodiscard]] std::int64_t input_tile() const {
    const std::int64_t channels = whole_lines(geometry.channels);
    return channels + (lines_share_cache_sets(channels * kFloat) ? 16 : 0);
  }
  [[nodiscard]] std::int64_t input_part() const { return apart(strip_tiles() * input_tile()); }
  [[nodiscard]] std::int64_t sums_part() const {
    return apart(strip_tiles() * group * blocks->lanes);
  }
  [[nodiscard]] std::int64_t position() const { return input_tile(); }
  /// Positions of x that a strip reads, if its channels are not last.
  [[nodiscard]] std::int64_t copied_elements() const {
    if (reads_last) return 0;
    return strip_images * positions_of(strip_rows, geometry.dilation[0]) *
           positions_of(strip_columns, geometry.dilation[1]) * position();
  }
  [[nodiscard]] std::int64_t result_elements() const {
    return last ? 0 : 4 * strip_tiles() * group * blocks->lanes;
  }
  [[nodiscard]] std::int64_t zero_elements() const { return whole_lines(geometry.channels); }
  [[nodiscard]] std::int64_t bias_elements() const {
    return whole_lines(block_weights(geometry.filters, 1, blocks->lanes));
  }
  [[nodiscard]] std::int64_t tile_bytes() const {
    return whole_lines(strip_tiles() * static_cast<std::int64_t>(sizeof(WinogradTile)) / kFloat) *
           kFloat;
  }
  [[nodiscard]] std::int64_t slot_bytes() const {
    return kFloat * (kWinogradParts * (input_part() + sums_part()) + copied_elements() +
                     result_elements() + zero_elements() + bias_elements()) +
           tile_bytes() + epilogue.scratch_bytes();
  }
};

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

/// Those that the tiles of a strip read.
Positions read_by(const ConvGeometry& g, std::size_t axis, std::int64_t first, std::int64_t count) {
  const std::int64_t begin = 2 * first - g.pad[axis];
  Positions p;
  p.begin = std::clamp<std::int64_t>(begin, 0, g.in[axis]);
  p.end =
      std::clamp<std::int64_t>(begin + positions_of(count, g.dilation[axis]), p.begin, g.in[axis]);
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

/// The sums of a group of filters: part by part, as the transformed patches of a part are read
/// again for each block. The weights of each product are fetched during the one before it.
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
    for_each_filter_block(*plan.blocks, group.vectors * lanes, [&](const FilterBlock& block) {
      const std::int64_t width = block.vectors * lanes;
      for (std::int64_t c = 0; c < channels; c += taps) {
        multiply(packed + (group.first + block.first) * kWinogradParts * channels +
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
  // Of the strip's first result, if the channels are last.
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
  for_each_filter_block(*plan.blocks, filters, [&](const FilterBlock& block) {
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
    multiply_group(plan, s, packed, group, m);
    transform_group(plan, call, s, group, m, results);
    if (!plan.last) finished(group.first, group.filters);
  });
  if (plan.last) finished(first, filters);
}

/// Transforms the weights of a block of filters: part by part, and of each part by channel.
void pack_block(const WinogradSchedule& plan, const float* weights, const FilterBlock& block,
                float* to) {
  const std::int64_t channels = plan.geometry.channels;
  const std::int64_t width = block.vectors * plan.blocks->lanes;
  to += block.first * kWinogradParts * channels;
  if (block.filters < width) std::fill_n(to, kWinogradParts * channels * width, 0.0F);
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t f = 0; f < block.filters; ++f) {
      const tensor::WinogradPatch u =
          tensor::winograd_weights(weights + (block.first + f) * plan.w_filter + 9 * c, 3, 1);
      for (std::int64_t part = 0; part < kWinogradParts; ++part)
        to[(part * channels + c) * width + f] = u[static_cast<std::size_t>(part)];
    }
}

/// Transforms all weights, a block of filters after another.
void pack_weights(const WinogradSchedule& plan, const float* weights, float* to, int threads) {
  parallel_for(threads, threads, [&](std::int64_t thread) {
    std::int64_t number = 0;
    for_each_filter_block(*plan.blocks, plan.geometry.filters, [&](const FilterBlock& block) {
      if (number++ % threads == thread) pack_block(plan, weights, block, to);
    });
  });
}

Status run_winograd(const Call& call) noexcept {
  const WinogradSchedule& plan = *static_cast<const WinogradSchedule*>(call.prepared);
  const ConvEpilogue::Run epilogue(plan.epilogue, call);
  const std::int64_t slots = std::min<std::int64_t>(plan.slots, 2 * call.max_threads);
  const auto* packed = static_cast<const float*>(plan.packed.get());
  if (packed == nullptr) {
    auto* const to = reinterpret_cast<float*>(*call.scratch + plan.slots * plan.slot_bytes());
    pack_weights(plan, call.in(1).data<const float>(), to, plan.slots > 1 ? call.max_threads : 1);
    packed = to;
  }
  const double work =
      static_cast<double>(kWinogradParts * plan.strip_tiles() * plan.geometry.channels) *
      static_cast<double>(plan.filters);
  std::array<std::int64_t, kPlaneTasks> filled;
  filled.fill(-1);
  return share_tasks(
      call, plan.strips() * plan.parts, slots, work, [&](std::int64_t task, std::int64_t slot) {
        run_task(plan, call, epilogue, packed, task, *call.scratch + slot * plan.slot_bytes(),
                 filled[static_cast<std::size_t>(slot)]);
      });
}

/// The number of equal pieces, each of at most so many, rounded up.
std::int64_t evenly(std::int64_t all, std::int64_t most) {
  return WinogradSchedule::count_of(all, WinogradSchedule::count_of(all, most));
}

/// Chooses the tiles of a strip: enough that transformed weights are read from the L3 cache or from
/// memory for many products each, and few enough that patches of few channels stay in the L2 cache.
void choose_strips(WinogradSchedule& plan, bool shares) {
  constexpr std::int64_t kMinTiles = 32, kMaxTiles = 64;
  constexpr std::int64_t kMaxInput = 2 * 1024 * 1024 / kFloat;  ///< elements of all parts
  const ConvGeometry& g = plan.geometry;
  plan.rows = tensor::winograd_tiles(g.out[0], g.dilation[0]);
  plan.columns = tensor::winograd_tiles(g.out[1], g.dilation[1]);
  std::int64_t most = kMaxTiles;
  if (shares)
    most = std::clamp(g.batch * plan.rows * plan.columns / kPlaneTasks, kMinTiles, kMaxTiles);
  most = std::clamp<std::int64_t>(kMaxInput / (kWinogradParts * g.channels), 4, most);
  plan.strip_rows = std::min(g.dilation[0], plan.rows);
  plan.strip_columns = plan.columns;
  if (plan.columns > std::max<std::int64_t>(most / plan.strip_rows, 1)) {
    const std::int64_t columns =
        evenly(plan.columns, std::max<std::int64_t>(most / plan.strip_rows, 1));
    plan.strip_columns = std::min(rounded_up(columns, g.dilation[1]), plan.columns);
  } else if (plan.rows * plan.columns > most) {
    const std::int64_t rows = evenly(plan.rows, most / plan.columns);
    plan.strip_rows = std::min(rounded_up(rows, g.dilation[0]), plan.rows);
  } else {
    plan.strip_rows = plan.rows;
    plan.strip_images = evenly(g.batch, most / (plan.rows * plan.columns));
  }
}

/// Splits the filters where strips are few.
void choose_parts(WinogradSchedule& plan) {
  const std::int64_t filters = plan.geometry.filters;
  const std::int64_t width = plan.blocks->usual * plan.blocks->lanes;
  // Where the channels come last, an epilogue takes the filters of a position at a time.
  constexpr std::int64_t kMinFiltersLast = 128;
  const bool few_at_once = plan.last && plan.epilogue.present();
  const std::int64_t all = std::max<std::int64_t>(filters / width, 1);
  const std::int64_t most =
      few_at_once ? std::max<std::int64_t>(filters / kMinFiltersLast, 1) : all;
  const std::int64_t parts = std::min(most, WinogradSchedule::count_of(kPlaneTasks, plan.strips()));
  plan.filters = WinogradSchedule::count_of(all, parts) * width;
  plan.parts = std::max<std::int64_t>(filters / plan.filters, 1);
  if (plan.parts == 1) plan.filters = filters;
}

void choose_tasks(WinogradSchedule& plan) {
  // Filters whose sums a group has: all of its parts are in the L2 cache. The patches of many
  // channels are not, so they are read for more filters at a time.
  constexpr std::int64_t kFewChannels = 128, kFilters = 24;
  const ConvGeometry& g = plan.geometry;
  const bool shares = 9 * g.channels * g.filters * g.out_positions() * g.batch > kMinThreadWork;
  choose_strips(plan, shares);
  plan.filters = g.filters;
  if (shares) choose_parts(plan);
  plan.slots = shares ? std::min(plan.strips() * plan.parts, kPlaneTasks) : 1;
  const std::int64_t wanted = g.channels < kFewChannels ? kFilters : 2 * kFilters;
  plan.group = std::max(wanted / plan.blocks->lanes, plan.blocks->vectors);
}

}  // namespace

Prepared prepare_conv_winograd(const PrepareCtx& ctx, const ConvGeometry& geometry) {
  auto plan = std::make_shared<WinogradSchedule>();
  const Operand &x = ctx.inputs[0], &w = ctx.inputs[1], &y = ctx.outputs[0];
  plan->fns = &winograd_fns(ctx.isa);
  plan->blocks = &conv_block_fns<float>(ctx.isa);
  plan->transpose = simd_tables(ctx.isa).transpose(sizeof(float));
  plan->geometry = geometry;
  plan->x_image = x.strides[0];
  plan->x_channel = x.strides[1];
  plan->x_row = x.strides[2];
  plan->x_column = x.strides[3];
  plan->reads_last = plan->x_channel == 1;
  plan->w_filter = w.strides[0];
  plan->y_image = y.strides[0];
  plan->y_filter = y.strides[1];
  plan->last = tensor::is_channels_last(y);
  if (plan->last && geometry.filters % plan->blocks->lanes != 0)
    return Prepared::no("channels last that do not fill vectors");
  if (geometry.batch == 0 || geometry.out_positions() == 0)
    return {.state = std::move(plan), .run = tensor::do_nothing};
  if (auto why = plan->epilogue.prepare(ctx, true)) return Prepared::no(*std::move(why));
  choose_tasks(*plan);
  plan->channels.resize(static_cast<std::size_t>(geometry.channels));
  std::iota(plan->channels.begin(), plan->channels.end(), 0);
  std::int64_t bytes = plan->slots * plan->slot_bytes();
  if (ctx.constants[1] == nullptr || ctx.packs == nullptr) {
    bytes += plan->packed_elements() * kFloat;
    return {.state = std::move(plan), .scratch_bytes = bytes, .run = run_winograd};
  }
  const auto* const weights = static_cast<const float*>(ctx.constants[1]);
  const auto make = [&]() -> std::shared_ptr<const void> {
    std::shared_ptr<float> memory = packed_memory<float>(plan->packed_elements());
    pack_weights(*plan, weights, memory.get(), 1);
    // From now on the weights are read only for sums that are not finite.
    release_file_pages(weights, static_cast<std::size_t>(w.elements() * kFloat));
    return memory;
  };
  // -3: not one of the forms of the other ways.
  std::vector<std::int64_t> layout{-3,
                                   plan->blocks->lanes,
                                   plan->blocks->usual,
                                   geometry.filters,
                                   geometry.channels,
                                   plan->w_filter};
  plan->packed =
      ctx.packs->get({ctx.constants[1], static_cast<int>(KernelId::conv), std::move(layout)}, make);
  return {.state = std::move(plan), .scratch_bytes = bytes, .run = run_winograd};
}

}  // namespace scanloom::kernels
