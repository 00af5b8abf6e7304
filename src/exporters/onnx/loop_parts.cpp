#include "exporters/onnx/loop_parts.h"

#include "exporters/onnx/loop.h"
#include "ops/ops.h"

namespace scanloom::exporters::onnx {

bool LoopParts::is_endless() const {
  if (!ports.has_trip_count) return true;
  const tensor::Tensor* const count = out.known(0);
  if (count == nullptr) return false;
  const auto steps = tensor::to_integers(*count);
  return steps && !steps->empty() && steps->front() >= ir::kEndlessTripCount;
}

std::optional<tensor::Dim> LoopParts::size_counted() const {
  const ir::Module& module = model.module();
  if (const tensor::Tensor* const count = out.known(0)) {
    const auto steps = tensor::to_integers(*count);
    if (!steps || steps->size() != 1) return std::nullopt;
    return tensor::Dim(steps->front());
  }
  ir::NodeId producer = module.value(out.node().inputs[0]).producer;
  while (producer.valid() && module.node(producer).op == &ops::check_equal_op)
    producer = module.value(module.node(producer).inputs[0]).producer;
  if (!producer.valid() || module.node(producer).op != &ops::dim_op) return std::nullopt;
  const ir::Node& size = module.node(producer);
  const tensor::Type& type = module.value(size.inputs[0]).type;
  const std::int64_t axis = size.attrs[0].integer();
  const std::int64_t at = axis < 0 ? axis + type.rank() : axis;
  if (!type.ranked || at < 0 || at >= type.rank()) return std::nullopt;
  return type.dims[static_cast<std::size_t>(at)];
}

void LoopParts::name_captured() const {
  for (std::uint32_t i = 0; i < ports.captured; ++i)
    model.name(region.args[i]) = out.in(ports.first_captured_input() + i);
}

bool LoopParts::rows_are_equal(std::uint32_t i) const {
  const ir::StackedPort& port = ports.stacked[i];
  if (port.insert) return true;
  const tensor::Type& type = model.type(row(i));
  if (!type.ranked || port.axis >= type.rank()) return false;
  return model.is_outer(type.dims[static_cast<std::size_t>(port.axis)]);
}

std::string put_end_to_end(Emitter& out, const std::string& rows, std::int64_t axis,
                           const tensor::Type& result) {
  // Sizes are computed, because -1 is ambiguous when another size is 0.
  const std::string sizes = out.shape(rows);
  const auto part = [&](std::int64_t from, std::int64_t to) {
    return out.op("Slice", {sizes, out.list({from}), out.list({to})});
  };
  Names lists;
  if (axis > 0) lists.push_back(part(0, axis));
  lists.push_back(out.op("Mul", {part(axis, axis + 1), part(axis + 1, axis + 2)}));
  if (axis + 1 < result.rank()) lists.push_back(part(axis + 2, result.rank() + 1));
  return out.op("Reshape", {rows, lists.size() == 1 ? lists[0] : out.join(lists)},
                {attribute("allowzero", std::int64_t{1})});
}

void write_loop(NodeEmitter& emitter) {
  const LoopParts loop(emitter);
  if (emitter.node().outputs.empty()) return;  // nothing reads its results
  if (is_scan(loop))
    write_as_scan(loop);
  else
    write_as_loop(loop);
}

}  // namespace scanloom::exporters::onnx
