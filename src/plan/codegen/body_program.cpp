#include "plan/codegen/body_program.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/op_def.h"
#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::plan {

std::string BodyProgram::build(const ir::Region& body, std::size_t captured) {
  for (std::size_t i = 0; i <= body.args.size(); ++i) {
    if (i == captured)
      if (std::string why = add_constants(body); !why.empty()) return why;
    if (i == body.args.size()) break;
    if (std::string why = add_input(body.args[i]); !why.empty()) return why;
  }
  for (const ir::NodeId id : body.nodes)
    if (std::string why = append(id); !why.empty()) return why;
  for (const ir::ValueId yield : body.yields) {
    if (read(yield) < 0) return module_.describe(yield) + " is a constant of several elements";
    program.results.push_back(registers_[yield.index]);
  }
  return {};
}

jit::LoopSource BodyProgram::source(std::string name, bool has_keep_going) && {
  jit::LoopSource made;
  made.name = std::move(name);
  made.program = std::move(program);
  made.lanes = lanes;
  made.has_keep_going = has_keep_going;
  return made;
}

std::string BodyProgram::add_input(ir::ValueId id) {
  if (std::string why = admit(id); !why.empty()) return why;
  registers_[id.index] = static_cast<std::int32_t>(program.inputs.size());
  program.inputs.push_back(type(id).dtype);
  return {};
}

std::string BodyProgram::add_constants(const ir::Region& body) {
  for (const ir::NodeId node : body.nodes)
    for (const ir::ValueId input : module_.node(node).inputs) {
      if (!input.valid() || registers_.contains(input.index)) continue;
      const tensor::Tensor* const constant = inference_.constant(input);
      if (constant == nullptr || constant->elements() == 1) continue;
      if (module_.node(node).op->scalar == nullptr) continue;
      if (std::string why = add_input(input); !why.empty()) return why;
      constants.push_back(input);
    }
  return {};
}

/// Every value has one element or as many as there are lanes.
std::string BodyProgram::admit(ir::ValueId id) {
  if (!type(id).is_tensor() || type(id).dtype == DType::string)
    return module_.describe_result(id) + " is no tensor of parameters";
  if (!type(id).is_static())
    return "the size of " + module_.describe_result(id) + " depends on data";
  const std::int64_t elements = type(id).shape().elements();
  if (elements == 1 || elements == lanes) return {};
  if (lanes != 1 || elements == 0)
    return module_.describe(id) + " has " + std::to_string(elements) + " elements, others have " +
           std::to_string(lanes);
  lanes = elements;
  return {};
}

/// The register of a value, -1 if it has none. Constants of one element enter the program here.
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

std::string BodyProgram::append(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  if (inference_.makes_constants(node)) return {};
  const std::string name = module_.describe(id);
  if (node.op->scalar == nullptr && node.op->view == nullptr) return name + " is not element-wise";
  for (const ir::ValueId output : node.outputs)
    if (std::string why = admit(output); !why.empty()) return why;
  std::vector<ir::Reg> inputs;
  for (const ir::ValueId input : node.inputs) {
    inputs.push_back(input.valid() ? read(input) : -1);
    if (node.op->scalar == nullptr) break;
    if (input.valid() && inputs.back() < 0)
      return name + " reads " + module_.describe(input) + ", a constant of several elements";
  }
  if (node.op->scalar == nullptr) return append_view(node, inputs[0], name);
  ir::ScalarCtx ctx(program, inputs, node.attrs);
  registers_[node.outputs[0].index] = node.op->scalar(ctx);
  return {};
}

/// A view that keeps the number and order of elements only renames its input.
std::string BodyProgram::append_view(const ir::Node& node, ir::Reg input, const std::string& name) {
  const tensor::Shape from = type(node.inputs[0]).shape(), to = type(node.outputs[0]).shape();
  const bool keeps_order = node.op == &ops::reshape_op || node.op == &ops::squeeze_op ||
                           node.op == &ops::unsqueeze_op || node.op == &ops::flatten_op ||
                           node.op == &ops::identity_op;
  if (input < 0 || from.elements() != to.elements() || (!keeps_order && to.elements() != 1))
    return name + " reorders elements";
  registers_[node.outputs[0].index] = input;
  return {};
}

}  // namespace scanloom::plan
