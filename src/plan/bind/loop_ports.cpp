#include "plan/bind/loop_ports.h"

#include <algorithm>

#include "ir/known_integer.h"
#include "ir/scan_window.h"
#include "plan/bind/copies.h"
#include "plan/bind/objects.h"

namespace scanloom::plan {
namespace {

/// Binds a state that stays in the same memory before, during and after the loop.
BoundCarried bind_in_place(BindContext& ctx, InstructionScope& instruction, const ir::Node& node,
                           std::uint32_t port, const std::vector<ir::ValueId>& values,
                           const Location& state) {
  instruction.write(state);
  BoundCarried carried;
  carried.initial = carried.argument = carried.next = carried.final = state.spot;
  carried.in_place = true;
  ctx.values.set(ctx.module.region(node.regions[0]).args[node.loop->captured + port], state);
  for (const ir::ValueId value : values) ctx.values.set_in_place(value);
  ctx.values.set(node.outputs[port], state);
  return carried;
}

BoundCarried bind_dynamic_state(BindContext& ctx, InstructionScope& instruction,
                                const ir::Node& node, std::uint32_t port, const Location& initial) {
  const ir::ValueId argument = ctx.module.region(node.regions[0]).args[node.loop->captured + port];
  const DType dtype = ctx.values.type(argument).dtype;
  BoundCarried carried;
  carried.argument = ctx.builder.new_dynamic(dtype).spot;
  ctx.values.set_own_storage(argument);
  carried.next = ctx.builder.new_dynamic(dtype).spot;
  carried.final = ctx.builder.new_dynamic(dtype).spot;
  carried.initial = initial.spot;
  instruction.read(initial);
  ctx.values.set(argument, {carried.argument, initial.buffers});
  ctx.values.set(node.outputs[port], {carried.final, initial.buffers});
  return carried;
}

/// Binds a double-buffered state.
BoundCarried bind_swapped_state(BindContext& ctx, InstructionScope& instruction,
                                const ir::Node& node, std::uint32_t port, const Location& initial) {
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = ctx.module.region(node.regions[0]);
  const ir::ValueId argument = body.args[ports.captured + port];
  const tensor::Type& type = ctx.values.type(argument);
  instruction.read(initial);
  const Location a = ctx.builder.new_buffer(type.dtype, type.shape());
  const Location b = ctx.builder.new_buffer(type.dtype, type.shape());
  BoundCarried carried;
  carried.initial = initial.spot;
  carried.buffer_a = a.spot.slot;
  carried.buffer_b = b.spot.slot;
  Location any = initial;
  any.add_buffers({a.spot.buffer, b.spot.buffer});
  const auto moving = [&] {
    Spot spot = a.spot;
    spot.slot = ctx.builder.new_slot();
    spot.buffer = kNone;
    return spot;
  };
  carried.argument = moving();
  carried.next = moving();
  carried.final = moving();
  ctx.values.set(argument, {carried.argument, any.buffers});
  ctx.values.set(node.outputs[port], {carried.final, any.buffers});
  ctx.values.want(node.regions[0], body.yields[ports.first_carried_yield() + port],
                  {carried.next, {a.spot.buffer, b.spot.buffer}});
  return carried;
}

/// Checks that there are slices for all steps. The run checks sizes that only it knows.
Expected<void> check_slices(const BindContext& ctx, const BoundLoop& loop, std::size_t i,
                            const tensor::Shape& dims) {
  const ir::Node& node = ctx.module.node(loop.node);
  const ir::ScannedPort& port = node.loop->scanned[i];
  const ir::ValueId outer = node.inputs[node.loop->first_scanned_input() + i];
  const int axis = static_cast<int>(port.axis);
  if (axis >= dims.rank())
    return fail(Code::invalid_model, "{}: scanned axis {} of {}, which has rank {}",
                ctx.module.describe(loop.node), axis, ctx.module.describe(outer), dims.rank());
  const std::int64_t count = ir::scan_window(port, dims[axis]).count;
  const bool counted = node.loop->has_trip_count;
  if (loop.trip_count < 0 || (counted ? loop.trip_count <= count : loop.trip_count == count))
    return {};
  return fail(Code::invalid_argument, "{}: {} steps, but {} has {} slices on axis {}",
              ctx.module.describe(loop.node), loop.trip_count,
              describe_scanned(ctx.module, loop.node, i), count, axis)
      .note(missing_slices(loop.trip_count, count));
}

/// Lays out slices of a dynamic value. If only their number is unknown, they are read through a
/// moving slot too; the run ensures that they are stored one after the other.
void lay_out_dynamic(const tensor::Type& slice, const ir::ScannedPort& port, PortSlices& slices) {
  if (!slice.is_static() || port.axis != 0) return;
  const tensor::Shape dims = slice.shape();
  tensor::Shape row = dims;
  if (!port.squeeze) row.erase(0);
  slices.step_bytes = port.stride * row.elements() * bytes_of(slices.from.spot.dtype);
  slices.slice = Layout{dims, tensor::contiguous_strides(dims)};
}

}  // namespace

SliceWalk walk_over(const Layout& whole, const ir::ScannedPort& port, const BoundBlocks& blocks,
                    bool in_blocks, DType dtype) {
  const int axis = static_cast<int>(port.axis);
  const std::int64_t stride = whole.strides[axis];
  tensor::Shape dims = whole.dims, strides = whole.strides;
  if (port.squeeze) {
    dims.erase(axis);
    strides.erase(axis);
  } else {
    dims[axis] = port.part;
  }
  const std::int64_t first_of_block = port.stride < 0 ? blocks.steps - 1 : 0;
  const std::int64_t first =
      in_blocks ? first_of_block : ir::scan_window(port, whole.dims[axis]).first;
  const std::int64_t bytes = bytes_of(dtype);
  return {.slice = Layout{dims, strides, tensor::is_contiguous(dims.dims(), strides.dims())},
          .first_bytes = first * stride * bytes,
          .step_bytes = port.stride * stride * bytes};
}

std::int64_t known_trip_count(const BindContext& ctx, ir::NodeId loop) {
  const ir::Node& node = ctx.module.node(loop);
  const ir::LoopPorts& ports = *node.loop;
  if (ports.has_trip_count) {
    const auto count = ir::known_integer(ctx.inference, node.inputs[0]);
    return count && *count < ir::kEndlessTripCount ? std::max<std::int64_t>(*count, 0) : -1;
  }
  if (ports.scanned.empty()) return -1;
  // The slices are all that is walked; those of other ports are checked against the first.
  const tensor::Type& outer = ctx.values.type(node.inputs[ports.first_scanned_input()]);
  const int axis = static_cast<int>(ports.scanned[0].axis);
  return outer.is_static() && axis < outer.rank()
             ? ir::scan_window(ports.scanned[0], outer.shape()[axis]).count
             : -1;
}

bool sizes_fit(const BindContext& ctx, const ir::Node& loop, std::uint32_t carried) {
  const ir::Region& body = ctx.module.region(loop.regions[0]);
  const ir::ValueId argument = body.args[loop.loop->captured + carried];
  const ir::ValueId yield = body.yields[loop.loop->first_carried_yield() + carried];
  if (!loop.loop->fixed_sizes || argument == yield) return true;
  return ctx.values.is_static(argument) && ctx.values.is_static(yield) &&
         ctx.values.type(argument).shape() == ctx.values.type(yield).shape();
}

void bind_captured(BindContext& ctx, ir::NodeId id) {
  const ir::Node& node = ctx.module.node(id);
  const ir::Region& body = ctx.module.region(node.regions[0]);
  for (std::uint32_t i = 0; i < node.loop->captured; ++i)
    ctx.values.set(body.args[i], ctx.values.at(node.inputs[node.loop->first_captured_input() + i]));
}

std::vector<Location> straight_states(BindContext& ctx, ir::NodeId id,
                                      const std::optional<InPlaceStates>& in_place) {
  const ir::Node& node = ctx.module.node(id);
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = ctx.module.region(node.regions[0]);
  std::vector<Location> initial;
  for (std::uint32_t i = 0; i < ports.carried; ++i) {
    const tensor::Type& argument = ctx.values.type(body.args[ports.captured + i]);
    initial.push_back(ctx.values.at(node.inputs[ports.first_carried_input() + i]));
    if (in_place && !in_place->values[i].empty()) {
      const Location own = ctx.builder.new_buffer(argument.dtype, argument.shape());
      emit_copy(ctx.builder, initial.back(), own, id);
      initial.back() = own;
    } else if (argument.is_static() && !initial.back().spot.is_object()) {
      initial.back() = straight(ctx.builder, initial.back(), argument.shape(), id);
    }
  }
  return initial;
}

Expected<std::vector<PortSlices>> slices_of_ports(BindContext& ctx, ir::NodeId id,
                                                  const BoundLoop& loop) {
  const ir::Node& node = ctx.module.node(id);
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = ctx.module.region(node.regions[0]);
  std::vector<PortSlices> all;
  for (std::size_t i = 0; i < ports.scanned.size(); ++i) {
    const ir::ValueId outer = node.inputs[ports.first_scanned_input() + i];
    PortSlices slices{.from = ctx.values.at(outer)};
    if (slices.from.spot.is_object()) {
      const tensor::Type& type = ctx.values.type(outer);
      if (type.is_static()) SCANLOOM_CHECK_OK(check_slices(ctx, loop, i, type.shape()));
    } else if (slices.from.spot.is_dynamic()) {
      const ir::ValueId argument = body.args[ports.captured + ports.carried + i];
      lay_out_dynamic(ctx.values.type(argument), ports.scanned[i], slices);
    } else {
      const Layout& whole = ctx.builder.layout(slices.from.spot);
      SCANLOOM_CHECK_OK(check_slices(ctx, loop, i, whole.dims));
      const bool in_blocks = !loop.blocks.ports.empty() && loop.blocks.ports[i];
      const SliceWalk walk =
          walk_over(whole, ports.scanned[i], loop.blocks, in_blocks, slices.from.spot.dtype);
      slices.slice = walk.slice;
      slices.first_bytes = walk.first_bytes;
      slices.step_bytes = walk.step_bytes;
    }
    all.push_back(std::move(slices));
  }
  return all;
}

void bind_carried(BindContext& ctx, InstructionScope& instruction, BoundLoop& loop,
                  const std::vector<Location>& initial,
                  const std::optional<InPlaceStates>& in_place) {
  const ir::Node& node = ctx.module.node(loop.node);
  const ir::Region& body = ctx.module.region(node.regions[0]);
  for (std::uint32_t i = 0; i < node.loop->carried; ++i) {
    const ir::ValueId argument = body.args[node.loop->captured + i];
    if (ctx.values.is_object(argument))
      loop.carried.push_back(bind_carried_object(ctx, loop.node, i));
    else if (in_place && !in_place->values[i].empty())
      loop.carried.push_back(
          bind_in_place(ctx, instruction, node, i, in_place->values[i], initial[i]));
    else if (!ctx.values.is_static(argument))
      loop.carried.push_back(bind_dynamic_state(ctx, instruction, node, i, initial[i]));
    else
      loop.carried.push_back(bind_swapped_state(ctx, instruction, node, i, initial[i]));
  }
}

void bind_scanned(BindContext& ctx, InstructionScope& instruction, BoundLoop& loop,
                  const std::vector<PortSlices>& slices) {
  const ir::Node& node = ctx.module.node(loop.node);
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = ctx.module.region(node.regions[0]);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Location& from = slices[i].from;
    instruction.read(from);
    Location argument;
    if (from.spot.is_object()) {
      argument = ctx.builder.new_object(from.spot.dtype);
    } else if (!slices[i].slice) {
      argument = ctx.builder.new_dynamic(from.spot.dtype);
    } else {
      argument.spot = {
          .slot = ctx.builder.new_slot(),
          .layout = ctx.builder.add_layout(slices[i].slice->dims, slices[i].slice->strides),
          .dtype = from.spot.dtype};
    }
    argument.buffers = from.buffers;
    loop.scanned.push_back({.outer = from.spot,
                            .argument = argument.spot,
                            .slices = ports.scanned[i],
                            .first_bytes = slices[i].first_bytes,
                            .step_bytes = slices[i].step_bytes});
    ctx.values.set(body.args[ports.captured + ports.carried + i], std::move(argument));
  }
}

void finish_carried(BindContext& ctx, std::uint32_t index, const BoundLoop& loop) {
  const ir::Node& node = ctx.module.node(loop.node);
  const ir::Region& body = ctx.module.region(node.regions[0]);
  const std::uint32_t first = node.loop->first_carried_yield();
  for (std::uint32_t i = 0; i < loop.carried.size(); ++i) {
    const ir::ValueId yield = body.yields[first + i];
    const Location source = ctx.values.at(yield);
    const BoundCarried& port = loop.carried[i];
    const bool is_same = !port.next.is_object() && source.spot.slot == port.next.slot;
    if (port.in_place || is_same) continue;
    if (ctx.values.type(yield).is_tensor() && !sizes_fit(ctx, node, i)) {
      std::vector<SizeCheck>& checks = ctx.builder.binding().size_checks;
      InstructionScope instruction(ctx.builder, Op::check_sizes, checks.size());
      instruction.read(source);
      checks.push_back({index, i, port.argument, source.spot});
      // Known sizes that differ always fail the check.
      if (ctx.values.is_static(yield) && is_static_tensor(port.argument)) continue;
    }
    const ir::NodeId producer = ctx.module.value(yield).producer;
    if (port.argument.is_object()) {
      const bool moved = ctx.values.hands_over_yield(node.regions[0], first + i);
      emit_alias(ctx.builder, source, {port.next, {}}, moved);
    } else if (port.argument.is_dynamic()) {
      const bool moved = producer.valid() && ctx.values.may_take_storage(yield);
      emit_alias(ctx.builder, source, {port.next, {}}, moved);
    } else {
      const BufferId a = ctx.builder.buffer_of(port.buffer_a),
                     b = ctx.builder.buffer_of(port.buffer_b);
      emit_copy(ctx.builder, source, {port.next, {a, b}}, producer.valid() ? producer : loop.node);
    }
  }
}

}  // namespace scanloom::plan
