// Sums are exact modulo 2^32, in any order, with a bias of integers. What follows is rounded
// operation by operation in f32: f32(sum) * scale, + bias, and the rounding to nearest even of
// quantize_linear.
#include "opmath/contraction.h"
#include "opmath/quantized_conv.h"
#include "opmath/quantized_matmul.h"
#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/for_each.h"
#include "tensor/paced_poll.h"

namespace scanloom::ops {
namespace {
namespace integer_matmul {

using enum tensor::integer_matmul::Input;
using tensor::Dim;
using tensor::Operand;
using tensor::Type;
using tensor::qlinear_conv::byte_at;

DType result_dtype(const ir::InferCtx& ctx) {
  if (ctx.has(kYZero)) return ctx.dtype(kYZero);
  return ctx.has(kScale) ? DType::f32 : DType::i32;
}

Expected<void> check_dtypes(const ir::InferCtx& ctx) {
  for (const int i : {kA, kB, kAZero, kBZero, kYZero})
    if (ctx.has(i) && ctx.dtype(i) != DType::u8 && ctx.dtype(i) != DType::i8)
      return invalid_model("input {} has elements of type {}, not u8 or i8", i,
                           dtype_name(ctx.dtype(i)));
  if (ctx.has(kScale) && ctx.dtype(kScale) != DType::f32)
    return invalid_model("input {} has elements of type {}, not f32", int{kScale},
                         dtype_name(ctx.dtype(kScale)));
  const bool has_bias = ctx.has(kBias), adds_integers = has_bias && ctx.dtype(kBias) == DType::i32;
  if (has_bias && !adds_integers && ctx.dtype(kBias) != DType::f32)
    return invalid_model("input {} has elements of type {}, neither i32 nor f32", int{kBias},
                         dtype_name(ctx.dtype(kBias)));
  for (const int i : {kBias, kYZero})
    if (ctx.has(i) && !ctx.has(kScale) && !(i == kBias && adds_integers))
      return invalid_model("input {} needs a scale, input {}", i, int{kScale});
  return {};
}

/// Checks that a parameter of the columns is single or has one element for each.
Expected<void> check_per_column(ir::InferCtx& ctx, int i, const Type& b) {
  if (!ctx.has(i)) return {};
  SCANLOOM_CHECK_OK(check_list(ctx, i, fmt::format("input {}", i)));
  const std::int64_t count = element_count(ctx, i);
  if (count < 0 || count == 1 || !b.dims.back().is_constant()) return {};
  if (count != b.dims.back().value())
    return invalid_model("input {} has {} elements for {} columns of input {}", i, count,
                         b.dims.back().value(), int{kB});
  return {};
}

Expected<void> check_parameters(ir::InferCtx& ctx, const Type& b) {
  for (const int i : {kAZero, kYZero})
    if (ctx.has(i)) SCANLOOM_CHECK_OK(check_elements(ctx, i, 1, fmt::format("input {}", i)));
  for (const int i : {kBZero, kScale, kBias}) SCANLOOM_CHECK_OK(check_per_column(ctx, i, b));
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_dtypes(ctx));
  const Type &a = ctx.in(kA), &b = ctx.in(kB);
  const DType dtype = result_dtype(ctx);
  for (const int i : {kA, kB})
    if (ctx.in(i).ranked && ctx.in(i).rank() < 2)
      return invalid_model("input {} is a tensor of {} axes; a matrix has at least 2", i,
                           ctx.in(i).rank());
  if (!a.ranked || !b.ranked) {
    ctx.set(0, Type::unranked(dtype));
    return {};
  }
  SCANLOOM_CHECK_OK(same_size(
      ctx, a.dims.back(), b.dims[b.dims.size() - 2],
      fmt::format("axis {} of a, which meets axis {} of b,", a.rank() - 1, b.rank() - 2)));
  SCANLOOM_CHECK_OK(check_parameters(ctx, b));
  const auto batch = [&](const Type& type) {
    Type part = Type::scalar(dtype);
    part.dims.assign(type.dims.begin(), type.dims.end() - 2);
    return part;
  };
  SCANLOOM_TRY(const Type outer, ctx.broadcast(batch(a), batch(b), dtype));
  std::vector<Dim> sizes(outer.dims.begin(), outer.dims.end());
  sizes.push_back(a.dims[a.dims.size() - 2]);
  sizes.push_back(b.dims.back());
  return set_sizes(ctx, 0, dtype, std::move(sizes));
}

/// The sum of one element: `a` and `b` are where its row and its column begin.
std::int32_t sum_of(const tensor::Call& call, std::int64_t a, std::int64_t b, int b_zero) {
  const Operand &rows = call.in(kA), &columns = call.in(kB);
  const int a_zero = call.has(kAZero) ? byte_at(call.in(kAZero), 0) : 0;
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < rows.dims[rows.rank - 1]; ++i) {
    const int x = byte_at(rows, a + i * rows.strides[rows.rank - 1]) - a_zero;
    const int y = byte_at(columns, b + i * columns.strides[columns.rank - 2]) - b_zero;
    sum += static_cast<std::uint32_t>(x * y);
  }
  return static_cast<std::int32_t>(sum);
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &a = call.in(kA), &b = call.in(kB), &y = call.out(0);
  const tensor::Shape dims = y.shape();
  const tensor::Shape a_strides = tensor::integer_matmul::strides_of(a, y, a.rank - 2);
  const tensor::Shape b_strides = tensor::integer_matmul::strides_of(b, y, b.rank - 1);
  const auto column = [&](int input, std::int64_t j) {
    return tensor::integer_matmul::of_column(call.in(input), j);
  };
  tensor::PacedPoll poll(call);
  tensor::for_each_index(dims.dims(), [&](const tensor::Shape& index) {
    if (poll.stops(1 + a.dims[a.rank - 1])) return;
    const std::int64_t j = index[y.rank - 1];
    const int b_zero = call.has(kBZero) ? byte_at(call.in(kBZero), column(kBZero, j)) : 0;
    std::int32_t sum = sum_of(call, tensor::offset_of(index, a_strides.data()),
                              tensor::offset_of(index, b_strides.data()), b_zero);
    const bool adds_integers = call.has(kBias) && call.in(kBias).dtype == DType::i32;
    if (adds_integers)
      sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) +
                                      call.in(kBias).data<const std::uint32_t>()[column(kBias, j)]);
    const std::int64_t at = tensor::offset_of(index, y.strides);
    if (!call.has(kScale)) {
      y.data<std::int32_t>()[at] = sum;
      return;
    }
    float real = static_cast<float>(sum) * call.in(kScale).data<const float>()[column(kScale, j)];
    if (call.has(kBias) && !adds_integers)
      real += call.in(kBias).data<const float>()[column(kBias, j)];
    if (y.dtype == DType::f32)
      y.data<float>()[at] = real;
    else if (y.dtype == DType::u8)
      y.data<std::uint8_t>()[at] =
          tensor::qlinear_conv::limited<std::uint8_t>(real, byte_at(call.in(kYZero), 0));
    else
      y.data<std::int8_t>()[at] =
          tensor::qlinear_conv::limited<std::int8_t>(real, byte_at(call.in(kYZero), 0));
  });
  return call.ok_or_stopped();
}

double products(const ir::CostCtx& ctx) {
  const tensor::Shape* const a = ctx.inputs[kA];
  return a == nullptr ? 0 : ctx.results() * ctx.size(kA, a->rank() - 1);
}

Expected<int> steps(const ir::StepSite& s) {
  for (std::size_t i = 1; i < s.node.inputs.size(); ++i)
    if (s.has(i) && s.along(i)) return across("an operand other than the first has them");
  if (!s.type(0).ranked || !s.type(1).ranked || s.type(1).rank() != 2)
    return across("the matrices may be different ones");
  if (s.axis(0) == s.type(0).rank() - 1) return across("it sums over them");
  return s.axis(0);
}

bool can_lift(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies) {
  return only_first_varies(varies) && type_of(module, node, kB).rank() == 2;
}

Expected<ir::Lifted> lift(ir::Builder& builder, const ir::Node&, const LiftedOperands& operands) {
  std::vector<ir::ValueId> inputs = values_of(operands);
  SCANLOOM_TRY(const ir::Lifted front, at_front(builder, operands[0]));
  inputs[0] = front.value;
  SCANLOOM_TRY(const ir::ValueId product, builder.op(integer_matmul_op, std::move(inputs)));
  return ir::Lifted{product, 0};
}

}  // namespace integer_matmul
}  // namespace

constinit const ir::OpDef integer_matmul_op{
    .name = "integer_matmul",
    .doc =
        "The matrix product of bytes less their zero points (absent: 0), in i32, with sums that "
        "wrap. With a scale, the result is sum * scale + bias in f32; with y_zero it is also "
        "quantized: rounded to the nearest even, plus y_zero, limited to its range. A bias of i32 "
        "is part of the sum instead. The zero point of b, the scale and the bias are single or one "
        "per column.",
    .inputs = {{"a", ir::Accept::integer},
               {"b", ir::Accept::integer},
               {"a_zero", ir::Accept::integer, ir::Arity::optional, 0},
               {"b_zero", ir::Accept::integer, ir::Arity::optional, 1},
               {"scale", ir::Accept::real, ir::Arity::optional},
               {"bias", ir::Accept::numeric, ir::Arity::optional},
               {"y_zero", ir::Accept::integer, ir::Arity::optional}},
    .outputs = {"y"},
    .infer = integer_matmul::infer,
    .reference = integer_matmul::reference,
    .batching = ir::Batching::product,
    .products = integer_matmul::products,
    .steps = {.axis = integer_matmul::steps},
    .lifting = {integer_matmul::can_lift, integer_matmul::lift},
};

}  // namespace scanloom::ops
