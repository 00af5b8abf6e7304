#include "frontends/openvino/loop_map.h"

#include <algorithm>

#include "base/utf8.h"
#include "frontends/openvino/wide_sizes.h"

namespace scanloom::openvino {

using ir::ValueId;
using tensor::Tensor;
using tensor::Type;

namespace {

/// Returns the initial value of a carried row: empty, with the row's element type and rank.
Expected<Tensor> no_row(const Type& row) {
  tensor::Shape shape;
  for (int axis = 0; axis < (row.ranked ? row.rank() : 1); ++axis) shape.push_back(0);
  return Tensor::zeros(row.dtype, shape);
}

}  // namespace

std::string LoopMap::entry_name(const char* kind, std::size_t i) {
  return fmt::format("port_map {} {}", kind, i);
}

bool LoopMap::has_slices() const {
  return std::ranges::any_of(part_.inputs,
                             [](const PortEntry& port) { return port.axis.has_value(); });
}

Expected<void> LoopMap::gather_inputs() {
  for (std::size_t i = 0; i < part_.inputs.size(); ++i) {
    const PortEntry& port = part_.inputs[i];
    if (port.external_port < 0) {
      counters_.push_back(port.internal_layer);
      continue;
    }
    std::string entry = entry_name("input", i);
    SCANLOOM_TRY(const std::size_t position, ports_.input(entry, port.external_port));
    const auto operand = static_cast<int>(position);
    const Role role = port.axis                           ? Role::sliced
                      : ctx_.is_left_out(operand)         ? Role::left_out
                      : ctx_.constant(operand) != nullptr ? Role::constant
                                                          : Role::captured;
    by_parameter_.emplace(port.internal_layer, Input{std::move(entry), operand, &port, role});
  }
  return {};
}

void LoopMap::gather_states() {
  for (const BackEdge& edge : ctx_.layer().back_edges) {
    Input& input = by_parameter_.at(edge.to_layer);
    if (input.role == Role::left_out) {
      // ONNX's Loop may omit the condition; the first step then uses that of the layer.
      if (!is_condition(edge.from_layer) || !is_read(edge.to_layer)) continue;
      input.position = kConditionInput;
    }
    input.role = Role::state;
    state_of_result_.emplace(edge.from_layer, states_.size());
    states_.push_back({edge.to_layer, edge.from_layer, {}});
  }
}

bool LoopMap::is_condition(std::int64_t result) const {
  return std::ranges::any_of(part_.outputs, [&](const PortEntry& port) {
    return port.purpose == "execution_condition" && port.internal_layer == result;
  });
}

bool LoopMap::is_read(std::int64_t parameter) const {
  return std::ranges::any_of(ctx_.reading().document.graphs[part_.graph].edges,
                             [&](const Edge& edge) { return edge.from_layer == parameter; });
}

Expected<ValueId> LoopMap::outer_value(const Input& input) {
  Expected<ValueId> value = ctx_.in(input.position);
  if (!value) return std::move(value).error().at(input.entry);
  return value;
}

Expected<const SlicedInput*> LoopMap::slices_of(const PortEntry& port, const std::string& entry,
                                                int position) {
  if (const auto found = slices_.find(&port); found != slices_.end()) return &found->second;
  Expected<ValueId> value = ctx_.in(position);
  if (!value) return std::move(value).error().at(entry);
  SCANLOOM_TRY(const SlicedInput sliced, sliced_input(ctx_, entry, port, *value));
  return &slices_.emplace(&port, sliced).first->second;
}

Expected<ValueId> LoopMap::slice_count() {
  for (std::size_t i = 0; i < part_.inputs.size(); ++i) {
    const PortEntry& port = part_.inputs[i];
    if (!port.axis || port.external_port < 0) continue;
    const std::string entry = entry_name("input", i);
    SCANLOOM_TRY(const std::size_t position, ports_.input(entry, port.external_port));
    SCANLOOM_TRY(const SlicedInput* const sliced,
                 slices_of(port, entry, static_cast<int>(position)));
    return openvino::slice_count(ctx_.builder(), *sliced);
  }
  return ValueId{};
}

Expected<void> LoopMap::enter_operands(ir::LoopPorts& ports, std::vector<ValueId>& operands) {
  for (const auto& [parameter, input] : by_parameter_) {
    if (input.role != Role::captured) continue;
    SCANLOOM_TRY(const ValueId value, outer_value(input));
    operands.push_back(widest(ctx_.builder(), value));
    ++ports.captured;
  }
  SCANLOOM_CHECK_OK(enter_variables(false, ports, operands));
  for (State& state : states_) {
    SCANLOOM_TRY(state.initial, outer_value(by_parameter_.at(state.parameter)));
    operands.push_back(state.initial);
  }
  for (const PortEntry& port : part_.outputs) {
    const auto found = ctx_.reading().changing_rows.find(&port);
    if (found == ctx_.reading().changing_rows.end()) continue;
    SCANLOOM_TRY(Tensor initial, no_row(found->second));
    operands.push_back(ctx_.builder().constant(std::move(initial)));
    kept_row_of_.emplace(&port, kept_rows_.size());
    kept_rows_.push_back(&port);
  }
  if (counts()) operands.push_back(ctx_.builder().constant(Tensor::scalar<std::int64_t>(0)));
  ports.carried =
      static_cast<std::uint32_t>(states_.size() + kept_rows_.size() + (counts() ? 1 : 0));
  SCANLOOM_CHECK_OK(enter_variables(true, ports, operands));
  for (const auto& [parameter, input] : by_parameter_) {
    if (input.role != Role::sliced) continue;
    SCANLOOM_TRY(const SlicedInput* const sliced,
                 slices_of(*input.port, input.entry, input.position));
    operands.push_back(sliced->value);
    ports.scanned.push_back(sliced->port);
  }
  return {};
}

Expected<void> LoopMap::enter_variables(bool carried, ir::LoopPorts& ports,
                                        std::vector<ValueId>& operands) {
  for (const VariableUses::Use& use : variables_) {
    if (use.is_assigned != carried) continue;
    SCANLOOM_TRY(const ValueId value, entered_value(ctx_.reading(), use.id));
    operands.push_back(value);
    ++(carried ? ports.carried : ports.captured);
  }
  return {};
}

void LoopMap::add_variables(Body& body, bool carried) {
  ir::Module& module = ctx_.module();
  for (const VariableUses::Use& use : variables_) {
    if (use.is_assigned != carried) continue;
    Type type = ctx_.type(ctx_.reading().scopes.back().entered.at(use.id));
    // Sizes may change between steps.
    for (tensor::Dim& dim : type.dims)
      if (carried) dim = module.dims.fresh();
    scope_.entered[use.id] = module.add_argument(body.builder().region(), std::move(type), use.id);
  }
}

Expected<void> LoopMap::enter_body(Body& body, const ir::LoopPorts& ports,
                                   const std::vector<ValueId>& operands) {
  for (auto& [id, input] : by_parameter_) {
    SCANLOOM_TRY(input.parameter, body.parameter(input.entry, id));
  }
  for (const auto& [id, input] : by_parameter_) {
    if (input.role == Role::constant)
      SCANLOOM_CHECK_OK(body.bind(*input.parameter, Binding::of(std::make_shared<const Tensor>(
                                                        *ctx_.constant(input.position)))));
    if (input.role == Role::left_out) body.leave_out(*input.parameter);
    if (input.role != Role::captured) continue;
    SCANLOOM_TRY(const ValueId outer, outer_value(input));
    SCANLOOM_TRY(const ValueId inner,
                 body.add_captured(ctx_.builder(), outer, to_valid_utf8(input.parameter->name)));
    SCANLOOM_CHECK_OK(body.bind(*input.parameter, Binding::of(inner)));
  }
  add_variables(body, false);
  std::size_t operand = ports.first_carried_input();
  for (const State& state : states_) {
    // Sizes may change between steps.
    Type type = ctx_.type(operands[operand++]);
    for (tensor::Dim& dim : type.dims) dim = ctx_.module().dims.fresh();
    SCANLOOM_CHECK_OK(
        body.add_argument(*by_parameter_.at(state.parameter).parameter, std::move(type)));
  }
  for (std::size_t i = 0; i < kept_rows_.size(); ++i)
    ctx_.module().add_argument(body.builder().region(), ctx_.type(operands[operand++]), "row");
  if (counts()) {
    ++operand;
    const ValueId counter =
        ctx_.module().add_argument(body.builder().region(), Type::scalar(DType::i64), "step");
    SCANLOOM_CHECK_OK(enter_counters(body, counter));
  }
  add_variables(body, true);
  operand = ports.first_scanned_input();
  auto port = ports.scanned.begin();
  for (const auto& [id, input] : by_parameter_) {
    if (input.role != Role::sliced) continue;
    Type type = ctx_.type(operands[operand++]);
    type.dims[static_cast<std::size_t>(port->axis)] = tensor::Dim(port->part);
    ++port;
    SCANLOOM_CHECK_OK(body.add_argument(*input.parameter, std::move(type)));
  }
  return {};
}

/// Binds Parameters to the step number, in the element type and shape they declare.
Expected<void> LoopMap::enter_counters(Body& body, ValueId counter) {
  for (const std::int64_t id : counters_) {
    SCANLOOM_TRY(const Layer* const parameter, body.parameter("port_map current_iteration", id));
    SCANLOOM_TRY(const DeclaredType declared, declared_type(ctx_.reading(), *parameter));
    const Type& type = declared.type;
    const DType dtype = declared.has_dtype ? type.dtype : DType::i64;
    if (dtype != DType::i64 && dtype != DType::i32)
      return invalid_model("{}, the current iteration, declares {}, but i64 or i32 is needed",
                           describe(*parameter), dtype_name(dtype));
    const bool is_one = !type.ranked || type.rank() == 0 ||
                        (type.rank() == 1 && (!type.is_static() || type.shape().elements() == 1));
    if (!is_one)
      return invalid_model("{}, the current iteration, declares {}, but one element is needed",
                           describe(*parameter), to_string(type, ctx_.module().dims));
    ops::Composer c(body.builder());
    ValueId value = c.cast(counter, dtype);
    if (type.ranked && type.rank() == 1) value = c.unsqueeze(value, {0});
    SCANLOOM_CHECK_OK(c.done());
    SCANLOOM_CHECK_OK(body.bind(*parameter, Binding::of(value)));
  }
  return {};
}

Expected<void> LoopMap::make(const Control& control) {
  SCANLOOM_CHECK_OK(gather_inputs());
  gather_states();
  ir::LoopPorts ports;
  std::vector<ValueId> operands;
  if (control.trip_count.valid()) {
    ports.has_trip_count = true;
    operands.push_back(control.trip_count);
  }
  if (control.condition.valid()) {
    ports.has_condition = true;
    operands.push_back(control.condition);
  }
  SCANLOOM_CHECK_OK(enter_operands(ports, operands));
  const ir::NodeId loop = ctx_.module().add_node(ctx_.builder().region(), ir::loop_op, operands, {},
                                                 {}, ctx_.site().location);
  ctx_.module().node(loop).loop = ports;
  Body body(ctx_, part_, loop);
  body.enter();
  if (Expected<void> entered = enter_body(body, ports, operands); !entered) {
    body.run_unbound();
    return entered;
  }
  ctx_.reading().scopes.push_back(std::move(scope_));
  const bool done = body.run();
  scope_ = std::move(ctx_.reading().scopes.back());
  ctx_.reading().scopes.pop_back();
  if (!done) return ctx_.poison_outputs(), Expected<void>();
  return leave(body, loop);
}

}  // namespace scanloom::openvino
