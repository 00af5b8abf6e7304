#include <cmath>

#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/quantize/quantization.h"
#include "tensor/scalar_arith.h"

namespace scanloom::ops {
namespace {
namespace quantize_linear {

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_quantization(ctx));
  tensor::Type y = ctx.in(0);
  y.dtype = ctx.has(kZero) ? ctx.dtype(kZero) : DType::u8;
  ctx.set(0, std::move(y));
  return {};
}

// Sums of integers in f64 are exact, so only the division and the rounding lose precision.
template <class T>
T quantize(float scaled, T zero) {
  if constexpr (tensor::SmallFloatType<T>)
    return T::from(scaled);
  else
    return tensor::arith::convert<T>(std::nearbyint(static_cast<double>(scaled)) +
                                     static_cast<double>(tensor::widen(zero)));
}

template <class T>
void quantize_all(const tensor::Call& call) {
  T* y = call.out(0).data<T>();
  for_each_quantized<T>(call, [&](std::int64_t from, std::int64_t to, float scale, T zero) {
    y[to] = quantize<T>(real_at(call.in(0), from) / scale, zero);
  });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) quantize_all<T>(call);
  });
  return tensor::Status::ok;
}

}  // namespace quantize_linear
}  // namespace

constinit const ir::OpDef quantize_linear_op{
    .name = "quantize_linear",
    .doc =
        "x / scale, rounded to the nearest even, plus zero, limited to the range of zero's type "
        "(absent: u8). A scale with one axis belongs to `axis` of x. To 8-bit floats x / scale is "
        "only rounded.",
    .inputs = kQuantizationInputs,
    .outputs = {"y"},
    .attrs = {{"axis", tensor::AttrKind::integer}},
    .infer = quantize_linear::infer,
    .reference = quantize_linear::reference,
    .steps = {.axis = steps_of_quantized},
    .lifting = {can_lift_quantization, lift_along_axis},
};

}  // namespace scanloom::ops
