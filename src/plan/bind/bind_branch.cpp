// Branches: a condition that sizes alone decide leaves only the side that runs; otherwise both
// sides are bound and each sets the slots of the results before it jumps to the common end.
#include "plan/bind/binder.h"

namespace scanloom::plan {

Expected<void> Binder::begin_branch(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  const int taken = inference_.taken_branch[id.index];
  if (taken >= 0) {
    enter_side(id, taken, {.side = Side::only_side, .node = id});
    return {};
  }
  Frame frame{.side = Side::then_side, .node = id, .certain = false};
  for (const ir::ValueId output : node.outputs) {
    Location result;
    if (is_object(output)) {
      result = new_object(type(output).dtype);
      owned_[output.index] = true;
    } else if (!is_static(output)) {
      result = new_dynamic(type(output).dtype);
    } else if (wanted_[output.index]) {
      result = *wanted_[output.index];
    } else {
      result.spot.slot = new_slot();
      result.spot.layout = contiguous_layout(type(output).shape());
      result.spot.dtype = type(output).dtype;
    }
    frame.results.push_back(result);
  }
  SCANLOOM_TRY(const Location condition, control(id, node.inputs[0], "condition"));
  BoundBranch branch{.node = id, .condition = condition.spot};
  touch(condition);
  frame.index = static_cast<std::uint32_t>(out_->branches.size());
  out_->branches.push_back(branch);
  emit(Op::branch, frame.index);
  enter_side(id, 0, std::move(frame));
  return {};
}

void Binder::enter_side(ir::NodeId id, int side, Frame frame) {
  const ir::Node& node = module_.node(id);
  frame.region = node.regions[static_cast<std::size_t>(side)];
  frame.next = 0;
  frame.first = static_cast<std::uint32_t>(out_->code.size());
  const ir::Region& region = module_.region(frame.region);
  for (std::size_t i = 0; i < region.args.size(); ++i) {
    set_location(region.args[i], location(node.inputs[i + 1]));
    owned_[region.args[i].index] = hands_over(id, i + 1);
  }
  for (std::size_t i = 0; i < region.yields.size(); ++i)
    if (wanted_[node.outputs[i].index] && is_static(region.yields[i]))
      want(frame.region, region.yields[i], *wanted_[node.outputs[i].index]);
  push_frame(std::move(frame));
}

/// Makes the yields of the side that ends here the results of the branch.
void Binder::finish_side(Frame& frame) {
  const ir::Node& node = module_.node(frame.node);
  const ir::Region& region = module_.region(frame.region);
  // What follows the only side is never reached either.
  if (frame.faulty && frame.side == Side::only_side) frames_.back().faulty = true;
  for (std::size_t i = 0; i < region.yields.size() && !frame.faulty; ++i) {
    const ir::ValueId output = node.outputs[i];
    Location source = location(region.yields[i]);
    const bool moved = hands_over_yield(frame.region, i);
    if (frame.side == Side::only_side && is_object(output)) {
      set_location(output, new_object(type(output).dtype));
      owned_[output.index] = true;
      emit_alias(source, location(output), moved);
      continue;
    }
    if (frame.side == Side::only_side) {
      set_location(output, source);
      continue;
    }
    Location& result = frame.results[i];
    if (result.spot.is_object()) {
      emit_alias(source, result, moved);
    } else if (result.spot.is_dynamic()) {
      emit_alias(source, result);
    } else if (wanted_[output.index]) {
      if (source.spot.slot != result.spot.slot) emit_copy(source, result, frame.node);
    } else {
      source = straight(source, type(output).shape(), frame.node);
      emit_alias(source, result);
    }
    result.add_buffers(source.buffers);
    set_location(output, result);
  }
  for (std::size_t i = 0; i < frame.results.size() && frame.faulty; ++i)
    set_location(node.outputs[i], frame.results[i]);
  if (frame.side != Side::only_side && loop_depth_ > 0) spend_side(frame.first);
  if (frame.side == Side::else_side)
    out_->code[frame.jump].index = static_cast<std::uint32_t>(out_->code.size());
}

void Binder::finish_then_side(Frame& frame) {
  finish_side(frame);
  Frame other{.side = Side::else_side,
              .node = frame.node,
              .index = frame.index,
              .jump = emit(Op::jump, 0),
              .results = std::move(frame.results),
              .certain = false};
  out_->branches[frame.index].otherwise = static_cast<std::uint32_t>(out_->code.size());
  enter_side(frame.node, 1, std::move(other));
}

}  // namespace scanloom::plan
