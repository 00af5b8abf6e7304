// How conv_transpose lays out its planes, phases and tasks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/refusal.h"
#include "kernels/padded_planes.h"
#include "kernels/transpose.h"
#include "opmath/conv_transpose_geometry.h"

namespace scanloom::kernels {

/// The results at phase + m * stride along every axis.
struct OutPhase {
  AxisSizes phase{}, count{};      ///< count: of results per axis
  std::vector<AxisSizes> kernel;   ///< the kernel positions that they meet
  std::vector<std::int64_t> taps;  ///< kernel positions, then channels
  std::vector<ConvLine> lines;     ///< of a whole band
  std::int64_t weights = 0;        ///< elements of packed weights before those of this phase
};

template <class T>
struct TransposeSchedule {
  ConvFns<T> fns;
  TransposeFn transpose = nullptr;  ///< interleaves three phases, and five and more
  tensor::ConvTransposeGeometry geometry;
  PlaneGrid grid;
  AxisSizes before{};  ///< positions of the grid before the one that result 0 meets at kernel 0
  std::vector<OutPhase> phases;           ///< those of the last axis vary fastest
  bool in_pairs = false;                  ///< lines are those of ConvFns::pairs
  std::int64_t band_size = 0, bands = 0;  ///< results of a phase along axis 0
  std::int64_t filters = 0, parts = 1;    ///< filters of a task, and tasks per group and band
  std::int64_t slots = 1;
  std::int64_t line_size = 0, line_count = 0;  ///< of the largest phase, in a band
  std::int64_t group_weights = 0;              ///< packed elements per group
  std::shared_ptr<const void> packed;          ///< null: packed at the start of a call

  /// Whether the results of phases are stored to scratch first.
  [[nodiscard]] bool interleaves() const { return geometry.stride[grid.last()] > 1 && !in_pairs; }
  [[nodiscard]] std::int64_t planes_elements() const {
    return geometry.channels * grid.plane + kConvSlack;
  }
  /// Lines of all phases of the last axis, for the filters of a task.
  [[nodiscard]] std::int64_t phase_elements() const { return filters * line_count * line_size; }
  [[nodiscard]] std::int64_t slot_elements() const {
    return planes_elements() +
           (interleaves() ? geometry.stride[grid.last()] * phase_elements() : 0);
  }
  [[nodiscard]] std::int64_t tasks() const {
    return geometry.batch * geometry.group * bands * parts;
  }
};

/// Lays out everything that follows from the geometry, which has been set like the strides of x.
/// Returns why the kernel declines.
template <class T>
std::optional<Refusal> lay_out_transpose(TransposeSchedule<T>& plan, std::int64_t x_elements,
                                         const std::int64_t* y_strides);

}  // namespace scanloom::kernels
