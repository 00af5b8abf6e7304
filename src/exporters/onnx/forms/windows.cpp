// Forms of convolutions and pools.
#include <algorithm>
#include <map>

#include "exporters/onnx/forms.h"
#include "ir/op_def.h"

namespace scanloom::exporters::onnx::forms {
namespace {

using tensor::Attr;

/// Adds auto_pad under its ONNX name, and pads if it is explicit.
void add_padding(const NodeEmitter& node, Attributes& attributes) {
  static const std::map<std::string, std::string, std::less<>> kNames = {
      {"explicit", "NOTSET"},
      {"same_upper", "SAME_UPPER"},
      {"same_lower", "SAME_LOWER"},
      {"valid", "VALID"}};
  const Attr& automatic = node.attr("auto_pad");
  const bool is_explicit = !automatic.present() || automatic.text() == "explicit";
  if (!is_explicit) attributes.push_back(attribute("auto_pad", kNames.at(automatic.text())));
  if (is_explicit && node.attr("pads").present())
    attributes.push_back(node.attribute_as("pads", "pads"));
}

void add_present(const NodeEmitter& node, std::initializer_list<std::string_view> names,
                 Attributes& attributes) {
  for (const std::string_view name : names)
    if (node.attr(name).present()) attributes.push_back(node.attribute_as(name, name));
}

bool has_dilations(const NodeEmitter& node) {
  const Attr& dilations = node.attr("dilations");
  return dilations.present() &&
         std::ranges::any_of(dilations.integers(), [](std::int64_t each) { return each != 1; });
}

/// Returns the attributes common to all pools; dilations of 1 are left out. With ceil_mode, windows
/// that start in the padding at the end never count, as clarified in version 22.
Attributes pool_attributes(NodeEmitter& node) {
  if (node.attr("ceil_mode").integer() != 0) node.need_opset(22);
  Attributes attributes{node.attribute_as("kernel", "kernel_shape"),
                        node.attribute_as("ceil_mode", "ceil_mode")};
  add_padding(node, attributes);
  add_present(node, {"strides"}, attributes);
  if (has_dilations(node)) attributes.push_back(node.attribute_as("dilations", "dilations"));
  return attributes;
}

}  // namespace

void average_pool(NodeEmitter& node) {
  if (has_dilations(node)) node.need_opset(19);
  Attributes attributes = pool_attributes(node);
  attributes.push_back(node.attribute_as("count_include_pad", "count_include_pad"));
  node.finish("AveragePool", attributes);
}

/// Writes both conv and conv_transpose.
void conv(NodeEmitter& node) {
  const bool is_transposed = node.node().op->name == "conv_transpose";
  Attributes attributes;
  add_padding(node, attributes);
  add_present(node, {"dilations", "group", "strides"}, attributes);
  if (is_transposed) add_present(node, {"output_padding", "output_shape"}, attributes);
  node.finish(is_transposed ? "ConvTranspose" : "Conv", attributes);
}

void deform_conv(NodeEmitter& node) {
  const Attr& automatic = node.attr("auto_pad");
  if (automatic.present() && automatic.text() != "explicit" && automatic.text() != "valid")
    return node.refuse("with padding that follows from sizes");
  Attributes attributes;
  if (!automatic.present() || automatic.text() == "explicit")
    add_present(node, {"pads"}, attributes);
  add_present(node, {"dilations", "group", "strides", "offset_group"}, attributes);
  node.finish("DeformConv", attributes);
}

void lp_pool(NodeEmitter& node) {
  const double p = node.attr("p").real();
  if (p != static_cast<double>(static_cast<std::int64_t>(p)))
    return node.refuse("with p " + std::to_string(p) + ", which is not an integer");
  Attributes attributes = pool_attributes(node);
  attributes.push_back(attribute("p", static_cast<std::int64_t>(p)));
  node.finish("LpPool", attributes);
}

/// 16-bit and 32-bit integers go through f64, which represents them all.
void max_pool(NodeEmitter& node) {
  const DType dtype = node.dtype();
  const bool has_form = is_floating_point(dtype) || dtype_bytes(dtype) == 1;
  if (!has_form && dtype_bytes(dtype) > 4)
    return node.refuse("of " + std::string(dtype_name(dtype)));
  Attributes attributes = pool_attributes(node);
  attributes.push_back(node.attribute_as("storage_order", "storage_order"));
  Names outputs = node.outputs();
  if (!node.is_read(1)) outputs.resize(1);
  if (has_form) return node.emit("MaxPool", node.inputs(), outputs, attributes);
  outputs[0] = node.fresh();
  node.emit("MaxPool", {node.cast(node.in(0), DType::f64)}, outputs, attributes);
  node.emit("Cast", {outputs[0]}, {node.out()},
            {attribute("to", std::int64_t{dtype_onnx_number(dtype)})});
}

void max_unpool(NodeEmitter& node) {
  Attributes attributes{node.attribute_as("kernel", "kernel_shape")};
  add_present(node, {"pads", "strides"}, attributes);
  node.finish("MaxUnpool", attributes);
}

void qlinear_conv(NodeEmitter& node) {
  Attributes attributes;
  add_padding(node, attributes);
  add_present(node, {"dilations", "group", "strides"}, attributes);
  enum : std::size_t { kX, kXZero = 2, kW, kWZero = 5, kYZero = 7, kBias };
  if (node.has(kYZero)) return node.finish("QLinearConv", attributes);
  if (node.has(kBias)) return node.refuse("of sums with a bias");
  node.need_opset(10);
  node.emit("ConvInteger", {node.in(kX), node.in(kW), node.in(kXZero), node.in(kWZero)},
            node.outputs(), attributes);
}

}  // namespace scanloom::exporters::onnx::forms
