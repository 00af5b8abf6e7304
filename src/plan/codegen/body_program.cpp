#include "plan/codegen/body_program.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/op_def.h"
#include "ops/pointwise.h"

namespace scanloom::plan {

std::optional<Refusal> BodyProgram::build(const ir::Region& body, std::size_t captured) {
  for (std::size_t i = 0; i <= body.args.size(); ++i) {
    if (i == captured)
      if (auto why = add_constants(body)) return why;
    if (i == body.args.size()) break;
    if (auto why = add_input(body.args[i])) return why;
  }
  for (const ir::NodeId id : body.nodes)
    if (auto why = append(id)) return why;
  for (const ir::ValueId yield : body.yields) {
    if (read(yield) < 0)
      return Refusal(module_.describe(yield) + " is a constant of several elements");
    program.results.push_back(registers_[yield.index]);
  }
  return std::nullopt;
}

jit::LoopSource BodyProgram::source(std::string name, bool has_keep_going) && {
  jit::LoopSource made;
  made.name = std::move(name);
  made.program = std::move(program);
  made.lanes = lanes();
  made.has_keep_going = has_keep_going;
  return made;
}

std::optional<Refusal> BodyProgram::add_input(ir::ValueId id) {
  if (auto why = admit(id)) return why;
  registers_[id.index] = static_cast<std::int32_t>(program.inputs.size());
  program.inputs.push_back(type(id).dtype);
  return std::nullopt;
}

std::optional<Refusal> BodyProgram::add_constants(const ir::Region& body) {
  for (const ir::NodeId node : body.nodes)
    for (const ir::ValueId input : module_.node(node).inputs) {
      if (!input.valid() || registers_.contains(input.index)) continue;
      const tensor::Tensor* const constant = inference_.constant(input);
      if (constant == nullptr || constant->elements() == 1) continue;
      if (module_.node(node).op->scalar == nullptr) continue;
      if (auto why = add_input(input)) return why;
      constants.push_back(input);
    }
  return std::nullopt;
}

/// Checks that the value has one element or one per lane; the first larger value sets `lanes`.
std::optional<Refusal> BodyProgram::admit(ir::ValueId id) {
  if (!type(id).is_tensor() || type(id).dtype == DType::string)
    return Refusal(module_.describe_result(id) + " is not a numeric tensor", producer(id));
  if (!type(id).is_static())
    return Refusal("the size of " + module_.describe_result(id) + " depends on data", producer(id));
  const std::int64_t elements = type(id).shape().elements();
  if (elements != 0 && lanes_.add(elements)) return std::nullopt;
  return Refusal(module_.describe(id) + " has " + std::to_string(elements) +
                     " elements, others have " + std::to_string(lanes()),
                 producer(id));
}

/// Returns the register of a value, or -1. A one-element constant becomes an instruction on its
/// first use.
ir::Reg BodyProgram::read(ir::ValueId id) {
  const auto entry = registers_.find(id.index);
  if (entry != registers_.end()) return entry->second;
  const tensor::Tensor* const constant = inference_.constant(id);
  if (constant == nullptr || constant->elements() != 1) return -1;
  tensor::ScalarInstr instr{.op = tensor::ScalarOp::constant, .dtype = constant->dtype()};
  if (dtype_bytes(instr.dtype) > sizeof instr.bits) return -1;
  std::memcpy(&instr.bits, constant->data(), dtype_bytes(instr.dtype));
  return registers_[id.index] = program.append(instr);
}

std::optional<Refusal> BodyProgram::append(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  if (inference_.makes_constants(node)) return std::nullopt;
  const std::string name = module_.describe(id);
  if (!ops::joins_element_program(*node.op)) return Refusal(name + " is not element-wise", id);
  for (const ir::ValueId output : node.outputs)
    if (auto why = admit(output)) return why;
  std::vector<ir::Reg> inputs;
  for (const ir::ValueId input : node.inputs) {
    inputs.push_back(input.valid() ? read(input) : -1);
    if (node.op->scalar == nullptr) break;
    if (input.valid() && inputs.back() < 0)
      return Refusal(
          name + " reads " + module_.describe(input) + ", a constant of several elements", id);
  }
  if (node.op->scalar == nullptr) return append_view(id, inputs[0]);
  ir::ScalarCtx ctx(program, inputs, node.attrs);
  registers_[node.outputs[0].index] = node.op->scalar(ctx);
  return std::nullopt;
}

/// A view that keeps the number and order of elements only renames its input.
std::optional<Refusal> BodyProgram::append_view(ir::NodeId id, ir::Reg input) {
  const ir::Node& node = module_.node(id);
  const tensor::Shape from = type(node.inputs[0]).shape(), to = type(node.outputs[0]).shape();
  if (input < 0 || from.elements() != to.elements() ||
      (!node.op->keeps_order && to.elements() != 1))
    return Refusal(module_.describe(id) + " reorders elements", id);
  registers_[node.outputs[0].index] = input;
  return std::nullopt;
}

}  // namespace scanloom::plan
