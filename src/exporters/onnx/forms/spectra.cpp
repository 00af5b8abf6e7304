// The form of Fourier transforms.
#include "exporters/onnx/forms.h"
#include "ops/ops.h"

namespace scanloom::exporters::onnx::forms {
namespace {

/// The length of the transform, a scalar i64.
std::string full_length(NodeEmitter& node, std::int64_t axis, bool gives_real) {
  if (node.has(1)) return node.scalar(node.cast(node.in(1), DType::i64));
  const std::string size = node.dim(node.in(0), axis);
  if (!gives_real) return size;
  return node.op("Mul", {node.op("Sub", {size, node.integer(1)}), node.integer(2)});
}

/// Cuts or pads a one-sided spectrum to the length / 2 + 1 elements that the inverse reads:
/// onnxruntime gives other results for more elements, or fewer.
std::string sized_half(NodeEmitter& node, std::int64_t axis, const std::string& length) {
  const std::string half =
      node.op("Add", {node.op("Div", {length, node.integer(2)}), node.integer(1)});
  const std::string missing = node.op("Sub", {half, node.dim(node.in(0), axis)});
  const std::string pads = node.join({node.list({0}), node.one_element_list(missing)});
  return node.op("Pad", {node.in(0), pads, "", node.list({axis})});
}

}  // namespace

/// ONNX divides the inverse by the length, and nothing else.
void dft(NodeEmitter& node) {
  const tensor::Type& type = node.in_type(0);
  if (!type.ranked) return node.refuse("the number of axes of its operand is not known");
  const auto flag = [&](std::string_view name) { return node.attr(name).integer() != 0; };
  const bool inverse = flag("inverse"), onesided = flag("onesided"), scaled = flag("scaled");
  std::int64_t axis = node.attr("axis").integer();
  if (axis < 0) axis += type.rank();
  std::string length;
  if (node.has(1) || scaled != inverse) length = full_length(node, axis, inverse && onesided);
  const bool resized = node.has(1) && inverse && onesided;
  const std::string x = resized ? sized_half(node, axis, length) : node.in(0);
  const Names operands = {x, node.has(1) ? length : "", node.integer(axis)};
  const Attributes attributes = {attribute("inverse", std::int64_t{inverse}),
                                 attribute("onesided", std::int64_t{onesided})};
  if (scaled == inverse) return node.emit("DFT", operands, node.outputs(), attributes);
  const std::string y = node.op("DFT", operands, attributes);
  node.emit(scaled ? "Div" : "Mul", {y, node.cast(length, node.dtype())}, node.outputs());
}

}  // namespace scanloom::exporters::onnx::forms
