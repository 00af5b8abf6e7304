#include "ir/step_rules.h"

#include "ir/constants.h"

namespace scanloom::ir {

bool StepSite::has(std::size_t operand) const {
  return operand < node.inputs.size() && node.inputs[operand].valid();
}

bool StepSite::along(std::size_t operand) const {
  return has(operand) && flow(operand).kind == StepFlow::Kind::along;
}

const StepFlow& StepSite::flow(std::size_t operand) const {
  return flows[node.inputs[operand].index];
}

const Type& StepSite::type(std::size_t operand) const {
  return module.value(node.inputs[operand]).type;
}

const Type& StepSite::result_type() const { return module.value(node.outputs[0]).type; }

std::optional<std::vector<std::int64_t>> StepSite::integers(std::size_t operand) const {
  const tensor::Tensor* constant =
      has(operand) ? constant_of(module, node.inputs[operand]) : nullptr;
  return constant != nullptr ? tensor::to_integers(*constant) : std::nullopt;
}

bool StepSite::is_read(std::size_t output) const { return uses[node.outputs[output].index] > 0; }

Error across(std::string reason) { return fail(Code::unsupported, "{}", reason); }

}  // namespace scanloom::ir
