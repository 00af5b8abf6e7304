#include "plan/bind/group_program.h"

#include <algorithm>

#include "opmath/reduction.h"
#include "ops/ops.h"
#include "ops/pointwise.h"
#include "ops/quantize/quantization.h"
#include "plan/bind/context.h"

namespace scanloom::plan {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

GroupProgram::GroupProgram(const BindContext& ctx, std::span<const NodeId> nodes, ValueId convolved)
    : ctx_(ctx) {
  if (convolved.valid()) add_input(convolved);
  for (const NodeId id : nodes)
    for (const ValueId input : ctx.module.node(id).inputs)
      if (input.valid()) ++read_by_group_[input.index];
  find_inputs(nodes);
  for (const NodeId id : nodes) add(ctx.module.node(id));
  for (const NodeId id : nodes) {
    const ValueId value = ctx.module.node(id).outputs[0];
    if (has_all_readers_of(value)) continue;
    outputs_.push_back(value);
    rows_.elements.results.push_back(registers_.at(value.index));
  }
}

bool GroupProgram::has_all_readers_of(ValueId value) const {
  const std::uint32_t reads = read_by_group_.of(value.index);
  return reads != 0 && reads == ctx_.uses_of_elements[value.index];
}

void GroupProgram::add_input(ValueId input) {
  registers_[input.index] = static_cast<ir::Reg>(inputs_.size());
  inputs_.push_back(input);
  rows_.elements.inputs.push_back(ctx_.values.type(input).dtype);
}

void GroupProgram::find_inputs(std::span<const NodeId> nodes) {
  std::vector<ValueId> made;
  for (const NodeId id : nodes) {
    const Node& node = ctx_.module.node(id);
    for (const ValueId input : node.inputs) {
      if (!input.valid() || std::ranges::find(made, input) != made.end()) continue;
      if (std::ranges::find(inputs_, input) == inputs_.end()) add_input(input);
    }
    made.push_back(node.outputs[0]);
  }
}

void GroupProgram::add(const Node& node) {
  registers_[node.outputs[0].index] = node.op->scalar != nullptr   ? add_elements(node)
                                      : node.op == &ops::reduce_op ? add_reduction(node)
                                                                   : add_quantization(node);
}

ir::Reg GroupProgram::append(const tensor::ScalarInstr& instr,
                             std::optional<kernels::RowFold> fold) {
  rows_.folds.push_back(fold);
  return rows_.elements.append(instr);
}

ir::Reg GroupProgram::add_elements(const Node& node) {
  std::vector<std::optional<DType>> dtypes;
  std::vector<ir::Reg> registers;  // by register of the node's own program
  for (const ValueId input : node.inputs) {
    dtypes.push_back(input.valid() ? std::optional(ctx_.values.type(input).dtype) : std::nullopt);
    if (input.valid()) registers.push_back(registers_.at(input.index));
  }
  const tensor::ScalarProgram own = ops::pointwise_program(*node.op, dtypes, node.attrs);
  for (tensor::ScalarInstr instr : own.instrs) {
    for (std::int32_t& arg : instr.args)
      if (arg >= 0) arg = registers[static_cast<std::size_t>(arg)];
    registers.push_back(append(instr));
  }
  return registers[static_cast<std::size_t>(own.results[0])];
}

ir::Reg GroupProgram::add_quantization(const Node& node) {
  ir::ScalarCtx ctx(rows_.elements, {}, {});
  const auto reg = [&](std::size_t i) {
    const bool present = i < node.inputs.size() && node.inputs[i].valid();
    return present ? registers_.at(node.inputs[i].index) : ir::Reg{-1};
  };
  const DType to = ctx_.values.type(node.outputs[0]).dtype;
  const bool quantizes = node.op == &ops::quantize_linear_op;
  const ir::Reg result = quantizes ? ops::quantized_element(ctx, reg(0), reg(1), reg(2), to)
                                   : ops::dequantized_element(ctx, reg(0), reg(1), reg(2), to);
  rows_.folds.resize(rows_.elements.instrs.size());
  return result;
}

ir::Reg GroupProgram::add_reduction(const Node& node) {
  const tensor::Reduction& kind = *tensor::find_reduction(node.attrs[tensor::kReduceKind].text());
  const DType dtype = ctx_.values.type(node.outputs[0]).dtype;
  const ir::Reg folded = append({.op = tensor::ScalarOp::add,
                                 .dtype = dtype,
                                 .args = {registers_.at(node.inputs[0].index), -1, -1}},
                                kind.fold);
  ir::ScalarCtx end(rows_.elements, {}, {});
  const tensor::Shape dims = ctx_.values.type(node.inputs[0]).shape();
  const std::int64_t count = dims.elements() / ctx_.values.type(node.outputs[0]).shape().elements();
  ir::Reg result = folded;
  using Finish = tensor::Reduction::Finish;
  if (kind.finish == Finish::mean)
    result =
        end.binary(tensor::ScalarOp::div, folded, end.constant(static_cast<double>(count), dtype));
  if (kind.finish == Finish::sqrt) result = end.unary(tensor::ScalarOp::sqrt, folded);
  if (kind.finish == Finish::log) result = end.unary(tensor::ScalarOp::log, folded);
  rows_.folds.resize(rows_.elements.instrs.size());
  return result;
}

}  // namespace scanloom::plan
