#include "passes/lifting/flow_of_results.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "opmath/contraction.h"
#include "ops/ops.h"
#include "ops/step_rules.h"

namespace scanloom::passes {
namespace {

using ir::across;
using ir::attr_of;
using ir::Dim;
using ir::StepFlow;
using ir::StepSite;
using ir::ValueId;
using Kind = StepFlow::Kind;

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

std::optional<ir::StepsRule> steps_rule_of(const ir::OpDef& op) {
  if (op.steps.axis != nullptr || op.steps.regroup != nullptr) return op.steps;
  if (op.scalar == nullptr) return std::nullopt;
  return ir::StepsRule{.axis = ops::steps_of_pointwise, .any_operand = true};
}

/// Whether the node is a product of two values along the steps that sums over the steps.
bool sums_over_steps(const StepSite& site) {
  if (site.node.op != &ops::contract_op || !site.along(0) || !site.along(1)) return false;
  const auto einsum = tensor::parse_einsum(attr_of(site.node, "spec").text(), site.type(0).rank(),
                                           site.type(1).rank());
  if (!einsum) return false;
  const std::uint8_t label = einsum->a.labels[static_cast<std::size_t>(site.axis(0))];
  return einsum->out.find(label) < 0 && einsum->b.find(label) == site.axis(1);
}

/// Whether the node picks what belongs to the last step, by counting from the end.
bool is_last_step(const StepSite& site) {
  if (site.node.op != &ops::gather_op || !site.along(0) || site.along(1)) return false;
  const std::int64_t axis = attr_of(site.node, "axis").integer();
  const auto indices = site.integers(1);
  return (axis < 0 ? axis + site.type(0).rank() : axis) == site.axis(0) &&
         site.flow(0).each == Dim(1) && indices && *indices == std::vector<std::int64_t>{-1};
}

}  // namespace

Kind kind_of(const StepSite& site, std::size_t operand) {
  return site.has(operand) ? site.flow(operand).kind : Kind::same;
}

bool has_operand_of(const StepSite& site, Kind wanted) {
  for (std::size_t i = 0; i < site.node.inputs.size(); ++i)
    if (kind_of(site, i) == wanted) return true;
  return false;
}

Expected<StepFlow> flow_of_results(const StepSite& s) {
  const auto rule = steps_rule_of(*s.node.op);
  if (!rule) return across(fmt::format("'{}' has no rule for streams", s.node.op->name));
  for (std::size_t i = 0; i < s.node.inputs.size() && !rule->any_operand; ++i)
    if (s.along(i) != (i == 0)) return across("an operand other than the first has them");
  if (rule->regroup != nullptr) return rule->regroup(s);
  SCANLOOM_TRY(const Dim each, neighbours_of_each(s));
  SCANLOOM_TRY(const int axis, rule->axis(s));
  return StepFlow{Kind::along, axis, each};
}

Expected<StepFlow> flow_along(const StepSite& site) {
  const auto is_unranked = [&](ValueId value) {
    return value.valid() && !site.module.value(value).type.ranked;
  };
  if (std::ranges::any_of(site.node.inputs, is_unranked) ||
      std::ranges::any_of(site.node.outputs, is_unranked))
    return across("the number of axes of its operands or results is not known");
  if (sums_over_steps(site)) return StepFlow{Kind::sum, 0};
  if (is_last_step(site)) return StepFlow{Kind::last, 0};
  return flow_of_results(site);
}

}  // namespace scanloom::passes
