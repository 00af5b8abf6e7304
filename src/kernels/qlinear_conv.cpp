// qlinear_conv: sums of products of centred 8-bit numbers, exact in 32 bits; ops/qlinear_conv.cpp
// states what becomes of them. Each window is gathered once, as 16-bit numbers, and meets the
// packed weights of all filters.
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/kernel.h"
#include "tensor/conv_geometry.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::ConvGeometry;
using tensor::Operand;
using tensor::Status;

enum Input : std::size_t {
  kX,
  kXScale,
  kXZero,
  kW,
  kWScale,
  kWZero,
  kYScale,
  kYZero,
  kBias,
};

// Windows below this sum to less than 2^31.
constexpr std::int64_t kMaxWindow = 32'768;

struct Schedule {
  ConvGeometry geometry;
  std::int64_t k = 0, positions = 0;
  std::vector<std::int16_t> weights;  ///< [group * filters][k], less their zero points
};

std::int16_t byte_at(const Operand& operand, const void* data, std::int64_t at) {
  return operand.dtype == DType::u8 ? std::int16_t{static_cast<const std::uint8_t*>(data)[at]}
                                    : std::int16_t{static_cast<const std::int8_t*>(data)[at]};
}

/// Where the parameter of a filter stands: parameters with one element serve all.
std::int64_t of_filter(const Operand& operand, std::int64_t filter) {
  return operand.rank == 1 && operand.dims[0] != 1 ? filter * operand.strides[0] : 0;
}

// The window of one output position; what lies in the padding is zero.
template <class T>
void gather_window(const ConvGeometry& g, const Operand& x, const T* group, std::int64_t position,
                   int zero, std::int16_t* to) {
  std::int64_t start[tensor::kMaxSpatial], tap[tensor::kMaxSpatial] = {};
  for (int axis = g.spatial - 1; axis >= 0; --axis) {
    const auto i = static_cast<std::size_t>(axis);
    start[i] = position % g.out[i] * g.stride[i] - g.pad[i];
    position /= g.out[i];
  }
  const std::int64_t taps = g.kernel_positions();
  for (std::int64_t channel = 0; channel < g.channels; ++channel)
    for (std::int64_t t = 0; t < taps; ++t) {
      std::int64_t at = channel * x.strides[1];
      bool inside = true;
      for (int axis = 0; axis < g.spatial; ++axis) {
        const auto i = static_cast<std::size_t>(axis);
        const std::int64_t place = start[i] + tap[i] * g.dilation[i];
        inside &= place >= 0 && place < g.in[i];
        at += place * x.strides[axis + 2];
      }
      *to++ = inside ? static_cast<std::int16_t>(group[at] - zero) : std::int16_t{0};
      for (int axis = g.spatial - 1; axis >= 0; --axis) {
        const auto i = static_cast<std::size_t>(axis);
        if (++tap[i] < g.kernel[i]) break;
        tap[i] = 0;
      }
    }
}

std::int32_t dot(const std::int16_t* a, const std::int16_t* b, std::int64_t k) {
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < k; ++i) sum += std::int32_t{a[i]} * std::int32_t{b[i]};
  return sum;
}

template <class T>
T limited(float scaled, int zero) {
  const double value = std::nearbyint(static_cast<double>(scaled)) + zero;
  if (value != value) return 0;
  if (value < std::numeric_limits<T>::min()) return std::numeric_limits<T>::min();
  if (value > std::numeric_limits<T>::max()) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

template <class Y>
void filters_of_window(const Schedule& plan, const Call& call, const std::int16_t* window,
                       std::int64_t group, Y* y) {
  const Operand &w_scale = call.in(kWScale), &out = call.out(0);
  const float x_scale = *call.in(kXScale).data<const float>();
  const float y_scale = *call.in(kYScale).data<const float>();
  const int y_zero = byte_at(call.in(kYZero), call.in(kYZero).data<const void*>(), 0);
  const std::int64_t filters = plan.geometry.filters;
  for (std::int64_t f = group * filters; f < (group + 1) * filters; ++f) {
    std::int64_t sum = dot(window, plan.weights.data() + f * plan.k, plan.k);
    if (call.has(kBias))
      sum += call.in(kBias).data<const std::int32_t>()[f * call.in(kBias).strides[0]];
    const float scale = w_scale.data<const float>()[of_filter(w_scale, f)];
    const float scaled = static_cast<float>(sum) * (x_scale * scale / y_scale);
    y[f * out.strides[1]] = limited<Y>(scaled, y_zero);
  }
}

template <class X, class Y>
Status run(const Call& call) noexcept {
  const Schedule& plan = *static_cast<const Schedule*>(call.prepared);
  const ConvGeometry& g = plan.geometry;
  const Operand &x = call.in(kX), &y = call.out(0);
  const int zero = byte_at(call.in(kXZero), call.in(kXZero).data<const void*>(), 0);
  auto* window = reinterpret_cast<std::int16_t*>(*call.scratch);
  for (std::int64_t image = 0; image < g.batch; ++image)
    for (std::int64_t group = 0; group < g.group; ++group) {
      const X* from = x.data<const X>() + image * x.strides[0] + group * g.channels * x.strides[1];
      for (std::int64_t position = 0; position < plan.positions; ++position) {
        gather_window(g, x, from, position, zero, window);
        filters_of_window(plan, call, window, group, y.data<Y>() + image * y.strides[0] + position);
      }
    }
  return Status::ok;
}

const char* why_not(const PrepareCtx& ctx) {
  if (ctx.constants[kW] == nullptr || ctx.constants[kWZero] == nullptr)
    return "weights that are not constant";
  if (!ctx.inputs[kW].contiguous) return "weights that are not contiguous";
  return spatial_is_contiguous(ctx.outputs[0]) ? nullptr : "a result that is not contiguous";
}

void pack_weights(const PrepareCtx& ctx, Schedule& plan) {
  const Operand &w = ctx.inputs[kW], &w_zero = ctx.inputs[kWZero];
  for (std::int64_t f = 0; f < plan.geometry.group * plan.geometry.filters; ++f) {
    const int zero = byte_at(w_zero, ctx.constants[kWZero], of_filter(w_zero, f));
    for (std::int64_t i = 0; i < plan.k; ++i)
      plan.weights.push_back(
          static_cast<std::int16_t>(byte_at(w, ctx.constants[kW], f * plan.k + i) - zero));
  }
}

tensor::KernelFn run_of(DType x, DType y) {
  if (x == DType::u8)
    return y == DType::u8 ? run<std::uint8_t, std::uint8_t> : run<std::uint8_t, std::int8_t>;
  return y == DType::u8 ? run<std::int8_t, std::uint8_t> : run<std::int8_t, std::int8_t>;
}

Prepared prepare(const PrepareCtx& ctx) {
  if (const char* why = why_not(ctx)) return Prepared::no(why);
  const auto geometry =
      tensor::conv_geometry(ctx.inputs[kX].shape(), ctx.inputs[kW].shape(), ctx.attrs);
  if (!geometry) return Prepared::no("the operands do not fit the attributes");
  auto plan = std::make_shared<Schedule>();
  plan->geometry = *geometry;
  plan->k = geometry->channels * geometry->kernel_positions();
  plan->positions = geometry->out_positions();
  if (plan->k >= kMaxWindow) return Prepared::no("sums that may not fit in 32 bits");
  pack_weights(ctx, *plan);
  const std::int64_t scratch = plan->k * static_cast<std::int64_t>(sizeof(std::int16_t));
  return {.state = std::move(plan),
          .scratch_bytes = scratch,
          .run = run_of(ctx.inputs[kX].dtype, ctx.outputs[0].dtype)};
}

}  // namespace

extern constinit const KernelDef qlinear_conv_kernel{
    .name = "qlinear_conv",
    .doc = "Quantized convolutions: exact sums of 16-bit products over gathered windows.",
    .prepare = prepare,
    .run = run<std::uint8_t, std::uint8_t>,
};

}  // namespace scanloom::kernels
