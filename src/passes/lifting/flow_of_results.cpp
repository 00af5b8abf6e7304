#include "passes/lifting/flow_of_results.h"

#include <optional>

#include "ops/step_rules.h"

namespace scanloom::passes {
namespace {

using ir::across;
using ir::Dim;
using ir::StepFlow;
using ir::StepSite;

/// Returns how many neighbours belong to each step, which must be the same in all operands along
/// the steps.
Expected<Dim> neighbours_of_each(const StepSite& s) {
  std::optional<Dim> each;
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i) {
    if (!s.along(i)) continue;
    if (each && *each != s.flow(i).each) return across("its operands have them in other parts");
    each = s.flow(i).each;
  }
  return *each;
}

std::optional<ir::StepsRule> rule_of(const ir::OpDef& op) {
  if (op.steps.axis != nullptr || op.steps.regroup != nullptr) return op.steps;
  if (op.scalar == nullptr) return std::nullopt;
  return ir::StepsRule{.axis = ops::steps_of_pointwise, .any_operand = true};
}

}  // namespace

Expected<StepFlow> flow_of_results(const StepSite& s) {
  const auto rule = rule_of(*s.node.op);
  if (!rule) return across(fmt::format("'{}' has no rule for streams", s.node.op->name));
  for (std::size_t i = 0; i < s.node.inputs.size() && !rule->any_operand; ++i)
    if (s.along(i) != (i == 0)) return across("an operand other than the first has them");
  if (rule->regroup != nullptr) return rule->regroup(s);
  SCANLOOM_TRY(const Dim each, neighbours_of_each(s));
  SCANLOOM_TRY(const int axis, rule->axis(s));
  return StepFlow{StepFlow::Kind::along, axis, each};
}

}  // namespace scanloom::passes
