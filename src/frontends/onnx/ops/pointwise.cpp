// Operators with an identical operator in the IR, with the same operands and no attributes.
#include <algorithm>

#include "frontends/onnx/old_broadcast.h"
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {
namespace {

struct SameOp {
  std::string_view op_type;
  const ir::OpDef* op;
};

constexpr SameOp kSameOps[] = {
    {"Abs", &ops::abs_op},
    {"Acos", &ops::acos_op},
    {"Acosh", &ops::acosh_op},
    {"Add", &ops::add_op},
    {"And", &ops::logical_and_op},
    {"Asin", &ops::asin_op},
    {"Asinh", &ops::asinh_op},
    {"Atan", &ops::atan_op},
    {"Atanh", &ops::atanh_op},
    {"BitwiseAnd", &ops::bit_and_op},
    {"BitwiseNot", &ops::bit_not_op},
    {"BitwiseOr", &ops::bit_or_op},
    {"BitwiseXor", &ops::bit_xor_op},
    {"Ceil", &ops::ceil_op},
    {"Cos", &ops::cos_op},
    {"Cosh", &ops::cosh_op},
    {"Div", &ops::div_op},
    {"Equal", &ops::equal_op},
    {"Erf", &ops::erf_op},
    {"Exp", &ops::exp_op},
    {"Floor", &ops::floor_op},
    {"IsNaN", &ops::is_nan_op},
    {"Less", &ops::less_op},
    {"LessOrEqual", &ops::less_equal_op},
    {"Log", &ops::log_op},
    {"Mul", &ops::mul_op},
    {"Neg", &ops::neg_op},
    {"Not", &ops::logical_not_op},
    {"Or", &ops::logical_or_op},
    {"Pow", &ops::pow_op},
    {"Relu", &ops::relu_op},
    {"Round", &ops::round_op},
    {"Sigmoid", &ops::sigmoid_op},
    {"Sign", &ops::sign_op},
    {"Sin", &ops::sin_op},
    {"Sinh", &ops::sinh_op},
    {"Softplus", &ops::softplus_op},
    {"Sqrt", &ops::sqrt_op},
    {"Sub", &ops::sub_op},
    {"Tanh", &ops::tanh_op},
    {"Xor", &ops::logical_xor_op},
};

}  // namespace

Expected<void> convert_pointwise(NodeCtx& ctx) {
  const auto* const same = std::ranges::find(kSameOps, ctx.op_type(), &SameOp::op_type);
  if (same == std::end(kSameOps))
    return fail(Code::internal, "'{}' has no equivalent operator", ctx.op_type());
  std::vector<ir::ValueId> operands;
  for (int i = 0; i < ctx.input_count(); ++i) {
    SCANLOOM_TRY(const ir::ValueId operand, ctx.in(i));
    operands.push_back(operand);
  }
  if (operands.size() == 2 && ctx.version() < 7) {
    SCANLOOM_TRY(operands[1], old_broadcast(ctx, operands[0], operands[1]));
  }
  return ctx.emit(*same->op, std::move(operands));
}

Expected<void> convert_greater(NodeCtx& ctx) {
  SCANLOOM_TRY(const ir::ValueId a, ctx.in(0));
  SCANLOOM_TRY(ir::ValueId b, ctx.in(1));
  if (ctx.version() < 7) {
    SCANLOOM_TRY(b, old_broadcast(ctx, a, b));
  }
  const bool or_equal = ctx.op_type() == "GreaterOrEqual";
  return ctx.emit(or_equal ? ops::less_equal_op : ops::less_op, {b, a});
}

Expected<void> convert_where(NodeCtx& ctx) {
  SCANLOOM_TRY(const ir::ValueId condition, ctx.in(0));
  SCANLOOM_TRY(const ir::ValueId a, ctx.in(1));
  SCANLOOM_TRY(const ir::ValueId b, ctx.in(2));
  return ctx.emit(ops::where_op, {condition, a, b});
}

Expected<void> convert_bit_shift(NodeCtx& ctx) {
  SCANLOOM_TRY(const ir::ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ir::ValueId y, ctx.in(1));
  SCANLOOM_TRY(const std::string direction, ctx.text("direction", ""));
  if (direction == "LEFT") return ctx.emit(ops::shift_left_op, {x, y});
  if (direction == "RIGHT") return ctx.emit(ops::shift_right_op, {x, y});
  return invalid_model("attribute 'direction' is '{}', neither LEFT nor RIGHT", direction);
}

Expected<void> convert_mod(NodeCtx& ctx) {
  SCANLOOM_TRY(const ir::ValueId a, ctx.in(0));
  SCANLOOM_TRY(const ir::ValueId b, ctx.in(1));
  SCANLOOM_TRY(const std::int64_t fmod, ctx.integer("fmod", 0));
  return ctx.emit(ops::mod_op, {a, b}, {{"fmod", fmod != 0}});
}

Expected<void> convert_reciprocal(NodeCtx& ctx) {
  SCANLOOM_TRY(const ir::ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ir::ValueId one, ctx.scalar(1, ctx.type(x).dtype));
  return ctx.emit(ops::div_op, {one, x});
}

Expected<void> convert_tan(NodeCtx& ctx) {
  Composer c(ctx);
  return c.emit(c.tan(c.in(0)));
}

}  // namespace scanloom::onnx
