#include "kernels/conv_transpose_schedule.h"

#include <algorithm>
#include <utility>

#include "kernels/product.h"

namespace scanloom::kernels {
namespace {

using tensor::ConvTransposeGeometry;

constexpr std::int64_t kMaxOutPhases = 1024;
constexpr std::int64_t kTransposeTasks = 8;  ///< that threads share, if there is enough work
/// Of a task, at least; of all tasks but the last a multiple, which the tallest tiles divide
/// evenly.
constexpr std::int64_t kMinOutFilters = 12;

/// The distance on the grid from a result of a phase to the element of x that it meets at a kernel
/// position, or nullopt if it meets none.
std::optional<std::int64_t> shift_of(const ConvTransposeGeometry& g, std::size_t axis,
                                     std::int64_t phase, std::int64_t tap) {
  const std::int64_t distance = phase + g.pad[axis] - tap * g.dilation[axis];
  if (distance % g.stride[axis] != 0) return std::nullopt;
  return distance / g.stride[axis];
}

/// Whether both phases of the last axis meet the same elements of x, each with weights of its own,
/// as where windows do not overlap: their results are then computed and stored in pairs.
bool phases_are_pairs(const ConvTransposeGeometry& g) {
  constexpr std::int64_t kMaxKernel = 64;
  const auto last = static_cast<std::size_t>(g.spatial - 1);
  if (g.stride[last] != 2 || g.out[last] % 2 != 0 || g.kernel[last] > kMaxKernel) return false;
  std::vector<std::int64_t> shifts[2];
  for (std::int64_t phase = 0; phase < 2; ++phase)
    for (std::int64_t tap = 0; tap < g.kernel[last]; ++tap)
      if (const auto shift = shift_of(g, last, phase, tap)) shifts[phase].push_back(*shift);
  return shifts[0] == shifts[1];
}

struct ShiftRange {
  std::int64_t least = 0, greatest = 0;
};

ShiftRange shifts_of(const ConvTransposeGeometry& g, std::size_t axis) {
  // Floors, from the first phase at the last kernel position to the last phase at the first.
  const std::int64_t low = g.pad[axis] - (g.kernel[axis] - 1) * g.dilation[axis];
  const std::int64_t floor =
      low >= 0 ? low / g.stride[axis] : -((-low + g.stride[axis] - 1) / g.stride[axis]);
  return {floor, (g.stride[axis] - 1 + g.pad[axis]) / g.stride[axis]};
}

/// Results per axis of the largest phase, which is the first.
std::int64_t most_results(const ConvTransposeGeometry& g, std::size_t axis) {
  return (g.out[axis] + g.stride[axis] - 1) / g.stride[axis];
}

template <class T>
void choose_bands(TransposeSchedule<T>& plan) {
  const ConvTransposeGeometry& g = plan.geometry;
  const ShiftRange range = shifts_of(g, 0);
  const std::int64_t reach = range.greatest - range.least, all = most_results(g, 0);
  double plane_row = static_cast<double>(g.channels), out_row = static_cast<double>(g.filters);
  double work = plane_row * out_row * static_cast<double>(g.batch * g.group);
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(g.spatial); ++axis) {
    work *= static_cast<double>(g.kernel[axis] * most_results(g, axis));
    if (axis == 0) continue;
    plane_row *= static_cast<double>(plan.grid.size[axis]);
    out_row *= static_cast<double>(most_results(g, axis));
  }
  if (plan.interleaves()) plane_row += out_row * static_cast<double>(g.stride[plan.grid.last()]);
  const double cached = static_cast<double>(kPlanesBytes) / sizeof(T) / plane_row;
  const std::int64_t fewest =
      g.spatial == 1 ? std::max<std::int64_t>(128, reach) : std::max<std::int64_t>(2 * reach, 2);
  plan.band_size = std::min(all, std::max(fewest, static_cast<std::int64_t>(cached) - reach));
  plan.filters = g.filters;
  const bool shares = work > static_cast<double>(kMinThreadWork);
  const std::int64_t units = g.batch * g.group * ((all + plan.band_size - 1) / plan.band_size);
  const std::int64_t wanted = (kTransposeTasks + units - 1) / units;
  if (shares && wanted > 1) {
    const std::int64_t parts = std::clamp<std::int64_t>(g.filters / kMinOutFilters, 1, wanted);
    const std::int64_t even = (g.filters + parts - 1) / parts;
    plan.filters =
        std::min((even + kMinOutFilters - 1) / kMinOutFilters * kMinOutFilters, g.filters);
    plan.parts = (g.filters + plan.filters - 1) / plan.filters;
  }
  plan.bands = (all + plan.band_size - 1) / plan.band_size;
  plan.slots = shares ? std::min(plan.tasks(), kTransposeTasks) : 1;
}

/// Lines of a phase in a whole band.
template <class T>
std::vector<ConvLine> lines_of(const TransposeSchedule<T>& plan, const OutPhase& phase,
                               const std::int64_t* y_strides) {
  const ConvTransposeGeometry& g = plan.geometry;
  std::vector<ConvLine> lines;
  AxisSizes counts = phase.count;
  counts[0] = plan.band_size;
  const int outer = g.spatial - 1;
  for_each_position(outer, counts, [&](const AxisSizes& index) {
    ConvLine line;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(outer); ++axis) {
      line.start += index[axis] * plan.grid.pitch[axis];
      line.to += (index[axis] * g.stride[axis] + phase.phase[axis]) * y_strides[axis];
    }
    if (plan.interleaves()) line.to = static_cast<std::int64_t>(lines.size()) * plan.line_size;
    if (plan.in_pairs) line.to /= 2;
    lines.push_back(line);
  });
  return lines;
}

template <class T>
void make_phases(TransposeSchedule<T>& plan, const std::int64_t* y_strides) {
  const ConvTransposeGeometry& g = plan.geometry;
  const auto axes = static_cast<std::size_t>(g.spatial);
  for_each_position(g.spatial, g.stride, [&](const AxisSizes& index) {
    OutPhase phase;
    phase.phase = index;
    for (std::size_t axis = 0; axis < axes; ++axis)
      phase.count[axis] =
          std::max<std::int64_t>(g.out[axis] - index[axis] + g.stride[axis] - 1, 0) /
          g.stride[axis];
    for_each_position(g.spatial, g.kernel, [&](const AxisSizes& tap) {
      std::int64_t at = 0;
      for (std::size_t axis = 0; axis < axes; ++axis) {
        const auto shift = shift_of(g, axis, index[axis], tap[axis]);
        if (!shift) return;
        at += (*shift + plan.before[axis]) * plan.grid.pitch[axis];
      }
      phase.kernel.push_back(tap);
      for (std::int64_t channel = 0; channel < g.channels; ++channel)
        phase.taps.push_back(channel * plan.grid.plane + at);
    });
    phase.lines = lines_of(plan, phase, y_strides);
    phase.weights = plan.group_weights;
    plan.group_weights += static_cast<std::int64_t>(phase.taps.size()) * g.filters;
    plan.phases.push_back(std::move(phase));
  });
}

/// Whether the lines and taps of all phases are few enough.
template <class T>
bool fit_tables(const TransposeSchedule<T>& plan, std::int64_t phases) {
  const ConvTransposeGeometry& g = plan.geometry;
  std::int64_t taps = g.channels;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(g.spatial); ++axis) {
    if (g.kernel[axis] > kMaxConvTaps / taps) return false;
    taps *= g.kernel[axis];
  }
  // Every phase looks at every kernel position.
  constexpr std::int64_t kMaxLooks = std::int64_t{1} << 24;
  return taps / g.channels <= kMaxLooks / phases && plan.line_count <= kMaxConvLines / phases;
}

/// Lays out the planes; false if they would be much larger than x.
template <class T>
bool lay_out(TransposeSchedule<T>& plan, std::int64_t x_elements) {
  const ConvTransposeGeometry& g = plan.geometry;
  // Elements that are always worth it.
  constexpr double kFew = 1 << 22;
  double elements = static_cast<double>(g.channels * g.group);
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(g.spatial); ++axis) {
    const ShiftRange range = shifts_of(g, axis);
    plan.before[axis] = plan.grid.pad[axis] = -range.least;
    plan.grid.size[axis] = most_results(g, axis) + range.greatest - range.least;
    elements *= static_cast<double>(plan.grid.size[axis]);
  }
  if (elements > std::max(kFew, 8.0 * static_cast<double>(x_elements))) return false;
  const ShiftRange range = shifts_of(g, 0);
  choose_bands(plan);
  plan.grid.size[0] = plan.band_size + range.greatest - range.least;
  plan.grid.lay_out();
  plan.line_size = g.spatial == 1 ? plan.band_size : most_results(g, plan.grid.last());
  plan.line_count = g.spatial == 1 ? 1 : plan.band_size;
  for (std::size_t axis = 1; axis + 1 < static_cast<std::size_t>(g.spatial); ++axis)
    plan.line_count *= most_results(g, axis);
  return true;
}

}  // namespace

template <class T>
std::optional<Refusal> lay_out_transpose(TransposeSchedule<T>& plan, std::int64_t x_elements,
                                         const std::int64_t* y_strides) {
  const ConvTransposeGeometry& g = plan.geometry;
  std::int64_t phases = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(g.spatial); ++axis) {
    plan.grid.stride[axis] = 1;
    if (g.stride[axis] > kMaxOutPhases / phases) return Refusal("elements that are far apart");
    phases *= g.stride[axis];
  }
  plan.in_pairs = phases_are_pairs(g);
  if (!lay_out(plan, x_elements)) return Refusal("planes much larger than the input");
  if (!fit_tables(plan, phases)) return Refusal("too many taps or lines");
  make_phases(plan, y_strides);
  return std::nullopt;
}

template std::optional<Refusal> lay_out_transpose(TransposeSchedule<float>&, std::int64_t,
                                                  const std::int64_t*);
template std::optional<Refusal> lay_out_transpose(TransposeSchedule<double>&, std::int64_t,
                                                  const std::int64_t*);

}  // namespace scanloom::kernels
