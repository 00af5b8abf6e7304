#include "api/profile.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "ir/op_def.h"
#include "plan/plan.h"

namespace scanloom {
namespace {

/// The operation of a call's node: its operator or, if that has several kinds, the kind ("max" for
/// reduce). Empty for values passed on by the model, a loop or a branch.
std::string_view operation_of(const plan::Plan& plan, ir::NodeId id) {
  if (!id.valid()) return {};
  const ir::Node& node = plan.module.node(id);
  if (node.op == &ir::loop_op || node.op == &ir::branch_op) return {};
  const int kind = node.op->attr_index("kind");
  return kind < 0 ? node.op->name : node.attrs[static_cast<std::size_t>(kind)].text();
}

/// The operations that each node of the user became, by its description.
using Parts = std::map<std::string, std::set<std::string_view>, std::less<>>;

Parts parts_of(const plan::Binding& binding) {
  Parts parts;
  const auto add = [&](ir::NodeId node) {
    if (const std::string_view operation = operation_of(*binding.plan, node); !operation.empty())
      parts[plan::describe(*binding.plan, node)].insert(operation);
  };
  for (const plan::BoundCall& call : binding.calls) add(call.node);
  for (const plan::DynamicCall& dynamic : binding.dynamic_calls) add(dynamic.call.node);
  for (const plan::BoundObjectCall& call : binding.object_calls) add(call.node);
  return parts;
}

/// Names each node of the user once; with its operations if it became several.
std::string names_of(const plan::Plan& plan, const std::vector<ir::NodeId>& nodes,
                     const Parts& parts) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string_view>, std::less<>> operations;
  for (const ir::NodeId node : nodes) {
    std::string name = plan::describe(plan, node);
    if (operations.find(name) == operations.end()) names.push_back(name);
    std::vector<std::string_view>& of_name = operations[std::move(name)];
    const std::string_view operation = operation_of(plan, node);
    if (!operation.empty() && std::ranges::find(of_name, operation) == of_name.end())
      of_name.push_back(operation);
  }
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : " + ") + name;
    const auto found = parts.find(name);
    if (found != parts.end() && found->second.size() > 1 && !operations[name].empty())
      text += fmt::format(" [{}]", fmt::join(operations[name], ", "));
  }
  return text.empty() ? "views and pointers" : text;
}

std::uint64_t read_clock() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;
#endif
}

/// Seconds per clock reading, as in the machine code of a timed body.
double seconds_of_reading() {
  using Clock = std::chrono::steady_clock;
  constexpr int kReadings = 2000;
  const auto before = Clock::now();
  for (int i = 0; i < kReadings; ++i) {
    const std::uint64_t ticks = read_clock();
    asm volatile("" : : "r"(ticks));
  }
  return std::chrono::duration<double>(Clock::now() - before).count() / kReadings;
}

/// Divides the time of a body among its statements in proportion to their ticks, with a row for the
/// cost of reading the clock, which is included in that time.
void add_body(const plan::Plan& plan, const runtime::Profile::Body& body, const Parts& parts,
              int depth, std::vector<NodeTime>& rows) {
  const auto ticks = std::accumulate(body.ticks.begin(), body.ticks.end(), std::uint64_t{0});
  if (body.steps == 0 || ticks == 0) return;
  for (std::size_t i = 0; i < body.ticks.size(); ++i) {
    const double share = static_cast<double>(body.ticks[i]) / static_cast<double>(ticks);
    NodeTime row{names_of(plan, body.nodes[i], parts), "machine code", body.steps,
                 body.seconds * share, depth};
    for (const ir::NodeId node : body.nodes[i])
      if (node.valid()) row.nodes.push_back(node.index);
    rows.push_back(std::move(row));
  }
  const std::int64_t readings = body.steps * static_cast<std::int64_t>(body.ticks.size() + 1);
  rows.push_back({"of these: reading the clock", "estimate", readings,
                  seconds_of_reading() * static_cast<double>(readings), depth});
}

}  // namespace

std::vector<NodeTime> profile_rows(const plan::Binding& binding, const runtime::Profile& profile) {
  std::vector<NodeTime> rows;
  int depth = 0;
  const Parts parts = parts_of(binding);
  const auto add = [&](ir::NodeId node, std::string kernel, const runtime::Profile::Entry& entry,
                       ir::NodeId pipelined = {}) {
    if (entry.calls == 0) return;
    std::string name = plan::describe(*binding.plan, node);
    const std::string_view operation = operation_of(*binding.plan, node);
    if (!operation.empty() && operation != kernel && parts.at(name).size() > 1)
      kernel = std::string(operation) + " by " + kernel;
    if (const std::string other = plan::describe(*binding.plan, pipelined);
        pipelined.valid() && other != name)
      name += " + " + other;
    NodeTime row{std::move(name), std::move(kernel), entry.calls, entry.seconds, depth};
    for (const ir::NodeId each : {node, pipelined})
      if (each.valid()) row.nodes.push_back(each.index);
    rows.push_back(std::move(row));
  };
  for (const plan::Instruction& instruction : binding.code) {
    const std::size_t i = instruction.index;
    switch (instruction.op) {
      case plan::Op::call:
        add(binding.calls[i].node, binding.calls[i].kernel.name(), profile.calls[i],
            binding.calls[i].pipelined.node);
        break;
      case plan::Op::dynamic_call:
        add(binding.dynamic_calls[i].call.node, "dynamic", profile.dynamic_calls[i]);
        break;
      case plan::Op::object_call:
        add(binding.object_calls[i].node, "object", profile.object_calls[i]);
        break;
      case plan::Op::loop_begin:
        add(binding.loops[i].node,
            profile.bodies[i].steps > 0 ? "compiled per step"
            : binding.loops[i].may_become_whole() &&
                    plan::has_code_of_steps(binding, binding.loops[i])
                ? "compiled as a whole loop, when long"
                : "stepped",
            profile.loops[i]);
        ++depth;
        add_body(*binding.plan, profile.bodies[i], parts, depth, rows);
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
      case plan::Op::trap:
      case plan::Op::poll:
      case plan::Op::charge:
      case plan::Op::outlined_region:
      case plan::Op::end:
        break;
    }
  }
  return rows;
}

}  // namespace scanloom
