#include "plan/bind/parallel_steps.h"

#include <algorithm>

#include "ir/walk.h"
#include "ops/loop_counters.h"
#include "ops/ops.h"

namespace scanloom::plan {
namespace {

/// Whether a step reads the sequence only to yield it with one item more at its end.
bool is_appended(const ir::Module& module, const std::vector<std::uint32_t>& uses,
                 ir::ValueId argument, ir::ValueId yield) {
  const ir::NodeId producer = module.value(yield).producer;
  if (!producer.valid() || uses[argument.index] != 1 || uses[yield.index] != 1) return false;
  const ir::Node& insert = module.node(producer);
  const bool at_end = insert.inputs.size() < 3 || !insert.inputs[2].valid();
  return insert.op == &ops::sequence_insert_op && insert.inputs[0] == argument && at_end;
}

}  // namespace

bool draws_or_keeps_state(const ir::Module& module, ir::RegionId body) {
  for (const ir::RegionId region : ir::regions_outer_first(module, body))
    for (const ir::NodeId id : module.region(region).nodes) {
      const ir::Effects effects = module.node(id).op->effects;
      if (effects == ir::Effects::random || effects == ir::Effects::state) return true;
    }
  return false;
}

std::optional<std::vector<CarriedRole>> parallel_steps(const ir::Module& module, ir::NodeId loop,
                                                       const ir::Inference& inference,
                                                       const std::vector<std::uint32_t>& uses) {
  const ir::Node& node = module.node(loop);
  const ir::LoopPorts& ports = *node.loop;
  const ir::RegionId region = node.regions[0];
  const ir::Region& body = module.region(region);
  const bool produces = ports.carried > 0 || !ports.stacked.empty();
  if (ports.has_keep_going || !produces || draws_or_keeps_state(module, region))
    return std::nullopt;
  std::vector<CarriedRole> roles;
  for (std::uint32_t i = 0; i < ports.carried; ++i) {
    const ir::ValueId argument = body.args[ports.captured + i];
    const ir::ValueId yield = body.yields[ports.first_carried_yield() + i];
    if (const auto step = ops::increment_of(module, loop, i, &inference))
      roles.push_back({CarriedRole::Kind::counter, *step});
    else if (is_appended(module, uses, argument, yield))
      roles.push_back({CarriedRole::Kind::appended, 0});
    else
      return std::nullopt;
  }
  return roles;
}

}  // namespace scanloom::plan
