// How a convolution over padded planes lays out its planes, taps, lines and tasks
// (conv_planes.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/refusal.h"
#include "kernels/channels_last_planes.h"
#include "kernels/conv_blocks_run.h"
#include "kernels/conv_epilogue.h"
#include "kernels/conv_panel_run.h"
#include "kernels/conv_planes.h"
#include "kernels/conv_scaling.h"
#include "kernels/kernel.h"
#include "kernels/padded_planes.h"
#include "kernels/plane_runs.h"
#include "kernels/transpose.h"
#include "opmath/conv_geometry.h"

namespace scanloom::kernels {

/// Tasks that threads share, if there is enough work.
inline constexpr std::int64_t kPlaneTasks = 8;

/// Results along axis 0 that meet elements of x with the same rows of the kernel, whose weights are
/// packed in blocks. The other rows, as under wide dilations, meet nothing but padding there.
struct PlanesSection {
  std::int64_t first = 0, size = 0;
  std::int64_t first_row = 0, rows = 0;  ///< of the kernel
  std::vector<std::int64_t> taps;        ///< offsets in the planes
  std::shared_ptr<const void> packed;    ///< weights of all groups
  std::int64_t packed_group = 0;         ///< elements of a group
};

template <class T>
struct PlanesSchedule {
  ConvFns<T> fns;
  tensor::ConvGeometry geometry;  ///< without axes that could be merged
  bool single = false;            ///< filters with a channel each, here of a single group
  PlaneGrid grid;                 ///< of a whole band
  std::int64_t x_image = 0, x_channel = 0, w_filter = 0, y_image = 0, y_filter = 0;
  std::int64_t k = 0, positions = 0;
  std::vector<std::int64_t> taps;
  std::vector<ConvLine> lines;  ///< of a whole band

  std::int64_t band_size = 0, bands = 0;    ///< output positions along axis 0
  std::int64_t filters = 0, parts = 1;      ///< filters of a task, and tasks per group and band
  std::int64_t groups = 1;                  ///< of a task
  bool filters_outside = false;             ///< see ConvBand
  const ConvPanelFns<T>* panels = nullptr;  ///< null: tiles read the planes
  std::int64_t panel_taps = 0;
  const ConvBlockFns<T>* blocks = nullptr;  ///< null: weights are not packed
  std::int64_t block_vectors = 0;           ///< of most blocks
  TransposeFn transpose = nullptr;          ///< of the sums of blocks
  std::vector<PlanesSection> sections;      ///< of blocks: of the whole result
  std::shared_ptr<ConvScaling<T>> scaling;  ///< null: denormals are not scaled
  bool in_place = false;                    ///< x is read as the planes, by x_axis
  std::int64_t tap_step = 0;                ///< of taps that need not be packed either, or 0
  AxisSizes x_axis{};
  bool reads_last = false;         ///< x has its channels last, and is read so
  std::int64_t y_step = 1;         ///< from a position of the result to the next; 1: channels first
  ChannelsLastPlanes last_planes;  ///< if x is read with its channels last, but not in place
  PlaneRuns runs;                  ///< if a task has several groups
  ConvEpilogue epilogue;
  std::int64_t slots = 1;

  [[nodiscard]] std::int64_t plane_elements() const {
    if (in_place) return 0;
    if (reads_last) return last_planes.elements;
    return geometry.channels * grid.phases() * grid.plane + kConvSlack;
  }
  /// Bytes of a slot's planes, panels and all, each in whole cache lines.
  [[nodiscard]] std::int64_t plane_bytes() const { return whole_lines(plane_elements()); }
  [[nodiscard]] std::int64_t panel_bytes() const {
    if (blocks != nullptr) return whole_lines(block_sums(*blocks));
    return panels == nullptr ? 0 : whole_lines(panel_elements(*panels, panel_taps));
  }
  [[nodiscard]] std::int64_t slot_bytes() const {
    return plane_bytes() + panel_bytes() + epilogue.scratch_bytes();
  }
  static std::int64_t whole_lines(std::int64_t elements) {
    return (elements * static_cast<std::int64_t>(sizeof(T)) + 63) / 64 * 64;
  }
  /// Elements of the planes from a position of a line to the next.
  [[nodiscard]] std::int64_t step() const {
    const auto last = static_cast<std::size_t>(geometry.spatial - 1);
    if (in_place) return geometry.stride[last] * x_axis[last];
    return reads_last ? last_planes.step[last] * last_planes.pitch[last] : 1;
  }
  /// Elements from a tap of a row of the kernel to the next, where x is read with its channels
  /// last.
  [[nodiscard]] std::int64_t window_step() const {
    const auto last = static_cast<std::size_t>(geometry.spatial - 1);
    return geometry.dilation[last] * (in_place ? x_axis[last] : last_planes.pitch[last]);
  }
  /// Whether blocks fetch the positions of the next tile: these are stretches of adjacent taps.
  [[nodiscard]] bool fetches() const {
    return in_place && reads_last && !single && geometry.kernel_positions() == 1;
  }
  /// Elements from the first channel to that of a filter, if this has one of its own.
  [[nodiscard]] std::int64_t first_channel(std::int64_t filter) const {
    return single ? filter : 0;
  }
  [[nodiscard]] std::int64_t tasks() const {
    return geometry.batch * group_chunks() * bands * parts;
  }
  [[nodiscard]] std::int64_t group_chunks() const { return (geometry.group + groups - 1) / groups; }
};

/// Lays out everything that follows from the operands, and packs constant weights if they are to
/// be. Returns why the kernel declines.
template <class T>
std::optional<Refusal> schedule_planes(PlanesSchedule<T>& plan, const PrepareCtx& ctx,
                                       const tensor::ConvGeometry& geometry, PlanesUse use);

}  // namespace scanloom::kernels
