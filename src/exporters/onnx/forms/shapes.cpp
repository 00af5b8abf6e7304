// Forms of operators on sizes and positions.
#include "exporters/onnx/forms.h"
#include "ir/op_def.h"

namespace scanloom::exporters::onnx::forms {

/// ONNX takes `axes` as an operand.
void axes(NodeEmitter& node) {
  if (node.inputs().size() == 1 && node.attr("axes").present())
    node.add_input(node.list(node.attr("axes").integers()));
  node.finish(node.node().op->name == "squeeze" ? "Squeeze" : "Unsqueeze");
}

/// ONNX has no checks, so only the value is passed on.
void check_equal(NodeEmitter& node) {
  node.resize_inputs(1);
  node.finish("Identity");
}

void constant_of_shape(NodeEmitter& node) {
  // The value has one axis in ONNX.
  const tensor::Tensor value = node.attr("value").tensor().reshaped({1});
  node.finish("ConstantOfShape", {attribute("value", value)});
}

void dim(NodeEmitter& node) {
  const std::string sizes = node.shape(node.in(0));
  node.emit("Gather", {sizes, node.integer(node.attr("axis").integer())}, node.outputs());
}

void pad(NodeEmitter& node) {
  if (node.attr("mode").text() == "wrap") node.need_opset(19);
  if (node.has(2) && !(node.in_type(2).ranked && node.in_type(2).rank() == 0))
    node.set_in(2, node.scalar(node.in(2)));
  node.finish("Pad", node.attributes());
}

/// ONNX has Range for five types; others are computed in the next wider one.
void range(NodeEmitter& node) {
  const DType dtype = node.dtype();
  const bool is_narrow = is_floating_point(dtype) && dtype_bytes(dtype) < 4;
  const bool has_form = dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i16 ||
                        dtype == DType::i32 || dtype == DType::i64;
  const DType wide = has_form ? dtype : is_narrow ? DType::f32 : DType::i64;
  for (std::size_t i = 0; i < 3; ++i) {
    const tensor::Type& type = node.in_type(i);
    if (!type.ranked || type.rank() != 0) node.set_in(i, node.scalar(node.in(i)));
    if (wide != dtype) node.set_in(i, node.cast(node.in(i), wide));
  }
  if (wide == dtype) return node.finish("Range");
  const std::string counted = node.op("Range", node.inputs());
  node.emit("Cast", {counted}, node.outputs(),
            {attribute("to", std::int64_t{dtype_onnx_number(dtype)})});
}

/// ONNX supports only the first two axes as batch and time, so other axes are transposed there and
/// back.
void reverse_sequence(NodeEmitter& node) {
  const std::int64_t batch = node.attr("batch_axis").integer(),
                     time = node.attr("time_axis").integer();
  if (batch + time == 1) return node.finish("ReverseSequence", node.attributes());
  const tensor::Type& x = node.in_type(0);
  if (!x.ranked) return node.refuse("along axes of an unknown number");
  std::vector<std::int64_t> order{time, batch}, back(static_cast<std::size_t>(x.rank()));
  for (std::int64_t axis = 0; axis < x.rank(); ++axis)
    if (axis != batch && axis != time) order.push_back(axis);
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const std::string turned =
      node.op("ReverseSequence", {node.transpose(node.in(0), order), node.in(1)},
              {attribute("batch_axis", std::int64_t{1}), attribute("time_axis", std::int64_t{0})});
  node.emit("Transpose", {turned}, node.outputs(), {attribute("perm", back)});
}

void split(NodeEmitter& node) {
  Attributes attributes = node.attributes();
  if (!node.has(1))
    attributes.push_back(
        attribute("num_outputs", static_cast<std::int64_t>(node.outputs().size())));
  node.finish("Split", attributes);
}

}  // namespace scanloom::exporters::onnx::forms
