#include "exporters/onnx/proto_writer.h"

#include <protozero/pbf_writer.hpp>

namespace scanloom::onnx {
namespace {

using protozero::pbf_writer;

enum AttributeType : std::int32_t {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kInts = 7
};

constexpr std::int64_t kIrVersion = 9, kOpset = 18;

std::string tensor_proto(const tensor::Tensor& tensor, const std::string& name) {
  std::string bytes;
  pbf_writer writer(bytes);
  for (const std::int64_t size : tensor.shape()) writer.add_int64(1, size);
  writer.add_int32(2, dtype_onnx_number(tensor.dtype()));
  if (!name.empty()) writer.add_string(8, name);
  writer.add_bytes(9, static_cast<const char*>(tensor.data()), tensor.bytes());
  return bytes;
}

std::string shape_proto(const tensor::Type& type, const tensor::DimTable& dims) {
  // An empty message, of no axes or of an open size, says something: written as such.
  std::string shape;
  for (const tensor::Dim dim : type.dims) {
    std::string size;
    if (dim.is_constant())
      pbf_writer(size).add_int64(1, dim.value());
    else if (dims.node(dim.expr()).kind == tensor::DimKind::symbol)
      pbf_writer(size).add_string(2, dims.node(dim.expr()).text);
    pbf_writer(shape).add_message(1, size);
  }
  return shape;
}

std::string value_info(const std::string& name, const tensor::Type& type,
                       const tensor::DimTable& dims) {
  std::string tensor_type;
  pbf_writer(tensor_type).add_int32(1, dtype_onnx_number(type.dtype));
  if (type.ranked) pbf_writer(tensor_type).add_message(2, shape_proto(type, dims));
  std::string type_proto, info;
  pbf_writer(type_proto).add_message(1, tensor_type);
  pbf_writer(info).add_string(1, name);
  pbf_writer(info).add_message(2, type_proto);
  return info;
}

template <class Value>
std::string attribute_proto(const std::string& name, AttributeType type, Value&& value) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_string(1, name);
  value(writer);
  writer.add_int32(20, type);
  return bytes;
}

}  // namespace

std::string GraphWriter::attribute(const std::string& name, std::int64_t value) {
  return attribute_proto(name, kInt, [&](pbf_writer& writer) { writer.add_int64(3, value); });
}
std::string GraphWriter::attribute(const std::string& name, double value) {
  return attribute_proto(
      name, kFloat, [&](pbf_writer& writer) { writer.add_float(2, static_cast<float>(value)); });
}
std::string GraphWriter::attribute(const std::string& name, const std::string& text) {
  return attribute_proto(name, kString, [&](pbf_writer& writer) { writer.add_bytes(4, text); });
}
std::string GraphWriter::attribute(const std::string& name,
                                   const std::vector<std::int64_t>& values) {
  return attribute_proto(name, kInts, [&](pbf_writer& writer) {
    for (const std::int64_t value : values) writer.add_int64(8, value);
  });
}
std::string GraphWriter::attribute(const std::string& name, const tensor::Tensor& tensor) {
  return attribute_proto(
      name, kTensor, [&](pbf_writer& writer) { writer.add_message(5, tensor_proto(tensor, "")); });
}
std::string GraphWriter::attribute(const std::string& name, const GraphWriter& graph) {
  return attribute_proto(name, kGraph,
                         [&](pbf_writer& writer) { writer.add_message(6, graph.bytes(name)); });
}

void GraphWriter::node(const std::string& type, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs,
                       const std::vector<std::string>& attributes) {
  std::string bytes;
  pbf_writer writer(bytes);
  for (const std::string& input : inputs) writer.add_string(1, input);
  for (const std::string& output : outputs) writer.add_string(2, output);
  writer.add_string(3, type + " " + outputs.front());
  writer.add_string(4, type);
  for (const std::string& attribute : attributes) writer.add_message(5, attribute);
  pbf_writer(nodes_).add_message(1, bytes);
}

void GraphWriter::initialiser(const std::string& name, const tensor::Tensor& tensor) {
  pbf_writer(initialisers_).add_message(5, tensor_proto(tensor, name));
}
void GraphWriter::input(const std::string& name, const tensor::Type& type,
                        const tensor::DimTable& dims) {
  pbf_writer(inputs_).add_message(11, value_info(name, type, dims));
}
void GraphWriter::output(const std::string& name, const tensor::Type& type,
                         const tensor::DimTable& dims) {
  pbf_writer(outputs_).add_message(12, value_info(name, type, dims));
}

std::string GraphWriter::bytes(const std::string& name) const {
  std::string graph = nodes_;
  pbf_writer(graph).add_string(2, name);
  return graph + initialisers_ + inputs_ + outputs_;
}

std::string GraphWriter::model(const std::string& name) const {
  std::string bytes, opset;
  pbf_writer(opset).add_string(1, "");
  pbf_writer(opset).add_int64(2, kOpset);
  pbf_writer writer(bytes);
  writer.add_int64(1, kIrVersion);
  writer.add_string(2, "scanloom");
  writer.add_message(7, this->bytes(name));
  writer.add_message(8, opset);
  return bytes;
}

}  // namespace scanloom::onnx
