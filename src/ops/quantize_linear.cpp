#include <cmath>

#include "ops/ops.h"
#include "ops/quantization.h"
#include "tensor/for_each.h"
#include "tensor/scalar_arith.h"

namespace scanloom::ops {
namespace {

using tensor::Operand;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_quantization(ctx));
  tensor::Type y = ctx.in(0);
  y.dtype = ctx.has(kZero) ? ctx.dtype(kZero) : DType::u8;
  ctx.set(0, std::move(y));
  return {};
}

// Sums of whole numbers in f64 are exact, so only the division and the rounding lose anything.
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
  const Operand &x = call.in(0), &scale = call.in(kScale), &y = call.out(0);
  const bool has_zero = call.has(kZero);
  const tensor::Shape scales = parameter_strides(call, scale);
  const tensor::Shape zeros = has_zero ? parameter_strides(call, call.in(kZero)) : scales;
  tensor::for_each_element<4>(
      {y.dims, static_cast<std::size_t>(y.rank)},
      {x.strides, y.strides, scales.data(), zeros.data()}, [&](const auto& at) {
        const float scaled = real_at(x, at[0]) / real_at(scale, at[2]);
        const T zero = has_zero ? call.in(kZero).data<const T>()[at[3]] : T{};
        y.data<T>()[at[1]] = quantize<T>(scaled, zero);
      });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) quantize_all<T>(call);
  });
  return tensor::Status::ok;
}

}  // namespace

constinit const ir::OpDef quantize_linear_op{
    .name = "quantize_linear",
    .doc =
        "x / scale, rounded to the nearest even, plus zero, limited to the range of zero's type "
        "(absent: u8). A scale with one axis belongs to `axis` of x. To 8-bit reals x / scale is "
        "only rounded.",
    .inputs = {{"x", ir::Accept::numeric},
               {"scale", ir::Accept::real},
               {"zero", ir::Accept::numeric, ir::Arity::optional}},
    .outputs = {"y"},
    .attrs = {{"axis", tensor::AttrKind::integer}},
    .infer = infer,
    .reference = reference,
};

}  // namespace scanloom::ops
