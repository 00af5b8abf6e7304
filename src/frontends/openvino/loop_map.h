// LoopMap: turns a port_map and back_edges into the ports of a single loop node. Source:
// TensorIterator-1 and Loop-5.
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

/// Precondition: check_port_maps reported no errors for the layer.
class LoopMap {
 public:
  LoopMap(LayerCtx& ctx, const BodyPart& part)
      : ctx_(ctx),
        part_(part),
        ports_(ctx.layer()),
        variables_(ctx.reading().variable_uses.of(ctx.layer())) {}

  /// The leading operands: [trip count] [condition].
  struct Control {
    ir::ValueId trip_count, condition;  ///< invalid if absent
  };

  /// Makes the loop and sets the outputs of the layer.
  Expected<void> make(const Control& control);
  /// Returns the number of slices of the first sliced input as a value; invalid if no input is
  /// sliced.
  Expected<ir::ValueId> slice_count();
  [[nodiscard]] bool has_slices() const;

 private:
  /// The role of a Parameter in the steps: an input's value, a constant of the model, an absent
  /// operand, a value carried from the previous step, or a slice.
  enum class Role : std::uint8_t { captured, constant, left_out, state, sliced };
  static constexpr int kConditionInput = 1;  ///< of Loop
  /// A Parameter of the body and the input it is bound to.
  struct Input {
    std::string entry;  ///< for messages: "port_map input 2"
    int position = 0;   ///< position of the input
    const PortEntry* port = nullptr;
    Role role = Role::captured;
    const Layer* parameter = nullptr;  ///< known once the body is entered
  };
  struct State {
    std::int64_t parameter = 0, result = 0;
    ir::ValueId initial;
  };
  /// The output at this position, which is not a state, and where its last row comes from.
  struct RowOutput {
    std::size_t output = 0;
    const PortEntry* port = nullptr;
    ir::ValueId stack;  ///< invalid if the loop carries the row
  };

  static std::string entry_name(const char* kind, std::size_t i);
  Expected<void> gather_inputs();
  void gather_states();
  [[nodiscard]] bool is_condition(std::int64_t result) const;
  [[nodiscard]] bool is_read(std::int64_t parameter) const;
  Expected<ir::ValueId> outer_value(const Input& input);
  /// Returns the slices for a port that slices the input at `position`; made once.
  Expected<const SlicedInput*> slices_of(const PortEntry& port, const std::string& entry,
                                         int position);
  Expected<void> enter_operands(ir::LoopPorts& ports, std::vector<ir::ValueId>& operands);
  Expected<void> enter_body(Body& body, const ir::LoopPorts& ports,
                            const std::vector<ir::ValueId>& operands);
  /// Appends the values of variables to the captured or carried operands.
  Expected<void> enter_variables(bool carried, ir::LoopPorts& ports,
                                 std::vector<ir::ValueId>& operands);
  /// Binds the variables on entry to the body.
  void add_variables(Body& body, bool carried);
  Expected<void> enter_counters(Body& body, ir::ValueId counter);
  Expected<void> leave(Body& body, ir::NodeId loop);
  Expected<void> leave_variables(ir::NodeId loop, std::vector<ir::ValueId>& yields);
  Expected<void> leave_condition(Body& body, ir::NodeId loop, std::vector<ir::ValueId>& yields);
  Expected<void> leave_kept_rows(Body& body, ir::NodeId loop, std::vector<ir::ValueId>& yields);
  Expected<void> leave_outputs(Body& body, ir::NodeId loop, std::vector<ir::ValueId>& yields);
  /// Yields the row of the last step for an output that is not a state.
  Expected<void> leave_row(Body& body, ir::NodeId loop, const PortEntry& port, std::size_t output,
                           std::vector<ir::ValueId>& yields);
  /// Sets the outputs that are rows of the last step. A run without steps fails there with an index
  /// error.
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
  std::vector<std::int64_t> counters_;  ///< Parameters that hold the step number
  std::vector<State> states_;
  std::unordered_map<std::int64_t, std::size_t> state_of_result_;  ///< the first one
  std::vector<const PortEntry*> kept_rows_;  ///< outputs of the last step that the loop carries
  std::unordered_map<const PortEntry*, std::size_t> kept_row_of_;  ///< positions in kept_rows_
  std::vector<RowOutput> rows_;
  std::vector<VariableUses::Use> variables_;  ///< of the body
  VariableScope scope_;                       ///< of the body
};

}  // namespace scanloom::openvino
