#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/verify_rules.h"

namespace scanloom::ir::rules {
namespace {

/// A loop whose operands, arguments, yields and results fit its ports after check_counts.
struct Loop {
  const Module& module;
  NodeId id;
  const Node& node;
  const LoopPorts& ports;
  const Region& body;

  Loop(const Module& m, NodeId n)
      : module(m), id(n), node(m.node(n)), ports(*node.loop), body(m.region(node.regions[0])) {}

  [[nodiscard]] std::string name() const { return module.describe(id); }
  [[nodiscard]] const Type& type(ValueId value) const { return module.value(value).type; }
  [[nodiscard]] std::string text(ValueId value) const { return rules::text(module, value); }
};

Expected<void> check_count(const Loop& loop, std::string_view what, std::uint64_t has,
                           std::uint64_t needs) {
  if (has == needs) return {};
  return broken("{}: has {} {}, its ports need {}", loop.name(), has, what, needs);
}

// Uses 64 bits: the counts of a broken module may be anything.
Expected<void> check_counts(const Loop& loop) {
  const LoopPorts& ports = loop.ports;
  const std::uint64_t arguments =
      std::uint64_t{ports.captured} + ports.carried + ports.scanned.size();
  const std::uint64_t operands = arguments + ports.has_trip_count + ports.has_condition;
  const std::uint64_t results = std::uint64_t{ports.carried} + ports.stacked.size();
  SCANLOOM_CHECK_OK(check_count(loop, "operands", loop.node.inputs.size(), operands));
  SCANLOOM_CHECK_OK(check_count(loop, "body arguments", loop.body.args.size(), arguments));
  SCANLOOM_CHECK_OK(
      check_count(loop, "body yields", loop.body.yields.size(), results + ports.has_keep_going));
  return check_count(loop, "results", loop.node.outputs.size(), results);
}

Expected<void> check_present(const Loop& loop) {
  for (std::size_t i = 0; i < loop.node.inputs.size(); ++i)
    if (!loop.node.inputs[i].valid()) return broken("{}: operand {} is absent", loop.name(), i);
  return {};
}

Expected<void> check_control(const Loop& loop, std::string_view what, ValueId value, DType dtype) {
  const Type& type = loop.type(value);
  if (type.dtype == dtype && may_be_one_element(type)) return {};
  return broken("{}: the {} is {}, but must be one {}", loop.name(), what, loop.text(value),
                dtype_name(dtype));
}

Expected<void> check_controls(const Loop& loop) {
  const LoopPorts& ports = loop.ports;
  if (ports.has_trip_count)
    SCANLOOM_CHECK_OK(check_control(loop, "trip count", loop.node.inputs[0], DType::i64));
  if (ports.has_condition)
    SCANLOOM_CHECK_OK(
        check_control(loop, "condition", loop.node.inputs[ports.has_trip_count], DType::boolean));
  if (ports.has_keep_going)
    SCANLOOM_CHECK_OK(
        check_control(loop, "yielded keep_going", loop.body.yields[0], DType::boolean));
  return {};
}

Expected<void> check_captured(const Loop& loop, std::uint32_t i) {
  const ValueId outer = loop.node.inputs[loop.ports.first_captured_input() + i];
  const ValueId arg = loop.body.args[i];
  if (same_rank(loop.type(outer), loop.type(arg))) return {};
  return broken("{}: captured value {} is {}, but its argument is {}", loop.name(), i,
                loop.text(outer), loop.text(arg));
}

Expected<void> check_carried(const Loop& loop, std::uint32_t i) {
  const LoopPorts& ports = loop.ports;
  const ValueId initial = loop.node.inputs[ports.first_carried_input() + i];
  const ValueId arg = loop.body.args[ports.captured + i];
  const ValueId next = loop.body.yields[ports.first_carried_yield() + i];
  const ValueId last = loop.node.outputs[i];
  if (!same_kind(loop.type(initial), loop.type(arg)))
    return broken("{}: carried value {} starts as {}, but its argument is {}", loop.name(), i,
                  loop.text(initial), loop.text(arg));
  if (!same_kind(loop.type(arg), loop.type(next)))
    return broken("{}: carried value {} is {}, but the body yields {}", loop.name(), i,
                  loop.text(arg), loop.text(next));
  if (!same_kind(loop.type(arg), loop.type(last)))
    return broken("{}: carried value {} is {}, but its result is {}", loop.name(), i,
                  loop.text(arg), loop.text(last));
  return {};
}

Expected<void> check_scanned(const Loop& loop, std::uint32_t i) {
  const LoopPorts& ports = loop.ports;
  const ScannedPort& port = ports.scanned[i];
  const ValueId outer = loop.node.inputs[ports.first_scanned_input() + i];
  const ValueId arg = loop.body.args[ports.captured + ports.carried + i];
  const Type& whole = loop.type(outer);
  const Type& slice = loop.type(arg);
  if (!whole.is_tensor() || !same_kind(whole, slice))
    return broken("{}: scanned value {} is {}, but its argument is {}", loop.name(), i,
                  loop.text(outer), loop.text(arg));
  if (port.axis < 0 || port.axis >= (whole.ranked ? whole.rank() : tensor::kMaxRank))
    return broken("{}: scanned value {} is {}, which has no axis {}", loop.name(), i,
                  loop.text(outer), port.axis);
  if (port.stride == 0 || port.part < 1)
    return broken("{}: scanned value {} has stride {} and part {}", loop.name(), i, port.stride,
                  port.part);
  if (port.squeeze && port.part != 1)
    return broken("{}: scanned value {} is squeezed and has part {}", loop.name(), i, port.part);
  if (whole.ranked && slice.ranked && whole.rank() != slice.rank() + port.squeeze)
    return broken("{}: scanned value {} is {}, but its argument is {}", loop.name(), i,
                  loop.text(outer), loop.text(arg));
  return {};
}

Expected<void> check_stacked(const Loop& loop, std::uint32_t i) {
  const LoopPorts& ports = loop.ports;
  const StackedPort& port = ports.stacked[i];
  const ValueId row = loop.body.yields[ports.first_stacked_yield() + i];
  const ValueId all = loop.node.outputs[ports.carried + i];
  const Type& row_type = loop.type(row);
  const Type& type = loop.type(all);
  if (!type.is_tensor() || !same_kind(row_type, type) ||
      (row_type.ranked && type.ranked && row_type.rank() + port.insert != type.rank()))
    return broken("{}: stacked value {} is {}, but the body yields {}", loop.name(), i,
                  loop.text(all), loop.text(row));
  const int rank = type.ranked       ? type.rank()
                   : row_type.ranked ? row_type.rank() + port.insert
                                     : tensor::kMaxRank;
  if (port.axis < 0 || port.axis >= rank)
    return broken("{}: stacked value {} is {}, which has no axis {}", loop.name(), i,
                  loop.text(all), port.axis);
  return {};
}

Expected<void> check_side(const Module& module, NodeId id, int side) {
  const Node& node = module.node(id);
  const Region& region = module.region(node.regions[static_cast<std::size_t>(side)]);
  const std::string_view label = side == 0 ? "then" : "else";
  if (region.args.size() + 1 != node.inputs.size())
    return broken("{}: captures {} values, its {} region has {} arguments", module.describe(id),
                  node.inputs.size() - 1, label, region.args.size());
  for (std::size_t i = 0; i < region.args.size(); ++i)
    if (!same_rank(module.value(node.inputs[i + 1]).type, module.value(region.args[i]).type))
      return broken("{}: captured value {} is {}, but its argument in the {} region is {}",
                    module.describe(id), i, text(module, node.inputs[i + 1]), label,
                    text(module, region.args[i]));
  if (region.yields.size() != node.outputs.size())
    return broken("{}: has {} results, but its {} region yields {}", module.describe(id),
                  node.outputs.size(), label, region.yields.size());
  for (std::size_t i = 0; i < region.yields.size(); ++i)
    if (!same_kind(module.value(region.yields[i]).type, module.value(node.outputs[i]).type))
      return broken("{}: result {} is {}, but its {} region yields {}", module.describe(id), i,
                    text(module, node.outputs[i]), label, text(module, region.yields[i]));
  return {};
}

}  // namespace

Expected<void> check_loop(const Module& module, NodeId node) {
  const Loop loop(module, node);
  SCANLOOM_CHECK_OK(check_counts(loop));
  SCANLOOM_CHECK_OK(check_present(loop));
  SCANLOOM_CHECK_OK(check_controls(loop));
  for (std::uint32_t i = 0; i < loop.ports.captured; ++i)
    SCANLOOM_CHECK_OK(check_captured(loop, i));
  for (std::uint32_t i = 0; i < loop.ports.carried; ++i) SCANLOOM_CHECK_OK(check_carried(loop, i));
  for (std::uint32_t i = 0; i < loop.ports.scanned.size(); ++i)
    SCANLOOM_CHECK_OK(check_scanned(loop, i));
  for (std::uint32_t i = 0; i < loop.ports.stacked.size(); ++i)
    SCANLOOM_CHECK_OK(check_stacked(loop, i));
  return {};
}

Expected<void> check_branch(const Module& module, NodeId node) {
  const ValueId condition = module.node(node).inputs[0];
  if (!may_be_one_element(module.value(condition).type))
    return broken("{}: the condition is {}, but must be one boolean", module.describe(node),
                  text(module, condition));
  SCANLOOM_CHECK_OK(check_side(module, node, 0));
  return check_side(module, node, 1);
}

}  // namespace scanloom::ir::rules
