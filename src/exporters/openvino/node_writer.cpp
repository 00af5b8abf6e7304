#include "exporters/openvino/node_writer.h"

#include <algorithm>

#include "exporters/openvino/element_types.h"
#include "ir/constants.h"
#include "ir/node_attr.h"
#include "ir/op_def.h"
#include "ops/composer.h"

namespace scanloom::exporters::openvino {

using tensor::Tensor;

namespace {

Data truth(const char* name, bool value) { return {{name, value ? "true" : "false"}}; }

}  // namespace

void Writing::refuse(ir::NodeId node, std::string_view reason) {
  std::string text = fmt::format("{}: {}", module.describe(node), reason);
  if (std::ranges::find(refused, text) == refused.end()) refused.push_back(std::move(text));
}

NodeWriter::NodeWriter(Writing& writing, LayerGraph& graph, Outputs& outputs, ir::NodeId node)
    : writing_(writing), graph_(graph), outputs_(outputs), node_(node) {}

bool NodeWriter::has(std::size_t i) const {
  return i < node().inputs.size() && node().inputs[i].valid();
}

std::vector<Output> NodeWriter::all_inputs() const {
  std::vector<Output> all;
  for (std::size_t i = 0; i < node().inputs.size(); ++i)
    if (has(i)) all.push_back(in(i));
  return all;
}

const tensor::Type& NodeWriter::type(std::size_t i) const {
  return writing_.module.value(node().inputs[i]).type;
}

const tensor::Type& NodeWriter::result_type(std::size_t i) const {
  return writing_.module.value(node().outputs[i]).type;
}

bool NodeWriter::is_read(std::size_t i) const {
  const ir::ValueId result = node().outputs[i];
  const ir::Region& region = writing_.module.region(node().parent);
  const auto reads = [&](const std::vector<ir::ValueId>& values) {
    return std::ranges::find(values, result) != values.end();
  };
  return reads(region.yields) || std::ranges::any_of(region.nodes, [&](ir::NodeId reader) {
           return reads(writing_.module.node(reader).inputs);
         });
}

const Tensor* NodeWriter::constant_in(std::size_t i) const {
  return has(i) ? ir::constant_of(writing_.module, node().inputs[i]) : nullptr;
}

const ir::OpDef* NodeWriter::made_by(std::size_t i) const {
  const ir::NodeId producer = writing_.module.value(node().inputs[i]).producer;
  return producer.valid() ? writing_.module.node(producer).op : nullptr;
}

const tensor::Attr& NodeWriter::attr(std::string_view name) const {
  return ir::attr_of(node(), name);
}

void NodeWriter::set(std::size_t i, Output value) {
  outputs_[node().outputs[i]] = value;
  graph_.describe(value, result_type(i));
}

void NodeWriter::refuse(std::string_view reason) {
  writing_.refuse(node_, reason);
  for (const ir::ValueId result : node().outputs)
    if (!outputs_.contains(result))
      outputs_[result] = graph_.parameter("refused", writing_.module.value(result).type);
}

std::string_view NodeWriter::name() const {
  const ir::LocationId location = node().location;
  if (!location.valid() || writing_.module.location(location).nodes.empty()) return {};
  const std::string_view text = writing_.module.location(location).nodes.front();
  const std::size_t begin = text.find('\''), end = text.rfind('\'');
  return begin < end ? text.substr(begin + 1, end - begin - 1) : std::string_view();
}

Output NodeWriter::layer(std::string_view type, int opset, std::vector<Output> inputs, DType result,
                         Data data) {
  return layers(type, opset, std::move(inputs), {result}, std::move(data)).front();
}

std::vector<Output> NodeWriter::layers(std::string_view type, int opset, std::vector<Output> inputs,
                                       std::vector<DType> results, Data data) {
  const auto first = static_cast<int>(inputs.size());
  const auto count = static_cast<int>(results.size());
  const int id =
      graph_.add({type, opset, std::move(inputs), std::move(results), std::move(data), name()});
  std::vector<Output> made;
  for (int i = 0; i < count; ++i) made.push_back({id, first + i});
  return made;
}

Output NodeWriter::number(std::int64_t value) { return constant(Tensor::scalar(value)); }

Output NodeWriter::list(const Ints& values) {
  return constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

Output NodeWriter::list_of(std::size_t i, std::int64_t count) {
  const tensor::Type& given = type(i);
  if (given.ranked && given.rank() == 1 && given.dims[0].is_constant()) return in(i);
  return reshape(in(i), list({count}), given.dtype);
}

Output NodeWriter::scalar(double value, DType dtype) {
  Expected<Tensor> made = ops::scalar_of(value, dtype);
  if (made) return constant(*made);
  refuse(made.error().message());
  return number(0);
}

Output NodeWriter::convert(Output x, DType to) {
  return layer("Convert", 1, {x}, to, {{"destination_type", std::string(element_type(to))}});
}

Output NodeWriter::shape_of(Output x) {
  return layer("ShapeOf", 3, {x}, DType::i64, {{"output_type", "i64"}});
}

Output NodeWriter::size_of(Output x, std::int64_t axis, bool as_list) {
  return gather(shape_of(x), as_list ? list({axis}) : number(axis), 0, DType::i64);
}

Output NodeWriter::gather(Output x, Output indices, std::int64_t axis, DType dtype) {
  return layer("Gather", 8, {x, indices, number(axis)}, dtype, {{"batch_dims", "0"}});
}

Output NodeWriter::concat(std::vector<Output> parts, std::int64_t axis, DType dtype) {
  return layer("Concat", 1, std::move(parts), dtype, {{"axis", std::to_string(axis)}});
}

Output NodeWriter::reshape(Output x, Output shape, DType dtype, bool special_zero) {
  return layer("Reshape", 1, {x, shape}, dtype, truth("special_zero", special_zero));
}

Output NodeWriter::squeeze(Output x, const Ints& axes, DType dtype) {
  return layer("Squeeze", 1, {x, list(axes)}, dtype);
}

Output NodeWriter::unsqueeze(Output x, const Ints& axes, DType dtype) {
  return layer("Unsqueeze", 1, {x, list(axes)}, dtype);
}

Output NodeWriter::transpose(Output x, const Ints& order, DType dtype) {
  return layer("Transpose", 1, {x, list(order)}, dtype);
}

Output NodeWriter::slice(Output x, std::int64_t axis, Output start, Output stop, std::int64_t step,
                         DType dtype) {
  return layer("Slice", 8, {x, start, stop, list({step}), list({axis})}, dtype);
}

Output NodeWriter::broadcast(Output x, Output shape, DType dtype) {
  return layer("Broadcast", 3, {x, shape}, dtype, {{"mode", "bidirectional"}});
}

}  // namespace scanloom::exporters::openvino
