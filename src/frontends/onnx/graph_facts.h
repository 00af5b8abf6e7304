// Facts about each graph that are needed before its nodes are turned into IR: the names every node
// reads and produces, and the outer names each body reads (bodies in the IR read only their own
// arguments). Bodies passed to a function are known only in the call: see scope.h.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "frontends/onnx/names.h"
#include "frontends/onnx/proto.h"

namespace scanloom::onnx {

/// Each capture costs an operand and an argument in every enclosing body, so without a limit a
/// small file could demand very many.
inline constexpr std::size_t kMaxCaptures = std::size_t{1} << 20;

struct NodeFacts {
  std::vector<NameId> inputs, outputs;  ///< invalid where the model writes ""
  std::vector<NameId> captures;         ///< the outer names its bodies read, each once
  /// Attributes of the enclosing function that the node or one of its bodies uses as a graph.
  std::vector<std::string_view> references;
};

struct GraphFacts {
  std::vector<NodeFacts> nodes;
  std::vector<NameId> inputs, outputs;
  std::vector<NameId> initialisers, sparse_initialisers;
  std::vector<bool> input_is_read;  ///< by a node, a body or an output of this graph
  std::vector<NameId> captures;     ///< names read but not produced here, in order of first use
  std::vector<std::string_view> references;  ///< the references of its nodes, each once

  /// The names of dense and sparse initialisers.
  [[nodiscard]] std::set<NameId> initialised() const;
};

/// Returns the facts by GraphIndex. Errors: limit_reached when bodies capture more than
/// kMaxCaptures names.
Expected<std::vector<GraphFacts>> gather_facts(const ModelProto& model, NameTable& names);

}  // namespace scanloom::onnx
