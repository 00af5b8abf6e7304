// What must be known of a graph before its nodes are turned into IR: the names every node reads and
// makes, and which outer names each body reads (bodies of the IR read only their own arguments).
#pragma once

#include <set>
#include <vector>

#include "frontends/onnx/names.h"
#include "frontends/onnx/proto.h"

namespace scanloom::onnx {

struct NodeFacts {
  std::vector<NameId> inputs, outputs;  ///< invalid where the model writes ""
  std::vector<NameId> captures;         ///< what its bodies read from outside, each once
};

struct GraphFacts {
  std::vector<NodeFacts> nodes;
  std::vector<NameId> inputs, outputs;
  std::vector<NameId> initialisers, sparse_initialisers;
  std::vector<bool> input_is_read;  ///< by a node, a body or an output of this graph
  std::vector<NameId> captures;     ///< names read and not made here, in order of first use

  /// Names of dense and of sparse initialisers.
  [[nodiscard]] std::set<NameId> initialised() const;
};

/// By GraphIndex. Errors: limit_reached when bodies capture absurdly many names.
Expected<std::vector<GraphFacts>> gather_facts(const ModelProto& model, NameTable& names);

}  // namespace scanloom::onnx
