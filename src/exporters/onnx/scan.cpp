// Writes loops as ONNX Scan.
#include <algorithm>

#include "exporters/onnx/loop_parts.h"
#include "ops/ops.h"

namespace scanloom::exporters::onnx {
namespace {

using tensor::Dim;
using tensor::Type;

bool is_forward(const ir::ScannedPort& port) { return port.start == 0 && port.stride == 1; }
bool is_backward(const ir::ScannedPort& port) { return port.start == -1 && port.stride == -1; }

/// Whether every step takes one element, in forward or backward order, and there are as many steps
/// as elements.
bool walks_whole_axes(const LoopParts& loop) {
  const bool is_counted = !loop.is_endless();
  const std::optional<Dim> count = is_counted ? loop.size_counted() : std::nullopt;
  if (is_counted && !count) return false;
  for (std::uint32_t i = 0; i < loop.ports.scanned.size(); ++i) {
    const ir::ScannedPort& port = loop.ports.scanned[i];
    const Type& type = loop.scanned_type(i);
    if (port.part != 1 || !(is_forward(port) || is_backward(port))) return false;
    if (!type.ranked || port.axis >= type.rank()) return false;
    const Dim size = type.dims[static_cast<std::size_t>(port.axis)];
    if (count && *count != size) return false;
    if (size == Dim(0)) return false;  // onnxruntime's Scan requires at least one step
  }
  return true;
}

/// Whether states keep their sizes, as Scan requires.
bool keeps_sizes(const LoopParts& loop) {
  for (std::uint32_t i = 0; i < loop.ports.carried; ++i) {
    const Type &before = loop.model.type(loop.carried_arg(i)),
               &after = loop.model.type(loop.next(i));
    if (!before.is_tensor()) return false;
    if (loop.ports.fixed_sizes) continue;
    if (!before.ranked || before != after) return false;
  }
  return true;
}

/// Names the slice as the body reads it.
void name_slices(const LoopParts& loop, const Names& slices, Emitter& inside) {
  for (std::uint32_t i = 0; i < slices.size(); ++i) {
    const ir::ScannedPort& port = loop.ports.scanned[i];
    loop.model.name(loop.slice_arg(i)) =
        port.squeeze ? slices[i] : inside.op("Unsqueeze", {slices[i], inside.list({port.axis})});
  }
}

GraphWriter body_of(const LoopParts& loop) {
  ModelWriter& model = loop.model;
  GraphWriter body(model.parts());
  Emitter inside(model, body, loop.out.label());
  loop.name_captured();
  for (std::uint32_t i = 0; i < loop.ports.carried; ++i) {
    model.name(loop.carried_arg(i)) = model.fresh();
    model.input(body, model.name(loop.carried_arg(i)), loop.carried_arg(i));
  }
  Names slices;
  for (std::uint32_t i = 0; i < loop.ports.scanned.size(); ++i) {
    slices.push_back(model.fresh());
    Type type = loop.scanned_type(i);
    type.dims.erase(type.dims.begin() + loop.ports.scanned[i].axis);
    body.input(slices.back(), type, model.module().dims);
  }
  name_slices(loop, slices, inside);
  model.nodes(loop.out.node().regions[0], body);
  for (const ir::ValueId yield : loop.region.yields) {
    const std::string made = inside.op("Identity", {model.name(yield)});
    model.output(body, made, yield);
  }
  return body;
}

}  // namespace

bool is_scan(const LoopParts& loop) {
  const ir::LoopPorts& ports = loop.ports;
  if (ports.has_condition || ports.has_keep_going || ports.scanned.empty()) return false;
  for (std::uint32_t i = 0; i < ports.stacked.size(); ++i)
    if (!loop.rows_are_equal(i)) return false;
  return walks_whole_axes(loop) && keeps_sizes(loop);
}

void write_as_scan(const LoopParts& loop) {
  const ir::LoopPorts& ports = loop.ports;
  Names inputs, outputs, rows;
  std::vector<std::int64_t> axes, directions, out_axes, out_directions;
  for (std::uint32_t i = 0; i < ports.carried; ++i) {
    inputs.push_back(loop.initial(i));
    outputs.push_back(loop.out.out(i));
  }
  for (std::uint32_t i = 0; i < ports.scanned.size(); ++i) {
    inputs.push_back(loop.scanned(i));
    axes.push_back(ports.scanned[i].axis);
    directions.push_back(is_backward(ports.scanned[i]));
  }
  for (std::uint32_t i = 0; i < ports.stacked.size(); ++i) {
    const std::string& result = loop.out.out(ports.carried + i);
    rows.push_back(ports.stacked[i].insert ? result : loop.out.fresh());
    outputs.push_back(rows.back());
    out_axes.push_back(ports.stacked[i].axis);
    out_directions.push_back(ports.stacked[i].reverse);
  }
  Attributes attributes{
      attribute("body", body_of(loop)),
      attribute("num_scan_inputs", static_cast<std::int64_t>(ports.scanned.size())),
      attribute("scan_input_axes", axes), attribute("scan_input_directions", directions)};
  if (!rows.empty()) {
    attributes.push_back(attribute("scan_output_axes", out_axes));
    attributes.push_back(attribute("scan_output_directions", out_directions));
  }
  loop.out.emit("Scan", inputs, outputs, attributes);
  for (std::uint32_t i = 0; i < ports.stacked.size(); ++i) {
    if (ports.stacked[i].insert) continue;
    const std::size_t result = ports.carried + i;
    const std::string joined =
        put_end_to_end(loop.out, rows[i], out_axes[i], loop.out.out_type(result));
    loop.out.emit("Identity", {joined}, {loop.out.out(result)});
  }
}

}  // namespace scanloom::exporters::onnx
