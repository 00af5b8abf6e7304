// Stacked rows: those of a result that lies ready are written where they belong; so are those whose
// number only the run knows, in memory that grows; others are gathered one by one.
#include <algorithm>

#include "plan/bind/binder.h"
#include "tensor/tensor.h"

namespace scanloom::plan {

/// Whether stack i has a place and sizes before the loop begins.
bool Binder::has_known_rows(const ir::Node& node, std::size_t i, const BoundLoop& loop) const {
  const ir::ValueId yield =
      module_.region(node.regions[0]).yields[node.loop->first_stacked_yield() + i];
  return is_static(node.outputs[node.loop->carried + i]) && is_static(yield) &&
         loop.trip_count >= 0;
}

/// Whether all is known of stack i but the number of its rows, which can be put end to end.
bool Binder::has_open_rows(const ir::Node& node, std::size_t i) const {
  const ir::StackedPort& port = node.loop->stacked[i];
  const ir::ValueId yield =
      module_.region(node.regions[0]).yields[node.loop->first_stacked_yield() + i];
  if (!is_static(yield) || is_object(yield)) return false;
  const std::int64_t axes = type(yield).rank() + std::int64_t{port.insert};
  // While rows are gathered, one axis more counts them.
  return type(yield).rank() < tensor::kMaxRank && port.axis < axes;
}

void Binder::open_rows(ir::RegionId body, ir::ValueId yield, BoundStacked& stacked) {
  const tensor::Shape dims = type(yield).shape();
  stacked.open = true;
  stacked.row_bytes = stacked.step_bytes = dims.elements() * bytes_of(type(yield).dtype);
  stacked.row = {.slot = new_slot(),
                 .layout = add_layout(dims, tensor::contiguous_strides(dims)),
                 .dtype = type(yield).dtype};
  want(body, yield, {stacked.row, {}});
}

void Binder::bind_stacked(ir::NodeId id, BoundLoop& loop) {
  const ir::Node& node = module_.node(id);
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = module_.region(node.regions[0]);
  for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
    const ir::StackedPort& port = ports.stacked[i];
    const ir::ValueId output = node.outputs[ports.carried + i];
    const ir::ValueId yield = body.yields[ports.first_stacked_yield() + i];
    BoundStacked stacked{
        .row = {}, .result = {}, .axis = port.axis, .reverse = port.reverse, .insert = port.insert};
    if (is_object(output)) {
      const Location rows = new_object(type(output).dtype);
      stacked.result = rows.spot;
      set_location(output, rows);
      loop.stacked.push_back(stacked);
      continue;
    }
    if (!has_known_rows(node, i, loop)) {
      const Location boxed = new_dynamic(type(yield).dtype);
      stacked.result = boxed.spot;
      set_location(output, boxed);
      if (has_open_rows(node, i)) open_rows(node.regions[0], yield, stacked);
      loop.stacked.push_back(stacked);
      continue;
    }
    const Location result = output_location(output);
    set_location(output, result);
    touch(result);
    place_rows(node.regions[0], yield, result, stacked);
    loop.stacked.push_back(stacked);
  }
}

/// The rows lie in the result, which is ready before the loop begins.
void Binder::place_rows(ir::RegionId body, ir::ValueId yield, const Location& result,
                        BoundStacked& stacked) {
  const Layout whole = layout(result.spot);
  const int axis = static_cast<int>(stacked.axis);
  tensor::Shape dims = whole.dims, strides = whole.strides;
  std::int64_t step = whole.strides[axis], rows = dims[axis];
  if (stacked.insert) {
    dims.erase(axis);
    strides.erase(axis);
  } else {
    dims = type(yield).shape();
    step *= dims[axis];
    rows = dims[axis] > 0 ? rows / dims[axis] : 0;
  }
  step *= bytes_of(result.spot.dtype);
  stacked.result = result.spot;
  // Not by the trip count: a condition that is known to be false leaves one row.
  stacked.first_bytes = stacked.reverse ? (rows - 1) * step : 0;
  stacked.step_bytes = stacked.reverse ? -step : step;
  Location row = result;
  row.spot.slot = new_slot();
  row.spot.offset = 0;
  row.spot.buffer = kNone;
  row.spot.layout = add_layout(dims, strides);
  stacked.row = row.spot;
  want(body, yield, row);
}

void Binder::bind_operands(const ir::Node& node, BoundLoop& loop) {
  const auto is_boxed = [](const BoundStacked& port) {
    return port.result.is_dynamic() || port.result.is_object();
  };
  if (std::ranges::none_of(loop.stacked, is_boxed)) return;
  for (const ir::ValueId input : node.inputs) {
    const Location operand = location(input);
    touch(operand);
    loop.operands.push_back(operand.spot);
  }
}

void Binder::finish_stacked(const ir::Node& node, BoundLoop& loop) {
  const ir::Region& body = module_.region(node.regions[0]);
  const std::uint32_t first = node.loop->first_stacked_yield();
  for (std::size_t i = 0; i < loop.stacked.size(); ++i) {
    const ir::ValueId yield = body.yields[first + i];
    const Location source = location(yield);
    BoundStacked& port = loop.stacked[i];
    touch(source);
    if (port.result.is_object()) {
      port.row = source.spot;
      port.apart = true;
    } else if (port.open) {
      if (source.spot.slot != port.row.slot) emit_copy(source, {port.row, {}}, loop.node);
    } else if (port.result.is_dynamic()) {
      port.row = source.spot;
      port.apart = !port.insert && source.spot.is_dynamic();
      if (!source.spot.is_dynamic() && layout(source.spot).contiguous)
        port.row_bytes = layout(source.spot).dims.elements() * bytes_of(source.spot.dtype);
    } else if (source.spot.slot != port.row.slot) {
      const Location& result = location(node.outputs[loop.carried.size() + i]);
      emit_copy(source, {port.row, result.buffers}, loop.node);
    }
  }
}

}  // namespace scanloom::plan
