#include "plan/plan.h"

#include "ir/port_names.h"

namespace scanloom::plan {

std::shared_ptr<const Plan> make_plan(ir::Module module, const PlanOptions& options) {
  auto plan = std::make_shared<Plan>();
  plan->module = std::move(module);
  plan->options = options;
  return plan;
}

std::string describe(const Plan& plan, ir::NodeId node) {
  return node.valid() ? plan.module.describe(node) : std::string("the model");
}

std::string counted(std::int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string describe_scanned(const ir::Module& module, ir::NodeId loop, std::size_t i) {
  return ir::describe_scanned(module, loop, i);
}

std::string missing_slices(std::int64_t steps, std::int64_t slices) {
  if (steps < slices) return "every scanned value needs one slice per step";
  return fmt::format("give it {} slices, or take at most {} steps", steps, slices);
}

std::string describe_step(const Plan& plan, ir::NodeId loop, std::int64_t step) {
  return plan.module.describe_step(loop, step);
}

}  // namespace scanloom::plan
