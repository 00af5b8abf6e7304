// OpenNode: a node whose bodies must be read before it is finished (If, Loop, Scan, a call of a
// model-local function). The importer reads the bodies one after another from its own list, so
// nesting does not recurse.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/onnx/scope.h"
#include "ir/builder.h"

namespace scanloom::onnx {

class NodeCtx;

struct BodyRequest {
  GraphIndex graph = 0;
  std::string role;                                  ///< "body", "then_branch", ...
  std::shared_ptr<ir::Builder> builder;              ///< of the region that receives the nodes
  std::shared_ptr<Root> root;                        ///< a new one for a function
  std::vector<std::pair<NameId, Binding>> bindings;  ///< formals and captured names
  std::size_t cost = 0;                              ///< further names examined for it
};

struct BodyResult {
  std::shared_ptr<ir::Builder> builder;
  std::vector<Binding> outputs;

  /// Returns output i as a value of the body's region.
  [[nodiscard]] ir::ValueId value(std::size_t i);
};

class OpenNode {
 public:
  virtual ~OpenNode() = default;
  /// Called when all bodies have been read without error. Sets the outputs of the node, or opens it
  /// again if further bodies depend on these.
  virtual Expected<void> finish(NodeCtx& ctx, std::vector<BodyResult> results) = 0;

  std::vector<BodyRequest> bodies;
};

}  // namespace scanloom::onnx
