// The Sequence* operators, which exist in the IR, and SplitToSequence.
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/tensor_data.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Returns all inputs; those from `needed` on may be absent.
Expected<std::vector<ValueId>> operands(NodeCtx& ctx, int needed) {
  std::vector<ValueId> values;
  for (int i = 0; i < ctx.input_count(); ++i) {
    SCANLOOM_TRY(const ValueId value, i < needed ? ctx.in(i) : ctx.optional_in(i));
    values.push_back(value);
  }
  return values;
}

}  // namespace

Expected<void> convert_sequence_construct(NodeCtx& ctx) {
  SCANLOOM_TRY(std::vector<ValueId> items, operands(ctx, ctx.input_count()));
  return ctx.emit(ops::sequence_construct_op, std::move(items));
}

Expected<void> convert_sequence_empty(NodeCtx& ctx) {
  SCANLOOM_TRY(const std::int64_t number, ctx.integer("dtype", dtype_onnx_number(DType::f32)));
  SCANLOOM_TRY(const DType dtype, dtype_of_number(number));
  return ctx.emit(ops::sequence_empty_op, {}, {{"dtype", dtype}});
}

Expected<void> convert_sequence_insert(NodeCtx& ctx) {
  SCANLOOM_TRY(std::vector<ValueId> inputs, operands(ctx, 2));
  return ctx.emit(ops::sequence_insert_op, std::move(inputs));
}

Expected<void> convert_sequence_erase(NodeCtx& ctx) {
  SCANLOOM_TRY(std::vector<ValueId> inputs, operands(ctx, 1));
  return ctx.emit(ops::sequence_erase_op, std::move(inputs));
}

Expected<void> convert_sequence_at(NodeCtx& ctx) {
  SCANLOOM_TRY(std::vector<ValueId> inputs, operands(ctx, 2));
  return ctx.emit(ops::sequence_at_op, std::move(inputs));
}

Expected<void> convert_sequence_length(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId sequence, ctx.in(0));
  return ctx.emit(ops::sequence_length_op, {sequence});
}

Expected<void> convert_concat_from_sequence(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId sequence, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t axis, ctx.required_integer("axis"));
  SCANLOOM_TRY(const std::int64_t new_axis, ctx.integer("new_axis", 0));
  if (new_axis != 0 && new_axis != 1)
    return invalid_model("attribute 'new_axis' is {}, but must be 0 or 1", new_axis);
  return ctx.emit(ops::sequence_concat_op, {sequence}, {{"axis", axis}, {"new_axis", new_axis}});
}

Expected<void> convert_split_to_sequence(NodeCtx& ctx) {
  SCANLOOM_TRY(std::vector<ValueId> inputs, operands(ctx, 1));
  SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", 0));
  SCANLOOM_TRY(const std::int64_t keepdims, ctx.integer("keepdims", 1));
  return ctx.emit(ops::sequence_split_op, std::move(inputs),
                  {{"axis", axis}, {"keepdims", keepdims}});
}

}  // namespace scanloom::onnx
