// Inference of loops: the body is inferred for all steps at once; sizes of carried values that
// change between steps are widened until they hold for every step.
#include <algorithm>

#include "ir/infer_driver.h"
#include "ir/port_names.h"
#include "ir/scan_window.h"

namespace scanloom::ir {
namespace {

Expected<void> check_counts(const Module& module, const Node& node) {
  if (!node.loop || node.regions.size() != 1)
    return fail(Code::internal, "a loop has ports and one body, not {} regions",
                node.regions.size());
  const LoopPorts& ports = *node.loop;
  const Region& body = module.region(node.regions[0]);
  if (node.inputs.size() != ports.input_count() || body.args.size() != ports.argument_count() ||
      body.yields.size() != ports.yield_count() || node.outputs.size() != ports.output_count())
    return fail(Code::internal,
                "a loop with {} operands, {} arguments, {} yields and {} results, but its ports "
                "need {}, {}, {} and {}",
                node.inputs.size(), body.args.size(), body.yields.size(), node.outputs.size(),
                ports.input_count(), ports.argument_count(), ports.yield_count(),
                ports.output_count());
  for (const ValueId input : node.inputs)
    if (!input.valid()) return fail(Code::internal, "an operand of a loop is absent");
  return {};
}

/// Inference may find sizes, of the model or of the feeds, that the reader did not know.
Expected<void> check_single(std::string_view what, const Type& type, const tensor::DimTable& dims,
                            bool of_feeds) {
  if (!type.is_static() || type.shape().elements() == 1) return {};
  return fail(of_feeds ? Code::invalid_argument : Code::invalid_model,
              "{} is {}, which must be one element", what, to_string(type, dims));
}

std::optional<bool> known_boolean(const Known* known) {
  if (known == nullptr || !known->tensor || known->tensor->dtype() != DType::boolean ||
      known->tensor->elements() != 1)
    return std::nullopt;
  return known->tensor->as<bool>()[0];
}

/// Marks the axes that differ between the two; returns whether any mark is new.
template <class Widened>
bool mark_differences(const Type& argument, const Type& yielded, Widened& widened) {
  if (!argument.ranked) return false;
  if (!yielded.ranked || yielded.rank() != argument.rank()) {
    widened.unranked = true;
    return true;
  }
  bool changed = false;
  for (std::size_t axis = 0; axis < argument.dims.size(); ++axis) {
    const std::uint32_t bit = 1u << axis;
    if (argument.dims[axis] == yielded.dims[axis] || (widened.axes & bit) != 0) continue;
    widened.axes |= bit;
    changed = true;
  }
  return changed;
}

}  // namespace

Expected<void> InferDriver::count_trips(const Node& node, InferFrame& frame) {
  const LoopPorts& ports = *node.loop;
  std::size_t input = 0;
  frame.exact = true;
  if (ports.has_trip_count) {
    const Type& count = type(node.inputs[input]);
    if (count.dtype != DType::i64 || !count.is_tensor())
      return invalid_model("the trip count must be i64, not {}", to_string(count, dims_));
    SCANLOOM_CHECK_OK(check_single("the trip count", count, dims_, options_.evaluate));
    const Type* types[] = {&count};
    const Known* values[] = {known(node.inputs[input++]).get()};
    const auto numbers = InferCtx(types, values, {}, 0, dims_).integers(0);
    if (numbers && numbers->size() == 1) {
      const Dim trips = numbers->front();
      const bool without_end = trips.is_constant() && trips.value() >= kEndlessTripCount;
      frame.trips = without_end && !ports.scanned.empty() ? count_slices(node)
                                                          : std::optional(dims_.max(0, trips));
    }
  } else {
    frame.trips = count_slices(node);
  }
  if (!ports.has_condition) return {};
  const Type& condition = type(node.inputs[input]);
  if (condition.dtype != DType::boolean || !condition.is_tensor())
    return invalid_model("the condition must be boolean, not {}", to_string(condition, dims_));
  SCANLOOM_CHECK_OK(check_single("the condition", condition, dims_, options_.evaluate));
  const auto runs = known_boolean(known(node.inputs[input]).get());
  frame.exact = runs.has_value();
  if (runs == false) frame.trips = Dim(0);
  return {};
}

/// The number of slices, equal for all scanned values, or the run fails.
std::optional<Dim> InferDriver::count_slices(const Node& node) {
  for (std::size_t i = 0; i < node.loop->scanned.size(); ++i) {
    const ScannedPort& port = node.loop->scanned[i];
    const Type& outer = type(node.inputs[node.loop->first_scanned_input() + i]);
    if (!outer.ranked || port.axis < 0 || port.axis >= outer.rank() || port.part < 1 ||
        port.stride == 0)
      continue;
    if (const auto count = slice_count(port, outer.dims[static_cast<std::size_t>(port.axis)]))
      return count;
  }
  return std::nullopt;
}

/// Whether at least one step is certain, by the count or because nothing limits it.
bool InferDriver::takes_a_step(const Node& node, const InferFrame& frame) {
  if (frame.trips) return frame.trips->is_constant() && frame.trips->value() > 0;
  return !node.loop->has_trip_count && node.loop->scanned.empty();
}

Expected<void> InferDriver::enter_loop(NodeId id) {
  const Node& node = module_.node(id);
  SCANLOOM_CHECK_OK(check_counts(module_, node));
  const InferFrame& outer = frames_.back();
  InferFrame frame{.region = node.regions[0], .owner = id};
  SCANLOOM_CHECK_OK(count_trips(node, frame));
  const bool some = takes_a_step(node, frame);
  frame.certain = outer.certain && frame.exact && some;
  // A model whose sizes can never fit is refused, whatever the count; sizes of one run are checked
  // when the step is taken.
  frame.may_defer =
      outer.may_defer || frame.trips == Dim(0) || (options_.evaluate && !(frame.exact && some));
  frame.first_own_dim = dims_.size();
  widened_[id].resize(node.loop->carried);
  result_.visited[frame.region.index] = true;
  frames_.push_back(frame);
  return set_loop_arguments(id);
}

/// Whether the carried value keeps its initial value in every step: the body yields it unchanged,
/// or captures the initial value and yields that.
bool InferDriver::passes_through(const Node& node, std::size_t carried) const {
  const LoopPorts& ports = *node.loop;
  const Region& body = module_.region(node.regions[0]);
  const ValueId yield = body.yields[ports.first_carried_yield() + carried];
  if (yield == body.args[ports.captured + carried]) return true;
  const Value& from = module_.value(yield);
  return !from.producer.valid() && from.region == node.regions[0] && from.index < ports.captured &&
         node.inputs[ports.first_captured_input() + from.index] ==
             node.inputs[ports.first_carried_input() + carried];
}

Expected<void> InferDriver::set_loop_arguments(NodeId id) {
  const Node& node = module_.node(id);
  const LoopPorts& ports = *node.loop;
  const std::vector<ValueId>& args = module_.region(node.regions[0]).args;
  const ValueId* inputs = node.inputs.data() + ports.first_captured_input();
  for (std::size_t i = 0; i < ports.captured; ++i) copy(args[i], inputs[i]);
  for (std::size_t i = 0; i < ports.carried; ++i) {
    const std::size_t at = ports.captured + i;
    const Widened& widened = widened_[id][i];
    Type entry = type(inputs[at]);
    if (widened.unranked || (hasty_ && !ports.fixed_sizes && !passes_through(node, i))) {
      entry.ranked = false;
      entry.dims.clear();
    }
    for (std::size_t axis = 0; axis < entry.dims.size(); ++axis)
      if ((widened.axes >> axis & 1u) != 0) entry.dims[axis] = dims_.fresh();
    set(args[at], std::move(entry), passes_through(node, i) ? known(inputs[at]) : nullptr);
  }
  for (std::size_t i = 0; i < ports.scanned.size(); ++i) {
    const std::size_t at = ports.captured + ports.carried + i;
    SCANLOOM_TRY(Type slice, slice_type(type(inputs[at]), id, i));
    set(args[at], std::move(slice));
  }
  return {};
}

Expected<Type> InferDriver::slice_type(const Type& outer, NodeId loop, std::size_t index) {
  const ScannedPort& port = module_.node(loop).loop->scanned[index];
  if (!outer.is_tensor())
    return invalid_model("{} is scanned and must be a tensor, not {}",
                         describe_scanned(module_, loop, index), to_string(outer, dims_));
  if (!outer.ranked) return outer;
  if (port.axis < 0 || port.axis >= outer.rank())
    return invalid_model("{} is {}, which has no axis {} to scan",
                         describe_scanned(module_, loop, index), to_string(outer, dims_),
                         port.axis);
  Type slice = outer;
  if (port.squeeze)
    slice.dims.erase(slice.dims.begin() + port.axis);
  else
    slice.dims[static_cast<std::size_t>(port.axis)] = port.part;
  SCANLOOM_CHECK_OK(check_type(slice, dims_));
  return slice;
}

Expected<bool> InferDriver::widen_carried(NodeId id) {
  const Node& node = module_.node(id);
  const Region& body = module_.region(node.regions[0]);
  const bool may_change = !node.loop->fixed_sizes;
  bool changed = false;
  for (std::size_t i = 0; i < node.loop->carried; ++i) {
    const Type& argument = type(body.args[node.loop->captured + i]);
    const Type& yielded = type(body.yields[node.loop->first_carried_yield() + i]);
    if (!same_kind(argument, yielded))
      return invalid_model("{} enters a step as {} and leaves it as {}",
                           describe_carried(module_, id, i), to_string(argument, dims_),
                           to_string(yielded, dims_));
    changed |= may_change && mark_differences(argument, yielded, widened_[id][i]);
  }
  return changed;
}

Expected<void> InferDriver::leave_loop(NodeId id) {
  const Node& node = module_.node(id);
  SCANLOOM_TRY(const bool changed, widen_carried(id));
  if (changed) {
    result_.varying_sizes = true;
    frames_.back().next = 0;
    return set_loop_arguments(id);
  }
  if (node.loop->has_keep_going) {
    const Type& keep_going = type(module_.region(node.regions[0]).yields[0]);
    if (keep_going.dtype != DType::boolean || !keep_going.is_tensor())
      return invalid_model("the body must yield a boolean as its condition, not {}",
                           to_string(keep_going, dims_));
    SCANLOOM_CHECK_OK(
        check_single("the condition that the body yields", keep_going, dims_, options_.evaluate));
  }
  InferFrame frame = frames_.back();
  frames_.pop_back();
  if (node.loop->has_keep_going) end_early(node, frame);
  set_carried_outputs(id, frame);
  return set_stacked_outputs(id, frame);
}

/// Accounts for the condition that the body yields: it can prevent the second step at the earliest.
void InferDriver::end_early(const Node& node, InferFrame& frame) const {
  if (frame.trips && frame.trips->is_constant() && frame.trips->value() <= 1) return;
  const ValueId yield = module_.region(node.regions[0]).yields[0];
  const auto goes_on = known_boolean(known(yield).get());
  if (goes_on == true) return;
  if (goes_on == false && takes_a_step(node, frame))
    frame.trips = Dim(1);
  else
    frame.exact = false;
}

void InferDriver::set_carried_outputs(NodeId id, const InferFrame& frame) {
  const Node& node = module_.node(id);
  const LoopPorts& ports = *node.loop;
  for (std::size_t i = 0; i < ports.carried; ++i) {
    const ValueId initial = node.inputs[ports.first_carried_input() + i];
    if (frame.trips == Dim(0)) {
      copy(node.outputs[i], initial);
      continue;
    }
    Type final_type = type(module_.region(node.regions[0]).args[ports.captured + i]);
    for (Dim& dim : final_type.dims)
      if (dims_.uses_fresh_from(dim, frame.first_own_dim)) dim = dims_.fresh();
    set(node.outputs[i], std::move(final_type), passes_through(node, i) ? known(initial) : nullptr);
  }
}

Expected<void> InferDriver::set_stacked_outputs(NodeId id, const InferFrame& frame) {
  const Node& node = module_.node(id);
  const LoopPorts& ports = *node.loop;
  const bool counted = frame.trips && (frame.exact || frame.trips == Dim(0));
  const Dim rows = counted ? *frame.trips : dims_.fresh();
  for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
    const Type& row = type(module_.region(node.regions[0]).yields[ports.first_stacked_yield() + i]);
    auto stacked = stacked_type(row, ports.stacked[i], rows, frame);
    if (!stacked) return std::move(stacked).error().at("stacked result " + std::to_string(i));
    set(node.outputs[ports.carried + i], *std::move(stacked));
  }
  return {};
}

Expected<Type> InferDriver::stacked_type(const Type& row, const StackedPort& port, Dim rows,
                                         const InferFrame& frame) {
  if (!row.is_tensor())
    return invalid_model("a row must be a tensor, not {}", to_string(row, dims_));
  Type stacked = row;
  const auto axis = static_cast<std::size_t>(port.axis);
  if (!row.ranked) return stacked;
  if (port.axis < 0 || port.axis >= row.rank() + (port.insert ? 1 : 0))
    return invalid_model("rows are {}, which leaves no axis {} to {} along", to_string(row, dims_),
                         port.axis, port.insert ? "stack" : "concatenate");
  for (Dim& dim : stacked.dims)
    if (dims_.uses_fresh_from(dim, frame.first_own_dim)) dim = dims_.fresh();
  if (port.insert)
    stacked.dims.insert(stacked.dims.begin() + port.axis, rows);
  else if (rows == Dim(0))
    stacked.dims[axis] = 0;
  else if (stacked.dims[axis] == row.dims[axis])
    stacked.dims[axis] = dims_.mul(rows, row.dims[axis]);
  SCANLOOM_CHECK_OK(check_type(stacked, dims_));
  return stacked;
}

}  // namespace scanloom::ir
