#include "passes/analysis/step_number.h"

#include <algorithm>
#include "ops/loop_counters.h"

#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/analysis/over_time.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

namespace {

/// Whether carried value i is the number of the step, counted from 0.
bool counts_steps(const Module& module, NodeId id, std::uint32_t i) {
  const Node& loop = module.node(id);
  const tensor::Tensor* const first =
      constant_of(module, loop.inputs[loop.loop->first_carried_input() + i]);
  return ops::increment_of(module, id, i) == 1 && first != nullptr && first->elements() == 1 &&
         first->as<std::int64_t>()[0] == 0;
}

}  // namespace

std::optional<std::size_t> body_argument(const Module& module, const Node& loop, ValueId value,
                                         std::size_t first, std::size_t count) {
  const ir::Value& argument = module.value(value);
  const bool fits = !argument.producer.valid() && argument.region == loop.regions[0] &&
                    argument.index >= first && argument.index < first + count;
  return fits ? std::optional(argument.index - first) : std::nullopt;
}

bool is_step_number(const Module& module, NodeId loop, ValueId value) {
  for (const Node* made = nullptr;; value = made->inputs[0]) {
    made = made_by(module, value, ops::unsqueeze_op);
    if (made == nullptr) made = made_by(module, value, ops::squeeze_op);
    if (made == nullptr) break;
  }
  const Node& node = module.node(loop);
  const auto carried = body_argument(module, node, value, node.loop->captured, node.loop->carried);
  return carried && counts_steps(module, loop, static_cast<std::uint32_t>(*carried));
}

bool has_element_per_step(const Module& module, const Node& loop,
                          const std::vector<ir::Dim>& counts, ir::Dim size) {
  if (!loop.loop->has_trip_count) return false;
  if (std::ranges::find(counts, size) != counts.end()) return true;
  const auto trips = known_trip_count(module, loop);
  return trips && size.is_constant() && *trips <= size.value();
}

}  // namespace scanloom::passes
