#include "plan/bind/objects.h"

#include <algorithm>

namespace scanloom::plan {

bool touches_objects(const BindContext& ctx, const ir::Node& node) {
  const auto touches = [&](ir::ValueId id) { return id.valid() && ctx.values.is_object(id); };
  return std::ranges::any_of(node.inputs, touches) || std::ranges::any_of(node.outputs, touches);
}

Expected<void> bind_object(BindContext& ctx, ir::NodeId id) {
  const ir::Node& node = ctx.module.node(id);
  if (node.op->run_objects == nullptr && node.op->reference == nullptr)
    return fail(Code::unsupported, "{}: operator '{}' has no kernel", ctx.module.describe(id),
                node.op->name);
  const std::vector<Location> inputs = ctx.values.of_inputs(node);
  std::vector<Location> outputs;
  BoundObjectCall call{.node = id};
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    call.moved.push_back(ctx.values.hands_over(id, i));
  for (const ir::ValueId output : node.outputs) {
    const DType dtype = ctx.values.type(output).dtype;
    if (ctx.values.is_object(output)) {
      outputs.push_back(ctx.builder.new_object(dtype));
      ctx.values.set_owned(output);
    } else {
      outputs.push_back(ctx.values.is_static(output) ? ctx.values.result(output)
                                                     : ctx.builder.new_dynamic(dtype));
    }
    ctx.values.set(output, outputs.back());
  }
  ctx.builder.emit_object_call(std::move(call), inputs, outputs);
  if (ctx.builder.loop_depth() == 0) ctx.builder.emit(Op::poll, id.index);
  return {};
}

BoundCarried bind_carried_object(BindContext& ctx, ir::NodeId loop, std::uint32_t port) {
  const ir::Node& node = ctx.module.node(loop);
  const ir::LoopPorts& ports = *node.loop;
  const ir::ValueId argument = ctx.module.region(node.regions[0]).args[ports.captured + port];
  const std::size_t operand = ports.first_carried_input() + port;
  const DType dtype = ctx.values.type(argument).dtype;
  BoundCarried carried;
  carried.initial = ctx.values.at(node.inputs[operand]).spot;
  carried.moved = ctx.values.hands_over(loop, operand);
  carried.argument = ctx.builder.new_object(dtype).spot;
  carried.next = ctx.builder.new_object(dtype).spot;
  carried.final = ctx.builder.new_object(dtype).spot;
  ctx.values.set(argument, {carried.argument, {}});
  ctx.values.set(node.outputs[port], {carried.final, {}});
  ctx.values.set_owned(argument);
  ctx.values.set_owned(node.outputs[port]);
  return carried;
}

}  // namespace scanloom::plan
