// Tasks of a convolution over padded planes, and the part that multiplies in blocks of filters.
// Used by conv_planes.cpp and conv_pair.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "kernels/conv_blocks_run.h"
#include "kernels/conv_planes_schedule.h"
#include "tensor/call.h"

namespace scanloom::kernels {

/// A task: a band of one image, for some filters of a group or for several groups.
struct PlanesTask {
  std::int64_t image = 0, group = 0, groups = 0;
  std::int64_t first = 0, size = 0;      ///< along axis 0
  std::int64_t filter = 0, filters = 0;  ///< of the group
};

template <class T>
PlanesTask planes_task(const PlanesSchedule<T>& plan, std::int64_t number) {
  PlanesTask task;
  const std::int64_t part = number % plan.parts;
  task.filter = part * plan.filters;
  task.filters = part + 1 == plan.parts ? plan.geometry.filters - task.filter : plan.filters;
  number /= plan.parts;
  task.first = number % plan.bands * plan.band_size;
  number /= plan.bands;
  task.group = number % plan.group_chunks() * plan.groups;
  task.groups = std::min(plan.groups, plan.geometry.group - task.group);
  task.image = number / plan.group_chunks();
  task.size = std::min(plan.band_size, plan.geometry.out[0] - task.first);
  return task;
}

/// The band of a task's first group; its planes are set later.
template <class T>
ConvBand<T> band_of(const PlanesSchedule<T>& plan, const tensor::Call& call,
                    const PlanesTask& task) {
  const tensor::ConvGeometry& g = plan.geometry;
  const std::int64_t of_all = task.group * g.filters + task.filter;
  ConvBand<T> s;
  s.taps = plan.taps.data();
  s.k = plan.k;
  s.weights = call.in(1).data<const T>() + of_all * plan.w_filter;
  s.w_filter = plan.w_filter;
  s.filters = task.filters;
  s.lines = plan.lines.data();
  s.line_count = g.spatial == 1
                     ? 1
                     : static_cast<std::int64_t>(plan.lines.size()) / plan.band_size * task.size;
  s.width = g.spatial == 1 ? task.size : g.out[static_cast<std::size_t>(g.spatial - 1)];
  s.y = call.out(0).data<T>() + task.image * plan.y_image + of_all * plan.y_filter +
        task.first * (plan.positions / g.out[0]) * plan.y_step;
  s.y_filter = plan.y_filter;
  s.step = plan.step();
  s.y_step = plan.y_step;
  s.fetches = plan.fetches();
  s.single = plan.single;
  s.block_vectors = plan.block_vectors;
  s.window = g.kernel[static_cast<std::size_t>(g.spatial - 1)];
  s.tap_step = plan.window_step();
  if (call.has(2)) {
    s.bias_step = call.in(2).strides[0];
    s.bias = call.in(2).data<const T>() + of_all * s.bias_step;
  }
  s.filters_outside = plan.filters_outside;
  return s;
}

/// Narrows the band of a task to a section; returns how many of its positions come before this, or
/// nullopt if they have none in common.
template <class T>
std::optional<std::int64_t> narrow_to(const PlanesSchedule<T>& plan, const PlanesTask& task,
                                      const PlanesSection& section, ConvBand<T>& s) {
  const tensor::ConvGeometry& g = plan.geometry;
  const std::int64_t first = std::max(task.first, section.first);
  const std::int64_t last = std::min(task.first + task.size, section.first + section.size);
  if (first >= last) return std::nullopt;
  const std::int64_t size = last - first, skipped = first - task.first;
  s.taps = section.taps.data();
  s.k = static_cast<std::int64_t>(section.taps.size());
  if (g.spatial == 1) {
    s.planes += skipped * s.step;
    s.width = size;
    s.window = s.k;  // what is left out are taps of the line
  } else {
    const auto lines = static_cast<std::int64_t>(plan.lines.size()) / plan.band_size;
    s.lines += skipped * lines;
    s.line_count = size * lines;
  }
  const std::int64_t positions = skipped * (plan.positions / g.out[0]);
  s.y += positions * plan.y_step;
  return positions;
}

/// Multiplies the filters of a task's only group, in blocks, section by section. The band has the
/// lines of the task, and `finish` is that of the band. `scaled`: the weights for scaled planes, or
/// null. Calls finished(block, first, count) for parts that are complete.
template <class T, class Finished>
void multiply_block_task(const PlanesSchedule<T>& plan, const ConvBand<T>& band,
                         const PlanesTask& task, const ConvFinish<T>& finish,
                         const ScaledWeights<std::type_identity_t<T>>* scaled, T* memory,
                         Finished&& finished) {
  for (std::size_t number = 0; number < plan.sections.size(); ++number) {
    const PlanesSection& section = plan.sections[number];
    const T* const weights = scaled != nullptr ? scaled->sections[number].get()
                                               : static_cast<const T*>(section.packed.get());
    ConvBand<T> s = band;
    const std::optional<std::int64_t> before = narrow_to(plan, task, section, s);
    if (!before) continue;
    const T* const packed = weights + task.group * section.packed_group + task.filter * s.k;
    const ConvFinish<T> of_section = finish_of(finish, FilterBlock{}, s.y - band.y);
    const auto of_band = [&](const FilterBlock& block, std::int64_t first, std::int64_t count) {
      finished(block, *before + first, count);
    };
    if (plan.y_step == 1)
      multiply_blocks(*plan.blocks, plan.transpose, s, packed, of_section, memory, of_band);
    else
      multiply_blocks_last(*plan.blocks, s, packed, of_section, memory,
                           [&](std::int64_t first, std::int64_t count) {
                             of_band({0, s.filters, 0}, first, count);
                           });
  }
}

}  // namespace scanloom::kernels
