// Operators of com.microsoft that preceded those of ONNX, or are small variants of them:
// ExpandDims, IsAllFinite, Pad, Range, TorchEmbedding, UnfoldTensor and Unique.
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/linear_quantization.h"

namespace scanloom::onnx {

using ir::ValueId;

// Inserts an axis of size 1.
Expected<void> convert_expand_dims(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0), axis = scalar_input(c, 1);
  if (ctx.constant(1) == nullptr) {
    const ValueId list = c.unsqueeze(c.cast(axis, DType::i64), {0});
    return c.emit(c.op(ops::unsqueeze_op, {x, list}));
  }
  const auto known = c.take(ctx.constant_integers(1));
  return c.emit(c.unsqueeze(x, known.value_or(Composer::Ints{0})));
}

Expected<void> convert_is_all_finite(NodeCtx& ctx) {
  Composer c(ctx);
  const bool only_nan = c.integer("isnan_only", 0) != 0, only_inf = c.integer("isinf_only", 0) != 0;
  if (only_nan && only_inf)
    return invalid_model("attributes 'isnan_only' and 'isinf_only' are both set");
  ValueId wrong;
  for (int i = 0; i < ctx.input_count(); ++i) {
    const ValueId x = c.in(i);
    const ValueId is_nan = c.op(ops::is_nan_op, {x});
    const ValueId is_inf =
        c.op(ops::is_inf_op, {x}, {{"detect_negative", true}, {"detect_positive", true}});
    const ValueId either = only_nan   ? is_nan
                           : only_inf ? is_inf
                                      : c.op(ops::logical_or_op, {is_nan, is_inf});
    const ValueId count = c.reduce_all(c.cast(either, DType::i64), "sum");
    wrong = wrong.valid() ? c.add(wrong, count) : count;
  }
  return c.emit(c.equal(wrong, c.number(0)));
}

// The amounts may have a leading axis of size 1, and the value be a list of one.
Expected<void> convert_microsoft_pad(NodeCtx& ctx) {
  Composer c(ctx);
  const std::string mode = c.text("mode", "constant");
  const ValueId x = c.in(0),
                pads = c.op(ops::reshape_op, {c.in(1), c.list({-1})}, {{"allowzero", 0}});
  const ValueId value = ctx.has(2) ? scalar_input(c, 2) : ValueId{};
  return c.emit(c.op(ops::pad_op, {x, pads, value, ValueId{}}, {{"mode", mode}}));
}

Expected<void> convert_microsoft_range(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId start = scalar_input(c, 0), limit = scalar_input(c, 1);
  const ValueId step = ctx.has(2) ? scalar_input(c, 2) : c.like(1, start);
  return c.emit(c.op(ops::range_op, {start, limit, step}));
}

// The operands after the indices only matter in training.
Expected<void> convert_torch_embedding(NodeCtx& ctx) {
  Composer c(ctx);
  return c.emit(c.gather(c.in(0), c.in(1), 0));
}

// All slices of `size` elements along axis `dim`, `step` apart. The elements of a slice become the
// last axis.
Expected<void> convert_unfold_tensor(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0);
  const int rank = c.rank(0, x, 1), axis = c.axis("dim", -1, rank);
  const std::int64_t size = c.take(ctx.required_integer("size")), step = c.integer("step", 1);
  const std::int64_t known = c.known_size(x, axis);
  if (c.ok() && (size < 1 || step < 1 || (known >= 0 && size > known)))
    return invalid_model("attributes 'size' and 'step' are {} and {}, on an axis with {} elements",
                         size, step, known);
  const ValueId last = c.sub(c.dim(x, axis), c.number(size));
  const ValueId count = c.add(c.div(last, c.number(step)), c.number(1));
  const ValueId starts = c.mul(c.count_up(count), c.number(step));
  const ValueId indices = c.add(c.unsqueeze(starts, {1}), c.count_up(c.number(size)));
  const ValueId slices = c.gather(x, indices, axis);
  Composer::Ints perm;
  for (int i = 0; i <= rank; ++i)
    if (i != axis + 1) perm.push_back(i);
  perm.push_back(axis + 1);
  return c.emit(c.transpose(slices, std::move(perm)));
}

// In the order in which they appear, with the index of each element among them, and their counts.
Expected<void> convert_microsoft_unique(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x));
  if (rank != 1) return invalid_model("{} has {} axes, not 1", ctx.describe_input(0), rank);
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(ops::unique_op, {x}, {{"sorted", false}}, 4));
  const std::vector<ValueId> results = ctx.module().node(node).outputs;
  ctx.set_output(0, results[0]);
  ctx.set_output(1, results[2]);
  ctx.set_output(2, results[3]);
  return {};
}

}  // namespace scanloom::onnx
