#include "api/profile.h"

#include "plan/plan.h"

namespace scanloom {

std::vector<NodeTime> profile_rows(const plan::Binding& binding, const runtime::Profile& profile) {
  std::vector<NodeTime> rows;
  int depth = 0;
  const auto add = [&](ir::NodeId node, std::string kernel, const runtime::Profile::Entry& entry) {
    if (entry.calls > 0)
      rows.push_back({plan::describe(*binding.plan, node), std::move(kernel), entry.calls,
                      entry.seconds, depth});
  };
  for (const plan::Instruction& instruction : binding.code) {
    const std::size_t i = instruction.index;
    switch (instruction.op) {
      case plan::Op::call:
        add(binding.calls[i].node, binding.calls[i].kernel, profile.calls[i]);
        break;
      case plan::Op::dynamic_call:
        add(binding.dynamic_calls[i].call.node, "boxed", profile.dynamic_calls[i]);
        break;
      case plan::Op::object_call:
        add(binding.object_calls[i].node, "object", profile.object_calls[i]);
        break;
      case plan::Op::loop_begin:
        add(binding.loops[i].node, binding.loops[i].source ? "compiled when long" : "stepped",
            profile.loops[i]);
        ++depth;
        break;
      case plan::Op::compiled_loop:
        add(binding.loops[i].node, "compiled", profile.loops[i]);
        break;
      case plan::Op::loop_end:
        --depth;
        break;
      case plan::Op::branch:
      case plan::Op::jump:
      case plan::Op::alias:
      case plan::Op::check_sizes:
      case plan::Op::fault:
      case plan::Op::look:
      case plan::Op::end:
        break;
    }
  }
  return rows;
}

}  // namespace scanloom
