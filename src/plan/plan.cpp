#include "plan/plan.h"

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

std::string describe_step(const Plan& plan, ir::NodeId loop, std::int64_t step) {
  return plan.module.describe_step(loop, step);
}

}  // namespace scanloom::plan
