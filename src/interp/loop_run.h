// LoopRun: one execution of a loop: the contents of its ports between steps. Decides how many steps
// there are and what each reads; the interpreter runs the body.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "interp/interpreter.h"
#include "ir/scan_window.h"
#include "tensor/memory_account.h"
#include "tensor/object.h"

namespace scanloom::interp {

class LoopRun {
 public:
  /// `inputs` are the node's; `memory`, which must outlive the run, counts the values it makes.
  /// Errors do not name the node.
  static Expected<LoopRun> start(const ir::Module& module, ir::NodeId node,
                                 std::vector<tensor::ObjectRef> inputs,
                                 const InterpretOptions& options, tensor::MemoryAccount& memory);

  [[nodiscard]] bool wants_step() const { return going_ && step_ < steps_; }
  /// Number of steps taken.
  [[nodiscard]] std::int64_t step() const { return step_; }
  /// The maximum number of steps; -1: not known.
  [[nodiscard]] std::int64_t steps() const { return has_end_ ? steps_ : -1; }
  /// The body's arguments for the next step; moves the states into them. Precondition:
  /// wants_step().
  [[nodiscard]] Expected<std::vector<tensor::ObjectRef>> arguments();
  /// Ends a step with the yields of the body.
  Expected<void> take(std::vector<tensor::ObjectRef> yields);
  /// The node's results; call it once. Precondition: !wants_step().
  [[nodiscard]] Expected<std::vector<tensor::ObjectRef>> results();

 private:
  LoopRun(const ir::Module& module, ir::NodeId node, std::vector<tensor::ObjectRef> inputs,
          const InterpretOptions& options, tensor::MemoryAccount& memory);
  [[nodiscard]] const ir::LoopPorts& ports() const { return *module_->node(node_).loop; }
  Expected<void> read_controls();
  Expected<void> open_windows();
  Expected<void> take_row(std::size_t port, const tensor::Tensor& row);
  [[nodiscard]] Expected<std::vector<tensor::Tensor>> empty_stacks() const;

  const ir::Module* module_;
  ir::NodeId node_;
  std::vector<tensor::ObjectRef> inputs_;
  const InterpretOptions* options_;
  tensor::MemoryAccount* memory_;
  std::int64_t steps_ = std::numeric_limits<std::int64_t>::max();
  bool has_end_ = false;  ///< the number of steps is known
  bool going_ = true;
  std::int64_t step_ = 0;
  std::vector<ir::ScanWindow> windows_;
  std::vector<tensor::ObjectRef> carried_;
  std::vector<std::vector<tensor::Tensor>> rows_;       ///< of each stacked port
  std::vector<std::shared_ptr<const void>> rows_held_;  ///< accounts for the memory of these lists
};

/// The one element of a boolean tensor; `what` names it in the error.
Expected<bool> read_condition(const tensor::ObjectRef& value, std::string_view what);

}  // namespace scanloom::interp
