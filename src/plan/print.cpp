// Prints plans and bindings in readable form.
#include <fmt/format.h>

#include "ir/op_def.h"
#include "ir/walk.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

std::string spot_text(const Binding& binding, const Spot& spot) {
  if (!spot.present()) return "-";
  if (spot.is_object()) return fmt::format("object{} {}", spot.object, dtype_name(spot.dtype));
  if (spot.is_dynamic()) return fmt::format("dynamic{} {}", spot.dynamic, dtype_name(spot.dtype));
  const Layout& layout = binding.layouts[static_cast<std::size_t>(spot.layout)];
  const SlotInit& init = binding.slots[static_cast<std::size_t>(spot.slot)];
  std::string base;
  std::int64_t offset = spot.offset;
  switch (init.kind) {
    case SlotInit::Kind::arena:
      base = "arena";
      offset += init.offset;
      break;
    case SlotInit::Kind::constant:
      base = "constant";
      break;
    case SlotInit::Kind::feed:
      base = fmt::format("feed{}", init.index);
      break;
    case SlotInit::Kind::result:
      base = fmt::format("result{}", init.index);
      break;
    case SlotInit::Kind::moving:
      base = fmt::format("slot{}", spot.slot);
      break;
  }
  std::string text =
      fmt::format("{}+{} {}{}", base, offset, dtype_name(spot.dtype), layout.dims.to_string());
  if (!layout.contiguous) text += " strides " + layout.strides.to_string();
  return text;
}

std::string call_text(const Binding& binding, const BoundCall& call) {
  std::string text = fmt::format("{:<9} ", call.kernel.name());
  for (std::uint32_t i = 0; i < call.inputs + std::uint32_t{call.outputs}; ++i) {
    text += i == call.inputs ? " -> " : i == 0 ? "" : ", ";
    text += spot_text(binding, binding.operands[call.first_operand + i]);
  }
  text += "   # " + describe(*binding.plan, call.node);
  if (!call.fused_before.empty())
    text += fmt::format(", and {} before it", call.fused_before.size());
  return text;
}

std::string object_call_text(const Binding& binding, const BoundObjectCall& call) {
  std::string text = "object    ";
  for (std::uint32_t i = 0; i < call.inputs + std::uint32_t{call.outputs}; ++i) {
    text += i == call.inputs ? " -> " : i == 0 ? "" : ", ";
    text += spot_text(binding, binding.operands[call.first_operand + i]);
    if (i < call.inputs && call.moved[i]) text += " (handed over)";
  }
  return text + "   # " + describe(*binding.plan, call.node);
}

std::string loop_text(const Binding& binding, const BoundLoop& loop) {
  std::string text =
      describe(*binding.plan, loop.node) + ": " + describe_strategy(binding, loop) + "\n";
  text += loop.trip_count >= 0 ? fmt::format("      steps    {}\n", loop.trip_count)
                               : std::string("      steps    known when running\n");
  const auto place = [&](SlotId slot) {
    return binding.slots[static_cast<std::size_t>(slot)].offset;
  };
  for (const BoundCarried& port : loop.carried)
    text += fmt::format("      carried  {} from {}{}\n", spot_text(binding, port.argument),
                        spot_text(binding, port.initial),
                        port.in_place ? ", updated in place"
                        : port.buffer_a == kNone
                            ? std::string()
                            : fmt::format(", buffers arena+{} and arena+{}", place(port.buffer_a),
                                          place(port.buffer_b)));
  for (const BoundScanned& port : loop.scanned)
    text += fmt::format("      scanned  {} of {}, {} bytes per step\n",
                        spot_text(binding, port.argument), spot_text(binding, port.outer),
                        port.step_bytes);
  if (loop.blocks.steps > 0)
    text += fmt::format("      blocks   of {} steps are made from {} on\n", loop.blocks.steps,
                        loop.blocks.first);
  for (const BoundStacked& port : loop.stacked)
    text +=
        fmt::format("      stacked  {} into {}, {} bytes per step\n", spot_text(binding, port.row),
                    spot_text(binding, port.result), port.step_bytes);
  return text;
}

std::string instruction_text(const Binding& binding, const Instruction& instruction) {
  const std::size_t i = instruction.index;
  switch (instruction.op) {
    case Op::call:
      return call_text(binding, binding.calls[i]);
    case Op::dynamic_call:
      return "dynamic " + call_text(binding, binding.dynamic_calls[i].call);
    case Op::object_call:
      return object_call_text(binding, binding.object_calls[i]);
    case Op::loop_begin:
      return "loop begin " + loop_text(binding, binding.loops[i]);
    case Op::loop_end:
      return fmt::format("loop end, back to {}", binding.loops[i].body);
    case Op::compiled_loop:
      return "compiled " + loop_text(binding, binding.loops[i]);
    case Op::branch:
      return fmt::format(
          "branch     {}, else {}   # {}", spot_text(binding, binding.branches[i].condition),
          binding.branches[i].otherwise, describe(*binding.plan, binding.branches[i].node));
    case Op::jump:
      return fmt::format("jump       {}", i);
    case Op::check_sizes:
      return fmt::format("check the sizes of carried value {}: {}", binding.size_checks[i].carried,
                         spot_text(binding, binding.size_checks[i].next));
    case Op::alias:
      return fmt::format("alias      {} is {}", spot_text(binding, binding.aliases[i].to),
                         spot_text(binding, binding.aliases[i].from));
    case Op::trap:
      return "trap       " + binding.traps[i].text();
    case Op::poll:
      return "poll       limits";
    case Op::charge:
      return fmt::format("charge     {} ns", i);
    case Op::outlined_region:
      return fmt::format("outlined region, up to {}", binding.outlined_regions[i].last);
    case Op::end:
      return "end";
  }
  return {};
}

}  // namespace

std::string print(const Plan& plan) {
  std::string text = "plan\n";
  const ir::Module& module = plan.module;
  for (const ir::RegionId region : ir::regions_outer_first(module, module.top()))
    for (const ir::NodeId id : module.region(region).nodes) {
      const ir::Node& node = module.node(id);
      if (node.op == &ir::constant_op) continue;
      std::string kernels;
      for (const kernels::KernelId candidate : candidates(*node.op))
        kernels += std::string(kernels::kernel(candidate).name) + ", ";
      if (node.op->reference != nullptr || node.op->run_objects != nullptr) kernels += "reference";
      if (node.op == &ir::loop_op)
        kernels = plan.options.compiler != nullptr ? "compiled, stepped" : "stepped";
      if (node.op == &ir::branch_op) kernels = "one of two sides";
      if (node.op->view != nullptr) kernels = "view, " + kernels;
      text += fmt::format("  {:<18} {:<32} # {}\n", node.op->name, kernels, module.describe(id));
    }
  return text;
}

std::string print(const Binding& binding) {
  std::string text = "binding for";
  for (const tensor::Shape& shape : binding.feed_shapes) text += " " + shape.to_string();
  text += fmt::format(
      "\n  arena {} bytes, scratch {} bytes, results {} bytes, {} slots, {} dynamic tensors, {} "
      "objects\n",
      binding.arena_bytes, binding.scratch_bytes, binding.result_bytes, binding.slots.size(),
      binding.dynamic_count, binding.objects.size());
  for (std::size_t at = 0; at < binding.code.size(); ++at)
    text += fmt::format("  {:>4}  {}\n", at, instruction_text(binding, binding.code[at]));
  return text;
}

}  // namespace scanloom::plan
