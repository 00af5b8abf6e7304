// LoopMap: a port_map and back_edges as the ports of the one loop node. Source: TensorIterator-1
// and Loop-5.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontends/openvino/body.h"
#include "frontends/openvino/port_index.h"
#include "frontends/openvino/slice_window.h"

namespace scanloom::openvino {

/// Precondition: check_port_maps has found nothing wrong with the layer.
class LoopMap {
 public:
  LoopMap(LayerCtx& ctx, const BodyPart& part)
      : ctx_(ctx),
        part_(part),
        ports_(ctx.layer()),
        variables_(ctx.reading().variable_uses.of(ctx.layer())) {}

  /// The operands in front: [trip count] [condition].
  struct Control {
    ir::ValueId trip_count, condition;  ///< invalid: none
  };

  /// Makes the loop and sets the outputs of the layer.
  Expected<void> make(const Control& control);
  /// How many slices the first sliced input has, as a value; invalid where there is none.
  Expected<ir::ValueId> slice_count();
  [[nodiscard]] bool has_slices() const;

 private:
  /// Returns what a Parameter is in the steps: what an input is, a constant of the model, an
  /// operand that is left out, what it is after the step before, or a slice.
  enum class Role : std::uint8_t { captured, constant, left_out, state, sliced };
  static constexpr int kConditionInput = 1;  ///< of Loop
  /// A Parameter of the body and what it stands for.
  struct Input {
    std::string entry;  ///< "port_map input 2"
    int position = 0;   ///< of the input
    const PortEntry* port = nullptr;
    Role role = Role::captured;
    const Layer* parameter = nullptr;  ///< known once the body is entered
  };
  struct State {
    std::int64_t parameter = 0, result = 0;
    ir::ValueId initial;
  };
  /// The output of that position, which is no state, and how its last row is found.
  struct RowOutput {
    std::size_t output = 0;
    const PortEntry* port = nullptr;
    ir::ValueId stack;  ///< invalid: the loop carries the row
  };

  static std::string entry_name(const char* kind, std::size_t i);
  Expected<void> gather_inputs();
  void gather_states();
  [[nodiscard]] bool is_condition(std::int64_t result) const;
  [[nodiscard]] bool is_read(std::int64_t parameter) const;
  Expected<ir::ValueId> outer_value(const Input& input);
  /// Of a port that slices the input at `position`; made once.
  Expected<const SlicedInput*> slices_of(const PortEntry& port, const std::string& entry,
                                         int position);
  Expected<void> enter_operands(ir::LoopPorts& ports, std::vector<ir::ValueId>& operands);
  Expected<void> enter_body(Body& body, const ir::LoopPorts& ports,
                            const std::vector<ir::ValueId>& operands);
  /// The values of variables at the ends of the captured, or carried, operands.
  Expected<void> enter_variables(bool carried, ir::LoopPorts& ports,
                                 std::vector<ir::ValueId>& operands);
  /// What the body is entered with.
  void add_variables(Body& body, bool carried);
  Expected<void> enter_counters(Body& body, ir::ValueId counter);
  Expected<void> leave(Body& body, ir::NodeId loop);
  Expected<void> leave_variables(ir::NodeId loop, std::vector<ir::ValueId>& yields);
  Expected<void> leave_condition(Body& body, ir::NodeId loop, std::vector<ir::ValueId>& yields);
  Expected<void> leave_kept_rows(Body& body, ir::NodeId loop, std::vector<ir::ValueId>& yields);
  Expected<void> leave_outputs(Body& body, ir::NodeId loop, std::vector<ir::ValueId>& yields);
  /// The row of a last step that is no state.
  Expected<void> leave_row(Body& body, ir::NodeId loop, const PortEntry& port, std::size_t output,
                           std::vector<ir::ValueId>& yields);
  /// Sets the outputs that are rows of the last step; error of a run without any: an index.
  Expected<void> set_rows(ir::NodeId loop);
  [[nodiscard]] bool counts() const { return !counters_.empty() || !kept_rows_.empty(); }
  Expected<void> check_part(const PortEntry& entry, const tensor::Type& row,
                            const ir::StackedPort& port);
  Expected<void> stack(Body& body, ir::NodeId loop, const PortEntry& entry, std::size_t output,
                       std::vector<ir::ValueId>& yields);

  LayerCtx& ctx_;
  const BodyPart& part_;
  LayerPorts ports_;
  std::map<std::int64_t, Input> by_parameter_;  ///< entries with an external port
  std::unordered_map<const PortEntry*, SlicedInput> slices_;
  std::vector<std::int64_t> counters_;  ///< Parameters that are the number of the step
  std::vector<State> states_;
  std::unordered_map<std::int64_t, std::size_t> state_of_result_;  ///< the first one
  std::vector<const PortEntry*> kept_rows_;  ///< outputs of the last step that are carried
  std::unordered_map<const PortEntry*, std::size_t> kept_row_of_;  ///< positions in kept_rows_
  std::vector<RowOutput> rows_;
  std::vector<VariableUses::Use> variables_;  ///< of the body
  VariableScope scope_;                       ///< of the body
};

}  // namespace scanloom::openvino
