#include "frontends/openvino/loop_ports.h"

#include <algorithm>
#include <limits>

#include "base/utf8.h"
#include "frontends/openvino/types.h"
#include "frontends/openvino/wide_sizes.h"
#include "ir/scan_window.h"

namespace scanloom::openvino {

using ir::ValueId;
using tensor::Tensor;
using tensor::Type;

namespace {

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

/// Whether the constant is one element that is true.
bool is_true(const Tensor* value) {
  if (value == nullptr || value->dtype() != DType::boolean || value->elements() != 1) return false;
  return tensor::to_integers(*value)->front() != 0;
}

std::string entry_name(const char* kind, std::size_t i) {
  return fmt::format("port_map {} {}", kind, i);
}

/// Whether the window walks the axis from its first to its last element, or the other way.
bool is_whole(const PortEntry& port) {
  return port.stride > 0 ? port.start == 0 && port.end == -1 : port.start == -1 && port.end == 0;
}

/// Errors of a window over an axis of known size.
Expected<void> check_window(const PortEntry& port, std::int64_t size) {
  if (size == 0) return {};
  const std::pair<const char*, std::int64_t> ends[] = {{"start", port.start}, {"end", port.end}};
  for (const auto& [name, value] : ends)
    if (value < -size || value >= size)
      return invalid_model("{} is {}, outside of the {} elements of axis {}", name, value, size,
                           *port.axis);
  const auto from_front = [&](std::int64_t at) { return at < 0 ? at + size : at; };
  const std::int64_t start = from_front(port.start), end = from_front(port.end);
  if (port.stride > 0 ? start > end : start < end)
    return invalid_model("start {} lies behind end {} for stride {}, on axis {} of {} elements",
                         port.start, port.end, port.stride, *port.axis, size);
  return {};
}

/// Of a window, whatever the axis has: nothing is computed with larger ones.
Expected<void> check_numbers(const PortEntry& port) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  const std::pair<const char*, std::int64_t> numbers[] = {
      {"start", port.start}, {"end", port.end}, {"stride", port.stride}};
  for (const auto& [name, value] : numbers)
    if (value < -kMost || value > kMost)
      return invalid_model("{} is {}, outside [-{}, {}]", name, value, kMost, kMost);
  if (port.stride == 0) return invalid_model("stride is 0");
  if (port.part_size < 1) return invalid_model("part_size is {}, less than 1", port.part_size);
  if (port.part_size > kMost)
    return invalid_model("part_size is {}, more than {}", port.part_size, kMost);
  return {};
}

/// `low`, an end of the window, as a value that only an axis with enough elements for both ends
/// has; one without any is walked in no step.
ValueId checked_first(ops::Composer& c, ValueId value, std::int64_t axis, const PortEntry& port,
                      std::int64_t low) {
  const auto needed_for = [](std::int64_t at) { return at < 0 ? -at : at + 1; };
  const std::int64_t needed = std::max(needed_for(port.start), needed_for(port.end));
  const ValueId size = c.dim(value, axis);
  const ValueId enough = c.where(c.equal(size, c.number(0)), c.number(0), c.number(needed));
  std::string text = fmt::format("axis {} has {{}} elements, a window from {} to {} needs {{}}",
                                 axis, port.start, port.end);
  const ValueId checked = c.op(ops::check_equal_op, {c.min(size, c.number(needed)), enough},
                               {{"text", std::move(text)}});
  return c.add(checked, c.number(low - needed));
}

}  // namespace

bool LoopMap::has_slices() const {
  return std::ranges::any_of(part_.inputs,
                             [](const PortEntry& port) { return port.axis.has_value(); });
}

Expected<void> LoopMap::gather_entries() {
  for (std::size_t i = 0; i < part_.inputs.size(); ++i) {
    const PortEntry& port = part_.inputs[i];
    const std::string entry = entry_name("input", i);
    if (port.external_port < 0) {
      if (port.purpose != "current_iteration" && !port.purpose.empty())
        return invalid_model("{}: purpose is '{}', current_iteration is the one of inputs", entry,
                             port.purpose);
      counters_.push_back(port.internal_layer);
      continue;
    }
    SCANLOOM_TRY(const std::size_t position,
                 input_position(ctx_.layer(), entry, port.external_port));
    if (port.axis) {
      Expected<void> numbers = check_numbers(port);
      if (!numbers) return std::move(numbers).error().at(entry);
    }
    const auto [found, is_new] =
        by_parameter_.emplace(port.internal_layer, Input{entry, position, &port});
    if (!is_new)
      return invalid_model("{} and {} both lead to Parameter {}", found->second.entry, entry,
                           port.internal_layer);
  }
  for (auto id = counters_.begin(); id != counters_.end(); ++id)
    if (by_parameter_.contains(*id) || std::find(counters_.begin(), id, *id) != id)
      return invalid_model("current_iteration and another entry both lead to Parameter {}", *id);
  for (std::size_t i = 0; i < part_.outputs.size(); ++i) {
    const std::string& purpose = part_.outputs[i].purpose;
    if (!purpose.empty() && purpose != "execution_condition")
      return invalid_model("{}: purpose is '{}', execution_condition is the one of outputs",
                           entry_name("output", i), purpose);
  }
  std::map<std::int64_t, std::int64_t> seen;
  for (const BackEdge& edge : ctx_.layer().back_edges) {
    if (const auto [found, is_new] = seen.emplace(edge.to_layer, edge.from_layer); !is_new)
      return invalid_model("back edges from layers {} and {} both lead to Parameter {}",
                           found->second, edge.from_layer, edge.to_layer);
    if (!by_parameter_.contains(edge.to_layer))
      return invalid_model(
          "a back edge leads to layer {}, for whose first value port_map has no entry",
          edge.to_layer);
    states_.push_back({edge.to_layer, edge.from_layer, {}});
  }
  return {};
}

Expected<ValueId> LoopMap::outer_value(const Input& input) {
  Expected<ValueId> value = ctx_.in(static_cast<int>(input.position));
  if (!value) return std::move(value).error().at(input.entry);
  return value;
}

Expected<std::pair<ValueId, ir::ScannedPort>> LoopMap::window(const Input& input) {
  SCANLOOM_TRY(ValueId value, outer_value(input));
  const PortEntry& port = *input.port;
  const Type& type = ctx_.type(value);
  if (!type.ranked)
    return fail(Code::unsupported, "{}: input port {} has an unknown number of axes", input.entry,
                port.external_port);
  const auto axis = tensor::normalise_axis(*port.axis, type.rank());
  if (!axis)
    return invalid_model("{}: axis is {}, outside [-{}, {})", input.entry, *port.axis, type.rank(),
                         type.rank());
  const tensor::Dim size = type.dims[static_cast<std::size_t>(*axis)];
  if (size.is_constant()) {
    Expected<void> fits = check_window(port, size.value());
    if (!fits) return std::move(fits).error().at(input.entry);
  }
  const bool forwards = port.stride > 0;
  if (!is_whole(port)) {
    ops::Composer c(ctx_.builder());
    const std::int64_t low = forwards ? port.start : port.end;
    const std::int64_t high = forwards ? port.end : port.start;
    const ValueId first =
        size.is_constant() ? c.number(low) : checked_first(c, value, *axis, port, low);
    value = c.slice(value, *axis, first, c.number(high == -1 ? kToTheEnd : high + 1));
    SCANLOOM_CHECK_OK(c.done());
  }
  const ir::ScannedPort scanned{*axis, forwards ? 0 : -1, port.stride, port.part_size, false};
  if (size.is_constant() && is_whole(port)) {
    const ir::ScanWindow slices = ir::scan_window(scanned, size.value());
    const std::int64_t step = forwards ? port.stride : -port.stride;
    const std::int64_t used =
        slices.count == 0 ? 0 : (slices.count - 1) * step + std::max(port.part_size, step);
    if (used < size.value())
      ctx_.reading().diagnostics.warning(
          fmt::format("openvino: {}: {}: the last {} of {} elements of axis {} fill no slice of {}",
                      describe(ctx_.layer()), input.entry, size.value() - used, size.value(), *axis,
                      port.part_size));
  }
  return std::pair(value, scanned);
}

Expected<ValueId> LoopMap::slice_count() {
  for (std::size_t i = 0; i < part_.inputs.size(); ++i) {
    const PortEntry& port = part_.inputs[i];
    if (!port.axis || port.external_port < 0) continue;
    const std::string entry = entry_name("input", i);
    SCANLOOM_TRY(const std::size_t position,
                 input_position(ctx_.layer(), entry, port.external_port));
    SCANLOOM_TRY(const auto sliced, window(Input{entry, position, &port}));
    ops::Composer c(ctx_.builder());
    const std::int64_t step = port.stride > 0 ? port.stride : -port.stride;
    // Where no slice fits, the quotient of -part_size .. -1 is at least -part_size / step, above
    // which 0 is taken.
    const ValueId room = c.sub(c.dim(sliced.first, sliced.second.axis), c.number(port.part_size));
    const ValueId more = c.div(c.sub(room, c.mod(room, c.number(step))), c.number(step));
    const ValueId count = c.max(c.add(more, c.number(1)), c.number(0));
    SCANLOOM_CHECK_OK(c.done());
    return count;
  }
  return ValueId{};
}

bool LoopMap::is_state(std::int64_t parameter) const {
  return std::ranges::find(states_, parameter, &State::parameter) != states_.end();
}

namespace {

/// What a row is carried as before there is one: nothing of its element type and number of axes.
Expected<Tensor> no_row(const Type& row) {
  tensor::Shape shape;
  for (int axis = 0; axis < (row.ranked ? row.rank() : 1); ++axis) shape.push_back(0);
  return Tensor::zeros(row.dtype, shape);
}

}  // namespace

Expected<void> LoopMap::enter_operands(ir::LoopPorts& ports, std::vector<ValueId>& operands) {
  for (const auto& [parameter, input] : by_parameter_) {
    if (input.port->axis) {
      sliced_.push_back(parameter);
    } else if (!is_state(parameter)) {
      if (ctx_.constant(static_cast<int>(input.position)) != nullptr) continue;
      SCANLOOM_TRY(const ValueId value, outer_value(input));
      operands.push_back(widest(ctx_.builder(), value));
      captured_.push_back(parameter);
    }
  }
  ports.captured = static_cast<std::uint32_t>(captured_.size());
  SCANLOOM_CHECK_OK(enter_variables(false, ports, operands));
  for (State& state : states_) {
    const Input& input = by_parameter_.at(state.parameter);
    if (input.port->axis)
      return invalid_model(
          "{} slices input port {} for Parameter {}, to which the back edge from layer {} leads "
          "too",
          input.entry, input.port->external_port, state.parameter, state.result);
    SCANLOOM_TRY(state.initial, outer_value(input));
    operands.push_back(state.initial);
  }
  for (const PortEntry& port : part_.outputs) {
    const auto found = ctx_.reading().changing_rows.find(&port);
    if (found == ctx_.reading().changing_rows.end()) continue;
    SCANLOOM_TRY(Tensor initial, no_row(found->second));
    operands.push_back(ctx_.builder().constant(std::move(initial)));
    kept_rows_.push_back(&port);
  }
  if (counts()) operands.push_back(ctx_.builder().constant(Tensor::scalar<std::int64_t>(0)));
  ports.carried =
      static_cast<std::uint32_t>(states_.size() + kept_rows_.size() + (counts() ? 1 : 0));
  SCANLOOM_CHECK_OK(enter_variables(true, ports, operands));
  for (const std::int64_t parameter : sliced_) {
    SCANLOOM_TRY(const auto sliced, window(by_parameter_.at(parameter)));
    operands.push_back(sliced.first);
    ports.scanned.push_back(sliced.second);
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
    // Sizes may change from step to step.
    for (tensor::Dim& dim : type.dims)
      if (carried) dim = module.dims.fresh();
    scope_.entered[use.id] = module.add_argument(body.builder().region(), std::move(type), use.id);
  }
}

Expected<void> LoopMap::enter_body(Body& body, const ir::LoopPorts& ports,
                                   const std::vector<ValueId>& operands) {
  for (const auto& [parameter, input] : by_parameter_)
    SCANLOOM_CHECK_OK(body.parameter(input.entry, parameter));
  const auto layer = [&](std::int64_t parameter) {
    return *body.parameter(by_parameter_.at(parameter).entry, parameter);
  };
  for (const std::int64_t parameter : captured_) {
    SCANLOOM_TRY(const ValueId outer, outer_value(by_parameter_.at(parameter)));
    SCANLOOM_TRY(const ValueId inner,
                 body.add_captured(ctx_.builder(), outer, to_valid_utf8(layer(parameter)->name)));
    body.bind(*layer(parameter), Binding::of(inner));
  }
  add_variables(body, false);
  std::size_t operand = ports.first_carried_input();
  for (const State& state : states_) {
    // Sizes may change from step to step.
    Type type = ctx_.type(operands[operand++]);
    for (tensor::Dim& dim : type.dims) dim = ctx_.module().dims.fresh();
    body.add_argument(*layer(state.parameter), std::move(type));
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
  for (std::size_t i = 0; i < sliced_.size(); ++i) {
    Type type = ctx_.type(operands[operand++]);
    type.dims[static_cast<std::size_t>(ports.scanned[i].axis)] = tensor::Dim(ports.scanned[i].part);
    body.add_argument(*layer(sliced_[i]), std::move(type));
  }
  for (const auto& [parameter, input] : by_parameter_) {
    if (std::ranges::find(captured_, parameter) != captured_.end() || input.port->axis ||
        is_state(parameter))
      continue;
    body.bind(*layer(parameter), Binding::of(std::make_shared<const Tensor>(
                                     *ctx_.constant(static_cast<int>(input.position)))));
  }
  return {};
}

/// The number of the step in the element type and shape that a Parameter declares.
Expected<void> LoopMap::enter_counters(Body& body, ValueId counter) {
  for (const std::int64_t id : counters_) {
    SCANLOOM_TRY(const Layer* const parameter, body.parameter("port_map current_iteration", id));
    SCANLOOM_TRY(const Type declared, declared_type(ctx_.reading(), *parameter));
    ops::Composer c(body.builder());
    ValueId value = c.cast(counter, declared.dtype);
    if (declared.ranked && declared.rank() == 1) value = c.unsqueeze(value, {0});
    SCANLOOM_CHECK_OK(c.done());
    body.bind(*parameter, Binding::of(value));
  }
  return {};
}

Expected<void> LoopMap::leave_condition(Body& body, ir::NodeId loop, std::vector<ValueId>& yields) {
  const PortEntry* found = nullptr;
  for (const PortEntry& port : part_.outputs) {
    if (port.external_port >= 0 && port.purpose != "execution_condition") continue;
    if (found != nullptr)
      return invalid_model("layers {} and {} are both the condition", found->internal_layer,
                           port.internal_layer);
    found = &port;
  }
  if (found == nullptr) return {};
  SCANLOOM_TRY(const Layer* const result,
               body.result_layer("port_map execution_condition", found->internal_layer));
  const Binding binding = body.result(*result);
  if (is_true(binding.constant.get())) return {};
  SCANLOOM_TRY(const ValueId condition, body.result_value(*result));
  if (ctx_.type(condition).dtype != DType::boolean)
    return invalid_model("the condition, {}, is {}, a boolean is needed", describe(*result),
                         describe_type(ctx_, condition));
  ctx_.module().node(loop).loop->has_keep_going = true;
  yields.push_back(condition);
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
      return fail(Code::unsupported, "axis {} of {}, whose number of axes is not known", axis,
                  describe(*result));
    port.insert = false;
    port.axis = axis;
  } else {
    // Numbers without axes become a list.
    port.insert = type.rank() == 0;
    const int rank = std::max(type.rank(), 1);
    const auto normalised = tensor::normalise_axis(axis, rank);
    if (!normalised)
      return invalid_model("output port {}: axis is {}, outside [-{}, {})", entry.external_port,
                           axis, rank, rank);
    port.axis = *normalised;
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
    const std::string entry = entry_name("output", i);
    SCANLOOM_TRY(const std::size_t output,
                 output_position(ctx_.layer(), entry, port.external_port));
    if (by_output[output] != nullptr)
      return invalid_model("{}: output port {} has an entry already", entry, port.external_port);
    SCANLOOM_CHECK_OK(body.result_layer(entry, port.internal_layer));
    by_output[output] = &port;
  }
  ir::Module& module = ctx_.module();
  for (std::size_t i = 0; i < by_output.size(); ++i) {
    const PortEntry* const port = by_output[i];
    if (port == nullptr)
      return invalid_model("port_map has no entry for output port {}", ctx_.layer().outputs[i].id);
    if (port->axis) {
      SCANLOOM_CHECK_OK(stack(body, loop, *port, i, yields));
      continue;
    }
    const auto state = std::ranges::find(states_, port->internal_layer, &State::result);
    if (state != states_.end()) {
      const auto carried = static_cast<std::size_t>(state - states_.begin());
      ctx_.set_output(static_cast<int>(i), Binding::of(module.node(loop).outputs[carried]));
      continue;
    }
    SCANLOOM_CHECK_OK(leave_row(body, loop, *port, i, yields));
  }
  return {};
}

// What no state is has a value in the last step alone: the last row of all, which keep_last_rows
// carries where it can. Rows of sizes that change make no stack, and are carried from here on.
Expected<void> LoopMap::leave_row(Body& body, ir::NodeId loop, const PortEntry& port,
                                  std::size_t output, std::vector<ValueId>& yields) {
  if (std::ranges::find(kept_rows_, &port) != kept_rows_.end()) {
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
      // The final value, as a stack of one row after at least one step, of none after no step.
      const auto kept = std::ranges::find(kept_rows_, row.port) - kept_rows_.begin();
      const std::size_t first = states_.size();
      const ValueId steps = finals[first + kept_rows_.size()];
      stack = c.slice(c.unsqueeze(finals[first + static_cast<std::size_t>(kept)], {0}), 0,
                      c.number(0), steps);
    }
    const ValueId last = c.gather(stack, c.number(-1), 0);
    SCANLOOM_CHECK_OK(c.done());
    ctx_.set_output(static_cast<int>(row.output), Binding::of(last));
  }
  return {};
}

/// What the last step has assigned is assigned in the graph around the loop.
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
      return invalid_model("Parameter {} is {} before the first step, the body makes it {}",
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

Expected<void> LoopMap::make(const Control& control) {
  SCANLOOM_CHECK_OK(gather_entries());
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
                                                 {}, ctx_.site().place);
  ctx_.module().node(loop).loop = ports;
  Body body(ctx_, part_, loop);
  if (!body.enter()) return ctx_.poison_outputs(), Expected<void>();
  SCANLOOM_CHECK_OK(enter_body(body, ports, operands));
  ctx_.reading().scopes.push_back(std::move(scope_));
  const bool done = body.run();
  scope_ = std::move(ctx_.reading().scopes.back());
  ctx_.reading().scopes.pop_back();
  if (!done) return ctx_.poison_outputs(), Expected<void>();
  return leave(body, loop);
}

}  // namespace scanloom::openvino
