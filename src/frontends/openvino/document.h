// Document: an OpenVINO IR, version 10 or 11, as written in the XML. Only numbers are interpreted
// here; the reader gives layers their meaning and checks where edges lead. Errors give the line and
// column of the element.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/expected.h"

namespace scanloom::openvino {

/// Index into Document::graphs; 0 is the main graph.
using GraphIndex = std::uint32_t;

struct Port {
  std::int64_t id = 0;
  std::string precision;           ///< "FP32", "UNSPECIFIED"; for inputs any text, or empty
  std::vector<std::int64_t> dims;  ///< -1: dynamic
  std::vector<std::string> names;  ///< of the tensor
};

/// An entry of a port_map. Source: TensorIterator-1, Loop-5, If-8.
struct PortEntry {
  std::int64_t external_port = 0;  ///< -1: none (Loop)
  std::int64_t internal_layer = 0;
  std::optional<std::int64_t> axis;  ///< present if the value is sliced or concatenated
  std::int64_t start = 0;
  std::int64_t end = -1;  ///< inclusive
  std::int64_t stride = 1;
  std::int64_t part_size = 1;
  bool says_part_size = false;  ///< whether the attribute is present
  std::string purpose;          ///< "current_iteration", "execution_condition" or empty
};

/// Makes the value of a Result the value of a Parameter in the next step.
struct BackEdge {
  std::int64_t from_layer = 0, to_layer = 0;
};

struct BodyPart {
  std::string role;  ///< "body", "then_body" or "else_body"
  GraphIndex graph = 0;
  std::vector<PortEntry> inputs, outputs;
};

struct Layer {
  std::int64_t id = 0;
  std::string name, type;
  std::string opset;  ///< "opset5"
  std::vector<std::pair<std::string, std::string>> data;
  std::vector<Port> inputs, outputs;
  std::vector<BodyPart> bodies;
  std::vector<BackEdge> back_edges;
};

struct Edge {
  std::int64_t from_layer = 0, from_port = 0, to_layer = 0, to_port = 0;
};

struct Graph {
  std::vector<Layer> layers;
  std::vector<Edge> edges;
};

struct Document {
  std::string name;
  std::int64_t version = 0;
  std::vector<Graph> graphs;
};

/// Limit on the nesting of bodies, over which the reader recurses.
inline constexpr int kMaxBodyDepth = 64;

/// Whether the bytes look like XML rather than an ONNX model.
[[nodiscard]] bool looks_like_xml(std::string_view bytes);

/// Whether the layer has that operation type, ignoring case.
[[nodiscard]] bool is_type(const Layer& layer, std::string_view type);

/// Whether the layer stands for an absent operand. OpenVINO's ONNX reader makes such a layer from
/// an empty name.
[[nodiscard]] bool is_null_node(const Layer& layer);

/// "layer 5 'lstm' (TensorIterator)".
[[nodiscard]] std::string describe(const Layer& layer);

/// Every error is added to `diagnostics`; the first one is returned if nothing can be read at all.
/// Errors: invalid_model (not XML, a document type declaration, an element or number that is
/// missing or malformed, bodies nested too deep), unsupported (another version of the IR).
Expected<Document> parse_document(std::string_view bytes, Diagnostics& diagnostics);

}  // namespace scanloom::openvino
