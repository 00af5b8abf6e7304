// Products that ONNX Runtime's optimizer has fused with transpositions, scales and activations:
// FusedGemm, FusedMatMul, FusedMatMulActivation, GemmFastGelu and TransposeMatMul.
#include <algorithm>
#include <numeric>

#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/fused_activation.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Returns input i with the transpositions of FusedMatMul: `batch` moves axis 0 after the batch
/// axes, `last_two` swaps the last two axes after that. A vector stays as it is.
ValueId transposed_operand(Composer& c, int i, bool batch, bool last_two) {
  const ValueId x = c.in(i);
  if (!batch && !last_two) return x;
  const int rank = c.rank(i, x, 1);
  if (rank < 2) return x;
  Composer::Ints perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (last_two) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return c.transpose(x, std::move(perm));
}

ValueId fused_matmul(Composer& c) {
  const double alpha = c.real("alpha", 1);
  const ValueId a =
      transposed_operand(c, 0, c.integer("transBatchA", 0) != 0, c.integer("transA", 0) != 0);
  const ValueId b =
      transposed_operand(c, 1, c.integer("transBatchB", 0) != 0, c.integer("transB", 0) != 0);
  const ValueId product = c.contract(a, b, "");
  return alpha == 1 ? product : c.mul(product, c.like(alpha, product));
}

}  // namespace

Expected<void> convert_fused_matmul(NodeCtx& ctx) {
  Composer c(ctx);
  return c.emit(fused_matmul(c));
}

Expected<void> convert_fused_matmul_activation(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId product = fused_matmul(c);
  if (ctx.has_attribute("activation_axis") || c.text("activation", "") == "Softmax") {
    const std::int64_t axis = c.integer("activation_axis", -1);
    if (const std::string name = c.text("activation", ""); c.ok() && name != "Softmax")
      return invalid_model("attribute 'activation_axis' does not apply to '{}'", shown_name(name));
    return c.emit(c.op(ops::softmax_op, {product}, {{"axis", axis}}));
  }
  return c.emit(fused_activation(c, product));
}

// alpha * a . b + beta * c, then the activation.
Expected<void> convert_fused_gemm(NodeCtx& ctx) {
  Composer c(ctx);
  const bool transpose_a = c.integer("transA", 0) != 0, transpose_b = c.integer("transB", 0) != 0;
  const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  const std::string spec =
      std::string(transpose_a ? "km," : "mk,") + (transpose_b ? "nk->mn" : "kn->mn");
  ValueId y = c.contract(c.in(0), c.in(1), spec);
  if (alpha != 1) y = c.mul(y, c.like(alpha, y));
  const ValueId addend = c.optional_in(2);
  if (addend.valid() && beta != 0)
    y = c.add(y, beta == 1 ? addend : c.mul(addend, c.like(beta, addend)));
  // The name that the first versions of the operator used.
  if (ctx.has_attribute("leaky_relu_alpha")) {
    const double slope = c.real("leaky_relu_alpha", 0);
    return c.emit(fused_activation(c, y, c.text("activation", ""), {&slope, 1}));
  }
  return c.emit(fused_activation(c, y));
}

Expected<void> convert_gemm_fast_gelu(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0), weights = c.in(1), bias = c.optional_in(2);
  const DType wide = at_least_f32(c.dtype(x));
  ValueId y = c.cast(c.contract(x, weights, ""), wide);
  if (bias.valid()) y = c.add(y, c.cast(bias, wide));
  return c.emit(c.cast(c.gelu(y, true), c.dtype(x)));
}

}  // namespace scanloom::onnx
