// The messages of an ONNX file as plain structures. Text and tensor data are views into the file's
// bytes, which must outlive the structures. Graphs are stored in one list and refer to each other
// by index, so nesting does not recurse.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "tensor/type.h"

namespace scanloom::onnx {

using GraphIndex = std::uint32_t;

/// Limit on the nesting of bodies.
inline constexpr std::uint32_t kMaxDepth = 1000;
/// Attributes of a node and imported operator sets are searched linearly, so their number is
/// limited.
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
  /// none: the type is absent. other: a sparse tensor, opaque type or unusual map.
  enum class Kind : std::uint8_t { none, tensor, other };
  Kind kind = Kind::none;
  std::vector<tensor::Wrap> wraps;  ///< outermost first
  std::int64_t elem_type = 0;
  bool has_shape = false;
  std::vector<DimProto> dims;
};

/// The first IR version in which initialisers need not be graph inputs. Those that still are may be
/// fed.
inline constexpr std::int64_t kSeparateInitialisers = 4;

/// Typed data is decoded from `bytes` on demand (tensor_data.h).
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

/// Numbered as AttributeProto.AttributeType.
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
  std::string_view reference;  ///< in a function: the attribute of the function it refers to
  std::int64_t declared = 0;   ///< an AttributeKind, as written in the file
  std::uint32_t present = 0;   ///< bit k: a field of AttributeKind k was present
  std::int64_t integer = 0;
  float real = 0;
  std::string_view text;
  std::vector<std::int64_t> integers;
  std::vector<float> floats;
  std::vector<std::string_view> texts;
  std::vector<TensorProto> tensors;       ///< one for kind tensor
  std::vector<SparseTensorProto> sparse;  ///< one for kind sparse_tensor
  std::vector<GraphIndex> graphs;         ///< one for kind graph
  std::vector<TypeProto> types;           ///< one for kind type
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

/// A model-local function. Its nodes are stored in a graph whose inputs and outputs have no types.
struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> attributes;  ///< those without a default
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
  std::vector<GraphProto> graphs;  ///< 0 is the main graph; a body follows its owner
  std::vector<FunctionProto> functions;
};

/// Errors: invalid_model (malformed bytes, a limit above exceeded).
Expected<ModelProto> parse_model(std::string_view bytes);
Expected<TensorProto> parse_tensor(std::string_view bytes);

}  // namespace scanloom::onnx
