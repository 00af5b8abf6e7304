// Trims the trip count of a loop of which only rows of the first steps are read. It runs after
// canonicalise, which turns parts into slices, and before drop_dead_code; unroll_short_loop may
// dissolve the shorter loop.
//
// Skipped steps must not be missed: no final value may be read, no step may fail, draw random
// samples or keep a state, and no condition may end the loop, since a later step's condition may be
// wrong.
#include <algorithm>
#include <utility>

#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/analysis/row_reads.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool cannot_fail(const Module& module, const Node& loop) {
  const auto has_sizes = [&](ValueId value) {
    return sizes_are_sure(module, module.value(value).type);
  };
  const ir::RegionId body = loop.regions[0];
  return is_plain(module, body, false) && yields_fit(module, loop, true) &&
         std::ranges::all_of(module.region(body).args, has_sizes) &&
         std::ranges::all_of(module.region(body).nodes, [&](NodeId id) {
           return std::ranges::all_of(module.node(id).outputs, has_sizes);
         });
}

/// Returns how many steps make all rows that are read; nullopt if that is not known.
std::optional<std::int64_t> steps_read(const Module& module, const Node& loop,
                                       const Readers& readers, std::int64_t steps) {
  std::int64_t needed = 0;
  for (std::size_t i = 0; i < loop.loop->stacked.size(); ++i) {
    const ir::StackedPort& port = loop.loop->stacked[i];
    const ValueId stack = loop.outputs[loop.loop->carried + i];
    const auto nodes = readers.of(stack);
    if (!nodes) return std::nullopt;
    if (nodes->empty()) continue;
    if (port.reverse || !port.insert) return std::nullopt;
    for (const NodeId id : *nodes) {
      const auto read =
          row_read(module, module.node(id), {stack, port.axis}, {stack, port.axis}, steps);
      if (!read || !read->from_front) return std::nullopt;
      needed = std::max(needed, read->last + 1);
    }
  }
  if (needed == 0) return std::nullopt;
  return needed;
}

/// Returns the number of steps that suffices, if the loop takes more.
std::optional<std::int64_t> fewer(const Module& module, NodeId id, const Readers& readers,
                                  const std::vector<std::uint32_t>& uses) {
  const Node& loop = module.node(id);
  if (loop.op != &ir::loop_op || !runs_to_the_end(module, loop)) return std::nullopt;
  for (std::size_t i = 0; i < loop.loop->carried; ++i)
    if (uses[loop.outputs[i].index] > 0) return std::nullopt;
  const auto steps = known_steps(module, loop);
  if (!steps || *steps < 1) return std::nullopt;
  const auto needed = steps_read(module, loop, readers, *steps);
  if (!needed || *needed >= *steps || !cannot_fail(module, loop)) return std::nullopt;
  return needed;
}

/// Adds the number at the end of what the region has so far.
void set_trip_count(Module& module, NodeId id, ir::RegionId region, std::int64_t steps) {
  ir::Builder builder(module, region);
  builder.set_location(module.node(id).location);
  const ValueId count = builder.constant(tensor::Tensor::scalar(steps));
  Node& loop = module.node(id);
  LoopPorts& ports = *loop.loop;
  if (!std::exchange(ports.has_trip_count, true)) loop.inputs.insert(loop.inputs.begin(), count);
  loop.inputs[0] = count;
  for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
    const auto axis = static_cast<std::size_t>(ports.stacked[i].axis);
    ir::Type& type = module.value(loop.outputs[ports.carried + i]).type;
    if (!type.ranked) continue;
    type.dims[axis] = ports.stacked[i].insert ? ir::Dim(steps) : module.dims.fresh();
  }
}

}  // namespace

Expected<Change> trim_trip_count(ir::Module& module) {
  Change change;
  const std::vector<std::uint32_t> uses = count_uses(module);
  for (const ir::RegionId region : regions_outer_first(module, module.top())) {
    const auto is_loop = [&](NodeId id) { return module.node(id).op == &ir::loop_op; };
    if (std::ranges::none_of(module.region(region).nodes, is_loop)) continue;
    const Readers readers(module, region);
    const std::vector<NodeId> nodes = std::exchange(module.region(region).nodes, {});
    for (const NodeId id : nodes) {
      if (const auto steps = fewer(module, id, readers, uses)) {
        set_trip_count(module, id, region, *steps);
        change.changed = true;
      }
      module.region(region).nodes.push_back(id);
    }
  }
  return change;
}

}  // namespace scanloom::passes
