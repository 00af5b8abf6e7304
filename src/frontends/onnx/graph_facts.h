// What must be known of a graph before its nodes are turned into IR: the names every node reads and
// makes, and which outer names each body reads (bodies of the IR read only their own arguments).
// Bodies that a call hands to a function are known only in the call: scope.h.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "frontends/onnx/names.h"
#include "frontends/onnx/proto.h"

namespace scanloom::onnx {

/// A capture costs an operand and an argument of every body in between, so that a small file could
/// ask for a great many.
inline constexpr std::size_t kMaxCaptures = std::size_t{1} << 20;

struct NodeFacts {
  std::vector<NameId> inputs, outputs;  ///< invalid where the model writes ""
  std::vector<NameId> captures;         ///< what its bodies read from outside, each once
  /// Attributes of the function around it that the node or one of its bodies takes as a graph.
  std::vector<std::string_view> references;
};

struct GraphFacts {
  std::vector<NodeFacts> nodes;
  std::vector<NameId> inputs, outputs;
  std::vector<NameId> initialisers, sparse_initialisers;
  std::vector<bool> input_is_read;  ///< by a node, a body or an output of this graph
  std::vector<NameId> captures;     ///< names read and not made here, in order of first use
  std::vector<std::string_view> references;  ///< those of its nodes, each once

  /// Names of dense and of sparse initialisers.
  [[nodiscard]] std::set<NameId> initialised() const;
};

/// By GraphIndex. Errors: limit_reached when bodies capture more than kMaxCaptures names.
Expected<std::vector<GraphFacts>> gather_facts(const ModelProto& model, NameTable& names);

}  // namespace scanloom::onnx
