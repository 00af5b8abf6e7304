#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/quantize/quantization.h"

namespace scanloom::ops {
namespace {
namespace dequantize_linear {

using tensor::Operand;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_quantization(ctx));
  if (ctx.has(kZero) && ctx.dtype(kZero) != ctx.dtype())
    return invalid_model("zero has elements of type {}, but x of type {}",
                         dtype_name(ctx.dtype(kZero)), dtype_name(ctx.dtype()));
  tensor::Type y = ctx.in(0);
  y.dtype = ctx.dtype(kScale);
  ctx.set(0, std::move(y));
  return {};
}

// The difference of integers is exact.
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
  const auto* x = call.in(0).data<const T>();
  for_each_quantized<T>(call, [&](std::int64_t from, std::int64_t to, float scale, T zero) {
    store_real(call.out(0), to, centered(x[from], zero) * scale);
  });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  tensor::visit_dtype(call.in(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) dequantize_all<T>(call);
  });
  return tensor::Status::ok;
}

}  // namespace dequantize_linear
}  // namespace

constinit const ir::OpDef dequantize_linear_op{
    .name = "dequantize_linear",
    .doc =
        "(x - zero) * scale, in the type of scale. A scale with one axis belongs to `axis` of x.",
    .inputs = kQuantizationInputs,
    .outputs = {"y"},
    .attrs = {{"axis", tensor::AttrKind::integer}},
    .infer = dequantize_linear::infer,
    .reference = dequantize_linear::reference,
    .steps = {.axis = steps_of_quantized},
    .lifting = {can_lift_quantization, lift_along_axis},
};

}  // namespace scanloom::ops
