#include "report/node_executions.h"

#include <optional>
#include <string>
#include <vector>

#include "ir/op_def.h"
#include "ir/walk.h"
#include "plan/plan.h"

namespace scanloom::report {
namespace {

struct NodeExecution {
  const char* kind = nullptr;
  std::string text = {};
  ir::NodeId with = {};
};

class NodeExecutions {
 public:
  explicit NodeExecutions(const plan::Binding& binding)
      : binding_(binding), module_(binding.plan->module), executions_(module_.node_count()) {}

  Json find() {
    // Loops come first, because the calls within a loop do not run if machine code takes its steps.
    for (const plan::BoundLoop& loop : binding_.loops) add_loop(loop);
    add_calls();
    for (const plan::BoundBranch& branch : binding_.branches)
      set(branch.node, {"branch", "chosen when it runs"});
    add_rest();
    return to_json();
  }

 private:
  /// Does nothing if it is known already how the node is executed.
  void set(ir::NodeId id, NodeExecution execution) {
    if (!id.valid() || id.index >= executions_.size()) return;
    NodeExecution& known = executions_[id.index];
    if (known.kind == nullptr) known = std::move(execution);
  }

  void add_call(const plan::BoundCall& call) {
    std::string text = std::string("kernel ") + call.kernel.name();
    const bool is_plain = call.kernel == plan::CallKernel::reference();
    if (is_plain) text = "the plain loop that defines the operator";
    for (const Refusal& refusal : call.refusals) text += "; " + refusal.reason;
    set(call.node, {is_plain ? "plain" : "kernel", std::move(text)});
    for (const ir::NodeId node : call.fused_before)
      set(node, {"fused", "computed together with", call.node});
    if (call.pipelined.node.valid())
      set(call.pipelined.node, {"fused", "computed while weights are loaded, by", call.node});
  }

  void add_calls() {
    for (const plan::BoundCall& call : binding_.calls) add_call(call);
    for (const plan::DynamicCall& dynamic : binding_.dynamic_calls)
      set(dynamic.call.node, {"dynamic", "a kernel chosen when it runs: its sizes depend on data"});
    for (const plan::BoundObjectCall& call : binding_.object_calls)
      set(call.node, {"object", "works on sequences, optionals or strings"});
  }

  void add_loop(const plan::BoundLoop& loop) {
    const bool is_code = plan::has_code_of_steps(binding_, loop);
    set(loop.node, {is_code ? "compiled" : "loop", plan::describe_strategy(binding_, loop)});
    if (!is_code) return;
    const ir::Node& node = module_.node(loop.node);
    for (const ir::RegionId region : ir::regions_outer_first(module_, node.regions[0]))
      for (const ir::NodeId inner : module_.region(region).nodes)
        set(inner, {"compiled", "part of the machine code of", loop.node});
  }

  /// A node without a call is a constant or a view, or its result is known or made by others.
  void add_rest() {
    for (const ir::RegionId region : ir::regions_outer_first(module_, module_.top()))
      for (const ir::NodeId id : module_.region(region).nodes) {
        const ir::Node& node = module_.node(id);
        if (node.op == &ir::constant_op)
          set(id, {"constant", "a constant of the model"});
        else if (node.op->access == ir::Access::view)
          set(id, {"view", "a view: other sizes and strides of the same memory"});
        else
          set(id, {"none", "nothing to run: its result is known or made by others"});
      }
  }

  Json to_json() const {
    Json all = Json::object();
    for (std::size_t i = 0; i < executions_.size(); ++i) {
      const NodeExecution& each = executions_[i];
      if (each.kind == nullptr) continue;
      Json json{{"kind", each.kind}, {"text", shown(each.text)}};
      if (each.with.valid()) json["with"] = each.with.index;
      all[std::to_string(i)] = std::move(json);
    }
    return all;
  }

  const plan::Binding& binding_;
  const ir::Module& module_;
  std::vector<NodeExecution> executions_;
};

}  // namespace

Json node_executions(const plan::Binding& binding) { return NodeExecutions(binding).find(); }

}  // namespace scanloom::report
