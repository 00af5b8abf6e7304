// How a convolution by Winograd's minimal filtering lays out its strips, tasks and memory
// (conv_winograd.cpp), and its transformed weights.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/refusal.h"
#include "kernels/channels_last_planes.h"
#include "kernels/conv_blocks_run.h"
#include "kernels/conv_epilogue.h"
#include "kernels/conv_winograd_fns.h"
#include "kernels/kernel.h"
#include "kernels/transpose.h"
#include "opmath/conv_geometry.h"
#include "opmath/winograd.h"

namespace scanloom::kernels {

/// Tasks that threads share, if there is enough work.
inline constexpr std::int64_t kWinogradTasks = 8;

/// Returns the positions along an axis that so many tiles of a strip read, padding included.
constexpr std::int64_t positions_of_tiles(std::int64_t tiles, std::int64_t dilation) {
  const std::int64_t pairs = (tiles + dilation - 1) / dilation;
  return 2 * (pairs + 1) * dilation;
}

struct WinogradSchedule {
  static constexpr std::int64_t kFloatBytes = sizeof(float);

  const WinogradFns* fns = nullptr;
  const ConvBlockFns<float>* blocks = nullptr;
  std::int64_t block_vectors = 0;  ///< of most blocks
  TransposeFn transpose = nullptr;
  tensor::ConvGeometry geometry;
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
    return tensor::kWinogradParts *
           block_weights(geometry.filters, geometry.channels, blocks->lanes);
  }

  /// Elements up to the next cache line.
  static std::int64_t whole_lines(std::int64_t elements) { return (elements + 15) / 16 * 16; }
  /// Elements from one part to the next: the 16 streams that a transform reads or writes should not
  /// share sets of the L1 cache.
  static std::int64_t apart(std::int64_t elements) { return (elements + 1023) / 1024 * 1024 + 80; }

  // Elements of a slot's scratch memory, in this order.
  [[nodiscard]] std::int64_t input_tile() const {
    const std::int64_t channels = whole_lines(geometry.channels);
    return channels + (lines_share_cache_sets(channels * kFloatBytes) ? 16 : 0);
  }
  [[nodiscard]] std::int64_t input_part() const { return apart(strip_tiles() * input_tile()); }
  [[nodiscard]] std::int64_t sums_part() const {
    return apart(strip_tiles() * group * blocks->lanes);
  }
  [[nodiscard]] std::int64_t position() const { return input_tile(); }
  /// Positions of x that a strip reads, if its channels are not last.
  [[nodiscard]] std::int64_t copied_elements() const {
    if (reads_last) return 0;
    return strip_images * positions_of_tiles(strip_rows, geometry.dilation[0]) *
           positions_of_tiles(strip_columns, geometry.dilation[1]) * position();
  }
  [[nodiscard]] std::int64_t result_elements() const {
    return last ? 0 : 4 * strip_tiles() * group * blocks->lanes;
  }
  [[nodiscard]] std::int64_t zero_elements() const { return whole_lines(geometry.channels); }
  [[nodiscard]] std::int64_t bias_elements() const {
    return whole_lines(block_weights(geometry.filters, 1, blocks->lanes));
  }
  [[nodiscard]] std::int64_t tile_bytes() const {
    return whole_lines(strip_tiles() * static_cast<std::int64_t>(sizeof(WinogradTile)) /
                       kFloatBytes) *
           kFloatBytes;
  }
  [[nodiscard]] std::int64_t slot_bytes() const {
    return kFloatBytes *
               (tensor::kWinogradParts * (input_part() + sums_part()) + copied_elements() +
                result_elements() + zero_elements() + bias_elements()) +
           tile_bytes() + epilogue.scratch_bytes();
  }
};

/// Lays out everything that follows from the operands, and transforms constant weights. Returns why
/// the kernel declines. Preconditions: those of prepare_conv_winograd, and a result with elements.
std::optional<Refusal> schedule_winograd(WinogradSchedule& plan, const PrepareCtx& ctx,
                                         const tensor::ConvGeometry& geometry);

/// Transforms the weights, a block of filters after another: of each part by part, of each part by
/// channel. Fills packed_elements().
void pack_winograd(const WinogradSchedule& plan, const float* weights, float* to, int threads);

}  // namespace scanloom::kernels
