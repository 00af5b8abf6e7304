// The graphs that are being read, from the main graph to the innermost body.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontends/onnx/function_call.h"
#include "frontends/onnx/node_order.h"

namespace scanloom::onnx {

/// Limit on what function calls may add: nodes, and everything else entered with a body (arguments,
/// initialisers, declared values). Functions that call functions could demand any number;
/// everything outside of functions is limited by the length of the file.
inline constexpr std::size_t kMaxCalledNodes = std::size_t{1} << 18;

/// A graph that is being read.
struct GraphFrame {
  GraphIndex graph = 0;
  std::shared_ptr<ir::Builder> builder;
  std::shared_ptr<Root> root;
  std::string label;  ///< "the body of node 'gru' (Scan-11)"; empty for the main graph
  Scope scope;
  NodeNames captures;  ///< of nodes whose bodies were passed to the function
  NodeOrder order;
  std::unordered_set<std::uint32_t> clashing;  ///< names of several values, by NameId::index
  std::size_t next = 0;                        ///< position in order.nodes
  std::vector<NameId> shown;                   ///< names this graph makes visible to its bodies
  std::unordered_map<std::uint32_t, const TypeProto*> declared;  ///< by NameId::index
  std::unique_ptr<OpenNode> open;  ///< the node before `next`, while its bodies are read
  std::size_t next_body = 0;
  std::vector<BodyResult> results;
  bool body_failed = false;
  std::size_t errors_before = 0;

  /// Makes the name visible to the graph's bodies.
  void show(NameId name);
  /// Binds the outputs of a node that cannot be read, so that nothing else is reported about them.
  void poison_outputs(const NodeFacts& facts);
};

/// The state that all parts of an import share.
struct ImportState {
  Reading& reading;
  FunctionTable functions;
  std::vector<std::unique_ptr<GraphFrame>> frames;  ///< the main graph first
  std::size_t called_nodes = 0;  ///< in functions, including everything their bodies add
};

/// Reports an error of the frame's graph. `location`: of a node, or what the error is about.
void fail_at(const ImportState& state, const GraphFrame& frame, const std::string& location,
             Error error);

/// Whether the initialiser is replaced by a fed value.
[[nodiscard]] bool is_fed_default(const ImportState& state, const GraphFrame& frame, NameId name);

}  // namespace scanloom::onnx
