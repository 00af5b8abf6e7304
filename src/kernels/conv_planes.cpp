// Tasks of a convolution over padded planes (padded_planes.h): a band of the first spatial axis of
// the result, for a group or some of its filters. Constant weights of many filters are packed, in
// blocks of filters that meet the planes (conv_blocks.h). Otherwise windows of many filters are
// packed panel by panel (conv_panel.h). Both read x itself if nothing is padded. Blocks also read
// x, and store results, with the channels last (channels_last_planes.h).
#include "kernels/conv_planes.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/conv_blocks_run.h"
#include "kernels/conv_epilogue.h"
#include "kernels/conv_panel_run.h"
#include "kernels/conv_planes_schedule.h"
#include "kernels/padded_planes.h"
#include "kernels/share_tasks.h"
#include "opmath/winograd.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::ConvGeometry;
using tensor::Status;

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
ConvBand<T> band_of(const PlanesSchedule<T>& plan, const Call& call, const PlanesTask& task) {
  const ConvGeometry& g = plan.geometry;
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
  s.fetches = plan.in_place && plan.reads_last && !plan.single && g.kernel_positions() == 1;
  s.single = plan.single;
  if (call.has(2)) {
    s.bias_step = call.in(2).strides[0];
    s.bias = call.in(2).data<const T>() + of_all * s.bias_step;
  }
  s.filters_outside = plan.filters_outside;
  return s;
}

/// Fills the planes of a task's first group, for a band that begins at `first`.
template <class T>
void fill_planes(const PlanesSchedule<T>& plan, const PlaneFill<T>& fill, std::int64_t first,
                 const T* x, T* planes) {
  if (plan.reads_last) return plan.last_planes.fill(x, first, planes);
  for (std::int64_t channel = 0; channel < plan.geometry.channels; ++channel)
    fill.fill(x + channel * plan.x_channel,
              planes + channel * plan.grid.phases() * plan.grid.plane);
}

/// Fills the same planes for another group.
template <class T>
void refill_planes(const PlanesSchedule<T>& plan, const T* x, T* planes) {
  for (std::int64_t channel = 0; channel < plan.geometry.channels; ++channel)
    plan.runs.refill(x + channel * plan.x_channel,
                     planes + channel * plan.grid.phases() * plan.grid.plane);
}

/// Narrows the band of a task to a section; returns how many of its positions come before this, or
/// nullopt if they have none in common.
template <class T>
std::optional<std::int64_t> narrow_to(const PlanesSchedule<T>& plan, const PlanesTask& task,
                                      const PlanesSection& section, ConvBand<T>& s) {
  const ConvGeometry& g = plan.geometry;
  const std::int64_t first = std::max(task.first, section.first);
  const std::int64_t last = std::min(task.first + task.size, section.first + section.size);
  if (first >= last) return std::nullopt;
  const std::int64_t size = last - first, skipped = first - task.first;
  s.taps = section.taps.data();
  s.k = static_cast<std::int64_t>(section.taps.size());
  if (g.spatial == 1) {
    s.planes += skipped * s.step;
    s.width = size;
  } else {
    const auto lines = static_cast<std::int64_t>(plan.lines.size()) / plan.band_size;
    s.lines += skipped * lines;
    s.line_count = size * lines;
  }
  const std::int64_t positions = skipped * (plan.positions / g.out[0]);
  s.y += positions * plan.y_step;
  return positions;
}

/// Multiplies the filters of a task's only group, in blocks, section by section.
template <class T, class Finished>
void multiply_block_task(const PlanesSchedule<T>& plan, const Call& call, const ConvBand<T>& band,
                         const PlanesTask& task, T* memory, Finished&& finished) {
  const std::int64_t filter = task.group * plan.geometry.filters + task.filter;
  for (const PlanesSection& section : plan.sections) {
    ConvBand<T> s = band;
    const std::optional<std::int64_t> before = narrow_to(plan, task, section, s);
    if (!before) continue;
    const T* const packed = static_cast<const T*>(section.packed.get()) +
                            task.group * section.packed_group + task.filter * s.k;
    const ConvFinish<T> finish =
        plan.epilogue.template finish<T>(call, filter, s.y - call.out(0).data<T>());
    const auto of_band = [&](const FilterBlock& block, std::int64_t first, std::int64_t count) {
      finished(block, *before + first, count);
    };
    if (plan.y_step == 1)
      multiply_blocks(*plan.blocks, plan.transpose, s, packed, finish, memory, of_band);
    else
      multiply_blocks_last(*plan.blocks, s, packed, finish, memory,
                           [&](std::int64_t first, std::int64_t count) {
                             of_band({0, s.filters, 0}, first, count);
                           });
  }
}

/// `filled` is the band whose planes the memory holds, or -1.
template <class T>
void run_planes_task(const PlanesSchedule<T>& plan, const Call& call,
                     const ConvEpilogue::Run& epilogue, std::int64_t number, std::byte* memory,
                     std::int64_t& filled) {
  const ConvGeometry& g = plan.geometry;
  const PlanesTask task = planes_task(plan, number);
  ConvBand<T> s = band_of(plan, call, task);
  T* const planes = reinterpret_cast<T*>(memory);
  T* const panels = reinterpret_cast<T*>(memory + plan.plane_bytes());
  const std::int64_t per_position = plan.positions / g.out[0];
  const auto finished_part = [&](const FilterBlock& part, std::int64_t first, std::int64_t count) {
    epilogue({.image = task.image,
              .filter = task.group * g.filters + task.filter + part.first,
              .filters = part.filters,
              .first = task.first * per_position + first,
              .count = count},
             memory + plan.plane_bytes() + plan.panel_bytes());
  };
  const auto finished = [&](std::int64_t first, std::int64_t count) {
    finished_part({0, s.filters * task.groups, 0}, first, count);
  };
  const T* x = call.in(0).data<const T>() + task.image * plan.x_image +
               task.group * g.channels * plan.x_channel;
  if (plan.in_place) {
    s.planes = x + task.first * g.stride[0] * plan.x_axis[0] + plan.first_channel(task.filter);
    if (plan.blocks != nullptr)
      return multiply_block_task(plan, call, s, task, panels, finished_part);
    return multiply_panels(*plan.panels, s, plan.panel_taps, plan.tap_step, panels, finished);
  }
  s.planes = planes + plan.first_channel(task.filter);
  const PlaneFill<T> fill(plan.grid, plan.fns, task.first);
  const std::int64_t band = number / plan.parts;
  if (filled != band) fill_planes(plan, fill, task.first, x, planes);
  filled = plan.groups == 1 ? band : -1;
  for (std::int64_t group = 0; group < task.groups; ++group) {
    if (group > 0) refill_planes(plan, x + group * g.channels * plan.x_channel, planes);
    if (plan.blocks != nullptr)
      return multiply_block_task(plan, call, s, task, panels, finished_part);
    if (plan.panels != nullptr)
      return multiply_panels(*plan.panels, s, plan.panel_taps, 0, panels, finished);
    plan.fns.band(s);
    s.weights += g.filters * plan.w_filter;
    s.y += g.filters * plan.y_filter;
    if (s.bias != nullptr) s.bias += g.filters * s.bias_step;
  }
  finished(0, task.size * per_position);
}

template <class T>
Status run_planes(const Call& call) noexcept {
  const PlanesSchedule<T>& plan = *static_cast<const PlanesSchedule<T>*>(call.prepared);
  const ConvEpilogue::Run epilogue(plan.epilogue, call);
  const double work = static_cast<double>(plan.groups) *
                      (static_cast<double>(plan.plane_elements()) +
                       static_cast<double>(plan.k * plan.filters) *
                           static_cast<double>(plan.positions) / static_cast<double>(plan.bands));
  // Parts of the filters that one slot computes share planes; two slots per thread share the work
  // evenly enough.
  const std::int64_t slots = std::min<std::int64_t>(plan.slots, 2 * call.max_threads);
  std::array<std::int64_t, kPlaneTasks> filled;
  filled.fill(-1);
  return share_tasks(call, plan.tasks(), slots, work, [&](std::int64_t task, std::int64_t slot) {
    run_planes_task(plan, call, epilogue, task, *call.scratch + slot * plan.slot_bytes(),
                    filled[static_cast<std::size_t>(slot)]);
  });
}

template <class T>
Prepared prepare_planes_typed(const PrepareCtx& ctx, const ConvGeometry& geometry, PlanesUse use) {
  auto plan = std::make_shared<PlanesSchedule<T>>();
  if (auto why = schedule_planes(*plan, ctx, geometry, use)) return Prepared::no(*std::move(why));
  const std::int64_t bytes = plan->slots * plan->slot_bytes();
  const std::uint32_t packed = plan->sections.empty() ? 0 : 1U << 1;
  return {.state = std::move(plan), .scratch_bytes = bytes, .run = run_planes<T>, .packed = packed};
}

/// x or a result of these sizes, with the channels last or first.
struct Described {
  Described(const tensor::Shape& shape, DType dtype, bool last) : dims(shape) {
    strides = tensor::contiguous_strides(shape);
    if (last) {
      strides[1] = 1;
      std::int64_t step = shape[1];
      for (int axis = shape.rank() - 1; axis >= 2; --axis)
        strides[axis] = step, step *= shape[axis];
    }
    operand.dims = dims.data();
    operand.strides = strides.data();
    operand.rank = dims.rank();
    operand.dtype = dtype;
    operand.contiguous = tensor::is_contiguous(dims.dims(), strides.dims());
  }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;

  tensor::Shape dims, strides;
  tensor::Operand operand;
};

template <class T>
ChannelsLast fits_channels_last(const tensor::Operand& x, const tensor::Operand& w,
                                const ConvGeometry& geometry, Isa isa) {
  tensor::Shape result{geometry.batch, geometry.filters * geometry.group};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(geometry.spatial); ++axis)
    result.push_back(geometry.out[axis]);
  ChannelsLast found = ChannelsLast::no;
  for (const bool x_last : {true, false}) {
    const Described from(x.shape(), x.dtype, x_last), to(result, x.dtype, true);
    if (!tensor::is_channels_last(to.operand)) return found;
    PlanesSchedule<T> plan;
    const std::array<tensor::Operand, kConvOperands> inputs{from.operand, w, tensor::Operand{}};
    PrepareCtx asked{inputs, std::span(&to.operand, 1), {}, {}};
    asked.isa = isa;
    if (schedule_planes(plan, asked, geometry, PlanesUse::forecast)) return found;
    found = x_last ? ChannelsLast::both : ChannelsLast::either;
    if (plan.single) return found;
  }
  return found;
}

}  // namespace

ChannelsLast conv_takes_channels_last(const tensor::Operand& x, const tensor::Operand& w,
                                      std::span<const tensor::Attr> attrs, Isa isa) {
  const auto geometry = tensor::conv_geometry(x.shape(), w.shape(), attrs);
  if (!geometry) return ChannelsLast::no;
  if (tensor::live_taps(*geometry).count != geometry->kernel) return ChannelsLast::no;
  if (x.dtype == DType::f32 && tensor::sums_by_winograd(*geometry)) {
    const ConvBlockFns<float>& fns = conv_block_fns<float>(isa);
    const bool takes = fns.broadcasts && geometry->filters % fns.lanes == 0;
    return takes && geometry->out_positions() > 1 ? ChannelsLast::either : ChannelsLast::no;
  }
  if (x.dtype == DType::f32) return fits_channels_last<float>(x, w, *geometry, isa);
  if (x.dtype == DType::f64) return fits_channels_last<double>(x, w, *geometry, isa);
  return ChannelsLast::no;
}

Prepared prepare_conv_planes(const PrepareCtx& ctx, const ConvGeometry& geometry, PlanesUse use) {
  return ctx.outputs[0].dtype == DType::f32 ? prepare_planes_typed<float>(ctx, geometry, use)
                                            : prepare_planes_typed<double>(ctx, geometry, use);
}

}  // namespace scanloom::kernels
