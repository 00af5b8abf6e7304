// Sums are exact integers; padding equals x's zero point, so it adds nothing. A sum s becomes
// round(f32(s) * (x_scale * w_scale / y_scale)) + y_zero, as in ONNX Runtime. Without scales the
// result is the sum itself.
#include "opmath/quantized_conv.h"
#include "ops/conv_pool/conv_sizes.h"
#include "ops/conv_pool/conv_windows.h"
#include "ops/conv_pool/window_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace qlinear_conv {

using enum tensor::qlinear_conv::Input;
using tensor::ConvGeometry;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;
using tensor::qlinear_conv::byte_at;
using tensor::qlinear_conv::limited;
using tensor::qlinear_conv::of_filter;

Expected<void> check_dtypes(const ir::InferCtx& ctx) {
  for (const int i : {kX, kXZero, kW, kWZero, kYZero})
    if (ctx.has(i) && ctx.dtype(i) != DType::u8 && ctx.dtype(i) != DType::i8)
      return invalid_model("input {} has elements of type {}, not u8 or i8", i,
                           dtype_name(ctx.dtype(i)));
  for (const int i : {kXScale, kWScale, kYScale, kYZero})
    if (ctx.has(i) != ctx.has(kYZero))
      return invalid_model("input {} is {}, but input {} is {}", i, ctx.has(i) ? "given" : "absent",
                           int{kYZero}, ctx.has(kYZero) ? "given" : "absent");
  for (const int i : {kXScale, kWScale, kYScale})
    if (ctx.has(i) && ctx.dtype(i) != DType::f32)
      return invalid_model("input {} has elements of type {}, not f32", i,
                           dtype_name(ctx.dtype(i)));
  if (ctx.has(kBias) && ctx.dtype(kBias) != DType::i32)
    return invalid_model("input {} has elements of type {}, not i32", int{kBias},
                         dtype_name(ctx.dtype(kBias)));
  return {};
}

Expected<void> check_parameters(ir::InferCtx& ctx) {
  for (const int i : {kXScale, kXZero, kYScale, kYZero})
    if (ctx.has(i)) SCANLOOM_CHECK_OK(check_elements(ctx, i, 1, fmt::format("input {}", i)));
  const Type& w = ctx.in(kW);
  for (const int i : {kWScale, kWZero})
    if (ctx.has(i) && element_count(ctx, i) != 1) SCANLOOM_CHECK_OK(check_per_filter(ctx, i, w));
  return check_per_filter(ctx, kBias, w);
}

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_dtypes(ctx));
  const Type &x = ctx.in(kX), &w = ctx.in(kW);
  const DType dtype = ctx.has(kYZero) ? ctx.dtype(kYZero) : DType::i32;
  if (!x.ranked || !w.ranked) {
    const int rank = x.ranked ? x.rank() : w.rank();
    ctx.set(0, x.ranked || w.ranked ? ctx.fresh(dtype, rank) : Type::unranked(dtype));
    return {};
  }
  SCANLOOM_TRY(std::vector<tensor::Dim> sizes, conv_sizes(ctx, x, w));
  SCANLOOM_CHECK_OK(check_parameters(ctx));
  return set_sizes(ctx, 0, dtype, std::move(sizes));
}

/// Makes a result of a sum, which may exceed 32 bits with its bias.
template <class T>
T finished(const tensor::Call& call, std::int64_t filter, std::int64_t sum) {
  if constexpr (std::is_same_v<T, std::int32_t>) {
    return static_cast<std::int32_t>(sum);
  } else {
    const float x_scale = *call.in(kXScale).data<const float>();
    const float y_scale = *call.in(kYScale).data<const float>();
    const Operand& scales = call.in(kWScale);
    const float w_scale = scales.data<const float>()[of_filter(scales, filter)];
    const float scaled = static_cast<float>(sum) * (x_scale * w_scale / y_scale);
    return limited<T>(scaled, byte_at(call.in(kYZero), 0));
  }
}

template <class T>
void convolve(const tensor::Call& call, const ConvGeometry& geometry) {
  const Operand &x = call.in(kX), &w = call.in(kW), &y = call.out(0);
  const int x_zero = byte_at(call.in(kXZero), 0);
  for_each_output(
      geometry, call,
      [&](std::int64_t image, std::int64_t filter, std::int64_t at, const Shape& position) {
        const Operand& w_zeros = call.in(kWZero);
        const int w_zero = byte_at(w_zeros, of_filter(w_zeros, filter));
        std::int64_t sum = 0;
        for_each_tap(geometry, x, w, image, filter, position,
                     [&](std::int64_t w_at, bool inside, std::int64_t x_at) {
                       if (!inside) return;
                       sum += (byte_at(x, x_at) - x_zero) * (byte_at(w, w_at) - w_zero);
                     });
        if (call.has(kBias)) {
          const Operand& bias = call.in(kBias);
          sum += bias.data<const std::int32_t>()[filter * bias.strides[0]];
        }
        y.data<T>()[at] = finished<T>(call, filter, sum);
      });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const auto geometry = tensor::conv_geometry(call.in(kX).shape(), call.in(kW).shape(),
                                              {call.attrs, qlinear_conv_op.attrs.size()});
  if (!geometry) return call.fail("the operands do not fit the attributes");
  if (call.out(0).dtype == DType::i32)
    convolve<std::int32_t>(call, *geometry);
  else if (call.out(0).dtype == DType::u8)
    convolve<std::uint8_t>(call, *geometry);
  else
    convolve<std::int8_t>(call, *geometry);
  return call.ok_or_stopped();
}

double products(const ir::CostCtx& ctx) { return ctx.results() * ctx.elements(3) / ctx.size(3, 0); }

}  // namespace qlinear_conv
}  // namespace

constinit const ir::OpDef qlinear_conv_op{
    .name = "qlinear_conv",
    .doc =
        "conv of quantized x and w with a quantized result: of q - zero times scale each. The "
        "scale and zero point of w are single or one per filter; the bias is in units of x_scale "
        "* w_scale. Without scales and y_zero, the result is the sum in i32. Attributes are those "
        "of conv.",
    .inputs = {{"x", ir::Accept::integer},
               {"x_scale", ir::Accept::real, ir::Arity::optional},
               {"x_zero", ir::Accept::integer, ir::Arity::one, 0},
               {"w", ir::Accept::integer},
               {"w_scale", ir::Accept::real, ir::Arity::optional},
               {"w_zero", ir::Accept::integer, ir::Arity::one, 3},
               {"y_scale", ir::Accept::real, ir::Arity::optional},
               {"y_zero", ir::Accept::integer, ir::Arity::optional},
               {"b", ir::Accept::integer, ir::Arity::optional}},
    .outputs = {"y"},
    .attrs = kConvAttrs,
    .infer = qlinear_conv::infer,
    .reference = qlinear_conv::reference,
    .batching = ir::Batching::convolution,
    .products = qlinear_conv::products,
    .steps = {.axis = steps_of_windows},
    .lifting = kLiftWindows,
};

}  // namespace scanloom::ops
