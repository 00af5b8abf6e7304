#include "exporters/onnx/proto_writer.h"

#include <algorithm>

#include <protozero/pbf_writer.hpp>

#include "base/utf8.h"
#include "tensor/raw_data.h"
#include "tensor/text.h"

namespace scanloom::exporters::onnx {
namespace {

using protozero::pbf_writer;
using tensor::Tensor;
using tensor::Type;

enum AttributeType : std::int32_t {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTypeProto = 13
};

constexpr std::uint64_t kAlignment = 64;

/// Returns the IR version of the format that introduced the opset.
int ir_version(int opset) {
  constexpr int kNewest = 14;
  struct Row {
    int opset, version;
  };
  constexpr Row kRows[] = {{18, 8}, {20, 9}, {22, 10}, {23, 11}, {24, 12}, {27, 13}, {28, kNewest}};
  for (const Row& row : kRows)
    if (opset <= row.opset) return row.version;
  return kNewest;
}

void add_entry(pbf_writer& tensor, std::string_view key, const std::string& value) {
  std::string entry;
  pbf_writer writer(entry);
  writer.add_string(1, key.data(), key.size());
  writer.add_string(2, value);
  tensor.add_message(13, entry);
}

void add_elements(pbf_writer& writer, const Tensor& tensor) {
  if (tensor.dtype() == DType::string) {
    for (const StringRef& text : tensor.as<StringRef>()) {
      const std::string_view view = text.view();
      writer.add_bytes(6, view.data(), view.size());
    }
  } else if (dtype_file_bits(tensor.dtype()) < 8) {
    writer.add_bytes(9, tensor::pack(tensor));
  } else {
    writer.add_bytes(9, static_cast<const char*>(tensor.stored()), tensor.bytes());
  }
}

void add_head(pbf_writer& writer, const Tensor& tensor) {
  for (const std::int64_t size : tensor.shape()) writer.add_int64(1, size);
  writer.add_int32(2, dtype_onnx_number(tensor.dtype()));
}

std::string small_tensor(const Tensor& tensor) {
  std::string bytes;
  pbf_writer writer(bytes);
  add_head(writer, tensor);
  add_elements(writer, tensor);
  return bytes;
}

/// The table stores names that are not identifiers in quotes, with backslash escapes.
std::string symbol_name(const std::string& text) {
  if (text.size() < 2 || text.front() != '"') return text;
  const std::string_view inside = std::string_view(text).substr(1, text.size() - 2);
  return to_valid_utf8(tensor::text::unquote(inside).value_or(std::string(inside)));
}

std::string shape_proto(const Type& type, const tensor::DimTable& dims) {
  // An empty message is written too: it means no axes or an open size.
  std::string shape;
  for (const tensor::Dim dim : type.dims) {
    std::string size;
    if (dim.is_constant())
      pbf_writer(size).add_int64(1, dim.value());
    else if (dims.node(dim.expr()).kind == tensor::DimKind::symbol)
      pbf_writer(size).add_string(2, symbol_name(dims.node(dim.expr()).text));
    pbf_writer(shape).add_message(1, size);
  }
  return shape;
}

/// Returns a TypeProto; without sizes if `dims` is null.
std::string type_proto(const Type& type, const tensor::DimTable* dims) {
  constexpr int kTensorField = 1, kSequenceField = 4, kOptionalField = 9;
  std::string tensor_type, bytes;
  pbf_writer(tensor_type).add_int32(1, dtype_onnx_number(type.dtype));
  if (dims != nullptr && type.ranked)
    pbf_writer(tensor_type).add_message(2, shape_proto(type, *dims));
  pbf_writer(bytes).add_message(kTensorField, tensor_type);
  for (auto wrap = type.wraps.rbegin(); wrap != type.wraps.rend(); ++wrap) {
    std::string element, around;
    if (is_map(*wrap)) {
      constexpr int kMapField = 5, kKeyField = 1, kValueField = 2;
      pbf_writer(element).add_int32(kKeyField, dtype_onnx_number(key_dtype(*wrap)));
      pbf_writer(element).add_message(kValueField, type_proto(Type::unranked(type.dtype), nullptr));
      pbf_writer(around).add_message(kMapField, element);
      bytes = std::move(around);
      continue;
    }
    pbf_writer(element).add_message(1, bytes);
    pbf_writer(around).add_message(
        *wrap == tensor::Wrap::sequence ? kSequenceField : kOptionalField, element);
    bytes = std::move(around);
  }
  return bytes;
}

std::string value_info(const std::string& name, const Type& type, const tensor::DimTable& dims) {
  std::string info;
  pbf_writer writer(info);
  writer.add_string(1, name);
  writer.add_message(2, type_proto(type, &dims));
  return info;
}

template <class Value>
std::string attribute_proto(std::string_view name, AttributeType type, Value&& value) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_string(1, name.data(), name.size());
  value(writer);
  writer.add_int32(20, type);
  return bytes;
}

std::string opset_proto(std::string_view domain, int version) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_string(1, domain.data(), domain.size());
  writer.add_int64(2, version);
  return bytes;
}

}  // namespace

std::string attribute(std::string_view name, std::int64_t value) {
  return attribute_proto(name, kInt, [&](pbf_writer& writer) { writer.add_int64(3, value); });
}
std::string attribute(std::string_view name, double value) {
  return attribute_proto(
      name, kFloat, [&](pbf_writer& writer) { writer.add_float(2, static_cast<float>(value)); });
}
std::string attribute(std::string_view name, const std::string& text) {
  return attribute_proto(name, kString, [&](pbf_writer& writer) { writer.add_bytes(4, text); });
}
std::string attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  return attribute_proto(name, kInts, [&](pbf_writer& writer) {
    for (const std::int64_t value : values) writer.add_int64(8, value);
  });
}
std::string attribute(std::string_view name, const std::vector<double>& values) {
  return attribute_proto(name, kFloats, [&](pbf_writer& writer) {
    for (const double value : values) writer.add_float(7, static_cast<float>(value));
  });
}
std::string attribute(std::string_view name, const std::vector<std::string>& texts) {
  return attribute_proto(name, kStrings, [&](pbf_writer& writer) {
    for (const std::string& text : texts) writer.add_bytes(9, text);
  });
}
std::string attribute(std::string_view name, const Tensor& tensor) {
  return attribute_proto(name, kTensor,
                         [&](pbf_writer& writer) { writer.add_message(5, small_tensor(tensor)); });
}
std::string attribute(std::string_view name, const GraphWriter& graph) {
  return attribute_proto(name, kGraph,
                         [&](pbf_writer& writer) { writer.add_message(6, graph.bytes(name)); });
}
std::string type_attribute(std::string_view name, const Type& type) {
  return attribute_proto(name, kTypeProto, [&](pbf_writer& writer) {
    writer.add_message(14, type_proto(type, nullptr));
  });
}

void ModelParts::need_type(DType dtype) {
  switch (dtype) {
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
      return need_opset(19);
    case DType::i4:
    case DType::u4:
      return need_opset(21);
    case DType::f4e2m1:
      return need_opset(23);
    case DType::f8e8m0:
      return need_opset(24);
    case DType::i2:
    case DType::u2:
      return need_opset(25);
    default:
      return;
  }
}

std::uint64_t ModelParts::place(const Tensor& tensor) {
  const auto same = [&](const DataPiece& piece) {
    return piece.tensor.stored() == tensor.stored() && piece.tensor.bytes() == tensor.bytes();
  };
  if (const auto found = std::ranges::find_if(data_, same); found != data_.end())
    return found->offset;
  data_size_ = (data_size_ + kAlignment - 1) / kAlignment * kAlignment;
  data_.push_back({data_size_, tensor});
  data_size_ += tensor.bytes();
  return data_.back().offset;
}

std::string ModelParts::tensor_proto(const Tensor& tensor, const std::string& name) {
  std::string bytes;
  pbf_writer writer(bytes);
  add_head(writer, tensor);
  writer.add_string(8, name);
  const bool is_large = tensor.bytes() >= kLarge && tensor.dtype() != DType::string &&
                        dtype_file_bits(tensor.dtype()) >= 8;
  if (file_.empty() || !is_large) {
    add_elements(writer, tensor);
    return bytes;
  }
  constexpr std::int32_t kExternal = 1;
  add_entry(writer, "location", file_);
  add_entry(writer, "offset", std::to_string(place(tensor)));
  add_entry(writer, "length", std::to_string(tensor.bytes()));
  writer.add_int32(14, kExternal);
  return bytes;
}

WrittenModel ModelParts::model(const GraphWriter& graph, const std::string& name) {
  WrittenModel model;
  pbf_writer writer(model.bytes);
  writer.add_int64(1, ir_version(opset_));
  writer.add_string(2, "scanloom");
  writer.add_message(7, graph.bytes(name));
  writer.add_message(8, opset_proto("", opset_));
  if (ml_opset_ > 0) writer.add_message(8, opset_proto("ai.onnx.ml", ml_opset_));
  model.data = std::move(data_);
  return model;
}

void GraphWriter::node(std::string_view type, const Names& inputs, const Names& outputs,
                       const Attributes& attributes, std::string_view name,
                       std::string_view domain) {
  std::string bytes;
  pbf_writer writer(bytes);
  for (const std::string& input : inputs) writer.add_string(1, input);
  for (const std::string& output : outputs) writer.add_string(2, output);
  writer.add_string(3, name.data(), name.size());
  writer.add_string(4, type.data(), type.size());
  for (const std::string& attribute : attributes) writer.add_message(5, attribute);
  if (!domain.empty()) writer.add_string(7, domain.data(), domain.size());
  pbf_writer(nodes_).add_message(1, bytes);
}

void GraphWriter::initialiser(const std::string& name, const Tensor& tensor) {
  parts_.need_type(tensor.dtype());
  pbf_writer(initialisers_).add_message(5, parts_.tensor_proto(tensor, name));
}
void GraphWriter::input(const std::string& name, const Type& type, const tensor::DimTable& dims) {
  pbf_writer(inputs_).add_message(11, value_info(name, type, dims));
}
void GraphWriter::output(const std::string& name, const Type& type, const tensor::DimTable& dims) {
  pbf_writer(outputs_).add_message(12, value_info(name, type, dims));
}

std::string GraphWriter::bytes(std::string_view name) const {
  std::string graph = nodes_;
  pbf_writer(graph).add_string(2, name.data(), name.size());
  return graph + initialisers_ + inputs_ + outputs_;
}

}  // namespace scanloom::exporters::onnx
