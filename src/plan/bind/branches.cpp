#include "plan/bind/branches.h"

#include "plan/bind/copies.h"
#include "plan/bind/step_time.h"
#include "plan/bind/walk.h"
#include "plan/cost.h"

namespace scanloom::plan {
namespace {

using RegionKind = RegionFrame::Kind;

/// Returns the location of a result of a branch that only the run decides.
Location place_of_result(BindContext& ctx, ir::ValueId output) {
  const tensor::Type& type = ctx.values.type(output);
  if (ctx.values.is_object(output)) {
    ctx.values.set_owned(output);
    return ctx.builder.new_object(type.dtype);
  }
  if (!type.is_static()) return ctx.builder.new_dynamic(type.dtype);
  if (ctx.values.wanted(output)) return *ctx.values.wanted(output);
  Location result;
  result.spot.slot = ctx.builder.new_slot();
  result.spot.layout = ctx.builder.contiguous_layout(type.shape());
  result.spot.dtype = type.dtype;
  return result;
}

void enter_region(BindContext& ctx, ir::NodeId id, int taken, RegionFrame frame) {
  const ir::Node& node = ctx.module.node(id);
  frame.region = node.regions[static_cast<std::size_t>(taken)];
  frame.next = 0;
  frame.first = ctx.builder.next();
  const ir::Region& region = ctx.module.region(frame.region);
  for (std::size_t i = 0; i < region.args.size(); ++i) {
    ctx.values.set(region.args[i], ctx.values.at(node.inputs[i + 1]));
    ctx.values.set_owned(region.args[i], ctx.values.hands_over(id, i + 1));
  }
  for (std::size_t i = 0; i < region.yields.size(); ++i)
    if (ctx.values.wanted(node.outputs[i]) && ctx.values.is_static(region.yields[i]))
      ctx.values.want(frame.region, region.yields[i], *ctx.values.wanted(node.outputs[i]));
  push_region(ctx, std::move(frame));
}

/// Sets a result of a branch with only one region: later nodes read it where the region put it.
void yield_of_only_region(BindContext& ctx, ir::ValueId output, const Location& source,
                          bool moved) {
  if (!ctx.values.is_object(output)) return ctx.values.set(output, source);
  ctx.values.set(output, ctx.builder.new_object(ctx.values.type(output).dtype));
  ctx.values.set_owned(output);
  emit_alias(ctx.builder, source, ctx.values.at(output), moved);
}

}  // namespace

Expected<Location> control_operand(BindContext& ctx, ir::NodeId node, ir::ValueId id,
                                   std::string_view what) {
  const tensor::Type& type = ctx.values.type(id);
  if (type.is_static() && type.shape().elements() != 1)
    return fail(Code::invalid_argument, "{}: the {} {} has {} elements, but 1 is needed",
                ctx.module.describe(node), what, ctx.module.describe(id), type.shape().elements());
  return ctx.values.at(id);
}

Expected<void> bind_branch(BindContext& ctx, ir::NodeId id) {
  const ir::Node& node = ctx.module.node(id);
  // What a region reads counts as one reader, however many there are in it.
  align(ctx.builder, ctx.values.of_inputs(node));
  const int taken = ctx.inference.taken_branch[id.index];
  if (taken >= 0) {
    enter_region(ctx, id, taken, {.kind = RegionKind::only_region, .node = id});
    return {};
  }
  RegionFrame frame{.kind = RegionKind::then_region, .node = id, .certain = false};
  for (const ir::ValueId output : node.outputs)
    frame.results.push_back(place_of_result(ctx, output));
  SCANLOOM_TRY(const Location condition, control_operand(ctx, id, node.inputs[0], "condition"));
  std::vector<BoundBranch>& branches = ctx.builder.binding().branches;
  frame.index = static_cast<std::uint32_t>(branches.size());
  branches.push_back({.node = id, .condition = condition.spot});
  {
    InstructionScope instruction(ctx.builder, Op::branch, frame.index);
    instruction.read(condition);
  }
  enter_region(ctx, id, 0, std::move(frame));
  return {};
}

void finish_region_of_branch(BindContext& ctx, RegionFrame& frame) {
  const ir::Node& node = ctx.module.node(frame.node);
  const ir::Region& region = ctx.module.region(frame.region);
  const bool is_only = frame.kind == RegionKind::only_region;
  // Nodes after the only region are not reached either.
  if (frame.trapped && is_only) ctx.frames.back().trapped = true;
  for (std::size_t i = 0; i < region.yields.size() && !frame.trapped; ++i) {
    const ir::ValueId output = node.outputs[i];
    Location source = ctx.values.at(region.yields[i]);
    const bool moved = ctx.values.hands_over_yield(frame.region, i);
    if (is_only) {
      yield_of_only_region(ctx, output, source, moved);
      continue;
    }
    Location& result = frame.results[i];
    if (result.spot.is_object()) {
      emit_alias(ctx.builder, source, result, moved);
    } else if (result.spot.is_dynamic()) {
      emit_alias(ctx.builder, source, result);
    } else if (ctx.values.wanted(output)) {
      if (source.spot.slot != result.spot.slot) emit_copy(ctx.builder, source, result, frame.node);
    } else {
      source = straight(ctx.builder, source, ctx.values.type(output).shape(), frame.node);
      emit_alias(ctx.builder, source, result);
    }
    result.add_buffers(source.buffers);
    ctx.values.set(output, result);
  }
  for (std::size_t i = 0; i < frame.results.size() && frame.trapped; ++i)
    ctx.values.set(node.outputs[i], frame.results[i]);
  if (!is_only && ctx.builder.loop_depth() > 0)
    if (const double nanoseconds = uncharged_nanoseconds(ctx.builder.binding(), frame.first);
        nanoseconds >= kMinChargeOfRegion)
      ctx.builder.emit_charge(nanoseconds);
  if (frame.kind == RegionKind::else_region)
    ctx.builder.binding().code[frame.jump].index = ctx.builder.next();
}

void finish_then_region(BindContext& ctx, RegionFrame& frame) {
  finish_region_of_branch(ctx, frame);
  RegionFrame other{.kind = RegionKind::else_region,
                    .node = frame.node,
                    .index = frame.index,
                    .jump = ctx.builder.emit(Op::jump, 0),
                    .results = std::move(frame.results),
                    .certain = false};
  ctx.builder.binding().branches[frame.index].otherwise = ctx.builder.next();
  enter_region(ctx, frame.node, 1, std::move(other));
}

}  // namespace scanloom::plan
