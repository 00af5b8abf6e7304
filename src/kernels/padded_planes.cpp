#include "kernels/padded_planes.h"

#include <algorithm>

#include "kernels/conv_unfold.h"

namespace scanloom::kernels {

void PlaneGrid::lay_out() {
  plane = 1;
  for (auto axis = static_cast<std::size_t>(spatial); axis-- > 0; plane *= size[axis])
    pitch[axis] = plane;
}

template <class T>
PlaneFill<T>::PlaneFill(const PlaneGrid& grid, const ConvFns<T>& fns, std::int64_t first)
    : grid_(grid), fns_(fns), first_(first) {
  const std::size_t last = grid.last();
  const std::int64_t start = first_of(last) * grid.stride[last] - grid.pad[last];
  const std::int64_t size = grid.size[last] * grid.stride[last];
  row_.step = grid.stride[last];
  row_.before = std::clamp<std::int64_t>(-start, 0, size);
  skipped_ = std::max<std::int64_t>(start, 0);
  row_.count = std::clamp<std::int64_t>(grid.in[last] - skipped_, 0, size - row_.before);
  row_.phase = grid.plane;
  row_.size = grid.size[last];
}

template <class T>
void PlaneFill<T>::fill(const T* x, T* to) const {
  for (const AxisSizes& phase : grid_.outer_phases) {
    fill_phase(x, phase, to);
    to += grid_.last_phases * grid_.plane;
  }
}

template <class T>
void PlaneFill<T>::fill_phase(const T* x, const AxisSizes& phase, T* to) const {
  // Rows that follow each other at the same distance go together.
  const std::size_t last = grid_.last();
  const std::int64_t rows = grid_.plane / grid_.size[last];
  const std::int64_t run = last == 0 ? 1 : grid_.size[last - 1];
  for (std::int64_t row = 0; row < rows; row += run) fill_run(x, phase, row, run, to);
}

// `run` rows along the axis before the last, beginning with number `row`.
template <class T>
void PlaneFill<T>::fill_run(const T* x, const AxisSizes& phase, std::int64_t row, std::int64_t run,
                            T* to) const {
  const std::size_t last = grid_.last();
  std::int64_t rest = row / run, line = 0;
  bool inside = true;
  for (std::size_t axis = last; axis-- > 0 && inside;) {
    if (axis + 1 == last) continue;
    const std::int64_t at = first_of(axis) + rest % grid_.size[axis];
    rest /= grid_.size[axis];
    const std::int64_t from = at * grid_.stride[axis] + phase[axis] - grid_.pad[axis];
    // Positions outside x may be so far away that their offsets would overflow.
    inside = from >= 0 && from < grid_.in[axis];
    if (inside) line += from * grid_.x_axis[axis];
  }
  // The rows [begin, end) of the run lie inside x.
  std::int64_t begin = 0, end = inside ? run : 0, step = 0;
  if (last > 0 && inside) {
    const std::size_t along = last - 1;
    const std::int64_t stride = grid_.stride[along];
    const std::int64_t from = first_of(along) * stride + phase[along] - grid_.pad[along];
    begin = from >= 0 ? 0 : std::min(run, (-from + stride - 1) / stride);
    end = from >= grid_.in[along]
              ? begin
              : std::clamp((grid_.in[along] - 1 - from) / stride + 1, begin, run);
    if (begin < end) line += (from + begin * stride) * grid_.x_axis[along];
    step = stride * grid_.x_axis[along];
  }
  const std::int64_t size = grid_.size[last];
  for (std::int64_t p = 0; p < grid_.last_phases; ++p) {
    T* rows = to + p * grid_.plane + row * size;
    std::fill_n(rows, begin * size, T{0});
    std::fill_n(rows + end * size, (run - end) * size, T{0});
  }
  if (begin < end) fill_rows(x, line, step, end - begin, to + (row + begin) * size);
}

template <class T>
void PlaneFill<T>::fill_rows(const T* x, std::int64_t line, std::int64_t step, std::int64_t rows,
                             T* to) const {
  const std::size_t last = grid_.last();
  if (grid_.x_axis[last] == 1 && grid_.last_phases == grid_.stride[last]) {
    ConvFill<T> all = row_;
    all.x = all.count > 0 ? x + (line + skipped_) : x;
    all.x_row = all.count > 0 ? step : 0;
    all.rows = rows;
    all.to = to;
    return fns_.fill(all);
  }
  const std::int64_t start = first_of(last) * grid_.stride[last] - grid_.pad[last];
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t p = 0; p < grid_.last_phases; ++p)
      unfold_run(x, line + r * step, grid_.x_axis[last], start + p, grid_.stride[last],
                 grid_.in[last], row_.size, to + p * grid_.plane + r * row_.size);
}

template class PlaneFill<float>;
template class PlaneFill<double>;

}  // namespace scanloom::kernels
