// OpenNode: a node whose bodies must be read before it is finished (If, Loop, Scan, a call of a
// model-local function). The importer reads the bodies one after the other from a list of its own,
// so that nothing recurses over nesting.
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
  std::shared_ptr<ir::Builder> builder;              ///< of the region that takes the nodes
  std::shared_ptr<Root> root;                        ///< of a function: a new one
  std::vector<std::pair<NameId, Binding>> bindings;  ///< formals and captured names
  std::size_t cost = 0;                              ///< names looked at for it besides
};

struct BodyResult {
  std::shared_ptr<ir::Builder> builder;
  std::vector<Binding> outputs;

  /// Output i as a value of the body's region.
  [[nodiscard]] ir::ValueId value(std::size_t i);
};

class OpenNode {
 public:
  virtual ~OpenNode() = default;
  /// Called when all bodies have been read without error: sets the outputs of the node, or opens it
  /// again for bodies that wait for these.
  virtual Expected<void> finish(NodeCtx& ctx, std::vector<BodyResult> results) = 0;

  std::vector<BodyRequest> bodies;
};

}  // namespace scanloom::onnx
