#include "plan/bind/walk.h"

#include <limits>

#include "ops/sized_results.h"
#include "plan/bind/branches.h"
#include "plan/bind/copies.h"
#include "plan/bind/loops.h"
#include "plan/bind/nodes.h"
#include "plan/bind/objects.h"

namespace scanloom::plan {
namespace {

/// Makes reaching this point of the region an error.
void trap_region(BindContext& ctx, Error error) {
  std::vector<Error>& traps = ctx.builder.binding().traps;
  traps.push_back(std::move(error));
  ctx.builder.emit(Op::trap, static_cast<std::uint32_t>(traps.size() - 1));
  ctx.frames.back().trapped = true;
}

Expected<void> finish_top(BindContext& ctx) {
  const ir::Region& top = ctx.module.region(ctx.module.top());
  std::vector<Location> read;
  for (std::size_t i = 0; i < top.yields.size(); ++i) {
    BoundResult& result = ctx.builder.binding().results[i];
    const Location source = ctx.values.at(top.yields[i]);
    if (!result.source.present()) {
      result.source = source.spot;
      read.push_back(source);
    } else if (source.spot.slot != result.source.slot) {
      emit_copy(ctx.builder, source, {result.source, {}}, ctx.module.value(top.yields[i]).producer);
    }
  }
  InstructionScope instruction(ctx.builder, Op::end, 0);
  for (const Location& source : read) instruction.read(source);
  return {};
}

Expected<void> finish_region(BindContext& ctx, RegionFrame& frame) {
  switch (frame.kind) {
    case RegionFrame::Kind::top:
      return finish_top(ctx);
    case RegionFrame::Kind::loop_body:
      return finish_loop(ctx, frame);
    case RegionFrame::Kind::then_region:
      finish_then_region(ctx, frame);
      return {};
    case RegionFrame::Kind::else_region:
    case RegionFrame::Kind::only_region:
      finish_region_of_branch(ctx, frame);
      return {};
  }
  return {};
}

}  // namespace

Expected<void> bind_regions(BindContext& ctx) {
  ctx.frames.push_back({.region = ctx.module.top()});
  while (!ctx.frames.empty()) {
    RegionFrame& frame = ctx.frames.back();
    const ir::Region& region = ctx.module.region(frame.region);
    const std::vector<ir::NodeId>& nodes = frame.order.empty() ? region.nodes : frame.order;
    if (frame.next < nodes.size() && !frame.trapped) {
      const bool certain = frame.certain;
      if (Expected<void> bound = bind_node(ctx, nodes[frame.next++]); !bound) {
        if (certain) return bound;
        trap_region(ctx, std::move(bound).error());
      }
      continue;
    }
    RegionFrame done = std::move(frame);
    ctx.frames.pop_back();
    SCANLOOM_CHECK_OK(finish_region(ctx, done));
  }
  return {};
}

void push_region(BindContext& ctx, RegionFrame frame) {
  frame.certain &= ctx.frames.back().certain;
  ctx.frames.push_back(std::move(frame));
}

Expected<void> bind_node(BindContext& ctx, ir::NodeId id) {
  if (const BoundPair* const pair = ctx.pairs.pair_of(id))
    return id == pair->second.nodes.back() ? bind_pair(ctx, *pair) : Expected<void>();
  const FusedGroup* const group = ctx.fusion.group_of(id);
  if (group == nullptr) return bind_alone(ctx, id);
  return id == group->nodes.back() ? bind_group(ctx, *group) : Expected<void>();
}

Expected<void> bind_alone(BindContext& ctx, ir::NodeId id) {
  const ir::Node& node = ctx.module.node(id);
  if (ctx.inference.makes_constants(node) || ctx.is_bound_with_loop[id.index]) return {};
  if (node.op == &ir::loop_op) return bind_loop(ctx, id);
  if (node.op == &ir::branch_op) return bind_branch(ctx, id);
  constexpr std::size_t kMaxOperands = std::numeric_limits<std::uint16_t>::max();
  if (node.inputs.size() > kMaxOperands || node.outputs.size() > kMaxOperands)
    return fail(Code::unsupported, "{}: {} operands and {} results, but a node may have {}",
                ctx.module.describe(id), node.inputs.size(), node.outputs.size(), kMaxOperands);
  if (touches_objects(ctx, node) || node.op->reference == nullptr) return bind_object(ctx, id);
  bool dynamic = false;
  for (const ir::ValueId output : node.outputs) dynamic |= !ctx.values.is_static(output);
  if (dynamic && ops::sized_results_of(*node.op) != nullptr) return bind_object(ctx, id);
  for (const ir::ValueId input : node.inputs)
    dynamic |= input.valid() && ctx.values.at(input).spot.is_dynamic();
  if (dynamic) return bind_dynamic(ctx, id);
  if (node.op->view != nullptr && bind_view(ctx, id)) return {};
  return bind_kernel(ctx, id);
}

}  // namespace scanloom::plan
