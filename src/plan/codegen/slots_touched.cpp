#include "plan/codegen/slots_touched.h"

namespace scanloom::plan {
namespace {

class Toucher {
 public:
  explicit Toucher(const Binding& binding)
      : binding_(binding), touched(binding.slots.size(), false) {}

  void add(const Instruction& instruction) {
    const std::size_t i = instruction.index;
    switch (instruction.op) {
      case Op::call:
        add_operands(binding_.calls[i]);
        break;
      case Op::dynamic_call:
        add_operands(binding_.dynamic_calls[i].call);
        break;
      case Op::object_call:
        add_operands(binding_.object_calls[i]);
        break;
      case Op::loop_begin:
      case Op::compiled_loop:
        add_ports(binding_.loops[i]);
        break;
      case Op::branch:
        add(binding_.branches[i].condition);
        break;
      case Op::alias:
        add(binding_.aliases[i].from);
        add(binding_.aliases[i].to);
        break;
      case Op::check_sizes:
        add(binding_.size_checks[i].argument);
        add(binding_.size_checks[i].next);
        break;
      case Op::loop_end:
      case Op::jump:
      case Op::trap:
      case Op::poll:
      case Op::charge:
      case Op::outlined_region:
      case Op::end:
        break;
    }
  }

  void add(const Spot& spot) { add(spot.slot); }

 private:
  void add(SlotId slot) {
    if (slot != kNone) touched[static_cast<std::size_t>(slot)] = true;
  }

  template <class Call>
  void add_operands(const Call& call) {
    for (std::size_t i = 0; i < std::size_t{call.inputs} + call.outputs; ++i)
      add(binding_.operands[call.first_operand + i]);
  }

  void add_ports(const BoundLoop& loop) {
    for (const Spot* spot : {&loop.trip_operand, &loop.condition, &loop.keep_going}) add(*spot);
    for (const BoundCarried& port : loop.carried) {
      for (const Spot* spot : {&port.initial, &port.argument, &port.next, &port.final}) add(*spot);
      add(port.buffer_a);
      add(port.buffer_b);
    }
    for (const BoundScanned& port : loop.scanned) {
      add(port.outer);
      add(port.argument);
    }
    for (const BoundStacked& port : loop.stacked) {
      add(port.row);
      add(port.result);
    }
    for (const Spot& spot : loop.operands) add(spot);
    if (loop.whole)
      for (const Spot& spot : loop.whole->captured) add(spot);
  }

  const Binding& binding_;

 public:
  std::vector<bool> touched;
};

}  // namespace

std::vector<bool> slots_touched_outside(const Binding& binding, std::uint32_t first,
                                        std::uint32_t last) {
  Toucher toucher(binding);
  for (std::uint32_t at = 0; at < binding.code.size(); ++at)
    if (at < first || at >= last) toucher.add(binding.code[at]);
  for (const BoundResult& result : binding.results) toucher.add(result.source);
  return std::move(toucher.touched);
}

}  // namespace scanloom::plan
