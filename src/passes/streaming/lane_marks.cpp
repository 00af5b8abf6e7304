#include "passes/streaming/lane_marks.h"

#include "ir/op_def.h"

namespace scanloom::passes {
namespace {

using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

class Marker {
 public:
  explicit Marker(const Module& module) : module_(module), marks_(module.value_count()) {}

  void mark(ValueId value) {
    if (marks_[value.index]) return;
    marks_[value.index] = true;
    has_changed_ = true;
  }

  /// Repeats what loops carry until it changes no more.
  std::vector<bool> finish() {
    do {
      has_changed_ = false;
      visit(module_.top());
    } while (has_changed_);
    return std::move(marks_);
  }

 private:
  [[nodiscard]] bool has(ValueId value) const { return value.valid() && marks_[value.index]; }

  void visit(RegionId region) {
    for (const NodeId id : module_.region(region).nodes) {
      const Node& node = module_.node(id);
      if (node.op == &ir::loop_op)
        visit_loop(node);
      else if (reads_marked(node))
        for (const ValueId output : node.outputs) mark(output);
    }
  }

  [[nodiscard]] bool reads_marked(const Node& node) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (has(node.inputs[i]) && (i > 0 || !node.op->reads_only_sizes())) return true;
    return false;
  }

  void visit_loop(const Node& node) {
    const LoopPorts& ports = *node.loop;
    const ir::Region& body = module_.region(node.regions[0]);
    for (std::size_t i = 0; i < body.args.size(); ++i)
      if (has(node.inputs[ports.first_captured_input() + i])) mark(body.args[i]);
    visit(node.regions[0]);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const bool is_carried = i < ports.carried;
      if (has(body.yields[ports.first_carried_yield() + i])) {
        mark(node.outputs[i]);
        if (is_carried) mark(body.args[ports.captured + i]);
      } else if (is_carried && has(body.args[ports.captured + i])) {
        mark(node.outputs[i]);
      }
    }
  }

  const Module& module_;
  std::vector<bool> marks_;  ///< by ValueId
  bool has_changed_ = false;
};

}  // namespace

std::vector<bool> mark_lanes(const Module& form, const std::vector<bool>& own) {
  Marker marker(form);
  const std::vector<ValueId>& args = form.region(form.top()).args;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (own[i]) marker.mark(args[i]);
  return marker.finish();
}

}  // namespace scanloom::passes
