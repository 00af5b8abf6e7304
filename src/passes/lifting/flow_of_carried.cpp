#include "passes/lifting/flow_of_carried.h"

#include "ops/ops.h"
#include "passes/analysis/over_time.h"
#include "passes/lifting/flow_of_results.h"
#include "passes/rewrite/layer_operands.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::across;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::StepSite;
using ir::Type;
using Kind = StepFlow::Kind;

}  // namespace

Expected<void> check_steps_of_loop(const StepSite& site, NodeId id) {
  const ir::LoopPorts& ports = *site.node.loop;
  if (!takes_all_steps(site.module, id)) return across("a condition may end it early");
  if (ports.has_trip_count && kind_of(site, 0) != Kind::count)
    return across("it takes its own number of steps");
  const ir::Region& body = site.module.region(site.node.regions[0]);
  for (std::uint32_t i = 0; i < ports.captured + ports.carried; ++i) {
    // Captured but no longer read, as slice_by_counter leaves it.
    if (i < ports.captured && site.uses[body.args[i].index] == 0) continue;
    const Kind read = kind_of(site, ports.first_captured_input() + i);
    if (read == Kind::along) return across("its body reads all of them in each step");
    if (read == Kind::count || read == Kind::sizes) return across("its body reads their number");
    if (read == Kind::last) return across("it needs the final state of another loop over them");
  }
  return {};
}

Expected<bool> scans_backwards(const StepSite& site, std::size_t scanned) {
  const ir::LoopPorts& ports = *site.node.loop;
  const ir::ScannedPort& port = ports.scanned[scanned];
  const std::size_t operand = ports.first_scanned_input() + scanned;
  const StepFlow& flow = site.flow(operand);
  if (flow.kind != Kind::along || flow.axis != port.axis)
    return across(fmt::format("it walks along another axis of {}",
                              site.module.describe(site.node.inputs[operand])));
  const bool is_forward = port.start == 0 && port.stride == 1;
  const bool is_backward = port.start == -1 && port.stride == -1;
  if ((!is_forward && !is_backward) || port.part != 1 || flow.each != Dim(1))
    return across("it does not take one at a time");
  return is_backward;
}

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

Expected<CarriedFlow> flow_of_sum(const StepSite& site, NodeId id) {
  const std::size_t first = kind_of(site, 0) == Kind::sum ? 1 : 0;
  const Type& type = site.result_type();
  if (site.node.op != &ops::add_op || kind_of(site, first) != Kind::same ||
      kind_of(site, 1 - first) != Kind::sum || site.type(first) != type)
    return across("it reads a sum over them");
  return CarriedFlow{.results = {{Kind::last, 0}}, .sites = {{id, first, 0, type}}};
}

Expected<CarriedFlow> flow_of_loop(const StepSite& site, NodeId id) {
  SCANLOOM_CHECK_OK(check_steps_of_loop(site, id));
  for (std::size_t i = 0; i < site.node.loop->scanned.size(); ++i) {
    SCANLOOM_TRY(const bool is_backward, scans_backwards(site, i));
    if (is_backward) return across("it walks backwards");
  }
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
    if (port.reverse) return across("its rows are in reverse order");
    SCANLOOM_TRY(const Dim each, elements_of_row(site, i));
    flow.results.push_back({Kind::along, static_cast<int>(port.axis), each});
  }
  return flow;
}

Expected<CarriedFlow> flow_of_layer(const StepSite& site, NodeId id) {
  const Node& node = site.node;
  const int time = attr_of(node, "layout").integer() == 1 ? 1 : 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (site.along(i) != (i == layers::kX) && site.has(i))
      return across("an operand other than the sequence has them");
  if (site.flow(layers::kX).axis != time || site.flow(layers::kX).each != Dim(1))
    return across("it walks along another axis");
  if (attr_of(node, "direction").text() != "forward") return across("it walks backwards");
  if (site.has(layers::kLengths)) return across("its sequences have their own lengths");
  CarriedFlow flow;
  flow.results.push_back({Kind::along, time});
  const std::size_t states = node.op->layer_states;
  for (std::size_t i = 1 + states; i < node.outputs.size(); ++i)
    if (site.is_read(i)) return across("it returns its gates");
  for (std::size_t i = 0; i < states; ++i) {
    flow.results.push_back({Kind::last, 0});
    flow.sites.push_back(
        {id, layers::kInitialH + i, 1 + i, site.module.value(node.outputs[1 + i]).type});
  }
  return flow;
}

}  // namespace scanloom::passes
