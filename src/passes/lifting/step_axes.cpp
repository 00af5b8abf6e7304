#include "passes/lifting/step_axes.h"

#include <algorithm>
#include <iterator>

#include "ir/walk.h"
#include "ops/ops.h"
#include "passes/lifting/flow_of_carried.h"
#include "passes/lifting/flow_of_results.h"
#include "passes/lifting/flow_of_sizes.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::across;
using ir::Dim;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::StepSite;
using ir::Type;
using ir::ValueId;
using Kind = StepFlow::Kind;

/// Walks the top region in order.
class Follower {
 public:
  Follower(const Module& module, Dim steps)
      : module_(module), steps_(steps), dims_(module.dims), uses_(ir::count_uses(module)) {
    axes_.flows.resize(module.value_count());
  }

  Expected<StepAxes> follow() {
    SCANLOOM_CHECK_OK(check_draws());
    for (const ValueId arg : module_.region(module_.top()).args) SCANLOOM_CHECK_OK(enter(arg));
    for (const NodeId id : module_.region(module_.top()).nodes) {
      Expected<void> visited = visit_and_check(id);
      if (!visited) {
        Error error = fail(Code::unsupported, "{} computes across the steps: {}",
                           module_.describe(id), visited.error().message());
        return error.note("a stream sees the steps in pieces");
      }
    }
    for (const ValueId yield : module_.region(module_.top()).yields)
      SCANLOOM_CHECK_OK(check_result(yield));
    return std::move(axes_);
  }

 private:
  /// Each piece is a run of its own, with other random samples than the whole.
  [[nodiscard]] Expected<void> check_draws() const {
    for (const ir::RegionId region : ir::regions_outer_first(module_, module_.top()))
      for (const NodeId id : module_.region(region).nodes)
        if (module_.node(id).op->effects == ir::Effects::random)
          return fail(Code::unsupported, "{} draws other numbers for each piece of a stream",
                      module_.describe(id));
    return {};
  }

  /// Finds the steps in an argument of the module.
  Expected<void> enter(ValueId arg) {
    const Type& type = module_.value(arg).type;
    const std::vector<Dim>& dims = type.dims;
    const auto count = std::ranges::count(dims, steps_);
    if (count > 0 && !type.is_tensor())
      return fail(Code::unsupported, "the items of input {} have the size of the steps",
                  module_.describe(arg));
    if (count > 1)
      return fail(Code::unsupported, "input {} has the size of the steps on {} axes",
                  module_.describe(arg), count);
    if (count == 1)
      set(arg, {Kind::along, static_cast<int>(std::ranges::find(dims, steps_) - dims.begin())});
    return {};
  }

  [[nodiscard]] Expected<void> check_result(ValueId yield) const {
    const Kind kind = yield.valid() ? axes_.flows[yield.index].kind : Kind::same;
    if (kind == Kind::count || kind == Kind::sizes)
      return fail(Code::unsupported, "result {} is the number of steps", module_.describe(yield));
    if (kind == Kind::sum)
      return fail(Code::unsupported, "result {} is a sum over the steps", module_.describe(yield));
    return {};
  }

  void set(ValueId value, StepFlow flow) { axes_.flows[value.index] = flow; }
  Expected<void> set_all(const Node& node, Expected<StepFlow> flow) {
    if (!flow) return std::move(flow).error();
    for (const ValueId output : node.outputs) set(output, *flow);
    return {};
  }
  Expected<void> set_carried(const Node& node, Expected<CarriedFlow> flow) {
    if (!flow) return std::move(flow).error();
    for (std::size_t i = 0; i < flow->results.size(); ++i) set(node.outputs[i], flow->results[i]);
    std::ranges::move(flow->sites, std::back_inserter(axes_.sites));
    return {};
  }

  Expected<void> visit_and_check(NodeId id) {
    SCANLOOM_CHECK_OK(visit(id));
    return expect_no_hidden_steps({module_, module_.node(id), axes_.flows, uses_, dims_, steps_});
  }

  /// Handles values without steps first, then counts of steps, then values along the steps.
  Expected<void> visit(NodeId id) {
    const Node& node = module_.node(id);
    const StepSite site{module_, node, axes_.flows, uses_, dims_, steps_};
    if (has_operand_of(site, Kind::sum)) return set_carried(node, flow_of_sum(site, id));
    const bool along = has_operand_of(site, Kind::along);
    const bool counts = has_operand_of(site, Kind::count) || has_operand_of(site, Kind::sizes);
    if (!along && !counts) {
      SCANLOOM_CHECK_OK(check_other_axes(node));
      if (has_operand_of(site, Kind::last)) return set_all(node, StepFlow{Kind::last, 0});
      return {};
    }
    if (node.op == &ir::loop_op) return set_carried(node, flow_of_loop(site, id));
    if (node.op == &ops::dim_op || node.op == &ops::shape_op || counts)
      return set_all(node, flow_of_sizes(site));
    if (has_operand_of(site, Kind::last))
      return across("it needs the final state of a loop over them");
    if (node.op->layer_states > 0) return set_carried(node, flow_of_layer(site, id));
    if (picks_for_sizes(site)) return {};
    return set_all(node, flow_along(site));
  }

  /// A loop or layer along another open axis would start again with each piece, and a user may feed
  /// pieces along that axis too.
  Expected<void> check_other_axes(const Node& node) const {
    const auto is_open = [&](ValueId value, std::int64_t axis) {
      const Type& type = module_.value(value).type;
      return !type.ranked || axis >= type.rank() ||
             !type.dims[static_cast<std::size_t>(axis)].is_constant();
    };
    bool open = node.op->layer_states > 0 &&
                is_open(node.inputs[0], attr_of(node, "layout").integer() == 1 ? 1 : 0);
    if (node.op == &ir::loop_op)
      for (std::size_t i = 0; i < node.loop->scanned.size(); ++i)
        open |=
            is_open(node.inputs[node.loop->first_scanned_input() + i], node.loop->scanned[i].axis);
    if (open) return across("it walks along another axis whose size is open");
    if (node.op != &ir::branch_op) return {};
    for (const ir::RegionId side : node.regions)
      for (const ir::RegionId region : ir::regions_outer_first(module_, side))
        for (const NodeId inner : module_.region(region).nodes)
          if (module_.node(inner).op != &ir::branch_op)
            SCANLOOM_CHECK_OK(check_other_axes(module_.node(inner)));
    return {};
  }

  const Module& module_;
  const Dim steps_;
  tensor::DimTable dims_;
  const std::vector<std::uint32_t> uses_;  ///< by ValueId
  StepAxes axes_;
};

}  // namespace

Expected<StepAxes> follow_steps(const Module& module, Dim steps) {
  return Follower(module, steps).follow();
}

}  // namespace scanloom::passes
