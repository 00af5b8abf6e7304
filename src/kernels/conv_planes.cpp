// Tasks of a convolution over padded planes (padded_planes.h): a band of the first spatial axis of
// the result, for a group or some of its filters. Constant weights of many filters are packed, in
// blocks of filters that meet the planes (conv_blocks.h). Otherwise windows of many filters are
// packed panel by panel (conv_panel.h). Both read x itself if nothing is padded. Blocks also read
// x, and store results, with the channels last (channels_last_planes.h).
#include "kernels/conv_planes.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/denormals.h"
#include "kernels/conv_epilogue.h"
#include "kernels/conv_panel_run.h"
#include "kernels/conv_planes_run.h"
#include "kernels/conv_planes_schedule.h"
#include "kernels/conv_scaling.h"
#include "kernels/padded_planes.h"
#include "kernels/share_tasks.h"
#include "opmath/winograd.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::ConvGeometry;
using tensor::Status;

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

/// What a call scales: the weights, and x where it is read in place.
template <class T>
class ScaledCall {
 public:
  ScaledCall(const PlanesSchedule<T>& plan, const Call& call)
      : scaling_(plan.scaling.get()), input_(call.in(0)) {
    if (scaling_ == nullptr) return;
    turn_ = scaling_->turns.begin();
    if (turn_ != ScalingTurn::plain) begin_ = std::chrono::steady_clock::now();
    if (turn_ != ScalingTurn::scales) return;
    weights = scaling_->find(plan, input_);
    if (weights == nullptr || !plan.in_place) return;
    x = scaling_->copy(input_, *weights);
    if (x == nullptr) weights = nullptr;
  }
  ~ScaledCall() {
    if (x != nullptr) scaling_->give_back(std::move(x), input_);
    if (turn_ == ScalingTurn::plain) return;
    const bool useful = weights != nullptr || met_.load(std::memory_order_relaxed);
    scaling_->turns.end(turn_, useful, std::chrono::steady_clock::now() - begin_);
  }
  ScaledCall(const ScaledCall&) = delete;
  ScaledCall& operator=(const ScaledCall&) = delete;

  /// Runs a task, on any thread.
  template <class F>
  void run(F&& task) {
    const bool watches = turn_ == ScalingTurn::watches;
    if (watches) forget_denormals();
    task();
    if (watches && met_denormals()) met_.store(true, std::memory_order_relaxed);
  }

  std::shared_ptr<const ScaledWeights<T>> weights;
  std::unique_ptr<T[]> x;

 private:
  ConvScaling<T>* scaling_;
  const tensor::Operand& input_;
  ScalingTurn turn_ = ScalingTurn::plain;
  std::chrono::steady_clock::time_point begin_;
  std::atomic<bool> met_ = false;
};

/// `filled` is the band whose planes the memory holds, or -1.
template <class T>
void run_planes_task(const PlanesSchedule<T>& plan, const Call& call, const ScaledCall<T>& scaled,
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
  const auto finish_of_band = [&](const ConvBand<T>& band) {
    return plan.epilogue.template finish<T>(call, task.group * g.filters + task.filter,
                                            band.y - call.out(0).data<T>());
  };
  const T* x = (scaled.x != nullptr ? scaled.x.get() : call.in(0).data<const T>()) +
               task.image * plan.x_image + task.group * g.channels * plan.x_channel;
  if (plan.in_place) {
    s.planes = x + task.first * g.stride[0] * plan.x_axis[0] + plan.first_channel(task.filter);
    if (plan.blocks != nullptr)
      return multiply_block_task(plan, s, task, finish_of_band(s), scaled.weights.get(), panels,
                                 finished_part);
    return multiply_panels(*plan.panels, s, plan.panel_taps, plan.tap_step, panels, finished);
  }
  s.planes = planes + plan.first_channel(task.filter);
  const PlaneFill<T> fill(plan.grid, plan.fns, task.first);
  const std::int64_t band = number / plan.parts;
  if (filled != band) {
    fill_planes(plan, fill, task.first, x, planes);
    if (scaled.weights != nullptr)
      scale_planes(plan, *scaled.weights, task.group * g.channels, planes);
  }
  filled = plan.groups == 1 ? band : -1;
  for (std::int64_t group = 0; group < task.groups; ++group) {
    if (group > 0) refill_planes(plan, x + group * g.channels * plan.x_channel, planes);
    if (plan.blocks != nullptr)
      return multiply_block_task(plan, s, task, finish_of_band(s), scaled.weights.get(), panels,
                                 finished_part);
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
  ScaledCall<T> scaled(plan, call);
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
    scaled.run([&] {
      run_planes_task(plan, call, scaled, epilogue, task, *call.scratch + slot * plan.slot_bytes(),
                      filled[static_cast<std::size_t>(slot)]);
    });
  });
}

/// Fewer take no longer than to look at the clock and for denormals.
constexpr std::int64_t kMinScaledProducts = 1 << 17;

template <class T>
std::int64_t products_of(const PlanesSchedule<T>& plan) {
  const ConvGeometry& g = plan.geometry;
  return g.batch * g.group * g.filters * plan.k * plan.positions;
}

template <class T>
Prepared prepare_planes_typed(const PrepareCtx& ctx, const ConvGeometry& geometry, PlanesUse use) {
  auto plan = std::make_shared<PlanesSchedule<T>>();
  if (auto why = schedule_planes(*plan, ctx, geometry, use)) return Prepared::no(*std::move(why));
  if (plan->blocks != nullptr && !plan->single && products_of(*plan) >= kMinScaledProducts)
    plan->scaling = std::make_shared<ConvScaling<T>>();
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
  bool single = false;
  const auto takes = [&](bool x_last, bool result_last) {
    const Described from(x.shape(), x.dtype, x_last), to(result, x.dtype, result_last);
    if (result_last && !tensor::is_channels_last(to.operand)) return false;
    PlanesSchedule<T> plan;
    const std::array<tensor::Operand, kConvOperands> inputs{from.operand, w, tensor::Operand{}};
    PrepareCtx asked{inputs, std::span(&to.operand, 1), {}, {}};
    asked.isa = isa;
    if (schedule_planes(plan, asked, geometry, PlanesUse::forecast)) return false;
    single = plan.single;
    return true;
  };
  if (takes(true, true))
    return !single && takes(false, true) ? ChannelsLast::either : ChannelsLast::both;
  // Blocks with a row-major result pay unless much of their vectors is idle.
  const ConvBlockFns<T>& fns = conv_block_fns<T>(isa);
  const std::int64_t idle = (fns.lanes - geometry.filters % fns.lanes) % fns.lanes;
  const bool pays = fns.broadcasts && geometry.group == 1 && 3 * idle <= geometry.filters;
  return pays && takes(true, false) ? ChannelsLast::input : ChannelsLast::no;
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
