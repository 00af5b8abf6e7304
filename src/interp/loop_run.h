// LoopRun: one execution of a loop: what its ports hold between the steps. Decides how many steps
// there are and what each of them reads; running the body is the interpreter's part.
#pragma once

#include <limits>
#include <vector>

#include "interp/interpreter.h"
#include "interp/memory.h"
#include "ir/scan_window.h"

namespace scanloom::interp {

class LoopRun {
 public:
  /// `inputs` are the node's; `memory`, which must outlive the run, counts what it makes. Errors do
  /// not name the node.
  static Expected<LoopRun> start(const ir::Module& module, ir::NodeId node,
                                 std::vector<tensor::Tensor> inputs,
                                 const InterpretOptions& options, MemoryAccount& memory);

  [[nodiscard]] bool wants_step() const { return going_ && step_ < steps_; }
  /// How many steps were taken.
  [[nodiscard]] std::int64_t step() const { return step_; }
  /// At most so many will be; -1: not known.
  [[nodiscard]] std::int64_t steps() const { return has_end_ ? steps_ : -1; }
  /// Of the body, for the next step. Precondition: wants_step().
  [[nodiscard]] Expected<std::vector<tensor::Tensor>> arguments() const;
  /// Ends a step, with what the body yielded.
  Expected<void> take(std::vector<tensor::Tensor> yields);
  /// Of the node. Precondition: !wants_step().
  [[nodiscard]] Expected<std::vector<tensor::Tensor>> results() const;

 private:
  LoopRun(const ir::Module& module, ir::NodeId node, std::vector<tensor::Tensor> inputs,
          const InterpretOptions& options, MemoryAccount& memory);
  [[nodiscard]] const ir::LoopPorts& ports() const { return *module_->node(node_).loop; }
  Expected<void> read_controls();
  Expected<void> open_windows();
  Expected<void> take_row(std::size_t port, tensor::Tensor row);
  [[nodiscard]] Expected<std::vector<tensor::Tensor>> empty_stacks() const;

  const ir::Module* module_;
  ir::NodeId node_;
  std::vector<tensor::Tensor> inputs_;
  const InterpretOptions* options_;
  MemoryAccount* memory_;
  std::int64_t steps_ = std::numeric_limits<std::int64_t>::max();
  bool has_end_ = false;  ///< the number of steps is known
  bool going_ = true;
  std::int64_t step_ = 0;
  std::vector<ir::ScanWindow> windows_;
  std::vector<tensor::Tensor> carried_;
  std::vector<std::vector<tensor::Tensor>> rows_;  ///< of each stacked port
};

/// The value of a boolean tensor of one element; `what` names it in the error.
Expected<bool> read_condition(const tensor::Tensor& tensor, std::string_view what);

}  // namespace scanloom::interp
