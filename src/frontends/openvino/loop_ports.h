// LoopMap: a port_map and back_edges as the ports of the one loop node. Source: TensorIterator-1
// and Loop-5; where implementations disagree, windows are taken as written: `end` inclusive,
// negative numbers from the end, any stride and part_size.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontends/openvino/body.h"

namespace scanloom::openvino {

class LoopMap {
 public:
  LoopMap(LayerCtx& ctx, const BodyPart& part)
      : ctx_(ctx), part_(part), variables_(ctx.reading().variable_uses.of(ctx.layer())) {}

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
  /// A Parameter of the body and what it stands for.
  struct Input {
    std::string entry;  ///< "port_map input 2"
    std::size_t position = 0;
    const PortEntry* port = nullptr;
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

  Expected<void> gather_entries();
  Expected<ir::ValueId> outer_value(const Input& input);
  /// The elements of a sliced input between its start and end, walked from their first or last one.
  Expected<std::pair<ir::ValueId, ir::ScannedPort>> window(const Input& input);
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
  [[nodiscard]] bool is_state(std::int64_t parameter) const;
  [[nodiscard]] bool counts() const { return !counters_.empty() || !kept_rows_.empty(); }
  Expected<void> stack(Body& body, ir::NodeId loop, const PortEntry& entry, std::size_t output,
                       std::vector<ir::ValueId>& yields);

  LayerCtx& ctx_;
  const BodyPart& part_;
  std::map<std::int64_t, Input> by_parameter_;  ///< entries with an external port
  std::vector<std::int64_t> counters_;          ///< Parameters that are the number of the step
  std::vector<State> states_;
  std::vector<RowOutput> rows_;
  std::vector<VariableUses::Use> variables_;     ///< of the body
  VariableScope scope_;                          ///< of the body
  std::vector<std::int64_t> captured_, sliced_;  ///< Parameters, in the order of the ports
  std::vector<const PortEntry*> kept_rows_;      ///< outputs of the last step that are carried
};

}  // namespace scanloom::openvino
