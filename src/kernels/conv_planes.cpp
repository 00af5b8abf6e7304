// Tasks of a convolution over padded planes (padded_planes.h): a band of the first spatial axis of
// the result, for a group or some of its filters.
#include "kernels/conv_planes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/padded_planes.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::ConvGeometry;
using tensor::Operand;
using tensor::Status;

constexpr std::size_t kMaxPhases = 256;
constexpr std::int64_t kPlaneTasks = 8;         ///< that threads share, if there is enough work
constexpr std::int64_t kFewestFilters = 12;     ///< of a task
constexpr std::int64_t kFewestPositions = 256;  ///< of a task over a single spatial axis

template <class T>
struct PlanesSchedule {
  ConvFns<T> fns;
  ConvGeometry geometry;  ///< without axes that could be merged
  PlaneGrid grid;         ///< of a whole band
  std::int64_t x_image = 0, x_channel = 0, w_filter = 0, y_image = 0, y_filter = 0;
  std::int64_t k = 0, positions = 0;
  std::vector<std::int64_t> taps;
  std::vector<ConvLine> lines;  ///< of a whole band

  std::int64_t band_size = 0, bands = 0;  ///< output positions along axis 0
  std::int64_t filters = 0, parts = 1;    ///< filters of a task, and tasks per group and band
  std::int64_t slots = 1;

  [[nodiscard]] std::int64_t slot_elements() const {
    return geometry.channels * grid.phases() * grid.plane + kConvSlack;
  }
  [[nodiscard]] std::int64_t tasks() const {
    return geometry.batch * geometry.group * bands * parts;
  }
};

template <class T>
void run_planes_task(const PlanesSchedule<T>& plan, const Call& call, std::int64_t task,
                     T* planes) {
  const ConvGeometry& g = plan.geometry;
  const std::int64_t part = task % plan.parts, band = task / plan.parts % plan.bands;
  const std::int64_t group = task / plan.parts / plan.bands % g.group,
                     image = task / plan.parts / plan.bands / g.group;
  const std::int64_t first = band * plan.band_size;
  const std::int64_t size = std::min(plan.band_size, g.out[0] - first);
  const T* x =
      call.in(0).data<const T>() + image * plan.x_image + group * g.channels * plan.x_channel;
  const PlaneFill<T> fill(plan.grid, plan.fns, first);
  for (std::int64_t channel = 0; channel < g.channels; ++channel)
    fill.fill(x + channel * plan.x_channel,
              planes + channel * plan.grid.phases() * plan.grid.plane);
  const std::int64_t filter = part * plan.filters;
  const std::int64_t of_all = group * g.filters + filter;
  ConvBand<T> s;
  s.planes = planes;
  s.taps = plan.taps.data();
  s.k = plan.k;
  s.weights = call.in(1).data<const T>() + of_all * plan.w_filter;
  s.w_filter = plan.w_filter;
  s.filters = std::min(plan.filters, g.filters - filter);
  s.lines = plan.lines.data();
  s.line_count =
      g.spatial == 1 ? 1 : static_cast<std::int64_t>(plan.lines.size()) / plan.band_size * size;
  s.width = g.spatial == 1 ? size : g.out[static_cast<std::size_t>(g.spatial - 1)];
  s.y = call.out(0).data<T>() + image * plan.y_image + of_all * plan.y_filter +
        first * (plan.positions / g.out[0]);
  s.y_filter = plan.y_filter;
  if (call.has(2)) {
    s.bias_step = call.in(2).strides[0];
    s.bias = call.in(2).data<const T>() + of_all * s.bias_step;
  }
  s.filters_outside = s.filters * plan.k > plan.slot_elements();
  plan.fns.band(s);
}

template <class T>
Status run_planes(const Call& call) noexcept {
  const PlanesSchedule<T>& plan = *static_cast<const PlanesSchedule<T>*>(call.prepared);
  T* const scratch = reinterpret_cast<T*>(*call.scratch);
  return share_tasks(call, plan.tasks(), plan.slots, [&](std::int64_t task, std::int64_t slot) {
    run_planes_task(plan, call, task, scratch + slot * plan.slot_elements());
  });
}

/// The greatest distance on the grid between a window's position and its taps.
std::int64_t reach_of(const ConvGeometry& g, std::size_t axis) {
  return (g.kernel[axis] - 1) * g.dilation[axis] / g.stride[axis];
}

std::int64_t phase_along(const ConvGeometry& g, std::size_t axis, const AxisSizes& tap) {
  return tap[axis] * g.dilation[axis] % g.stride[axis];
}

/// The phases of all axes except the last.
AxisSizes outer_phase_of(const ConvGeometry& g, const AxisSizes& tap) {
  AxisSizes phase{};
  for (std::size_t axis = 0; axis + 1 < static_cast<std::size_t>(g.spatial); ++axis)
    phase[axis] = phase_along(g, axis, tap);
  return phase;
}

/// Finds the phases that taps meet; false if they are too many.
template <class T>
bool find_phases(PlanesSchedule<T>& plan) {
  const ConvGeometry& g = plan.geometry;
  const std::size_t last = plan.grid.last();
  bool several = false;
  for_each_position(g.spatial, g.kernel, [&](const AxisSizes& tap) {
    several |= phase_along(g, last, tap) != 0;
    const AxisSizes phase = outer_phase_of(g, tap);
    if (plan.grid.outer_phases.size() <= kMaxPhases &&
        std::ranges::find(plan.grid.outer_phases, phase) == plan.grid.outer_phases.end())
      plan.grid.outer_phases.push_back(phase);
  });
  if (several) plan.grid.last_phases = g.stride[last];
  return plan.grid.outer_phases.size() <= kMaxPhases &&
         plan.grid.last_phases <= static_cast<std::int64_t>(kMaxPhases);
}

/// Merges the last axis into the one before where windows do not move along it: one long row is
/// copied and stored faster than many short ones.
void merge_axes(ConvGeometry& g, AxisSizes& x_axis) {
  while (g.spatial > 1) {
    const auto last = static_cast<std::size_t>(g.spatial - 1), before = last - 1;
    const std::int64_t size = g.in[last];
    const bool still =
        g.kernel[last] == 1 && g.stride[last] == 1 && g.pad[last] == 0 && g.out[last] == size;
    const bool adjacent = size == 1 || x_axis[before] == size * x_axis[last];
    if (!still || !adjacent || (size != 1 && g.stride[before] != 1)) return;
    if (size != 1) x_axis[before] = x_axis[last];
    for (auto* list : {&g.in, &g.out, &g.pad, &g.dilation}) (*list)[before] *= size;
    --g.spatial;
  }
}

/// Elements of all planes for one position along axis 0, or nullopt if there are more than `limit`.
template <class T>
std::optional<std::int64_t> elements_per_position(const PlanesSchedule<T>& plan,
                                                  std::int64_t limit) {
  const ConvGeometry& g = plan.geometry;
  std::int64_t elements = g.channels * plan.grid.phases();
  for (std::size_t axis = 1; axis < static_cast<std::size_t>(g.spatial); ++axis) {
    const std::int64_t size = g.out[axis] + reach_of(g, axis);
    if (size > limit / elements) return std::nullopt;
    elements *= size;
  }
  return elements;
}

template <class T>
void choose_tasks(PlanesSchedule<T>& plan, std::int64_t per_position) {
  const ConvGeometry& g = plan.geometry;
  const std::int64_t reach = reach_of(g, 0);
  const std::int64_t fewest =
      g.spatial == 1 ? std::max(kFewestPositions, reach) : std::max<std::int64_t>(2 * reach, 4);
  const std::int64_t cached =
      kPlanesBytes / static_cast<std::int64_t>(sizeof(T)) / per_position - reach;
  plan.band_size = std::min(std::max(cached, fewest), g.out[0]);
  plan.filters = g.filters;
  const std::int64_t work = plan.k * plan.positions * g.filters * g.group * g.batch;
  const bool shares = work > kMinThreadWork;
  const std::int64_t wanted = (kPlaneTasks + g.batch * g.group - 1) / (g.batch * g.group);
  if (shares && wanted > 1) {
    if (g.filters * plan.k > per_position * (g.out[0] + reach)) {
      plan.parts = std::clamp<std::int64_t>(g.filters / kFewestFilters, 1, wanted);
      plan.filters = (g.filters + plan.parts - 1) / plan.parts;
      plan.parts = (g.filters + plan.filters - 1) / plan.filters;
    } else {
      plan.band_size = std::min(plan.band_size, std::max((g.out[0] + wanted - 1) / wanted, fewest));
    }
  }
  plan.bands = (g.out[0] + plan.band_size - 1) / plan.band_size;
  plan.slots = shares ? std::min(plan.tasks(), kPlaneTasks) : 1;
}

/// Lines of a whole band.
template <class T>
std::int64_t count_lines(const PlanesSchedule<T>& plan) {
  const ConvGeometry& g = plan.geometry;
  std::int64_t count = g.spatial == 1 ? 1 : plan.band_size;
  for (std::size_t axis = 1; axis + 1 < static_cast<std::size_t>(g.spatial); ++axis)
    count *= g.out[axis];
  return count;
}

template <class T>
void lay_out_planes(PlanesSchedule<T>& plan) {
  const ConvGeometry& g = plan.geometry;
  const auto axes = static_cast<std::size_t>(g.spatial);
  for (std::size_t axis = 0; axis < axes; ++axis)
    plan.grid.size[axis] = (axis == 0 ? plan.band_size : g.out[axis]) + reach_of(g, axis);
  plan.grid.lay_out();
  const std::size_t last = plan.grid.last();
  for (std::int64_t channel = 0; channel < g.channels; ++channel)
    for_each_position(g.spatial, g.kernel, [&](const AxisSizes& tap) {
      const auto outer = std::ranges::find(plan.grid.outer_phases, outer_phase_of(g, tap));
      std::int64_t at = (channel * plan.grid.phases() +
                         (outer - plan.grid.outer_phases.begin()) * plan.grid.last_phases +
                         phase_along(g, last, tap)) *
                        plan.grid.plane;
      for (std::size_t axis = 0; axis < axes; ++axis)
        at += tap[axis] * g.dilation[axis] / g.stride[axis] * plan.grid.pitch[axis];
      plan.taps.push_back(at);
    });
  AxisSizes at{};
  const std::int64_t count = count_lines(plan);
  for (std::int64_t line = 0; line < count; ++line) {
    std::int64_t rest = line, start = 0;
    for (std::size_t axis = axes - 1; axis-- > 0;) {
      const std::int64_t size = axis == 0 ? plan.band_size : g.out[axis];
      at[axis] = rest % size;
      rest /= size;
      start += at[axis] * plan.grid.pitch[axis];
    }
    plan.lines.push_back({start, line * g.out[last]});
  }
}

template <class T>
Prepared prepare_planes_typed(const PrepareCtx& ctx, const ConvGeometry& geometry) {
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[0];
  auto plan = std::make_shared<PlanesSchedule<T>>();
  plan->fns = conv_fns<T>(ctx.isa);
  plan->geometry = geometry;
  plan->k = geometry.channels * geometry.kernel_positions();
  plan->positions = geometry.out_positions();
  plan->x_image = x.strides[0];
  plan->x_channel = x.strides[1];
  AxisSizes x_axis{};
  std::copy_n(x.strides + 2, geometry.spatial, x_axis.begin());
  plan->w_filter = ctx.inputs[1].strides[0];
  plan->y_image = y.strides[0];
  plan->y_filter = y.strides[1];
  if (plan->k == 0 || plan->positions == 0 || plan->geometry.batch == 0 ||
      plan->geometry.filters == 0)
    return Prepared::no("nothing to sum");
  merge_axes(plan->geometry, x_axis);
  plan->grid = {.spatial = plan->geometry.spatial,
                .in = plan->geometry.in,
                .x_axis = x_axis,
                .stride = plan->geometry.stride,
                .pad = plan->geometry.pad};
  if (!find_phases(*plan)) return Prepared::no("windows that are far apart");
  const std::int64_t unfolded = plan->k * plan->positions;
  const auto per_position = elements_per_position(*plan, unfolded);
  if (!per_position ||
      plan->geometry.out[0] + reach_of(plan->geometry, 0) > 2 * unfolded / *per_position)
    return Prepared::no("planes larger than the unfolded windows");
  choose_tasks(*plan, *per_position);
  if (plan->k > kMaxConvTaps || count_lines(*plan) > kMaxConvLines)
    return Prepared::no("too many taps or lines");
  lay_out_planes(*plan);
  const std::int64_t bytes =
      plan->slots * plan->slot_elements() * static_cast<std::int64_t>(sizeof(T));
  return {.state = std::move(plan), .scratch_bytes = bytes, .run = run_planes<T>};
}

}  // namespace

Prepared prepare_conv_planes(const PrepareCtx& ctx, const ConvGeometry& geometry) {
  return ctx.outputs[0].dtype == DType::f32 ? prepare_planes_typed<float>(ctx, geometry)
                                            : prepare_planes_typed<double>(ctx, geometry);
}

}  // namespace scanloom::kernels
