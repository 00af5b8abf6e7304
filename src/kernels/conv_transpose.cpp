// conv_transpose: a transposed convolution of f32 or f64 over padded planes (padded_planes.h), in
// the order of sums that opmath/conv_transpose.h states. The results that are `stride` apart form a
// phase: they meet the same kernel positions, and adjacent ones meet adjacent elements of x, so
// that each phase is a convolution without strides. Phases of the last axis are computed next to
// each other and interleaved.
#include "opmath/conv_transpose.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <memory>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/kernel.h"
#include "kernels/padded_planes.h"
#include "kernels/simd.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::ConvTransposeGeometry;
using tensor::Operand;
using tensor::Status;

constexpr std::int64_t kMaxOutPhases = 1024;
constexpr std::int64_t kTransposeTasks = 8;     ///< that threads share, if there is enough work
constexpr std::int64_t kFewestOutFilters = 12;  ///< of a task

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
  ConvTransposeGeometry geometry;
  PlaneGrid grid;
  AxisSizes before{};  ///< positions of the grid before the one that result 0 meets at kernel 0
  std::vector<OutPhase> phases;           ///< those of the last axis vary fastest
  std::int64_t band_size = 0, bands = 0;  ///< results of a phase along axis 0
  std::int64_t filters = 0, parts = 1;    ///< filters of a task, and tasks per group and band
  std::int64_t slots = 1;
  std::int64_t line_size = 0, line_count = 0;  ///< of the largest phase, in a band
  std::int64_t group_weights = 0;              ///< packed elements per group
  std::shared_ptr<const void> packed;          ///< null: packed at the start of a call

  [[nodiscard]] bool interleaves() const { return geometry.stride[grid.last()] > 1; }
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

/// Packs the weights of all groups: per group, phase and filter those that meet one result. Returns
/// whether all are finite.
template <class T>
bool pack_weights(const TransposeSchedule<T>& plan, const T* w, const std::int64_t* strides,
                  T* to) {
  const ConvTransposeGeometry& g = plan.geometry;
  bool finite = true;
  for (std::int64_t group = 0; group < g.group; ++group)
    for (const OutPhase& phase : plan.phases)
      for (std::int64_t filter = 0; filter < g.filters; ++filter)
        for (const AxisSizes& tap : phase.kernel) {
          const T* from = w + group * g.channels * strides[0] + filter * strides[1];
          for (int axis = 0; axis < g.spatial; ++axis)
            from += tap[static_cast<std::size_t>(axis)] * strides[axis + 2];
          for (std::int64_t channel = 0; channel < g.channels; ++channel) {
            *to = from[channel * strides[0]];
            finite &= std::isfinite(*to++);
          }
        }
  return finite;
}

/// One task: the filters of a part, for a band of results.
template <class T>
class TransposeTask {
 public:
  TransposeTask(const TransposeSchedule<T>& plan, const Call& call, std::int64_t number)
      : plan_(plan), call_(call) {
    const ConvTransposeGeometry& g = plan.geometry;
    const std::int64_t part = number % plan.parts;
    number /= plan.parts;
    first_ = number % plan.bands * plan.band_size;
    group_ = number / plan.bands % g.group;
    image_ = number / plan.bands / g.group;
    filter_ = part * plan.filters;
    filters_ = std::min(plan.filters, g.filters - filter_);
  }

  void run(const T* weights, T* scratch) const {
    const ConvTransposeGeometry& g = plan_.geometry;
    const Operand& x = call_.in(0);
    const T* from = x.data<const T>() + image_ * x.strides[0] + group_ * g.channels * x.strides[1];
    const PlaneFill<T> fill(plan_.grid, plan_.fns, first_);
    for (std::int64_t channel = 0; channel < g.channels; ++channel)
      fill.fill(from + channel * x.strides[1], scratch + channel * plan_.grid.plane);
    T* const phases = scratch + plan_.planes_elements();
    const auto together = static_cast<std::size_t>(g.stride[plan_.grid.last()]);
    for (std::size_t first = 0; first < plan_.phases.size(); first += together) {
      for (std::size_t p = 0; p < together; ++p)
        compute(plan_.phases[first + p], weights, scratch,
                phases + static_cast<std::int64_t>(p) * plan_.phase_elements());
      if (plan_.interleaves()) interleave(plan_.phases[first], phases);
    }
  }

 private:
  /// Results of a phase in the band along axis 0.
  [[nodiscard]] std::int64_t size_of(const OutPhase& phase) const {
    return std::clamp<std::int64_t>(phase.count[0] - first_, 0, plan_.band_size);
  }

  [[nodiscard]] std::int64_t line_count(const OutPhase& phase) const {
    if (plan_.geometry.spatial == 1) return size_of(phase) > 0 ? 1 : 0;
    return static_cast<std::int64_t>(phase.lines.size()) / plan_.band_size * size_of(phase);
  }

  /// The result's first element of the band, for the first filter.
  [[nodiscard]] T* result() const {
    const ConvTransposeGeometry& g = plan_.geometry;
    const Operand& y = call_.out(0);
    return y.data<T>() + image_ * y.strides[0] + (group_ * g.filters + filter_) * y.strides[1] +
           first_ * g.stride[0] * y.strides[2];
  }

  void compute(const OutPhase& phase, const T* weights, const T* planes, T* to) const {
    const ConvTransposeGeometry& g = plan_.geometry;
    ConvBand<T> s;
    s.planes = planes;
    s.taps = phase.taps.data();
    s.k = static_cast<std::int64_t>(phase.taps.size());
    s.w_filter = s.k;
    s.weights = weights + group_ * plan_.group_weights + phase.weights + filter_ * s.k;
    s.filters = filters_;
    s.lines = phase.lines.data();
    s.line_count = line_count(phase);
    s.width = g.spatial == 1 ? size_of(phase) : phase.count[plan_.grid.last()];
    s.y = plan_.interleaves() ? to : result();
    s.y_filter = plan_.interleaves() ? plan_.line_count * plan_.line_size : call_.out(0).strides[1];
    if (call_.has(2)) {
      s.bias_step = call_.in(2).strides[0];
      s.bias = call_.in(2).data<const T>() + (group_ * g.filters + filter_) * s.bias_step;
    }
    s.filters_outside = s.filters * s.k > plan_.planes_elements();
    plan_.fns.band(s);
  }

  /// Writes lines of the result from those of the phases of the last axis, of which `phase` is the
  /// first.
  void interleave(const OutPhase& phase, const T* phases) const {
    const ConvTransposeGeometry& g = plan_.geometry;
    const std::size_t last = plan_.grid.last();
    ConvInterleave<T> s;
    s.phase = plan_.phase_elements();
    s.step = g.stride[last];
    s.count = g.out[last];
    if (g.spatial == 1)
      s.count = std::min(plan_.band_size * s.step, g.out[0] - first_ * g.stride[0]);
    const std::int64_t lines = line_count(phase);
    for (std::int64_t filter = 0; filter < filters_; ++filter)
      for (std::int64_t line = 0; line < lines; ++line) {
        s.from = phases + (filter * plan_.line_count + line) * plan_.line_size;
        s.to = result() + filter * call_.out(0).strides[1] + result_offset(phase, line);
        plan_.fns.interleave(s);
      }
  }

  /// Where a line of a phase begins in the result, from the band's begin.
  [[nodiscard]] std::int64_t result_offset(const OutPhase& phase, std::int64_t line) const {
    const ConvTransposeGeometry& g = plan_.geometry;
    std::int64_t offset = 0;
    for (std::size_t axis = plan_.grid.last(); axis-- > 0;) {
      const std::int64_t count = axis == 0 ? plan_.band_size : phase.count[axis];
      offset +=
          (line % count * g.stride[axis] + phase.phase[axis]) * call_.out(0).strides[axis + 2];
      line /= count;
    }
    return offset;
  }

  const TransposeSchedule<T>& plan_;
  const Call& call_;
  std::int64_t image_ = 0, group_ = 0, first_ = 0, filter_ = 0, filters_ = 0;
};

template <class T>
Status run_transpose(const Call& call) noexcept {
  const auto& plan = *static_cast<const TransposeSchedule<T>*>(call.prepared);
  T* scratch = reinterpret_cast<T*>(*call.scratch);
  const T* weights = static_cast<const T*>(plan.packed.get());
  if (weights == nullptr) {
    const Operand& w = call.in(1);
    if (!pack_weights(plan, w.data<const T>(), w.strides, scratch))
      return tensor::transpose_convolution<T>(call, plan.geometry);
    weights = scratch;
    scratch += plan.geometry.group * plan.group_weights;
  }
  const std::int64_t tasks = plan.tasks();
  const std::int64_t slots = call.max_threads > 1 ? plan.slots : 1;
  const auto work_of = [&](std::int64_t slot) {
    for (std::int64_t task = slot; task < tasks && !call.stop_requested(); task += slots)
      TransposeTask<T>(plan, call, task).run(weights, scratch + slot * plan.slot_elements());
  };
  if (slots > 1)
    parallel_for(slots, call.max_threads, work_of);
  else
    work_of(0);
  return call.ok_or_stopped();
}

/// Calls f(index) for all indices below `sizes` in row-major order.
template <class F>
void for_each_position(int axes, const AxisSizes& sizes, F&& f) {
  std::int64_t count = 1;
  for (int axis = 0; axis < axes; ++axis) count *= sizes[static_cast<std::size_t>(axis)];
  for (std::int64_t number = 0; number < count; ++number) {
    AxisSizes index{};
    std::int64_t rest = number;
    for (auto axis = static_cast<std::size_t>(axes); axis-- > 0; rest /= sizes[axis])
      index[axis] = rest % sizes[axis];
    f(index);
  }
}

/// The distance on the grid from a result of a phase to the element of x that it meets at a kernel
/// position, or nullopt if it meets none.
std::optional<std::int64_t> shift_of(const ConvTransposeGeometry& g, std::size_t axis,
                                     std::int64_t phase, std::int64_t tap) {
  const std::int64_t distance = phase + g.pad[axis] - tap * g.dilation[axis];
  if (distance % g.stride[axis] != 0) return std::nullopt;
  return distance / g.stride[axis];
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
    const std::int64_t parts = std::clamp<std::int64_t>(g.filters / kFewestOutFilters, 1, wanted);
    plan.filters = (g.filters + parts - 1) / parts;
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
  return plan.line_count <= kMaxConvLines / phases;
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

template <class T>
std::shared_ptr<const void> pack_constant_weights(const PrepareCtx& ctx,
                                                  const TransposeSchedule<T>& plan) {
  const ConvTransposeGeometry& g = plan.geometry;
  std::vector<std::int64_t> layout{std::int64_t{sizeof(T)}, g.group, g.channels, g.filters};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(g.spatial); ++axis)
    layout.insert(layout.end(), {g.kernel[axis], g.stride[axis], g.dilation[axis], g.pad[axis]});
  const Operand& w = ctx.inputs[1];
  layout.insert(layout.end(), w.strides, w.strides + w.rank);
  return ctx.packs->get(
      {ctx.constants[1], static_cast<int>(KernelId::conv_transpose), std::move(layout)},
      [&]() -> std::shared_ptr<const void> {
        std::shared_ptr<T> memory = packed_memory<T>(g.group * plan.group_weights);
        pack_weights(plan, static_cast<const T*>(ctx.constants[1]), w.strides, memory.get());
        return memory;
      });
}

template <class T>
Prepared prepare_transpose(const PrepareCtx& ctx, const ConvTransposeGeometry& geometry) {
  const Operand& x = ctx.inputs[0];
  auto plan = std::make_shared<TransposeSchedule<T>>();
  if constexpr (std::same_as<T, float>)
    plan->fns = simd_tables(ctx.isa).f32_conv;
  else
    plan->fns = simd_tables(ctx.isa).f64_conv;
  plan->geometry = geometry;
  plan->grid = {.spatial = geometry.spatial, .in = geometry.in, .outer_phases = {AxisSizes{}}};
  std::copy_n(x.strides + 2, geometry.spatial, plan->grid.x_axis.begin());
  std::int64_t phases = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(geometry.spatial); ++axis) {
    plan->grid.stride[axis] = 1;
    if (geometry.stride[axis] > kMaxOutPhases / phases)
      return Prepared::no("elements that are far apart");
    phases *= geometry.stride[axis];
  }
  if (!lay_out(*plan, x.shape().elements()))
    return Prepared::no("planes much larger than the input");
  if (!fit_tables(*plan, phases)) return Prepared::no("too many taps or lines");
  make_phases(*plan, ctx.outputs[0].strides + 2);
  std::int64_t elements = plan->slots * plan->slot_elements();
  if (ctx.constants[1] != nullptr && ctx.packs != nullptr) {
    plan->packed = pack_constant_weights(ctx, *plan);
    const auto* packed = static_cast<const T*>(plan->packed.get());
    if (!std::all_of(packed, packed + geometry.group * plan->group_weights,
                     [](T weight) { return std::isfinite(weight); }))
      return Prepared::no("weights that are not finite");
  } else {
    elements += geometry.group * plan->group_weights;
  }
  return {.state = std::move(plan),
          .scratch_bytes = elements * static_cast<std::int64_t>(sizeof(T)),
          .run = run_transpose<T>};
}

std::optional<Refusal> why_not_transpose(const PrepareCtx& ctx) {
  const DType dtype = ctx.outputs[0].dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return "only f32 and f64";
  for (const Operand& input : ctx.inputs)
    if (input.present() && input.dtype != dtype) return "operands of different element types";
  if (!tensor::spatial_is_contiguous(ctx.outputs[0])) return "a result that is not contiguous";
  if (ctx.inputs[0].shape().elements() == 0 || ctx.inputs[1].shape().elements() == 0 ||
      ctx.outputs[0].shape().elements() == 0)
    return "nothing to sum";
  return std::nullopt;
}

Prepared prepare(const PrepareCtx& ctx) {
  if (auto why = why_not_transpose(ctx)) return Prepared::no(*std::move(why));
  const auto attrs = tensor::read_conv_transpose_attrs(ctx.attrs, ctx.inputs[0].rank - 2);
  if (!attrs) return Prepared::no("the operands do not fit the attributes");
  const ConvTransposeGeometry geometry = tensor::conv_transpose_geometry(
      ctx.inputs[0].shape(), ctx.inputs[1].shape(), ctx.outputs[0].shape(), *attrs);
  return ctx.outputs[0].dtype == DType::f32 ? prepare_transpose<float>(ctx, geometry)
                                            : prepare_transpose<double>(ctx, geometry);
}

}  // namespace

extern constinit const KernelDef conv_transpose_kernel{
    .name = "conv_transpose",
    .doc = "Transposed convolutions of f32 or f64, a phase of the strides at a time.",
    .prepare = prepare,
    .run = run_transpose<float>,
};

}  // namespace scanloom::kernels
