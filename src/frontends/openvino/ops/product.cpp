// MatMul, Einsum, ScaledDotProductAttention.
#include <cmath>
#include <limits>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"
#include "ops/matrix/einsum.h"

namespace scanloom::openvino {

using ir::ValueId;

// A one-axis operand is not transposed.
Expected<void> convert_matmul(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId a = c.in(0), b = c.in(1);
  const bool transpose_a = c.flag("transpose_a", false), transpose_b = c.flag("transpose_b", false);
  if (!transpose_a && !transpose_b) return c.emit(c.contract(a, b, ""));
  const int a_rank = c.rank(0, a, 1), b_rank = c.rank(1, b, 1);
  std::string spec = a_rank == 1 ? "k" : transpose_a ? "...km" : "...mk";
  spec += b_rank == 1 ? ",k" : transpose_b ? ",...nk" : ",...kn";
  spec += "->...";
  if (a_rank > 1) spec += "m";
  if (b_rank > 1) spec += "n";
  return c.emit(c.contract(a, b, spec));
}

Expected<void> convert_einsum(LayerCtx& ctx) {
  LayerComposer c(ctx);
  std::vector<ValueId> operands;
  for (int i = 0; i < ctx.input_count(); ++i) operands.push_back(c.in(i));
  return c.emit(ops::einsum(c, operands, ctx.attributes.text("equation")));
}

namespace {

/// Returns the operand, or 1 / sqrt(query size) if it is absent.
ValueId scale_of(LayerComposer& c, ValueId query) {
  const DType dtype = c.dtype(query);
  if (c.ctx().has(4)) return c.reshape(c.cast(c.in(4), dtype), c.list({}));
  const ValueId size = c.cast(c.dim(query, -1), DType::f64);
  return c.cast(c.div(c.scalar(1, DType::f64), c.sqrt(size)), dtype);
}

/// Returns the term added to the scores; invalid if there is none. With `causal` the mask is
/// ignored.
ValueId bias_of(LayerComposer& c, ValueId query, ValueId key) {
  const DType dtype = c.dtype(query);
  const ValueId none = c.scalar(-std::numeric_limits<double>::infinity(), dtype);
  if (c.flag("causal", false)) {
    const ValueId row = c.unsqueeze(c.count_up(c.dim(query, -2)), {1});
    const ValueId column = c.count_up(c.dim(key, -2));
    return c.where(c.less_equal(column, row), c.scalar(0, dtype), none);
  }
  const ValueId mask = c.optional_in(3);
  if (!mask.valid()) return {};
  if (c.dtype(mask) == DType::boolean) return c.where(mask, c.scalar(0, dtype), none);
  return c.cast(mask, dtype);
}

}  // namespace

// softmax(Q K^T scale + bias) V, with sinks.
Expected<void> convert_attention(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId query = c.in(0), key = c.in(1), value = c.in(2);
  ValueId scores = c.mul(c.contract(query, key, "...mk,...nk->...mn"), scale_of(c, query));
  const ValueId bias = bias_of(c, query, key);
  if (bias.valid()) scores = c.add(scores, bias);
  const ValueId sink = c.optional_in(5);
  if (sink.valid()) {
    // Adds a score to each query that takes part in the softmax but has no value.
    const ValueId column = c.join({c.shape(scores, 0, -1), c.number(1)});
    scores = c.concat({scores, c.expand(c.cast(sink, c.dtype(scores)), column)}, -1);
  }
  ValueId soft = c.op(ops::softmax_op, {scores}, {{"axis", -1}});
  if (sink.valid()) soft = c.slice(soft, -1, 0, -1);
  return c.emit(c.contract(soft, value, "...mk,...kn->...mn"));
}

}  // namespace scanloom::openvino
