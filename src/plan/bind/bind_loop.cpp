// Loops, stepped: scanned slices are slots that move, carried states are slots that are swapped.
// bind_stacked.cpp holds the rows.
#include <algorithm>

#include "ir/scan_window.h"
#include "plan/bind/binder.h"
#include "plan/bind/independent_steps.h"
#include "plan/bind/known_integer.h"
#include "plan/cost.h"
#include "tensor/tensor.h"

namespace scanloom::plan {
/// A trip count or condition, which has one element; boxed ones are looked at when they are read.
Expected<Location> Binder::control(ir::NodeId loop, ir::ValueId id, std::string_view what) {
  if (is_static(id) && type(id).shape().elements() != 1)
    return fail(Code::invalid_argument, "{}: the {} {} has {} elements, 1 is needed",
                module_.describe(loop), what, module_.describe(id), type(id).shape().elements());
  return location(id);
}

Expected<BoundLoop> Binder::bind_controls(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  const ir::LoopPorts& ports = *node.loop;
  BoundLoop loop;
  loop.node = id;
  loop.has_trip_count = ports.has_trip_count;
  if (ports.has_trip_count) {
    SCANLOOM_TRY(const Location trip, control(id, node.inputs[0], "trip count"));
    loop.trip_operand = trip.spot;
    const auto count = known_integer(inference_, node.inputs[0]);
    if (count && *count < ir::kEndlessTripCount)
      loop.trip_count = std::max<std::int64_t>(*count, 0);
  } else if (!ports.scanned.empty()) {
    // Without a trip count the slices are all that is walked; the others are checked against it.
    const tensor::Type& outer = type(node.inputs[ports.first_scanned_input()]);
    const int axis = static_cast<int>(ports.scanned[0].axis);
    loop.has_trip_count = true;
    if (outer.is_static() && axis < outer.rank())
      loop.trip_count = ir::scan_window(ports.scanned[0], outer.shape()[axis]).count;
  }
  if (ports.has_condition) {
    SCANLOOM_TRY(const Location condition,
                 control(id, node.inputs[std::size_t{ports.has_trip_count}], "condition"));
    loop.condition = condition.spot;
  }
  return loop;
}

/// The initial states as the loop reads them: those of known size row-major and not boxed. Those
/// that are updated in place lie where the loop may write.
std::vector<Location> Binder::straight_states(ir::NodeId id,
                                              const std::optional<InPlaceStates>& kept) {
  const ir::Node& node = module_.node(id);
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = module_.region(node.regions[0]);
  std::vector<Location> initial;
  for (std::uint32_t i = 0; i < ports.carried; ++i) {
    const tensor::Type& argument = type(body.args[ports.captured + i]);
    initial.push_back(location(node.inputs[ports.first_carried_input() + i]));
    if (kept && !kept->values[i].empty()) {
      const Location own = new_buffer(argument.dtype, argument.shape());
      emit_copy(initial.back(), own, id);
      initial.back() = own;
    } else if (argument.is_static() && !initial.back().spot.is_object()) {
      initial.back() = straight(initial.back(), argument.shape(), id);
    }
  }
  return initial;
}

/// Steps are counted together where a step computes the same: of the same sizes, however many.
std::shared_ptr<StepCounts::Count> Binder::count_of(ir::NodeId id) const {
  std::string key = std::to_string(id.index);
  for (const ir::ValueId argument : module_.region(module_.node(id).regions[0]).args)
    key += is_object(argument) || !is_static(argument) ? "?" : type(argument).shape().to_string();
  return plan_->steps.of(key);
}

Expected<void> Binder::begin_loop(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  SCANLOOM_TRY(BoundLoop loop, bind_controls(id));
  if (plan_->options.compiler != nullptr) loop.stepped = count_of(id);
  SCANLOOM_CHECK_OK(begin_blocks(id, loop));
  std::optional<InPlaceStates> kept = in_place_states(module_, id, inference_);
  const std::vector<Location> initial = straight_states(id, kept);
  touch_blocks(loop);
  // From here to the loop's own instruction nothing else is emitted.
  for (std::uint32_t i = 0; i < node.loop->first_captured_input(); ++i)
    touch(location(node.inputs[i]));
  bind_captured(id);
  std::optional<Refusal> refusal;
  if (bind_compiled(id, loop, initial, refusal)) return {};
  if (!loop.source)
    loop.notes.strategy = "stepped: " + (refusal ? refusal->reason : std::string(kFewSteps));
  loop.notes.why_not_whole = std::move(refusal);
  bind_carried(id, loop, initial, kept);
  SCANLOOM_CHECK_OK(bind_scanned(id, loop));
  bind_stacked(id, loop);
  bind_operands(node, loop);
  const auto index = static_cast<std::uint32_t>(out_->loops.size());
  out_->loops.push_back(std::move(loop));
  emit(Op::loop_begin, index);
  end_blocks(out_->loops[index]);
  arena_.open_loop();
  touch_blocks(out_->loops[index]);
  out_->loops[index].body = static_cast<std::uint32_t>(out_->code.size());
  const BoundLoop& bound = out_->loops[index];
  push_frame({.region = node.regions[0],
              .side = Side::loop_body,
              .node = id,
              .index = index,
              .certain = bound.trip_count > 0 && !bound.condition.present(),
              .order = kept ? std::move(kept->order) : std::vector<ir::NodeId>()});
  ++loop_depth_;
  return {};
}

void Binder::bind_captured(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  const ir::Region& body = module_.region(node.regions[0]);
  for (std::uint32_t i = 0; i < node.loop->captured; ++i)
    set_location(body.args[i], location(node.inputs[node.loop->first_captured_input() + i]));
}

/// The state lies in one place, before, in and after the loop.
void Binder::bind_in_place(ir::NodeId id, std::uint32_t port,
                           const std::vector<ir::ValueId>& values, const Location& state,
                           BoundLoop& loop) {
  const ir::Node& node = module_.node(id);
  touch(state);
  BoundCarried carried;
  carried.initial = carried.argument = carried.next = carried.final = state.spot;
  carried.in_place = true;
  set_location(module_.region(node.regions[0]).args[node.loop->captured + port], state);
  for (const ir::ValueId value : values) updates_in_place_[value.index] = true;
  set_location(node.outputs[port], state);
  loop.carried.push_back(carried);
}

void Binder::bind_carried(ir::NodeId id, BoundLoop& loop, const std::vector<Location>& states,
                          const std::optional<InPlaceStates>& kept) {
  const ir::Node& node = module_.node(id);
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = module_.region(node.regions[0]);
  for (std::uint32_t i = 0; i < ports.carried; ++i) {
    const ir::ValueId argument = body.args[ports.captured + i];
    if (is_object(argument))
      bind_carried_object(id, i, loop);
    else if (kept && !kept->values[i].empty())
      bind_in_place(id, i, kept->values[i], states[i], loop);
    else if (!is_static(argument))
      loop.carried.push_back(bind_boxed_state(node, i, states[i]));
    else
      loop.carried.push_back(bind_swapped_state(node, i, states[i]));
  }
}

BoundCarried Binder::bind_boxed_state(const ir::Node& node, std::uint32_t port,
                                      const Location& initial) {
  const ir::ValueId argument = module_.region(node.regions[0]).args[node.loop->captured + port];
  BoundCarried carried;
  const Location boxed = new_dynamic(type(argument).dtype);
  carried.argument = boxed.spot;
  has_own_box_[argument.index] = true;
  carried.next = new_dynamic(type(argument).dtype).spot;
  carried.final = new_dynamic(type(argument).dtype).spot;
  carried.initial = initial.spot;
  touch(initial);
  set_location(argument, {boxed.spot, initial.buffers});
  set_location(node.outputs[port], {carried.final, initial.buffers});
  return carried;
}

/// The state and its successor take turns in two buffers.
BoundCarried Binder::bind_swapped_state(const ir::Node& node, std::uint32_t port,
                                        const Location& initial) {
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = module_.region(node.regions[0]);
  const ir::ValueId argument = body.args[ports.captured + port];
  touch(initial);
  const Location a = new_buffer(type(argument).dtype, type(argument).shape());
  const Location b = new_buffer(type(argument).dtype, type(argument).shape());
  BoundCarried carried;
  carried.initial = initial.spot;
  carried.buffer_a = a.spot.slot;
  carried.buffer_b = b.spot.slot;
  Location any = initial;
  any.add_buffers({a.spot.buffer, b.spot.buffer});
  const auto moving = [&] {
    Spot spot = a.spot;
    spot.slot = new_slot();
    spot.buffer = kNone;
    return spot;
  };
  carried.argument = moving();
  carried.next = moving();
  carried.final = moving();
  set_location(argument, {carried.argument, any.buffers});
  set_location(node.outputs[port], {carried.final, any.buffers});
  want(node.regions[0], body.yields[ports.first_carried_yield() + port],
       {carried.next, {a.spot.buffer, b.spot.buffer}});
  return carried;
}

Expected<void> Binder::bind_scanned(ir::NodeId id, BoundLoop& loop) {
  const ir::Node& node = module_.node(id);
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = module_.region(node.regions[0]);
  for (std::size_t i = 0; i < ports.scanned.size(); ++i) {
    const ir::ScannedPort& port = ports.scanned[i];
    const ir::ValueId outer = node.inputs[ports.first_scanned_input() + i];
    const Location from = location(outer);
    touch(from);
    BoundScanned scanned{.outer = from.spot, .argument = {}, .slices = port};
    Location argument;
    if (from.spot.is_object()) {
      if (type(outer).is_static())
        SCANLOOM_CHECK_OK(check_slices(id, outer, loop, scanned, type(outer).shape()));
      argument = new_object(from.spot.dtype);
    } else if (from.spot.is_dynamic()) {
      argument = bind_boxed_slices(body.args[ports.captured + ports.carried + i], scanned);
    } else {
      SCANLOOM_TRY(argument, bind_slices(id, outer, loop, scanned));
    }
    argument.buffers = from.buffers;
    scanned.argument = argument.spot;
    set_location(body.args[ports.captured + ports.carried + i], argument);
    loop.scanned.push_back(scanned);
  }
  return {};
}

/// Whether there are slices for all steps. Sizes that only the run knows are checked there.
Expected<void> Binder::check_slices(ir::NodeId id, ir::ValueId outer, const BoundLoop& loop,
                                    const BoundScanned& scanned, const tensor::Shape& dims) const {
  const int axis = static_cast<int>(scanned.slices.axis);
  if (axis >= dims.rank())
    return fail(Code::invalid_model, "{}: scanned axis {} of {}, which has rank {}",
                module_.describe(id), axis, module_.describe(outer), dims.rank());
  const std::int64_t count = scanned.window(dims[axis]).count;
  const bool counted = module_.node(id).loop->has_trip_count;
  if (loop.trip_count < 0 || (counted ? loop.trip_count <= count : loop.trip_count == count))
    return {};
  return fail(Code::invalid_argument, "{}: {} steps, but {} has {} slices on axis {}",
              module_.describe(id), loop.trip_count,
              describe_scanned(module_, id, loop.scanned.size()), count, axis)
      .note(missing_slices(loop.trip_count, count));
}

/// Slices of a boxed value. Where nothing is open but how many there are, a slot moves over them,
/// too: the run sees to it that they lie one behind the other.
Location Binder::bind_boxed_slices(ir::ValueId id, BoundScanned& scanned) {
  if (!is_static(id) || scanned.slices.axis != 0) return new_dynamic(scanned.outer.dtype);
  const tensor::Shape dims = type(id).shape();
  tensor::Shape row = dims;
  if (!scanned.slices.squeeze) row.erase(0);
  scanned.step_bytes = scanned.slices.stride * row.elements() * bytes_of(scanned.outer.dtype);
  Location argument;
  argument.spot = {
      .slot = new_slot(), .layout = contiguous_layout(dims), .dtype = scanned.outer.dtype};
  return argument;
}

/// Slices of a value of known sizes: a slot that moves.
Expected<Location> Binder::bind_slices(ir::NodeId id, ir::ValueId outer, const BoundLoop& loop,
                                       BoundScanned& scanned) {
  const Spot& from = scanned.outer;
  const Layout& whole = layout(from);
  SCANLOOM_CHECK_OK(check_slices(id, outer, loop, scanned, whole.dims));
  const int axis = static_cast<int>(scanned.slices.axis);
  const std::int64_t stride = whole.strides[axis];
  const ir::ScanWindow window = scanned.window(whole.dims[axis]);
  tensor::Shape dims = whole.dims, strides = whole.strides;
  if (scanned.slices.squeeze) {
    dims.erase(axis);
    strides.erase(axis);
  } else {
    dims[axis] = scanned.slices.part;
  }
  const bool in_blocks = !loop.blocks.ports.empty() && loop.blocks.ports[loop.scanned.size()];
  const std::int64_t first_of_block = scanned.slices.stride < 0 ? loop.blocks.steps - 1 : 0;
  const std::int64_t first = in_blocks ? first_of_block : window.first;
  scanned.first_bytes = first * stride * bytes_of(from.dtype);
  scanned.step_bytes = scanned.slices.stride * stride * bytes_of(from.dtype);
  Location argument;
  argument.spot = from;
  argument.spot.slot = new_slot();
  argument.spot.offset = 0;
  argument.spot.buffer = kNone;
  argument.spot.layout = add_layout(dims, strides);
  return argument;
}

Expected<void> Binder::finish_loop(Frame& frame) {
  const ir::Node& node = module_.node(frame.node);
  const ir::Region& body = module_.region(frame.region);
  // Bound anew below: copies append operands, and nested loops have grown the list.
  BoundLoop loop = std::move(out_->loops[frame.index]);
  if (!frame.faulty) {
    finish_carried(node, frame.index, loop);
    finish_stacked(node, loop);
  }
  if (node.loop->has_keep_going && !frame.faulty) {
    SCANLOOM_TRY(const Location keep_going,
                 control(frame.node, body.yields[0], "condition of the next step"));
    touch(keep_going);
    loop.keep_going = keep_going.spot;
  }
  for (const BoundCarried& port : loop.carried)
    if (port.in_place) {
      arena_.use(port.argument.buffer);
    } else if (port.buffer_a != kNone) {
      arena_.use(buffer_of(port.buffer_a));
      arena_.use(buffer_of(port.buffer_b));
    }
  if (!frame.faulty) make_beside(loop);
  judge_body(loop, frame.index);
  emit(Op::loop_end, frame.index);
  arena_.close_loop();
  loop.exit = static_cast<std::uint32_t>(out_->code.size());
  find_independent_steps(loop);
  out_->loops[frame.index] = std::move(loop);
  --loop_depth_;
  return {};
}

/// Only of loops in no other one: threads have more to do the further out they are used.
void Binder::find_independent_steps(BoundLoop& loop) {
  const bool rows_have_a_place = std::ranges::all_of(loop.stacked, [](const BoundStacked& port) {
    return port.apart || port.open || !(port.result.is_dynamic() || port.result.is_object());
  });
  if (loop_depth_ != 1 || !rows_have_a_place) return;
  loop.independent = independent_steps(module_, loop.node, inference_, uses_);
  if (!loop.independent) return;
  const bool groups =
      !loop.scanned.empty() && std::ranges::all_of(loop.scanned, [&](const BoundScanned& port) {
        return port.slices.part > 1 && port.slices.part == port.slices.stride;
      });
  if (groups)
    loop.notes.remarks = fmt::format("; its steps are groups of {}", loop.scanned[0].slices.part);
  loop.notes.remarks += "; its steps are taken side by side where they are long";
  loop.notes.strategy += loop.notes.remarks;
  loop.step_nanoseconds = whole_step_nanoseconds(loop);
  if (loop.inner_steps >= kLeastStepsApart)
    loop.why_no_body =
        Refusal(fmt::format("holds loops of {} steps, which become code", loop.inner_steps));
}

/// Whether carried value i surely enters and leaves a step with the same sizes, where it must.
bool Binder::sizes_fit(const ir::Node& node, std::uint32_t i) const {
  const ir::Region& body = module_.region(node.regions[0]);
  const ir::ValueId argument = body.args[node.loop->captured + i];
  const ir::ValueId yield = body.yields[node.loop->first_carried_yield() + i];
  if (!node.loop->fixed_sizes || argument == yield) return true;
  return is_static(argument) && is_static(yield) && type(argument).shape() == type(yield).shape();
}

void Binder::finish_carried(const ir::Node& node, std::uint32_t index, BoundLoop& loop) {
  const ir::Region& body = module_.region(node.regions[0]);
  const std::uint32_t first = node.loop->first_carried_yield();
  for (std::uint32_t i = 0; i < loop.carried.size(); ++i) {
    const ir::ValueId yield = body.yields[first + i];
    const Location source = location(yield);
    const BoundCarried& port = loop.carried[i];
    if (port.in_place) continue;
    const bool is_same = !port.next.is_object() && source.spot.slot == port.next.slot;
    if (is_same) continue;
    if (type(yield).is_tensor() && !sizes_fit(node, i)) {
      touch(source);
      out_->size_checks.push_back({index, i, port.argument, source.spot});
      emit(Op::check_sizes, static_cast<std::uint32_t>(out_->size_checks.size() - 1));
      // Sizes that are known and differ never get past the check.
      if (is_static(yield) && !port.argument.is_dynamic() && !port.argument.is_object()) continue;
    }
    if (port.argument.is_object()) {
      emit_alias(source, {port.next, {}}, hands_over_yield(node.regions[0], first + i));
      continue;
    }
    const ir::NodeId producer = module_.value(yield).producer;
    const ir::NodeId at = producer.valid() ? producer : loop.node;
    if (port.argument.is_dynamic()) {
      emit_alias(source, {port.next, {}}, producer.valid() && may_take_box(yield));
    } else {
      const BufferId a = buffer_of(port.buffer_a), b = buffer_of(port.buffer_b);
      emit_copy(source, {port.next, {a, b}}, at);
    }
  }
}

}  // namespace scanloom::plan
