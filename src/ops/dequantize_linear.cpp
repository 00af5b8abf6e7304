#include "ops/ops.h"
#include "ops/quantization.h"
#include "tensor/for_each.h"

namespace scanloom::ops {
namespace {

using tensor::Operand;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_quantization(ctx));
  if (ctx.has(kZero) && ctx.dtype(kZero) != ctx.dtype())
    return invalid_model("zero has elements of type {}, x of type {}", dtype_name(ctx.dtype(kZero)),
                         dtype_name(ctx.dtype()));
  tensor::Type y = ctx.in(0);
  y.dtype = ctx.dtype(kScale);
  ctx.set(0, std::move(y));
  return {};
}

// The difference of integers is taken exactly.
template <class T>
float centered(T x, T zero) {
  if constexpr (tensor::SmallFloatType<T> || std::is_floating_point_v<T>)
    return static_cast<float>(tensor::widen(x)) - static_cast<float>(tensor::widen(zero));
  else
    return static_cast<float>(static_cast<std::int64_t>(tensor::widen(x)) -
                              static_cast<std::int64_t>(tensor::widen(zero)));
}

void store_real(const Operand& y, std::int64_t at, float value) {
  tensor::visit_dtype(y.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_floating_point_v<T> || tensor::SmallFloatType<T>)
      y.data<T>()[at] = tensor::narrow<T>(value);
  });
}

template <class T>
void dequantize_all(const tensor::Call& call) {
  const Operand &x = call.in(0), &scale = call.in(kScale), &y = call.out(0);
  const bool has_zero = call.has(kZero);
  const tensor::Shape scales = parameter_strides(call, scale);
  const tensor::Shape zeros = has_zero ? parameter_strides(call, call.in(kZero)) : scales;
  tensor::for_each_element<4>(
      {y.dims, static_cast<std::size_t>(y.rank)},
      {x.strides, y.strides, scales.data(), zeros.data()}, [&](const auto& at) {
        const T zero = has_zero ? call.in(kZero).data<const T>()[at[3]] : T{};
        store_real(y, at[1], centered(x.data<const T>()[at[0]], zero) * real_at(scale, at[2]));
      });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  tensor::visit_dtype(call.in(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) dequantize_all<T>(call);
  });
  return tensor::Status::ok;
}

}  // namespace

constinit const ir::OpDef dequantize_linear_op{
    .name = "dequantize_linear",
    .doc =
        "(x - zero) * scale, in the type of scale. A scale with one axis belongs to `axis` of x.",
    .inputs = {{"x", ir::Accept::numeric},
               {"scale", ir::Accept::real},
               {"zero", ir::Accept::numeric, ir::Arity::optional}},
    .outputs = {"y"},
    .attrs = {{"axis", tensor::AttrKind::integer}},
    .infer = infer,
    .reference = reference,
};

}  // namespace scanloom::ops
