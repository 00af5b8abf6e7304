// Det, MatMul, Gemm and Einsum: products of two tensors become `contract`.
#include <algorithm>
#include <array>

#include "frontends/onnx/old_broadcast.h"
#include "frontends/onnx/ops/converters.h"
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

/// Up to version 6 the addend is broadcast only where attribute `broadcast` says so.
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

namespace {

/// Without "->", the result has the letters that stand once, in alphabetic order, after "...".
std::string explicit_equation(const std::string& equation) {
  if (equation.find("->") != std::string::npos) return equation;
  std::string once;
  for (const char letter : equation)
    if (letter != ',' && letter != '.' && std::ranges::count(equation, letter) == 1)
      once.push_back(letter);
  std::ranges::sort(once);
  const bool has_ellipsis = equation.find("...") != std::string::npos;
  return equation + "->" + (has_ellipsis ? "..." : "") + once;
}

struct Equation {
  std::vector<std::string> terms;  // of the operands
  std::string result;
  /// By letter: the last operand that names it, one more than all where the result does.
  std::array<std::size_t, 256> last_use{};

  [[nodiscard]] std::size_t& last(char letter) {
    return last_use[static_cast<unsigned char>(letter)];
  }
};

Equation parts_of(const std::string& equation) {
  Equation parts;
  const std::size_t arrow = equation.find("->");
  parts.result = equation.substr(arrow + 2);
  std::size_t start = 0;
  while (start <= arrow) {
    const std::size_t end = std::min(equation.find(',', start), arrow);
    parts.terms.push_back(equation.substr(start, end - start));
    start = end + 1;
  }
  for (std::size_t i = 0; i < parts.terms.size(); ++i)
    for (const char letter : parts.terms[i]) parts.last(letter) = i;
  for (const char letter : parts.result) parts.last(letter) = parts.terms.size();
  return parts;
}

/// The axes that the product of two operands must keep: those that the result or an operand from
/// `next` on names.
std::string kept_axes(const std::string& both, Equation& parts, std::size_t next) {
  std::string kept = both.find("...") != std::string::npos ? "..." : "";
  for (const char letter : both)
    if (letter != '.' && parts.last(letter) >= next && kept.find(letter) == std::string::npos)
      kept.push_back(letter);
  return kept;
}

/// Several operands are multiplied from the first one on.
Expected<void> convert_chain(NodeCtx& ctx, const std::string& equation) {
  Equation parts = parts_of(equation);
  const auto count = static_cast<std::size_t>(ctx.input_count());
  if (parts.terms.size() != count)
    return invalid_model("'{}' has {} operands, the node has {} inputs", equation,
                         parts.terms.size(), count);
  SCANLOOM_TRY(ValueId product, ctx.in(0));
  std::string axes = parts.terms[0];
  for (std::size_t i = 1; i < count; ++i) {
    SCANLOOM_TRY(const ValueId operand, ctx.in(static_cast<int>(i)));
    const std::string result =
        i + 1 == count ? parts.result : kept_axes(axes + parts.terms[i], parts, i + 1);
    SCANLOOM_TRY(product, ctx.op(ops::contract_op, {product, operand},
                                 {{"spec", axes + "," + parts.terms[i] + "->" + result}}));
    axes = result;
  }
  ctx.set_output(0, product);
  return {};
}

}  // namespace

// One operand is multiplied by the number 1.
Expected<void> convert_einsum(NodeCtx& ctx) {
  SCANLOOM_TRY(std::string equation, ctx.text("equation", ""));
  std::erase(equation, ' ');
  equation = explicit_equation(equation);
  if (ctx.input_count() > 2) return convert_chain(ctx, equation);
  SCANLOOM_TRY(const ValueId a, ctx.in(0));
  ValueId b;
  if (ctx.input_count() == 2) {
    SCANLOOM_TRY(b, ctx.in(1));
  } else {
    SCANLOOM_TRY(b, ctx.scalar(1, ctx.type(a).dtype));
    equation.insert(equation.find("->"), ",");
  }
  return ctx.emit(ops::contract_op, {a, b}, {{"spec", equation}});
}

/// Of f16 and bf16 computed in f32.
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
