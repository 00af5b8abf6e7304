#include "passes/loops/varying_form.h"

#include <utility>

#include "ops/ops.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {

using ir::Node;
using ir::NodeId;
using ir::ValueId;
using tensor::Tensor;

Expected<ValueId> elements_of(Outside& outside, ValueId value) {
  ir::Builder& builder = outside.builder();
  const Lifted lifted = outside[value];
  if (!lifted.is_sequence()) {
    if (builder.module().value(lifted.value).type.rank() == 0) return lifted.value;
    return builder.op(ops::reshape_op, {lifted.value, list_of(builder, {})}, {{"allowzero", 0}});
  }
  SCANLOOM_TRY(const Lifted rows, ops::at_front(builder, lifted));
  const int rank = builder.module().value(rows.value).type.rank();
  if (rank == 1) return rows.value;
  std::vector<std::int64_t> axes;
  for (int axis = 1; axis < rank; ++axis) axes.push_back(axis);
  return builder.op(ops::squeeze_op, {rows.value}, {{"axes", std::move(axes)}});
}

Expected<std::pair<ValueId, ValueId>> VaryingForm::operands() {
  const std::size_t state = group_.states[0];
  one_ = body_.argument_of(state);
  forms_[one_] = {one_, {}};
  for (const NodeId id : group_.path) {
    const Node node = module().node(id);  // by value: adding nodes may move it
    SCANLOOM_TRY(forms_[node.outputs[0]], form_of(node));
  }
  const Affine form = forms_.at(body_.next_of(state));
  SCANLOOM_TRY(const ValueId term, steps_of(form.term));
  SCANLOOM_TRY(const ValueId factor, steps_of(form.factor));
  return std::pair(term, factor);
}

Expected<VaryingForm::Affine> VaryingForm::operand(ValueId value) {
  if (const auto found = forms_.find(value); found != forms_.end()) return found->second;
  SCANLOOM_TRY(const ValueId term, elements_of(outside_, value));
  return Affine{{}, term};
}

Expected<VaryingForm::Affine> VaryingForm::form_of(const Node& node) {
  if (only_reshapes(*node.op)) return operand(node.inputs[0]);
  Affine result;
  if (node.op == &ops::mul_op || node.op == &ops::div_op) {
    const std::size_t state = body_.depends_on(node.inputs[0], group_) ? 0 : 1;
    SCANLOOM_TRY(const Affine x, operand(node.inputs[state]));
    SCANLOOM_TRY(const ValueId by, elements_of(outside_, node.inputs[1 - state]));
    SCANLOOM_TRY(result.factor, scaled(*node.op, x.factor, by));
    SCANLOOM_TRY(result.term, scaled(*node.op, x.term, by));
    return result;
  }
  if (node.op == &ops::where_op) {
    SCANLOOM_TRY(const ValueId condition, elements_of(outside_, node.inputs[0]));
    SCANLOOM_TRY(const Affine x, operand(node.inputs[1]));
    SCANLOOM_TRY(const Affine y, operand(node.inputs[2]));
    SCANLOOM_TRY(result.factor, chosen(condition, x.factor, y.factor));
    SCANLOOM_TRY(result.term, chosen(condition, x.term, y.term));
    return result;
  }
  Affine x;
  if (node.op != &ops::neg_op) {
    SCANLOOM_TRY(x, operand(node.inputs[0]));
  }
  SCANLOOM_TRY(const Affine y, operand(node.inputs[node.op == &ops::neg_op ? 0 : 1]));
  const bool adds = node.op == &ops::add_op;
  SCANLOOM_TRY(result.factor, joined(adds, x.factor, y.factor));
  SCANLOOM_TRY(result.term, joined(adds, x.term, y.term));
  return result;
}

Expected<ValueId> VaryingForm::scaled(const ir::OpDef& op, ValueId x, ValueId by) {
  if (!x.valid()) return x;
  if (x == one_ && &op == &ops::mul_op) return by;
  return builder().op(op, {made(x), by});
}

Expected<ValueId> VaryingForm::chosen(ValueId condition, ValueId x, ValueId y) {
  if (x == y) return x;
  return builder().op(ops::where_op, {condition, made(x), made(y)});
}

Expected<ValueId> VaryingForm::joined(bool adds, ValueId x, ValueId y) {
  if (!y.valid()) return x;
  if (!x.valid() && adds) return y;
  if (!x.valid()) return builder().op(ops::neg_op, {made(y)});
  return builder().op(adds ? ops::add_op : ops::sub_op, {made(x), made(y)});
}

ValueId VaryingForm::made(ValueId value) {
  if (value.valid() && value != one_) return value;
  const double number = value.valid() ? 1 : 0;
  const bool is_float = module().value(one_).type.dtype == DType::f32;
  return builder().constant(is_float ? Tensor::scalar(static_cast<float>(number))
                                     : Tensor::scalar(number));
}

/// Returns the value, repeated for all steps if it is the same in each.
Expected<ValueId> VaryingForm::steps_of(ValueId value) {
  const ValueId elements = made(value);
  if (module().value(elements).type.rank() == 1) return elements;
  SCANLOOM_TRY(const Lifted rows, repeated(builder(), elements, like_));
  return rows.value;
}

}  // namespace scanloom::passes
