// Calls of model-local functions. A call is inlined: the nodes of the function are read in its
// place.
#pragma once

#include <map>
#include <string_view>
#include <tuple>

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

/// The functions of a model, keyed by domain, name and overload.
class FunctionTable {
 public:
  /// Two functions with the same key are an error, because calls would be ambiguous.
  FunctionTable(const ModelProto& model, Diagnostics& diagnostics);
  /// Returns the function a node calls; nullptr if it calls none.
  [[nodiscard]] const FunctionProto* find(const NodeProto& node) const;

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::map<Key, const FunctionProto*> functions_;
};

/// Opens the node. Its only body is that of the function, read into the region of the call.
Expected<void> convert_call(NodeCtx& ctx, const FunctionProto& function);

/// Returns the cost of reading a graph as part of a function call, in nodes. Everything else it
/// adds to the module is counted as the number of nodes that take as much memory.
std::size_t size_of_call(const GraphProto& graph, const BodyRequest& request);

/// Normalises the domain "ai.onnx" to "", its other spelling.
std::string_view normal_domain(std::string_view domain);

}  // namespace scanloom::onnx
