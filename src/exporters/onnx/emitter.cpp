#include "exporters/onnx/emitter.h"

#include <limits>

#include "exporters/onnx/model_writer.h"
#include "ir/constants.h"
#include "ir/node_attr.h"
#include "ir/op_def.h"

namespace scanloom::exporters::onnx {

using tensor::AttrKind;
using tensor::Tensor;

void Emitter::emit(std::string_view type, const Names& inputs, const Names& outputs,
                   const Attributes& attributes, std::string_view domain) {
  graph_.node(type, inputs, outputs, attributes, model_.node_name(label_), domain);
}

std::string Emitter::op(std::string_view type, const Names& inputs, const Attributes& attributes) {
  std::string made = fresh();
  emit(type, inputs, {made}, attributes);
  return made;
}

std::string Emitter::fresh() { return model_.fresh(); }

std::string Emitter::constant(const Tensor& value) { return model_.constant(value, graph_); }

std::string Emitter::list(const std::vector<std::int64_t>& values) {
  return constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

std::string Emitter::integer(std::int64_t value) { return constant(Tensor::scalar(value)); }

std::string Emitter::number(double value, DType dtype) {
  const std::string wide = constant(Tensor::scalar(value));
  return dtype == DType::f64 ? wide : cast(wide, dtype);
}

std::string Emitter::cast(const std::string& x, DType to) {
  graph_.parts().need_type(to);
  return op("Cast", {x}, {attribute("to", std::int64_t{dtype_onnx_number(to)})});
}

std::string Emitter::dim(const std::string& x, std::int64_t axis) {
  return op("Gather", {shape(x), integer(axis)});
}

std::string Emitter::dim_list(const std::string& x, std::int64_t axis) {
  return op("Shape", {x}, {attribute("start", axis), attribute("end", axis + 1)});
}

std::string Emitter::transpose(const std::string& x, const std::vector<std::int64_t>& perm) {
  return op("Transpose", {x}, {attribute("perm", perm)});
}

std::string Emitter::scalar(const std::string& x) { return op("Reshape", {x, list({})}); }

std::string Emitter::one_element_list(const std::string& x) {
  return op("Reshape", {x, list({-1})});
}

std::string Emitter::reverse(const std::string& x, std::int64_t axis) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::min() + 1;
  return op("Slice", {x, list({-1}), list({kFar}), list({axis}), list({-1})});
}

std::string Emitter::join(const Names& lists) {
  return op("Concat", lists, {attribute("axis", std::int64_t{0})});
}

NodeEmitter::NodeEmitter(ModelWriter& model, GraphWriter& graph, ir::NodeId id)
    : Emitter(model, graph, model.label(id)), node_(model.module().node(id)), id_(id) {
  for (const ir::ValueId input : node_.inputs)
    inputs_.push_back(input.valid() ? model.name(input) : std::string());
  while (!inputs_.empty() && inputs_.back().empty()) inputs_.pop_back();
  for (const ir::ValueId output : node_.outputs) outputs_.push_back(model.name(output));
}

const tensor::Type& NodeEmitter::in_type(std::size_t i) const {
  return model().type(node_.inputs[i]);
}
const tensor::Type& NodeEmitter::out_type(std::size_t i) const {
  return model().type(node_.outputs[i]);
}

const tensor::Attr& NodeEmitter::attr(std::string_view name) const {
  return ir::attr_of(node_, name);
}

const Tensor* NodeEmitter::known(std::size_t i) const {
  if (i >= node_.inputs.size()) return nullptr;
  return ir::constant_of(model().module(), node_.inputs[i]);
}

bool NodeEmitter::is_read(std::size_t output) const {
  return model().uses(node_.outputs[output]) > 0;
}

void NodeEmitter::take_as_i64(std::size_t i) {
  if (has(i) && dtype(i) != DType::i64) inputs_[i] = cast(inputs_[i], DType::i64);
}

Attributes NodeEmitter::attributes() const {
  Attributes all;
  for (const ir::AttrDef& def : node_.op->attrs)
    if (attr(def.name).present()) all.push_back(attribute_as(def.name, def.name));
  return all;
}

std::string NodeEmitter::attribute_as(std::string_view name, std::string_view onnx_name) const {
  const tensor::Attr& value = attr(name);
  switch (value.kind()) {
    case AttrKind::integer:
      return attribute(onnx_name, value.integer());
    case AttrKind::real:
      return attribute(onnx_name, value.real());
    case AttrKind::text:
      return attribute(onnx_name, value.text());
    case AttrKind::integers:
      return attribute(onnx_name, value.integers());
    case AttrKind::floats:
      return attribute(onnx_name, value.floats());
    case AttrKind::tensor:
      return attribute(onnx_name, value.tensor());
    case AttrKind::dtype:
      return attribute(onnx_name, std::int64_t{dtype_onnx_number(value.dtype())});
    case AttrKind::none:
      break;
  }
  return {};
}

void NodeEmitter::refuse(std::string why) {
  const std::string what = model().module().describe(id_) + ": " + std::string(node_.op->name);
  model().refuse(why.empty() ? what : what + ", " + why);
}

}  // namespace scanloom::exporters::onnx
