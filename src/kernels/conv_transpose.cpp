// conv_transpose: a transposed convolution of f32 or f64 over padded planes (padded_planes.h), in
// the order of sums that opmath/conv_transpose.h states. The results that are `stride` apart form a
// phase: they meet the same kernel positions, and adjacent ones meet adjacent elements of x, so
// that each phase is a convolution without strides. Phases of the last axis are computed next to
// each other and interleaved.
#include "opmath/conv_transpose.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/conv_transpose_schedule.h"
#include "kernels/kernel.h"
#include "kernels/padded_planes.h"
#include "kernels/share_tasks.h"
#include "kernels/simd.h"

namespace scanloom::kernels {
namespace {
namespace conv_transpose {

using tensor::Call;
using tensor::ConvTransposeGeometry;
using tensor::Operand;
using tensor::Status;

/// Packs the weights of all groups: per group, phase and filter those that meet one result, with
/// pairs per filter and phase. Returns whether all are finite.
template <class T>
bool pack_weights(const TransposeSchedule<T>& plan, const T* w, const std::int64_t* strides,
                  T* to) {
  const ConvTransposeGeometry& g = plan.geometry;
  bool finite = true;
  const auto pack_row = [&](const OutPhase& phase, std::int64_t group, std::int64_t filter) {
    for (const AxisSizes& tap : phase.kernel) {
      const T* from = w + group * g.channels * strides[0] + filter * strides[1];
      for (int axis = 0; axis < g.spatial; ++axis)
        from += tap[static_cast<std::size_t>(axis)] * strides[axis + 2];
      for (std::int64_t channel = 0; channel < g.channels; ++channel) {
        *to = from[channel * strides[0]];
        finite &= std::isfinite(*to++);
      }
    }
  };
  const std::size_t together = plan.in_pairs ? 2 : 1;
  for (std::int64_t group = 0; group < g.group; ++group)
    for (std::size_t first = 0; first < plan.phases.size(); first += together)
      for (std::int64_t filter = 0; filter < g.filters; ++filter)
        for (std::size_t p = 0; p < together; ++p) pack_row(plan.phases[first + p], group, filter);
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
      if (plan_.in_pairs) {
        compute(plan_.phases[first], weights, scratch, result());
        continue;
      }
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

  /// With pairs, `phase` is the first of two.
  void compute(const OutPhase& phase, const T* weights, const T* planes, T* to) const {
    const ConvTransposeGeometry& g = plan_.geometry;
    ConvBand<T> s;
    s.planes = planes;
    s.taps = phase.taps.data();
    s.k = static_cast<std::int64_t>(phase.taps.size());
    s.w_filter = s.k;
    s.weights = weights + group_ * plan_.group_weights + phase.weights +
                filter_ * s.k * (plan_.in_pairs ? 2 : 1);
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
    (plan_.in_pairs ? plan_.fns.pairs : plan_.fns.band)(s);
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
        interleave_line(s);
      }
  }

  /// Phases are the rows of a matrix, of which the line is the transposed one.
  void interleave_line(const ConvInterleave<T>& s) const {
    if (s.step == 2 || s.step == 4) return plan_.fns.interleave(s);
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t whole = s.count / s.step;
    plan_.transpose({.from = reinterpret_cast<const std::byte*>(s.from),
                     .to = reinterpret_cast<std::byte*>(s.to),
                     .rows = s.step,
                     .columns = whole,
                     .from_step = s.phase * kSize,
                     .to_step = s.step * kSize});
    for (std::int64_t p = 0; p < s.count - whole * s.step; ++p)
      s.to[whole * s.step + p] = s.from[p * s.phase + whole];
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
  const double work = static_cast<double>(plan.slot_elements()) +
                      static_cast<double>(plan.group_weights / plan.parts) *
                          static_cast<double>(plan.line_count * plan.line_size);
  return share_tasks(
      call, plan.tasks(), plan.slots, work, [&](std::int64_t task, std::int64_t slot) {
        TransposeTask<T>(plan, call, task).run(weights, scratch + slot * plan.slot_elements());
      });
}

template <class T>
std::shared_ptr<const void> pack_constant_weights(const PrepareCtx& ctx,
                                                  const TransposeSchedule<T>& plan) {
  const ConvTransposeGeometry& g = plan.geometry;
  std::vector<std::int64_t> layout{std::int64_t{sizeof(T)}, g.group, g.channels, g.filters,
                                   plan.in_pairs};
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
  plan->fns = conv_fns<T>(ctx.isa);
  plan->transpose = simd_tables(ctx.isa).transpose(sizeof(T));
  plan->geometry = geometry;
  plan->grid = {.spatial = geometry.spatial, .in = geometry.in, .outer_phases = {AxisSizes{}}};
  std::copy_n(x.strides + 2, geometry.spatial, plan->grid.x_axis.begin());
  if (auto refusal = lay_out_transpose(*plan, x.shape().elements(), ctx.outputs[0].strides + 2))
    return Prepared::no(*std::move(refusal));
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

}  // namespace conv_transpose
}  // namespace

extern constinit const KernelDef conv_transpose_kernel{
    .name = "conv_transpose",
    .doc = "Transposed convolutions of f32 or f64, a phase of the strides at a time.",
    .prepare = conv_transpose::prepare,
    .run = conv_transpose::run_transpose<float>,
};

}  // namespace scanloom::kernels
