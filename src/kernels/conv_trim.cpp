#include "kernels/conv_trim.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "kernels/conv_epilogue.h"
#include "kernels/pack_cache.h"
#include "tensor/for_each.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::ConvGeometry;
using tensor::LiveTaps;
using tensor::Operand;
using tensor::Status;

// Memory up to the next cache line.
std::int64_t whole_lines_of(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

struct TrimmedConv {
  Prepared inner;
  LiveTaps taps;
  std::int64_t weights = 0;              ///< elements that are left
  std::shared_ptr<const void> constant;  ///< null: copied at the start of a call
  std::array<std::int64_t, tensor::kMaxRank> dims{}, strides{};  ///< of the weights that are left

  [[nodiscard]] Operand trimmed(const Operand& w) const {
    Operand left = w;
    left.offset = 0;
    left.dims = dims.data();
    left.strides = strides.data();
    left.contiguous = true;
    return left;
  }
};

template <class T>
void copy_live_weights(const TrimmedConv& plan, const Operand& w, const T* from, T* to) {
  for (int axis = 2; axis < w.rank; ++axis)
    from += plan.taps.first[static_cast<std::size_t>(axis - 2)] * w.strides[axis];
  tensor::for_each_index(
      std::span(plan.dims).first(static_cast<std::size_t>(w.rank)),
      [&](const tensor::Shape& index) { *to++ = from[tensor::offset_of(index, w.strides)]; });
}

template <class T>
Status run_trimmed(const Call& call) noexcept {
  const TrimmedConv& plan = *static_cast<const TrimmedConv*>(call.prepared);
  std::byte* scratch = *call.scratch;
  auto* weights = static_cast<std::byte*>(const_cast<void*>(plan.constant.get()));
  if (weights == nullptr) {
    weights = scratch;
    scratch += whole_lines_of(plan.weights * std::int64_t{sizeof(T)});
    copy_live_weights(plan, call.in(1), call.in(1).data<const T>(), reinterpret_cast<T*>(weights));
  }
  std::array<Operand, kConvOperands + kMaxEpilogueOperands> inputs;
  std::copy_n(call.inputs, std::min<std::size_t>(call.input_count, inputs.size()), inputs.begin());
  inputs[1] = plan.trimmed(call.in(1));
  inputs[1].slot = &weights;
  Call inner = call;
  inner.inputs = inputs.data();
  inner.prepared = plan.inner.state.get();
  inner.scratch = &scratch;
  return plan.inner.run(inner);
}

template <class T>
std::shared_ptr<const void> trim_constant(const PrepareCtx& ctx, const TrimmedConv& plan) {
  const Operand& w = ctx.inputs[1];
  const auto make = [&]() -> std::shared_ptr<const void> {
    std::shared_ptr<T> memory = packed_memory<T>(plan.weights);
    copy_live_weights(plan, w, static_cast<const T*>(ctx.constants[1]), memory.get());
    return memory;
  };
  std::vector<std::int64_t> layout{-1, std::int64_t{sizeof(T)}};  // -1: no instruction set
  for (int axis = 0; axis < w.rank; ++axis) {
    layout.push_back(plan.dims[static_cast<std::size_t>(axis)]);
    layout.push_back(w.strides[axis]);
    if (axis >= 2) layout.push_back(plan.taps.first[static_cast<std::size_t>(axis - 2)]);
  }
  return ctx.packs->get({ctx.constants[1], static_cast<int>(KernelId::conv), std::move(layout)},
                        make);
}

template <class T>
Prepared prepare_trimmed_typed(const PrepareCtx& ctx, const ConvGeometry& geometry,
                               const LiveTaps& taps, PrepareConvFn prepare) {
  auto plan = std::make_shared<TrimmedConv>();
  plan->taps = taps;
  const Operand& w = ctx.inputs[1];
  std::copy_n(w.dims, 2, plan->dims.begin());
  std::copy_n(taps.count.begin(), geometry.spatial, plan->dims.begin() + 2);
  plan->weights = 1;
  for (auto axis = static_cast<std::size_t>(w.rank); axis-- > 0;) {
    plan->strides[axis] = plan->weights;
    plan->weights *= plan->dims[axis];
  }
  if (ctx.constants[1] != nullptr && ctx.packs != nullptr)
    plan->constant = trim_constant<T>(ctx, *plan);
  std::vector<Operand> inputs(ctx.inputs.begin(), ctx.inputs.end());
  inputs[1] = plan->trimmed(w);
  std::vector<const void*> constants(ctx.constants.begin(), ctx.constants.end());
  constants[1] = plan->constant.get();
  PrepareCtx left = ctx;
  left.inputs = inputs;
  left.constants = constants;
  plan->inner = prepare(left, tensor::trimmed(geometry, taps));
  if (plan->inner.refusal) return plan->inner;
  std::int64_t bytes = plan->inner.scratch_bytes;
  if (plan->constant == nullptr) bytes += whole_lines_of(plan->weights * std::int64_t{sizeof(T)});
  return {.state = std::move(plan), .scratch_bytes = bytes, .run = run_trimmed<T>};
}

}  // namespace

Prepared prepare_trimmed_conv(const PrepareCtx& ctx, const ConvGeometry& geometry,
                              const LiveTaps& taps, PrepareConvFn inner) {
  return ctx.outputs[0].dtype == DType::f32
             ? prepare_trimmed_typed<float>(ctx, geometry, taps, inner)
             : prepare_trimmed_typed<double>(ctx, geometry, taps, inner);
}

}  // namespace scanloom::kernels
