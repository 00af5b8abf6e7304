#include "plan/bind/stacks.h"

#include <algorithm>

#include "plan/bind/copies.h"
#include "tensor/tensor.h"

namespace scanloom::plan {
namespace {

ir::ValueId yield_of_stack(const BindContext& ctx, const ir::Node& node, std::size_t i) {
  return ctx.module.region(node.regions[0]).yields[node.loop->first_stacked_yield() + i];
}

/// Stores rows of known sizes in memory that grows.
void open_rows(BindContext& ctx, ir::RegionId body, ir::ValueId yield, BoundStacked& stacked) {
  const tensor::Type& type = ctx.values.type(yield);
  const tensor::Shape dims = type.shape();
  stacked.open = true;
  stacked.row_bytes = stacked.step_bytes = dims.elements() * bytes_of(type.dtype);
  stacked.row = {.slot = ctx.builder.new_slot(),
                 .layout = ctx.builder.contiguous_layout(dims),
                 .dtype = type.dtype};
  ctx.values.want(body, yield, {stacked.row, {}});
}

/// The rows are stored in the result, which is ready before the loop begins.
void place_rows(BindContext& ctx, ir::RegionId body, ir::ValueId yield, const Location& result,
                BoundStacked& stacked) {
  const Layout whole = ctx.builder.layout(result.spot);
  const int axis = static_cast<int>(stacked.axis);
  tensor::Shape dims = whole.dims, strides = whole.strides;
  std::int64_t step = whole.strides[axis], rows = dims[axis];
  if (stacked.insert) {
    dims.erase(axis);
    strides.erase(axis);
  } else {
    dims = ctx.values.type(yield).shape();
    step *= dims[axis];
    rows = dims[axis] > 0 ? rows / dims[axis] : 0;
  }
  step *= bytes_of(result.spot.dtype);
  stacked.result = result.spot;
  // Not from the trip count: a condition that is known to be false leaves one row.
  stacked.first_bytes = stacked.reverse ? (rows - 1) * step : 0;
  stacked.step_bytes = stacked.reverse ? -step : step;
  Location row = result;
  row.spot.slot = ctx.builder.new_slot();
  row.spot.offset = 0;
  row.spot.buffer = kNone;
  row.spot.layout = ctx.builder.add_layout(dims, strides);
  stacked.row = row.spot;
  ctx.values.want(body, yield, row);
}

}  // namespace

bool has_known_rows(const BindContext& ctx, ir::NodeId loop, std::int64_t trip_count,
                    std::size_t i) {
  const ir::Node& node = ctx.module.node(loop);
  return ctx.values.is_static(node.outputs[node.loop->carried + i]) &&
         ctx.values.is_static(yield_of_stack(ctx, node, i)) && trip_count >= 0;
}

bool has_open_rows(const BindContext& ctx, const ir::Node& loop, std::size_t i) {
  const ir::StackedPort& port = loop.loop->stacked[i];
  const ir::ValueId yield = yield_of_stack(ctx, loop, i);
  if (!ctx.values.is_static(yield) || ctx.values.is_object(yield)) return false;
  const int rank = ctx.values.type(yield).rank();
  // While rows are gathered, one axis more counts them.
  return rank < tensor::kMaxRank && port.axis < rank + std::int64_t{port.insert};
}

void bind_stacked(BindContext& ctx, InstructionScope& instruction, BoundLoop& loop) {
  const ir::Node& node = ctx.module.node(loop.node);
  const ir::LoopPorts& ports = *node.loop;
  for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
    const ir::StackedPort& port = ports.stacked[i];
    const ir::ValueId output = node.outputs[ports.carried + i];
    const ir::ValueId yield = yield_of_stack(ctx, node, i);
    BoundStacked stacked{
        .row = {}, .result = {}, .axis = port.axis, .reverse = port.reverse, .insert = port.insert};
    Location result;
    if (ctx.values.is_object(output)) {
      result = ctx.builder.new_object(ctx.values.type(output).dtype);
      stacked.result = result.spot;
    } else if (!has_known_rows(ctx, loop.node, loop.trip_count, i)) {
      result = ctx.builder.new_dynamic(ctx.values.type(yield).dtype);
      stacked.result = result.spot;
      if (has_open_rows(ctx, node, i)) open_rows(ctx, node.regions[0], yield, stacked);
    } else {
      result = ctx.values.result(output);
      instruction.write(result);
      place_rows(ctx, node.regions[0], yield, result, stacked);
    }
    ctx.values.set(output, std::move(result));
    loop.stacked.push_back(stacked);
  }
}

void bind_operands_of_stacks(BindContext& ctx, InstructionScope& instruction, BoundLoop& loop) {
  const auto is_static = [](const BoundStacked& port) { return is_static_tensor(port.result); };
  if (std::ranges::all_of(loop.stacked, is_static)) return;
  for (const ir::ValueId input : ctx.module.node(loop.node).inputs) {
    const Location operand = ctx.values.at(input);
    instruction.read(operand);
    loop.operands.push_back(operand.spot);
  }
}

std::vector<Location> finish_stacked(BindContext& ctx, BoundLoop& loop) {
  const ir::Node& node = ctx.module.node(loop.node);
  std::vector<Location> read;
  for (std::size_t i = 0; i < loop.stacked.size(); ++i) {
    const Location source = ctx.values.at(yield_of_stack(ctx, node, i));
    BoundStacked& port = loop.stacked[i];
    read.push_back(source);
    if (port.result.is_object()) {
      port.row = source.spot;
      port.apart = true;
    } else if (port.open) {
      if (source.spot.slot != port.row.slot)
        emit_copy(ctx.builder, source, {port.row, {}}, loop.node);
    } else if (port.result.is_dynamic()) {
      port.row = source.spot;
      port.apart = !port.insert && source.spot.is_dynamic();
      if (source.spot.is_dynamic()) continue;
      const Layout& row = ctx.builder.layout(source.spot);
      if (row.contiguous) port.row_bytes = row.dims.elements() * bytes_of(source.spot.dtype);
    } else if (source.spot.slot != port.row.slot) {
      const Location result = ctx.values.at(node.outputs[loop.carried.size() + i]);
      emit_copy(ctx.builder, source, {port.row, result.buffers}, loop.node);
    }
  }
  return read;
}

}  // namespace scanloom::plan
