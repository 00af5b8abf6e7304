#include "report/memory.h"

#include <algorithm>
#include <vector>

#include "plan/plan.h"

namespace scanloom::report {
namespace {

/// Returns the node that each buffer belongs to: the loop whose states it holds, or the first node
/// that writes it.
std::vector<ir::NodeId> holders(const plan::Binding& binding) {
  std::vector<ir::NodeId> nodes(binding.history.buffers.size());
  const auto set = [&](std::int32_t buffer, ir::NodeId node) {
    if (buffer < 0 || static_cast<std::size_t>(buffer) >= nodes.size()) return;
    if (ir::NodeId& held = nodes[static_cast<std::size_t>(buffer)]; !held.valid()) held = node;
  };
  const auto set_slot = [&](plan::SlotId slot, ir::NodeId node) {
    if (slot != plan::kNone) set(binding.slots[static_cast<std::size_t>(slot)].index, node);
  };
  const auto add = [&](const auto& call) {
    for (std::uint32_t i = 0; i < call.outputs; ++i)
      set(binding.operands[call.first_operand + call.inputs + i].buffer, call.node);
  };
  for (const plan::BoundLoop& loop : binding.loops) {
    for (const plan::BoundCarried& port : loop.carried) {
      set_slot(port.buffer_a, loop.node);
      set_slot(port.buffer_b, loop.node);
    }
    for (const plan::BoundStacked& port : loop.stacked) set(port.result.buffer, loop.node);
  }
  for (const plan::BoundCall& call : binding.calls) add(call);
  for (const plan::DynamicCall& dynamic : binding.dynamic_calls) add(dynamic.call);
  for (const plan::BoundObjectCall& call : binding.object_calls) add(call);
  return nodes;
}

std::int32_t moment_of(const plan::ArenaHistory& history, std::size_t instruction) {
  if (history.moments.empty()) return 0;
  return history.moments[std::min(instruction, history.moments.size() - 1)];
}

Json loops_in_time(const plan::Binding& binding) {
  Json list = Json::array();
  for (std::size_t at = 0; at < binding.code.size(); ++at) {
    const plan::Instruction& instruction = binding.code[at];
    const bool is_code = instruction.op == plan::Op::compiled_loop;
    if (instruction.op != plan::Op::loop_begin && !is_code) continue;
    const plan::BoundLoop& loop = binding.loops[instruction.index];
    const std::int32_t first = moment_of(binding.history, at);
    const std::int32_t last =
        is_code ? first : moment_of(binding.history, std::max<std::size_t>(loop.exit, 1) - 1);
    list.push_back({{"node", loop.node.index}, {"first", first}, {"last", last}});
  }
  return list;
}

}  // namespace

Json memory(const plan::Binding& binding, std::int64_t data_bytes) {
  const plan::ArenaHistory& history = binding.history;
  const std::vector<ir::NodeId> nodes = holders(binding);
  Json buffers = Json::array();
  std::int32_t end = moment_of(history, history.moments.size());
  for (std::size_t i = 0; i < history.buffers.size(); ++i) {
    const plan::ArenaHistory::Buffer& buffer = history.buffers[i];
    end = std::max(end, buffer.dies);
    Json json{{"bytes", buffer.bytes},
              {"offset", buffer.offset},
              {"born", buffer.born},
              {"dies", buffer.dies}};
    if (nodes[i].valid()) json["node"] = nodes[i].index;
    buffers.push_back(std::move(json));
  }
  return {{"arena", binding.arena_bytes},
          {"results", binding.result_bytes},
          {"scratch", binding.scratch_bytes},
          {"data", data_bytes},
          {"depends_on_data", binding.dynamic_count > 0 || !binding.objects.empty()},
          {"moments", end + 1},
          {"buffers", std::move(buffers)},
          {"loops", loops_in_time(binding)}};
}

}  // namespace scanloom::report
