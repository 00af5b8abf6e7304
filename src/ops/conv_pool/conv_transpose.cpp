// opmath/conv_transpose.h states the order of the sums.
#include "opmath/conv_transpose.h"
#include "ops/conv_pool/conv_sizes.h"
#include "ops/conv_pool/window_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {
namespace conv_transpose {

using tensor::ConvTransposeAttrs;
using tensor::ConvTransposeGeometry;
using tensor::Dim;
using tensor::kMaxParameter;
using tensor::Type;

constexpr int kBias = 2;

/// Returns the span of all taps of all elements of an axis.
Dim reached(ir::InferCtx& ctx, const ConvTransposeAttrs& given, std::size_t i, Dim in, Dim kernel) {
  tensor::DimTable& dims = ctx.dims();
  const Dim steps = dims.mul(dims.sub(in, 1), given.stride[i]);
  const Dim extent = dims.add(dims.mul(dims.sub(kernel, 1), given.dilation[i]), 1);
  return dims.add(dims.add(steps, extent), given.extra[i]);
}

Expected<void> check_operands(ir::InferCtx& ctx, const ConvTransposeAttrs& given) {
  const Type &x = ctx.in(0), &w = ctx.in(1);
  if (x.dims[1].is_constant() && x.dims[1].value() % given.group != 0)
    return invalid_model("{} channels cannot be divided into {} groups", x.dims[1].value(),
                         given.group);
  for (std::size_t axis = 2; axis < x.dims.size(); ++axis)
    if (x.dims[axis].is_constant() && x.dims[axis].value() >= kMaxParameter)
      return invalid_model("x has size {} on axis {}, but must be below {}", x.dims[axis].value(),
                           axis, kMaxParameter);
  for (std::size_t axis = 2; axis < w.dims.size(); ++axis)
    if (w.dims[axis].is_constant() &&
        (w.dims[axis].value() < 1 || w.dims[axis].value() >= kMaxParameter))
      return invalid_model("w has size {} on axis {}, outside [1, {})", w.dims[axis].value(), axis,
                           kMaxParameter);
  SCANLOOM_CHECK_OK(same_size(ctx, x.dims[1], w.dims[0], "axis 1 of x and axis 0 of w"));
  if (!ctx.has(kBias) || !ctx.in(kBias).ranked) return {};
  const Type& bias = ctx.in(kBias);
  if (bias.rank() != 1) return invalid_model("b has {} axes, not 1", bias.rank());
  SCANLOOM_CHECK_OK(
      same_size(ctx, bias.dims[0], ctx.dims().mul(w.dims[1], given.group), "b and the result"));
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type &x = ctx.in(0), &w = ctx.in(1);
  if (x.dtype != DType::f32 && x.dtype != DType::f64)
    return fail(Code::unsupported, "x has elements of type {}, not f32 or f64",
                dtype_name(x.dtype));
  if (!x.ranked || !w.ranked) {
    const int rank = x.ranked ? x.rank() : w.rank();
    ctx.set(0, x.ranked || w.ranked ? ctx.fresh(x.dtype, rank) : Type::unranked(x.dtype));
    return {};
  }
  if (x.rank() != w.rank() || x.rank() < 3 || x.rank() > tensor::kMaxRank)
    return invalid_model("x has {} axes and w has {}; both need the same number, at least three",
                         x.rank(), w.rank());
  SCANLOOM_TRY(const ConvTransposeAttrs given,
               tensor::read_conv_transpose_attrs(ctx.attrs(), x.rank() - 2));
  SCANLOOM_CHECK_OK(check_operands(ctx, given));
  std::vector<Dim> sizes = {x.dims[0], ctx.dims().mul(w.dims[1], given.group)};
  for (std::size_t i = 0; i + 2 < x.dims.size(); ++i) {
    if (given.has_shape)
      sizes.emplace_back(given.shape[i]);
    else if (given.same)
      sizes.push_back(ctx.dims().mul(x.dims[i + 2], given.stride[i]));
    else
      sizes.push_back(ctx.dims().sub(reached(ctx, given, i, x.dims[i + 2], w.dims[i + 2]),
                                     given.begin[i] + given.end[i]));
  }
  return set_sizes(ctx, 0, x.dtype, std::move(sizes));
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const auto attrs = tensor::read_conv_transpose_attrs({call.attrs, conv_transpose_op.attrs.size()},
                                                       call.in(0).rank - 2);
  if (!attrs) return call.fail("the operands do not fit the attributes");
  const ConvTransposeGeometry geometry = tensor::conv_transpose_geometry(
      call.in(0).shape(), call.in(1).shape(), call.out(0).shape(), *attrs);
  if (call.out(0).dtype == DType::f64) return tensor::transpose_convolution<double>(call, geometry);
  return tensor::transpose_convolution<float>(call, geometry);
}

}  // namespace conv_transpose
}  // namespace

constinit const ir::OpDef conv_transpose_op{
    .name = "conv_transpose",
    .doc =
        "The transpose of a convolution: x [batch, channels, ...], w [channels, filters / group, "
        "...]. auto_pad is explicit (by `pads`, which cut off the result), valid, or same_upper "
        "and same_lower, which make size * stride elements; `output_shape` says how many there "
        "are, and `output_padding` adds some at the end.",
    .inputs = {{"x", ir::Accept::real},
               {.name = "w", .accept = ir::Accept::real, .same_as = 0},
               {"b", ir::Accept::real, ir::Arity::optional, 0}},
    .outputs = {"y"},
    .attrs = {{"auto_pad", tensor::AttrKind::text, true},
              {"dilations", tensor::AttrKind::integers, true},
              {"group", tensor::AttrKind::integer, true},
              {"output_padding", tensor::AttrKind::integers, true},
              {"output_shape", tensor::AttrKind::integers, true},
              {"pads", tensor::AttrKind::integers, true},
              {"strides", tensor::AttrKind::integers, true}},
    .infer = conv_transpose::infer,
    .reference = conv_transpose::reference,
    .batching = ir::Batching::call,
    .widens_f16 = ir::always_widens,
    .products = products_of_conv,
    .steps = {.axis = steps_of_windows},
    .lifting = kLiftWindows,
};

}  // namespace scanloom::ops
