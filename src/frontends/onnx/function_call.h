// Calls of model-local functions: their nodes are read in place of the call.
#pragma once

#include <map>
#include <string_view>
#include <tuple>

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

/// The functions of a model, by domain, name and overload.
class FunctionTable {
 public:
  /// Two of one name are an error: calls would be ambiguous.
  FunctionTable(const ModelProto& model, Diagnostics& diagnostics);
  /// The function that a node calls; nullptr: it calls none.
  [[nodiscard]] const FunctionProto* find(const NodeProto& node) const;

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::map<Key, const FunctionProto*> functions_;
};

/// Opens the node: its one body is the function's, in the region of the call.
Expected<void> convert_call(NodeCtx& ctx, const FunctionProto& function);

/// What a graph enters into the module when a call of a function reads it, or a body in one: nodes,
/// and all else by how many nodes take as much.
std::size_t size_of_call(const GraphProto& graph, const BodyRequest& request);

/// "" is the domain that is also called "ai.onnx".
std::string_view normal_domain(std::string_view domain);

}  // namespace scanloom::onnx
