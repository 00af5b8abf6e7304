// The results of a loop: what the Results of its body yield, and the outputs of the layer.
#include <algorithm>

#include "frontends/openvino/loop_map.h"
#include "ir/constants.h"

namespace scanloom::openvino {

using ir::ValueId;
using tensor::Type;

Expected<void> LoopMap::leave_condition(Body& body, ir::NodeId loop, std::vector<ValueId>& yields) {
  const auto found = std::ranges::find_if(
      part_.outputs, [](const PortEntry& port) { return !port.purpose.empty(); });
  if (found == part_.outputs.end()) return {};
  SCANLOOM_TRY(const Layer* const result,
               body.result_layer("port_map execution_condition", found->internal_layer));
  const Binding binding = body.result(*result);
  if (ir::is_true(binding.constant.get())) return {};
  SCANLOOM_TRY(const ValueId condition, body.result_value(*result));
  if (ctx_.type(condition).dtype != DType::boolean)
    return invalid_model("the condition, {}, is {}, but a boolean is needed", describe(*result),
                         describe_type(ctx_, condition));
  ctx_.module().node(loop).loop->has_keep_going = true;
  yields.push_back(condition);
  return {};
}

/// OpenVINO treats part_size as the size of the rows in a TensorIterator, but not in a Loop.
Expected<void> LoopMap::check_part(const PortEntry& entry, const Type& row,
                                   const ir::StackedPort& port) {
  const tensor::Dim size =
      port.insert ? tensor::Dim(1) : row.dims[static_cast<std::size_t>(port.axis)];
  if (!entry.says_part_size || !size.is_constant() || size.value() == entry.part_size) return {};
  const std::string text =
      fmt::format("output port {}: part_size is {}, each step makes {} along axis {}",
                  entry.external_port, entry.part_size, size.value(), port.axis);
  if (is_type(ctx_.layer(), "TensorIterator")) return invalid_model("{}", text);
  ctx_.reading().diagnostics.warning(
      fmt::format("openvino: {}: {}, which is used", describe(ctx_.layer()), text));
  return {};
}

Expected<void> LoopMap::stack(Body& body, ir::NodeId loop, const PortEntry& entry,
                              std::size_t output, std::vector<ValueId>& yields) {
  SCANLOOM_TRY(const Layer* const result,
               body.result_layer(entry_name("output", output), entry.internal_layer));
  SCANLOOM_TRY(const ValueId row, body.result_value(*result));
  Type type = ctx_.type(row);
  ir::StackedPort port;
  port.reverse = entry.stride < 0;
  const std::int64_t axis = entry.axis.value_or(0);
  if (!type.ranked) {
    if (axis < 0)
      return fail(Code::unsupported, "axis {} of {}, whose rank is unknown", axis,
                  describe(*result));
    port.insert = false;
    port.axis = axis;
  } else {
    // Scalars are stacked to a list.
    port.insert = type.rank() == 0;
    const int rank = std::max(type.rank(), 1);
    const auto normalised = tensor::normalise_axis(axis, rank);
    if (!normalised)
      return invalid_model("output port {}: axis is {}, outside [-{}, {})", entry.external_port,
                           axis, rank, rank);
    port.axis = *normalised;
    SCANLOOM_CHECK_OK(check_part(entry, type, port));
    if (port.insert)
      type.dims.push_back(ctx_.module().dims.fresh());
    else
      type.dims[static_cast<std::size_t>(port.axis)] = ctx_.module().dims.fresh();
  }
  yields.push_back(row);
  ctx_.module().node(loop).loop->stacked.push_back(port);
  ctx_.set_output(static_cast<int>(output),
                  Binding::of(ctx_.module().add_output(loop, std::move(type))));
  return {};
}

Expected<void> LoopMap::leave_outputs(Body& body, ir::NodeId loop, std::vector<ValueId>& yields) {
  std::vector<const PortEntry*> by_output(ctx_.layer().outputs.size());
  for (std::size_t i = 0; i < part_.outputs.size(); ++i) {
    const PortEntry& port = part_.outputs[i];
    if (port.external_port < 0) continue;
    SCANLOOM_TRY(const std::size_t output,
                 ports_.output(entry_name("output", i), port.external_port));
    by_output[output] = &port;
  }
  ir::Module& module = ctx_.module();
  for (std::size_t i = 0; i < by_output.size(); ++i) {
    const PortEntry* const port = by_output[i];
    if (port->axis) {
      SCANLOOM_CHECK_OK(stack(body, loop, *port, i, yields));
      continue;
    }
    const auto state = state_of_result_.find(port->internal_layer);
    if (state != state_of_result_.end()) {
      ctx_.set_output(static_cast<int>(i), Binding::of(module.node(loop).outputs[state->second]));
      continue;
    }
    SCANLOOM_CHECK_OK(leave_row(body, loop, *port, i, yields));
  }
  return {};
}

// An output that is not a state is only needed for the last step: it is the last row of a stack of
// all rows, which keep_last_rows turns into a carried value where it can. Rows with changing sizes
// cannot be stacked and are carried from the start.
Expected<void> LoopMap::leave_row(Body& body, ir::NodeId loop, const PortEntry& port,
                                  std::size_t output, std::vector<ValueId>& yields) {
  if (kept_row_of_.contains(&port)) {
    rows_.push_back({output, &port, {}});
    return {};
  }
  ir::Module& module = ctx_.module();
  SCANLOOM_TRY(const Layer* const result, body.result_layer("port_map", port.internal_layer));
  SCANLOOM_TRY(const ValueId row, body.result_value(*result));
  Type type = ctx_.type(row);
  if (type.ranked) type.dims.insert(type.dims.begin(), module.dims.fresh());
  yields.push_back(row);
  module.node(loop).loop->stacked.push_back({});
  rows_.push_back({output, &port, module.add_output(loop, std::move(type))});
  ctx_.reading().last_rows.push_back({&port, row, rows_.back().stack});
  return {};
}

Expected<void> LoopMap::leave_kept_rows(Body& body, ir::NodeId loop, std::vector<ValueId>& yields) {
  for (const PortEntry* const port : kept_rows_) {
    SCANLOOM_TRY(const Layer* const result, body.result_layer("port_map", port->internal_layer));
    SCANLOOM_TRY(const ValueId row, body.result_value(*result));
    yields.push_back(row);
    Type type = ctx_.type(row);
    for (tensor::Dim& dim : type.dims) dim = ctx_.module().dims.fresh();
    ctx_.module().add_output(loop, std::move(type));
  }
  return {};
}

Expected<void> LoopMap::set_rows(ir::NodeId loop) {
  const std::vector<ValueId> finals = ctx_.module().node(loop).outputs;
  for (const RowOutput& row : rows_) {
    ops::Composer c(ctx_.builder());
    ValueId stack = row.stack;
    if (!stack.valid()) {
      // Makes the final value a stack of one row after at least one step, and of none after no
      // step, so that an index error results there.
      const std::size_t first = states_.size();
      const ValueId kept = finals[first + kept_row_of_.at(row.port)];
      const ValueId steps = finals[first + kept_rows_.size()];
      stack = c.slice(c.unsqueeze(kept, {0}), 0, c.number(0), steps);
    }
    const ValueId last = c.gather(stack, c.number(-1), 0);
    SCANLOOM_CHECK_OK(c.done());
    ctx_.set_output(static_cast<int>(row.output), Binding::of(last));
  }
  return {};
}

/// Assigns the values assigned in the last step in the enclosing graph.
Expected<void> LoopMap::leave_variables(ir::NodeId loop, std::vector<ValueId>& yields) {
  ir::Module& module = ctx_.module();
  for (const VariableUses::Use& use : variables_) {
    if (!use.is_assigned) continue;
    yields.push_back(left_value(scope_, use.id));
    Type type = ctx_.type(scope_.entered.at(use.id));
    for (tensor::Dim& dim : type.dims) dim = module.dims.fresh();
    const ValueId last = module.add_output(loop, std::move(type));
    SCANLOOM_CHECK_OK(assign_variable(ctx_.reading(), use.id, last));
  }
  return {};
}

Expected<void> LoopMap::leave(Body& body, ir::NodeId loop) {
  ir::Module& module = ctx_.module();
  std::vector<ValueId> yields;
  SCANLOOM_CHECK_OK(leave_condition(body, loop, yields));
  for (const State& state : states_) {
    SCANLOOM_TRY(const Layer* const result, body.result_layer("a back edge", state.result));
    SCANLOOM_TRY(const ValueId next, body.result_value(*result));
    const Type initial = ctx_.type(state.initial), type = ctx_.type(next);
    if (type.dtype != initial.dtype)
      return invalid_model("Parameter {} is {} before the first step, but the body makes it {}",
                           state.parameter, describe_type(ctx_, state.initial),
                           describe_type(ctx_, next));
    yields.push_back(next);
    Type final_type = type.ranked && initial.ranked && type.rank() == initial.rank()
                          ? initial
                          : Type::unranked(initial.dtype);
    for (tensor::Dim& dim : final_type.dims) dim = module.dims.fresh();
    module.add_output(loop, std::move(final_type));
  }
  SCANLOOM_CHECK_OK(leave_kept_rows(body, loop, yields));
  if (counts()) {
    const ir::RegionId region = body.builder().region();
    const ValueId counter =
        module.region(region)
            .args[module.node(loop).loop->captured + states_.size() + kept_rows_.size()];
    ops::Composer c(body.builder());
    yields.push_back(c.add(counter, c.number(1)));
    SCANLOOM_CHECK_OK(c.done());
    module.add_output(loop, Type::scalar(DType::i64));
  }
  SCANLOOM_CHECK_OK(leave_variables(loop, yields));
  SCANLOOM_CHECK_OK(leave_outputs(body, loop, yields));
  module.region(body.builder().region()).yields = std::move(yields);
  return set_rows(loop);
}

}  // namespace scanloom::openvino
