// The messages of an ONNX file as plain structures. All text and all tensor data are views into the
// file's bytes, which outlive the structures; graphs stand in one list and name each other by
// index, so that nothing recurses over their nesting.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "tensor/type.h"

namespace scanloom::onnx {

using GraphIndex = std::uint32_t;

/// Bodies may nest this deep.
inline constexpr std::uint32_t kMaxDepth = 1000;
/// Attributes of a node and imported operator sets are searched one by one, so there may not be
/// many.
inline constexpr std::size_t kMaxAttributes = 1000;
inline constexpr std::size_t kMaxOpsets = 1000;

struct EntryProto {
  std::string_view key, value;
};

struct DimProto {
  enum class Kind : std::uint8_t { absent, value, param };
  Kind kind = Kind::absent;
  std::int64_t value = 0;
  std::string_view param;
};

struct TypeProto {
  /// none: the type is absent. other: a map, a sparse tensor or an opaque type.
  enum class Kind : std::uint8_t { none, tensor, other };
  Kind kind = Kind::none;
  std::vector<tensor::Wrap> wraps;  ///< outermost first
  std::int64_t elem_type = 0;
  bool has_shape = false;
  std::vector<DimProto> dims;
};

/// The first IR version in which a graph's initialisers need not be among its inputs: those that
/// are may be fed.
inline constexpr std::int64_t kSeparateInitialisers = 4;

/// Typed data is decoded from `bytes` when it is needed (tensor_data.h).
struct TensorProto {
  std::string_view bytes;  ///< the whole message
  std::string_view name;
  std::vector<std::int64_t> dims;
  std::int64_t data_type = 0;
  bool has_raw = false;
  std::string_view raw;
  bool has_segment = false;
  bool external = false;
  std::vector<EntryProto> external_data;
};

struct SparseTensorProto {
  TensorProto values, indices;
  std::vector<std::int64_t> dims;
};

/// The numbers of AttributeProto.AttributeType.
enum class AttributeKind : std::uint8_t {
  undefined,
  real,
  integer,
  text,
  tensor,
  graph,
  floats,
  integers,
  texts,
  tensors,
  graphs,
  sparse_tensor,
  sparse_tensors,
  type,
  types,
};

struct AttributeProto {
  std::string_view name;
  std::string_view reference;  ///< inside a function: the function's attribute that it stands for
  std::int64_t declared = 0;   ///< an AttributeKind, as written in the file
  std::uint32_t present = 0;   ///< bit k: a field of AttributeKind k was there
  std::int64_t integer = 0;
  float real = 0;
  std::string_view text;
  std::vector<std::int64_t> integers;
  std::vector<float> floats;
  std::vector<std::string_view> texts;
  std::vector<TensorProto> tensors;       ///< of kind tensor: one
  std::vector<SparseTensorProto> sparse;  ///< of kind sparse_tensor: one
  std::vector<GraphIndex> graphs;         ///< of kind graph: one
  std::vector<TypeProto> types;           ///< of kind type: one
};

struct NodeProto {
  std::string_view name, op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeProto> attributes;
};

struct ValueInfoProto {
  std::string_view name;
  TypeProto type;
};

struct GraphProto {
  std::string_view name, doc_string;
  std::uint32_t depth = 0;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initialisers;
  std::vector<SparseTensorProto> sparse_initialisers;
  std::vector<ValueInfoProto> inputs, outputs, value_infos;
};

struct OpsetProto {
  std::string_view domain;
  std::int64_t version = 0;
};

/// A model-local function; its nodes stand in a graph whose inputs and outputs have no types.
struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> attributes;  ///< without default
  std::vector<AttributeProto> defaults;
  std::vector<OpsetProto> opsets;
  GraphIndex body = 0;
};

struct ModelProto {
  std::int64_t ir_version = 0, model_version = 0;
  std::string_view producer_name, producer_version, domain, doc_string;
  std::vector<OpsetProto> opsets;
  std::vector<EntryProto> metadata;
  bool has_graph = false;
  std::vector<GraphProto> graphs;  ///< 0: the main graph; a body stands after its owner
  std::vector<FunctionProto> functions;
};

/// Errors: invalid_model (malformed bytes, more than one of the limits above).
Expected<ModelProto> parse_model(std::string_view bytes);
Expected<TensorProto> parse_tensor(std::string_view bytes);

}  // namespace scanloom::onnx
