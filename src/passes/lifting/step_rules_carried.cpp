// The steps in nodes that carry values along them, loops, recurrent layers and sums over the steps,
// and in nodes that pick what belongs to the last step.
#include <algorithm>

#include "opmath/contraction.h"
#include "ops/ops.h"
#include "passes/analysis/over_time.h"
#include "passes/lifting/step_rules.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;
using Kind = StepFlow::Kind;

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

/// Checks that the loop takes as many steps as there are, and reads nothing of all of them.
Expected<void> check_steps_of_loop(const StepSite& site, NodeId id) {
  const ir::LoopPorts& ports = *site.node.loop;
  if (!takes_all_steps(site.module, id)) return across("a condition may end it");
  if (ports.has_trip_count && site.kind(0) != Kind::count)
    return across("it takes a number of steps of its own");
  const ir::Region& body = site.module.region(site.node.regions[0]);
  for (std::uint32_t i = 0; i < ports.captured + ports.carried; ++i) {
    // Captured but no longer read, as slice_by_counter leaves it.
    if (i < ports.captured && site.uses[body.args[i].index] == 0) continue;
    const Kind read = site.kind(ports.first_captured_input() + i);
    if (read == Kind::along) return across("its body reads all of them in each step");
    if (read == Kind::count || read == Kind::sizes)
      return across("its body reads how many there are");
    if (read == Kind::last)
      return across("it waits for what another loop has carried to their end");
  }
  return {};
}

/// Checks that each step of the loop reads what belongs to it.
Expected<void> check_sequences_of_loop(const StepSite& site) {
  const ir::LoopPorts& ports = *site.node.loop;
  for (std::size_t i = 0; i < ports.scanned.size(); ++i) {
    const ir::ScannedPort& port = ports.scanned[i];
    const std::size_t operand = ports.first_scanned_input() + i;
    const StepFlow& flow = site.flow(operand);
    if (flow.kind != Kind::along || flow.axis != port.axis)
      return across(fmt::format("it walks along another axis of {}",
                                site.module.describe(site.node.inputs[operand])));
    if (port.start != 0 || port.stride != 1 || port.part != 1 || flow.each != Dim(1))
      return across(port.stride < 0 ? "it walks backwards" : "it does not take one at a time");
  }
  return {};
}

/// Returns how many elements each step adds to the result along the axis of the rows.
Expected<Dim> elements_of_row(const StepSite& site, std::size_t stacked) {
  const ir::LoopPorts& ports = *site.node.loop;
  const ir::StackedPort& port = ports.stacked[stacked];
  if (port.insert) return Dim(1);
  const ir::Region& body = site.module.region(site.node.regions[0]);
  const Type& row = site.module.value(body.yields[ports.first_stacked_yield() + stacked]).type;
  if (!row.ranked || port.axis >= row.rank() ||
      !row.dims[static_cast<std::size_t>(port.axis)].is_constant())
    return across("it concatenates rows whose size is not known");
  return row.dims[static_cast<std::size_t>(port.axis)];
}

}  // namespace

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

Expected<CarriedFlow> flow_of_sum(const StepSite& site, NodeId id) {
  const std::size_t first = site.kind(0) == Kind::sum ? 1 : 0;
  const Type& type = site.result_type();
  if (site.node.op != &ops::add_op || site.kind(first) != Kind::same ||
      site.kind(1 - first) != Kind::sum || site.type(first) != type)
    return across("it reads a sum over them");
  return CarriedFlow{.results = {{Kind::last, 0}}, .sites = {{id, first, 0, type}}};
}

Expected<CarriedFlow> flow_of_loop(const StepSite& site, NodeId id) {
  SCANLOOM_CHECK_OK(check_steps_of_loop(site, id));
  SCANLOOM_CHECK_OK(check_sequences_of_loop(site));
  const ir::LoopPorts& ports = *site.node.loop;
  const ir::Region& body = site.module.region(site.node.regions[0]);
  CarriedFlow flow;
  for (std::uint32_t i = 0; i < ports.carried; ++i) {
    flow.sites.push_back({id, ports.first_carried_input() + i, i,
                          site.module.value(body.args[ports.captured + i]).type});
    flow.results.push_back({Kind::last, 0});
  }
  for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
    const ir::StackedPort& port = ports.stacked[i];
    if (port.reverse) return across("its rows lie backwards");
    SCANLOOM_TRY(const Dim each, elements_of_row(site, i));
    flow.results.push_back({Kind::along, static_cast<int>(port.axis), each});
  }
  return flow;
}

Expected<CarriedFlow> flow_of_layer(const StepSite& site, NodeId id) {
  constexpr std::size_t kX = 0, kLengths = 4, kInitialH = 5;
  const Node& node = site.node;
  const int time = attr_of(node, "layout").integer() == 1 ? 1 : 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (site.along(i) != (i == kX) && site.has(i))
      return across("an operand other than the sequence has them");
  if (site.flow(kX).axis != time || site.flow(kX).each != Dim(1))
    return across("it walks along another axis");
  if (attr_of(node, "direction").text() != "forward") return across("it walks backwards");
  if (site.has(kLengths)) return across("its sequences have lengths of their own");
  CarriedFlow flow;
  flow.results.push_back({Kind::along, time});
  const std::size_t states = node.op == &ops::lstm_op ? 2 : 1;
  for (std::size_t i = 1 + states; i < node.outputs.size(); ++i)
    if (site.is_read(i)) return across("it hands its gates out");
  for (std::size_t i = 0; i < states; ++i) {
    flow.results.push_back({Kind::last, 0});
    flow.sites.push_back({id, kInitialH + i, 1 + i, site.module.value(node.outputs[1 + i]).type});
  }
  return flow;
}

}  // namespace scanloom::passes
