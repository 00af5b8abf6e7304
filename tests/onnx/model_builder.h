// Writes small ONNX models, well-formed or broken, as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace scanloom::onnx::test {

inline constexpr int kFloat = 1;
inline constexpr int kInt32 = 6;
inline constexpr int kInt64 = 7;
inline constexpr int kString = 8;
inline constexpr int kBool = 9;
inline constexpr int kDouble = 11;

/// A size, a name, or nothing.
struct DimBytes {
  DimBytes(int size) : size(size), has_size(true) {}
  DimBytes(const char* name) : name(name) {}
  std::int64_t size = 0;
  bool has_size = false;
  std::string name;
};

inline std::string tensor_type(int elem_type, const std::vector<DimBytes>& dims,
                               bool ranked = true) {
  std::string shape_bytes;
  protozero::pbf_writer shape(shape_bytes);
  for (const DimBytes& dim : dims) {
    std::string dim_bytes;
    if (dim.has_size)
      protozero::pbf_writer(dim_bytes).add_int64(1, dim.size);
    else if (!dim.name.empty())
      protozero::pbf_writer(dim_bytes).add_string(2, dim.name);
    shape.add_message(1, dim_bytes);
  }
  std::string tensor_bytes;
  protozero::pbf_writer tensor(tensor_bytes);
  tensor.add_int32(1, elem_type);
  if (ranked) tensor.add_message(2, shape_bytes);
  std::string type_bytes;
  protozero::pbf_writer(type_bytes).add_message(1, tensor_bytes);
  return type_bytes;
}

/// A sequence, resp. an optional, of what that type says.
inline std::string wrapped_type(int field, const std::string& element) {
  std::string inner, type;
  protozero::pbf_writer(inner).add_message(1, element);
  protozero::pbf_writer(type).add_message(static_cast<protozero::pbf_tag_type>(field), inner);
  return type;
}
inline std::string sequence_type(const std::string& element) { return wrapped_type(4, element); }
inline std::string optional_type(const std::string& element) { return wrapped_type(9, element); }

inline std::string value_info(const std::string& name, const std::string& type) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_string(1, name);
  if (!type.empty()) writer.add_message(2, type);
  return bytes;
}

inline std::string value_info(const std::string& name) { return value_info(name, std::string()); }

inline std::string value_info(const std::string& name, int elem_type,
                              const std::vector<DimBytes>& dims) {
  return value_info(name, tensor_type(elem_type, dims));
}

inline std::string tensor_header(const std::string& name, int dtype,
                                 const std::vector<std::int64_t>& dims) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (const std::int64_t dim : dims) writer.add_int64(1, dim);
  writer.add_int32(2, dtype);
  if (!name.empty()) writer.add_string(8, name);
  return bytes;
}

inline std::string raw_tensor(const std::string& name, int dtype,
                              const std::vector<std::int64_t>& dims, const std::string& raw) {
  std::string bytes = tensor_header(name, dtype, dims);
  protozero::pbf_writer(bytes).add_bytes(9, raw);
  return bytes;
}

inline std::string float_tensor(const std::string& name, const std::vector<std::int64_t>& dims,
                                const std::vector<float>& values) {
  std::string bytes = tensor_header(name, kFloat, dims);
  protozero::pbf_writer(bytes).add_packed_float(4, values.begin(), values.end());
  return bytes;
}

inline std::string int64_tensor(const std::string& name, const std::vector<std::int64_t>& dims,
                                const std::vector<std::int64_t>& values) {
  std::string bytes = tensor_header(name, kInt64, dims);
  protozero::pbf_writer(bytes).add_packed_int64(7, values.begin(), values.end());
  return bytes;
}

/// A tensor of a type that is stored in int32_data.
inline std::string int32_tensor(const std::string& name, int dtype,
                                const std::vector<std::int64_t>& dims,
                                const std::vector<std::int32_t>& values) {
  std::string bytes = tensor_header(name, dtype, dims);
  protozero::pbf_writer(bytes).add_packed_int32(5, values.begin(), values.end());
  return bytes;
}

inline std::string external_tensor(
    const std::string& name, int dtype, const std::vector<std::int64_t>& dims,
    const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string bytes = tensor_header(name, dtype, dims);
  protozero::pbf_writer writer(bytes);
  for (const auto& [key, value] : entries) {
    protozero::pbf_writer entry(writer, 13);
    entry.add_string(1, key);
    entry.add_string(2, value);
  }
  writer.add_int32(14, 1);
  return bytes;
}

/// A message in parts; the last call wins for a field that may occur once.
class NodeBytes {
 public:
  NodeBytes(const std::string& op_type, const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs) {
    protozero::pbf_writer writer(bytes_);
    for (const std::string& input : inputs) writer.add_string(1, input);
    for (const std::string& output : outputs) writer.add_string(2, output);
    writer.add_string(4, op_type);
  }
  NodeBytes& name(const std::string& text) { return add_text(3, text); }
  NodeBytes& domain(const std::string& text) { return add_text(7, text); }
  NodeBytes& overload(const std::string& text) { return add_text(8, text); }

  NodeBytes& integer(const std::string& attr, std::int64_t value) {
    std::string bytes = attribute(attr, 2);
    protozero::pbf_writer(bytes).add_int64(3, value);
    return add(bytes);
  }
  NodeBytes& real(const std::string& attr, float value) {
    std::string bytes = attribute(attr, 1);
    protozero::pbf_writer(bytes).add_float(2, value);
    return add(bytes);
  }
  NodeBytes& text(const std::string& attr, const std::string& value) {
    std::string bytes = attribute(attr, 3);
    protozero::pbf_writer(bytes).add_string(4, value);
    return add(bytes);
  }
  NodeBytes& texts(const std::string& attr, const std::vector<std::string>& values) {
    std::string bytes = attribute(attr, 8);
    for (const std::string& value : values) protozero::pbf_writer(bytes).add_string(9, value);
    return add(bytes);
  }
  NodeBytes& integers(const std::string& attr, const std::vector<std::int64_t>& values) {
    std::string bytes = attribute(attr, 7);
    for (const std::int64_t value : values) protozero::pbf_writer(bytes).add_int64(8, value);
    return add(bytes);
  }
  NodeBytes& floats(const std::string& attr, const std::vector<float>& values) {
    std::string bytes = attribute(attr, 6);
    for (const float value : values) protozero::pbf_writer(bytes).add_float(7, value);
    return add(bytes);
  }
  NodeBytes& tensor(const std::string& attr, const std::string& tensor_bytes) {
    std::string bytes = attribute(attr, 4);
    protozero::pbf_writer(bytes).add_message(5, tensor_bytes);
    return add(bytes);
  }
  NodeBytes& sparse(const std::string& attr, const std::string& sparse_bytes) {
    std::string bytes = attribute(attr, 11);
    protozero::pbf_writer(bytes).add_message(22, sparse_bytes);
    return add(bytes);
  }
  NodeBytes& graph(const std::string& attr, const std::string& graph_bytes) {
    std::string bytes = attribute(attr, 5);
    protozero::pbf_writer(bytes).add_message(6, graph_bytes);
    return add(bytes);
  }
  /// Refers to an attribute of the function around it.
  NodeBytes& reference(const std::string& attr, int kind, const std::string& of) {
    std::string bytes = attribute(attr, kind);
    protozero::pbf_writer(bytes).add_string(21, of);
    return add(bytes);
  }
  NodeBytes& raw_attribute(const std::string& bytes) { return add(bytes); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

  static std::string attribute(const std::string& attr, int kind) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    writer.add_string(1, attr);
    if (kind != 0) writer.add_int32(20, kind);
    return bytes;
  }

 private:
  NodeBytes& add(const std::string& attribute_bytes) {
    protozero::pbf_writer(bytes_).add_message(5, attribute_bytes);
    return *this;
  }
  NodeBytes& add_text(int field, const std::string& text) {
    protozero::pbf_writer(bytes_).add_string(static_cast<std::uint32_t>(field), text);
    return *this;
  }

  std::string bytes_;
};

/// The parts of a graph; each is the bytes of its message.
struct GraphBytes {
  std::vector<std::string> inputs, outputs;
  std::vector<NodeBytes> nodes;
  std::vector<std::string> initialisers;
  std::vector<std::string> sparse_initialisers;
  std::vector<std::string> value_infos;
  std::string name = "g";

  [[nodiscard]] std::string bytes() const {
    std::string result;
    protozero::pbf_writer writer(result);
    for (const NodeBytes& node : nodes) writer.add_message(1, node.bytes());
    writer.add_string(2, name);
    for (const std::string& tensor : initialisers) writer.add_message(5, tensor);
    for (const std::string& info : inputs) writer.add_message(11, info);
    for (const std::string& info : outputs) writer.add_message(12, info);
    for (const std::string& info : value_infos) writer.add_message(13, info);
    for (const std::string& tensor : sparse_initialisers) writer.add_message(15, tensor);
    return result;
  }
};

/// The bytes of a graph whose inputs and outputs have no types.
inline std::string untyped_graph(const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs,
                                 const std::vector<NodeBytes>& nodes = {},
                                 const std::vector<std::string>& initialisers = {}) {
  GraphBytes graph;
  for (const std::string& input : inputs) graph.inputs.push_back(value_info(input));
  for (const std::string& output : outputs) graph.outputs.push_back(value_info(output));
  graph.nodes = nodes;
  graph.initialisers = initialisers;
  return graph.bytes();
}

struct ModelBytes {
  GraphBytes graph;
  std::int64_t opset = 16;
  std::int64_t ml_opset = 0;  // 0: not imported
  std::int64_t ir_version = 8;
  std::vector<std::string> functions;
  std::vector<std::pair<std::string, std::string>> metadata;

  [[nodiscard]] std::string bytes() const {
    std::string result;
    protozero::pbf_writer writer(result);
    writer.add_int64(1, ir_version);
    writer.add_string(2, "model_builder");
    writer.add_message(7, graph.bytes());
    if (opset != 0) add_opset(writer, "", opset);
    if (ml_opset != 0) add_opset(writer, "ai.onnx.ml", ml_opset);
    for (const auto& [key, value] : metadata) {
      protozero::pbf_writer entry(writer, 14);
      entry.add_string(1, key);
      entry.add_string(2, value);
    }
    for (const std::string& function : functions) writer.add_message(25, function);
    return result;
  }

  static void add_opset(protozero::pbf_writer& writer, const std::string& domain,
                        std::int64_t version, int field = 8) {
    protozero::pbf_writer opset_writer(writer, static_cast<std::uint32_t>(field));
    opset_writer.add_string(1, domain);
    opset_writer.add_int64(2, version);
  }
};

struct FunctionBytes {
  std::string name, domain;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<NodeBytes> nodes;
  std::vector<std::string> defaults;  // bytes of attributes

  [[nodiscard]] std::string bytes() const {
    std::string result;
    protozero::pbf_writer writer(result);
    writer.add_string(1, name);
    for (const std::string& input : inputs) writer.add_string(4, input);
    for (const std::string& output : outputs) writer.add_string(5, output);
    for (const std::string& attribute : attributes) writer.add_string(6, attribute);
    for (const NodeBytes& node : nodes) writer.add_message(7, node.bytes());
    writer.add_string(10, domain);
    for (const std::string& attribute : defaults) writer.add_message(11, attribute);
    return result;
  }
};

}  // namespace scanloom::onnx::test
