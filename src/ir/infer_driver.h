// The implementation of infer(): a stack of frames, one per region being inferred, because bodies
// may be nested a thousand deep. Used only by infer.cpp, infer_branch.cpp and infer_loop.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/infer.h"
#include "ir/infer_again.h"
#include "ir/infer_node.h"

namespace scanloom::ir {

class InferDriver {
 public:
  /// `before`: see infer_again().
  InferDriver(const Module& module, DimTable& dims, const InferOptions& options, Inference* before);
  Expected<Inference> run(std::span<const Type> argument_types);

 private:
  struct InferFrame {
    RegionId region;
    NodeId owner = {};       ///< the loop or branch; invalid: the top region
    std::size_t next = 0;    ///< among the region's nodes
    bool certain = true;     ///< runs whenever the module does, so a fault found here is an error
    bool may_defer = false;  ///< may never run, so sizes that do not fit are not yet an error
    /// Loops: the maximum number of steps, if known; if `exact`, the number, unless keep_going ends
    /// it.
    std::optional<Dim> trips = {};
    bool exact = false;
    std::size_t first_own_dim = 0;  ///< fresh symbols from this one on may differ from step to step
  };
  /// Which sizes of a carried value change between steps. Only grows, so inference terminates.
  struct Widened {
    bool unranked = false;
    std::uint32_t axes = 0;
  };

  Expected<void> start(std::span<const Type> argument_types);
  Expected<void> visit(NodeId id);
  Expected<void> visit_plain(NodeId id);
  Expected<bool> evaluate_plain(NodeId id, NodeTypes& result);
  [[nodiscard]] std::optional<Tensor> input_tensor(std::size_t i) const;
  void defer(NodeId id);
  Expected<void> leave();

  Expected<void> enter_branch(NodeId id);
  void push_region(NodeId id, std::size_t which, bool known);
  Expected<void> leave_branch(NodeId id);
  Expected<void> join_regions(NodeId id);

  Expected<void> enter_loop(NodeId id);
  Expected<void> count_trips(const Node& node, InferFrame& frame);
  std::optional<Dim> count_slices(const Node& node);
  [[nodiscard]] static bool takes_a_step(const Node& node, const InferFrame& frame);
  Expected<void> set_loop_arguments(NodeId id);
  Expected<Type> slice_type(const Type& outer, NodeId loop, std::size_t index);
  Expected<void> leave_loop(NodeId id);
  Expected<bool> widen_carried(NodeId id);
  void set_carried_outputs(NodeId id, const InferFrame& frame);
  Expected<void> set_stacked_outputs(NodeId id, const InferFrame& frame);
  Expected<Type> stacked_type(const Type& row, const StackedPort& port, Dim rows,
                              const InferFrame& frame);
  void end_early(const Node& node, InferFrame& frame) const;
  [[nodiscard]] bool passes_through(const Node& node, std::size_t carried) const;

  void set(ValueId id, Type type, std::shared_ptr<const Known> known = nullptr) {
    result_.types[id.index] = std::move(type);
    result_.known[id.index] = std::move(known);
  }
  void copy(ValueId to, ValueId from) { set(to, type(from), known(from)); }
  [[nodiscard]] const Type& type(ValueId id) const { return result_.types[id.index]; }
  [[nodiscard]] const std::shared_ptr<const Known>& known(ValueId id) const {
    return result_.known[id.index];
  }

  const Module& module_;
  DimTable& dims_;
  const InferOptions& options_;
  InferenceBefore before_;
  Inference result_;
  std::vector<InferFrame> frames_;
  std::size_t visits_ = 0;
  bool hasty_ = false;  ///< treats everything that a loop changes as unranked at once, so no body
                        ///< is repeated
  std::map<NodeId, std::vector<Widened>> widened_;
  std::vector<const Type*> input_types_;
  std::vector<const Known*> input_known_;
};

}  // namespace scanloom::ir
