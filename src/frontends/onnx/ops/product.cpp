// Det, MatMul, Gemm and Einsum. Products of two tensors become `contract`.
#include "frontends/onnx/old_broadcast.h"
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "ops/matrix/einsum.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

Expected<void> convert_matmul(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId a, ctx.in(0));
  SCANLOOM_TRY(const ValueId b, ctx.in(1));
  return ctx.emit(ops::contract_op, {a, b}, {{"spec", ""}});
}

namespace {

Expected<ValueId> scaled(NodeCtx& ctx, ValueId value, double factor) {
  if (factor == 1) return value;
  SCANLOOM_TRY(const ValueId scalar, ctx.scalar(factor, ctx.type(value).dtype));
  return ctx.op(ops::mul_op, {value, scalar});
}

}  // namespace

namespace {

/// Up to version 6 the addend is broadcast only if attribute `broadcast` is set.
Expected<void> check_old_addend(NodeCtx& ctx, ValueId product, ValueId addend) {
  if (ctx.version() >= 7) return {};
  SCANLOOM_TRY(const std::int64_t broadcast, ctx.integer("broadcast", 0));
  if (broadcast != 0) return {};
  return check_same_sizes(ctx, product, addend, ctx.describe_input(2));
}

}  // namespace

Expected<void> convert_gemm(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId a, ctx.in(0));
  SCANLOOM_TRY(const ValueId b, ctx.in(1));
  SCANLOOM_TRY(const std::int64_t transpose_a, ctx.integer("transA", 0));
  SCANLOOM_TRY(const std::int64_t transpose_b, ctx.integer("transB", 0));
  SCANLOOM_TRY(const double alpha, ctx.real("alpha", 1));
  SCANLOOM_TRY(const double beta, ctx.real("beta", 1));
  const std::string spec =
      std::string(transpose_a != 0 ? "km," : "mk,") + (transpose_b != 0 ? "nk->mn" : "kn->mn");
  SCANLOOM_TRY(ValueId result, ctx.op(ops::contract_op, {a, b}, {{"spec", spec}}));
  SCANLOOM_TRY(result, scaled(ctx, result, alpha));
  if (ctx.version() < 7) ctx.ignore("broadcast");
  const bool is_optional = ctx.version() >= 11;
  if (!is_optional && !ctx.has(2)) return invalid_model("input 2 is missing");
  if (ctx.has(2) && beta != 0) {
    SCANLOOM_TRY(ValueId c, ctx.in(2));
    SCANLOOM_CHECK_OK(check_old_addend(ctx, result, c));
    SCANLOOM_TRY(c, scaled(ctx, c, beta));
    SCANLOOM_TRY(result, ctx.op(ops::add_op, {result, c}));
  }
  ctx.set_output(0, result);
  return {};
}

Expected<void> convert_einsum(NodeCtx& ctx) {
  Composer c(ctx);
  std::vector<ValueId> operands;
  for (int i = 0; i < ctx.input_count(); ++i) operands.push_back(c.in(i));
  return c.emit(ops::einsum(c, operands, c.text("equation", "")));
}

/// f16 and bf16 are computed in f32.
Expected<void> convert_det(NodeCtx& ctx) {
  SCANLOOM_TRY(ValueId x, ctx.in(0));
  const DType dtype = ctx.type(x).dtype;
  const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  ir::Builder& builder = ctx.builder();
  if (wide != dtype) {
    SCANLOOM_TRY(x, builder.op(ops::cast_op, {x}, {{"to", wide}}));
  }
  SCANLOOM_TRY(const ir::NodeId made, builder.node(ops::lu_factor_op, {x}, {}, 2));
  const std::vector<ValueId> factors = ctx.module().node(made).outputs;
  SCANLOOM_TRY(const ir::NodeId node, builder.node(ops::lu_det_op, factors, {}, 3));
  ValueId det = ctx.module().node(node).outputs[0];
  if (wide != dtype) {
    SCANLOOM_TRY(det, builder.op(ops::cast_op, {det}, {{"to", dtype}}));
  }
  ctx.set_output(0, det);
  return {};
}

}  // namespace scanloom::onnx
