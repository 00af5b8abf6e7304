// Objects: sequences, optionals and strings, which live outside the arena. A node that touches one
// is a call that may allocate; an object that nothing reads again is handed over, so that it can be
// changed in place.
#include <algorithm>

#include "plan/bind/binder.h"

namespace scanloom::plan {

bool Binder::touches_objects(const ir::Node& node) const {
  const auto touches = [&](ir::ValueId id) { return id.valid() && is_object(id); };
  return std::ranges::any_of(node.inputs, touches) || std::ranges::any_of(node.outputs, touches);
}

/// An operand that stands several times is kept: another argument may share its spot.
bool Binder::hands_over(ir::NodeId node, std::size_t operand) const {
  const std::vector<ir::ValueId>& inputs = module_.node(node).inputs;
  return last_uses_.of_operand(node, operand) && owned_[inputs[operand].index] &&
         std::ranges::count(inputs, inputs[operand]) == 1;
}

bool Binder::hands_over_yield(ir::RegionId region, std::size_t yield) const {
  return last_uses_.of_yield(region, yield) && owned_[module_.region(region).yields[yield].index];
}

Expected<void> Binder::bind_object(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  if (node.op->boxed == nullptr && node.op->reference == nullptr)
    return fail(Code::unsupported, "{}: operator '{}' has no kernel", module_.describe(id),
                node.op->name);
  std::vector<Location> inputs, outputs;
  ObjectCall call{.node = id};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    inputs.push_back(node.inputs[i].valid() ? location(node.inputs[i]) : Location{});
    call.moved.push_back(hands_over(id, i));
  }
  for (const ir::ValueId output : node.outputs) {
    if (is_object(output)) {
      outputs.push_back(new_object(type(output).dtype));
      owned_[output.index] = true;
    } else {
      outputs.push_back(is_static(output) ? output_location(output)
                                          : new_dynamic(type(output).dtype));
    }
    set_location(output, outputs.back());
  }
  call.first_operand = add_operands(inputs, outputs);
  call.inputs = static_cast<std::uint16_t>(inputs.size());
  call.outputs = static_cast<std::uint16_t>(outputs.size());
  out_->object_calls.push_back(std::move(call));
  emit(Op::object_call, static_cast<std::uint32_t>(out_->object_calls.size() - 1));
  if (loop_depth_ == 0) emit(Op::look, id.index);
  return {};
}

void Binder::bind_carried_object(ir::NodeId id, std::uint32_t port, BoundLoop& loop) {
  const ir::Node& node = module_.node(id);
  const ir::LoopPorts& ports = *node.loop;
  const ir::ValueId argument = module_.region(node.regions[0]).args[ports.captured + port];
  const std::size_t operand = ports.first_carried_input() + port;
  const DType dtype = type(argument).dtype;
  BoundCarried carried;
  carried.initial = location(node.inputs[operand]).spot;
  carried.moved = hands_over(id, operand);
  carried.argument = new_object(dtype).spot;
  carried.next = new_object(dtype).spot;
  carried.final = new_object(dtype).spot;
  set_location(argument, {carried.argument, {}});
  set_location(node.outputs[port], {carried.final, {}});
  owned_[argument.index] = owned_[node.outputs[port].index] = true;
  loop.carried.push_back(carried);
}

}  // namespace scanloom::plan
