#include "plan/port_names.h"

#include "ir/port_names.h"

namespace scanloom::plan {

std::string describe_carried(const Plan& plan, ir::NodeId loop, std::size_t i) {
  return ir::describe_carried(plan.module, loop, i);
}

std::string describe_stacked(const Plan& plan, ir::NodeId loop, std::size_t i) {
  return ir::describe_stacked(plan.module, loop, i);
}

}  // namespace scanloom::plan
