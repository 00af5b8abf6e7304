// Element-wise operations that are a single operator of the IR, those with swapped operands, and
// those that divide.
#include <algorithm>

#include "frontends/openvino/ops/broadcast.h"
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;
using ops::Composer;

namespace {

/// `of_booleans` is the operator for booleans, if it is a different one.
struct SameOp {
  std::string_view type;
  const ir::OpDef* op;
  const ir::OpDef* of_booleans = nullptr;
  bool swapped = false;
};

constexpr SameOp kSameOps[] = {
    {"Abs", &ops::abs_op},
    {"Acos", &ops::acos_op},
    {"Acosh", &ops::acosh_op},
    {"Add", &ops::add_op},
    {"Asin", &ops::asin_op},
    {"Asinh", &ops::asinh_op},
    {"Atan", &ops::atan_op},
    {"Atanh", &ops::atanh_op},
    {"BitwiseAnd", &ops::bit_and_op, &ops::logical_and_op},
    {"BitwiseLeftShift", &ops::shift_left_op},
    {"BitwiseNot", &ops::bit_not_op, &ops::logical_not_op},
    {"BitwiseOr", &ops::bit_or_op, &ops::logical_or_op},
    {"BitwiseRightShift", &ops::shift_right_op},
    {"BitwiseXor", &ops::bit_xor_op, &ops::logical_xor_op},
    {"Ceiling", &ops::ceil_op},
    {"Cos", &ops::cos_op},
    {"Cosh", &ops::cosh_op},
    {"Equal", &ops::equal_op},
    {"Erf", &ops::erf_op},
    {"Exp", &ops::exp_op},
    {"Floor", &ops::floor_op},
    {"Greater", &ops::less_op, nullptr, true},
    {"GreaterEqual", &ops::less_equal_op, nullptr, true},
    {"IsNaN", &ops::is_nan_op},
    {"Less", &ops::less_op},
    {"LessEqual", &ops::less_equal_op},
    {"Log", &ops::log_op},
    {"LogicalAnd", &ops::logical_and_op},
    {"LogicalNot", &ops::logical_not_op},
    {"LogicalOr", &ops::logical_or_op},
    {"LogicalXor", &ops::logical_xor_op},
    {"Maximum", &ops::max_op, &ops::logical_or_op},
    {"Minimum", &ops::min_op, &ops::logical_and_op},
    {"Multiply", &ops::mul_op, &ops::logical_and_op},
    {"Negative", &ops::neg_op},
    {"Power", &ops::pow_op},
    {"Relu", &ops::relu_op},
    {"Sigmoid", &ops::sigmoid_op},
    {"Sign", &ops::sign_op},
    {"Sin", &ops::sin_op},
    {"Sinh", &ops::sinh_op},
    {"SoftPlus", &ops::softplus_op},
    {"Sqrt", &ops::sqrt_op},
    {"Subtract", &ops::sub_op},
    {"Tanh", &ops::tanh_op},
    {"Xor", &ops::logical_xor_op},
};

Expected<const SameOp*> same_op(LayerCtx& ctx) {
  const auto* const same = std::ranges::find(kSameOps, operation(ctx), &SameOp::type);
  if (same == std::end(kSameOps))
    return fail(Code::internal, "'{}' has no equivalent operator", operation(ctx));
  return same;
}

}  // namespace

// Ceiling and Floor do not change integers; floating-point functions of integers are rounded to the
// nearest integer.
Expected<void> convert_unary(LayerCtx& ctx) {
  SCANLOOM_TRY(const SameOp* const same, same_op(ctx));
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  const DType dtype = ctx.type(x).dtype;
  if (dtype == DType::boolean && same->of_booleans != nullptr)
    return ctx.emit(*same->of_booleans, {x});
  if (!is_integer(dtype) || same->op->inputs[0].accept != ir::Accept::real)
    return ctx.emit(*same->op, {x});
  Composer c(ctx.builder());
  if (same->op == &ops::is_nan_op)
    return ctx.emit(c, c.op(ops::is_nan_op, {c.cast(x, DType::f32)}));
  if (same->op == &ops::ceil_op || same->op == &ops::floor_op) {
    ctx.alias_output();
    return {};
  }
  const ValueId y = c.op(*same->op, {c.cast(x, DType::f64)});
  return ctx.emit(c, c.cast(c.op(ops::round_op, {y}), dtype));
}

// Booleans compare as 0 and 1.
Expected<void> convert_binary(LayerCtx& ctx) {
  SCANLOOM_TRY(const SameOp* const same, same_op(ctx));
  SCANLOOM_TRY(Operands x, broadcast_operands(ctx));
  const ir::OpDef* op = same->op;
  if (ctx.type(x.a).dtype == DType::boolean) {
    if (same->of_booleans != nullptr) op = same->of_booleans;
    if (op == &ops::less_op || op == &ops::less_equal_op) {
      SCANLOOM_TRY(x.a, ctx.op(ops::cast_op, {x.a}, {{"to", DType::u8}}));
      SCANLOOM_TRY(x.b, ctx.op(ops::cast_op, {x.b}, {{"to", DType::u8}}));
    }
  }
  if (same->swapped) std::swap(x.a, x.b);
  return ctx.emit(*op, {x.a, x.b});
}

Expected<void> convert_not_equal(LayerCtx& ctx) {
  SCANLOOM_TRY(const Operands x, broadcast_operands(ctx));
  Composer c(ctx.builder());
  return ctx.emit(c, c.op(ops::logical_not_op, {c.equal(x.a, x.b)}));
}

namespace {

/// Whether `a` holds sizes that inference tracks and `b` holds positive constants.
bool parts_sizes(LayerCtx& ctx, ValueId a, ValueId b) {
  const auto sizes = ctx.builder().known(a), parts = ctx.builder().known(b);
  if (sizes == nullptr || !sizes->integers || parts == nullptr || !parts->tensor) return false;
  const auto numbers = tensor::to_integers(*parts->tensor);
  return numbers && std::ranges::all_of(*numbers, [](std::int64_t part) { return part > 0; });
}

}  // namespace

// Integer quotients are rounded down or, if m_pythondiv is false, towards zero. Rounding down
// subtracts one where the two kinds of remainder differ.
Expected<void> convert_divide(LayerCtx& ctx) {
  SCANLOOM_TRY(const Operands x, broadcast_operands(ctx));
  SCANLOOM_TRY(const bool floors, ctx.attributes.boolean("m_pythondiv", true));
  Composer c(ctx.builder());
  const DType dtype = c.dtype(x.a);
  // Inference can track this way of rounding down. It is wrong near the lowest integer, which no
  // size reaches.
  if (floors && parts_sizes(ctx, x.a, x.b))
    return ctx.emit(c, c.div(c.sub(x.a, c.mod(x.a, x.b)), x.b));
  const ValueId quotient = c.div(x.a, x.b);
  if (!floors || dtype_kind(dtype) != DTypeKind::signed_int) return ctx.emit(c, quotient);
  const ValueId truncated = c.op(ops::mod_op, {x.a, x.b}, {{"fmod", 1}});
  const ValueId same = c.equal(truncated, c.mod(x.a, x.b));
  return ctx.emit(c, c.sub(quotient, c.cast(c.op(ops::logical_not_op, {same}), dtype)));
}

// Mod takes the sign of the dividend, FloorMod that of the divisor.
Expected<void> convert_mod(LayerCtx& ctx) {
  SCANLOOM_TRY(const Operands x, broadcast_operands(ctx));
  return ctx.emit(ops::mod_op, {x.a, x.b}, {{"fmod", operation(ctx) == "Mod"}});
}

Expected<void> convert_squared_difference(LayerCtx& ctx) {
  SCANLOOM_TRY(const Operands x, broadcast_operands(ctx));
  Composer c(ctx.builder());
  const ValueId difference = c.sub(x.a, x.b);
  return ctx.emit(c, c.mul(difference, difference));
}

// With pdpd the condition and the last operand are placed on axes of the second one.
Expected<void> convert_select(LayerCtx& ctx) {
  SCANLOOM_TRY(ValueId condition, ctx.in(0));
  if (ctx.type(condition).dtype != DType::boolean)
    return invalid_model("input 0, the condition, is {}, but booleans are needed",
                         describe_type(ctx, condition));
  SCANLOOM_TRY(const Operands x, broadcast_operands(ctx, 1));
  SCANLOOM_TRY(condition, broadcast_onto(ctx, x.a, 0));
  return ctx.emit(ops::where_op, {condition, x.a, x.b});
}

}  // namespace scanloom::openvino
