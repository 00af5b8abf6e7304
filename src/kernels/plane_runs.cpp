#include "kernels/plane_runs.h"

namespace scanloom::kernels {
namespace {

/// The run of one phase of a plane's row, whose elements of x begin at `line`.
PlaneRun run_of(const PlaneGrid& grid, std::int64_t phase, std::int64_t line) {
  const std::size_t last = grid.last();
  const std::int64_t stride = grid.stride[last], start = phase - grid.pad[last];
  const std::int64_t begin = start >= 0 ? 0 : (-start + stride - 1) / stride;
  const std::int64_t end =
      start >= grid.in[last] ? 0
                             : std::min((grid.in[last] - 1 - start) / stride + 1, grid.size[last]);
  if (begin >= end) return {};
  return {line + (start + begin * stride) * grid.x_axis[last], begin, end - begin};
}

}  // namespace

PlaneRuns plane_runs(const PlaneGrid& grid) {
  const std::size_t last = grid.last();
  PlaneRuns all{.step = grid.stride[last] * grid.x_axis[last], .runs = {}};
  AxisSizes rows = grid.size;
  rows[last] = 1;
  std::int64_t planes = 0;  // begin of those of an outer phase
  for (const AxisSizes& phase : grid.outer_phases) {
    for_each_position(grid.spatial, rows, [&](const AxisSizes& at) {
      std::int64_t line = 0, row = planes;
      for (std::size_t axis = 0; axis < last; ++axis) {
        const std::int64_t from = at[axis] * grid.stride[axis] + phase[axis] - grid.pad[axis];
        if (from < 0 || from >= grid.in[axis]) return;
        line += from * grid.x_axis[axis];
        row += at[axis] * grid.pitch[axis];
      }
      for (std::int64_t p = 0; p < grid.last_phases; ++p) {
        PlaneRun run = run_of(grid, p, line);
        run.to += row + p * grid.plane;
        if (run.count > 0) all.runs.push_back(run);
      }
    });
    planes += grid.last_phases * grid.plane;
  }
  return all;
}

}  // namespace scanloom::kernels
