#include "report/memory.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ir/port_names.h"
#include "plan/plan.h"

namespace scanloom::report {
namespace {

struct Holder {
  ir::NodeId node;
  std::string what;  ///< which of the node's values; empty: its only one
};

/// "'h'", the name of a result; empty if it has none.
std::string name_of_result(const ir::Module& module, ir::NodeId node, std::size_t output) {
  if (!node.valid() || output >= module.node(node).outputs.size()) return {};
  const std::string& name = module.value(module.node(node).outputs[output]).name;
  return name.empty() ? name : "'" + name + "'";
}

/// The nodes that buffers belong to: the loop whose states it holds, or the first node that writes
/// it.
class Holders {
 public:
  explicit Holders(const plan::Binding& binding)
      : binding_(binding), module_(binding.plan->module), all_(binding.history.buffers.size()) {
    for (const plan::BoundLoop& loop : binding.loops) add_loop(loop);
    for (const plan::BoundCall& call : binding.calls) add_call(call);
    for (const plan::DynamicCall& dynamic : binding.dynamic_calls) add_call(dynamic.call);
    for (const plan::BoundObjectCall& call : binding.object_calls) add_call(call);
  }

  [[nodiscard]] const Holder& of(std::size_t buffer) const { return all_[buffer]; }

 private:
  void set(std::int32_t buffer, ir::NodeId node, std::string what) {
    if (buffer < 0 || static_cast<std::size_t>(buffer) >= all_.size()) return;
    if (Holder& held = all_[static_cast<std::size_t>(buffer)]; !held.node.valid())
      held = {node, std::move(what)};
  }

  void set_slot(plan::SlotId slot, ir::NodeId node, std::string what) {
    if (slot != plan::kNone)
      set(binding_.slots[static_cast<std::size_t>(slot)].index, node, std::move(what));
  }

  void add_loop(const plan::BoundLoop& loop) {
    const ir::LoopPorts& ports = *module_.node(loop.node).loop;
    for (std::size_t i = 0; i < loop.carried.size(); ++i) {
      const std::string what =
          i < ports.carried ? ir::describe_carried(module_, loop.node, i) : std::string();
      set_slot(loop.carried[i].buffer_a, loop.node, what);
      set_slot(loop.carried[i].buffer_b, loop.node, what.empty() ? what : what + ", next");
    }
    for (std::size_t i = 0; i < loop.stacked.size(); ++i)
      set(loop.stacked[i].result.buffer, loop.node,
          i < ports.stacked.size() ? ir::describe_stacked(module_, loop.node, i) : std::string());
  }

  template <class Call>
  void add_call(const Call& call) {
    for (std::uint32_t i = 0; i < call.outputs; ++i)
      set(binding_.operands[call.first_operand + call.inputs + i].buffer, call.node,
          name_of_result(module_, call.node, i));
  }

  const plan::Binding& binding_;
  const ir::Module& module_;
  std::vector<Holder> all_;
};

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
  const Holders holders(binding);
  Json buffers = Json::array();
  std::int32_t end = moment_of(history, history.moments.size());
  for (std::size_t i = 0; i < history.buffers.size(); ++i) {
    const plan::ArenaHistory::Buffer& buffer = history.buffers[i];
    end = std::max(end, buffer.dies);
    Json json{{"bytes", buffer.bytes},
              {"offset", buffer.offset},
              {"born", buffer.born},
              {"dies", buffer.dies}};
    const Holder& holder = holders.of(i);
    if (holder.node.valid()) json["node"] = holder.node.index;
    if (!holder.what.empty()) json["what"] = shown(holder.what);
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
