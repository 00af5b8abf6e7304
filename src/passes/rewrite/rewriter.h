// Rewriter: replaces nodes one by one, in one sweep over all regions. A rule sees each node with
// its operands already rewritten. Nodes that it adds take the position of the node.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/constants.h"
#include "ir/node_attr.h"
#include "ir/walk.h"
#include "ops/lift_rules.h"
#include "passes/pass.h"

namespace scanloom::passes {

class Rewriter {
 public:
  /// Returns whether the node was replaced. If so, all its results that are read must have been
  /// replaced.
  using Rule = std::function<Expected<bool>(Rewriter&, ir::NodeId)>;

  explicit Rewriter(ir::Module& module) : module_(module), map_(module) {}

  Expected<Change> sweep(const Rule& rule);

  [[nodiscard]] ir::Module& module() { return module_; }
  [[nodiscard]] const ir::Type& type(ir::ValueId value) const { return module_.value(value).type; }
  /// Adds nodes before the current one, with its source location.
  [[nodiscard]] ir::Builder& build() { return *builder_; }
  /// Makes everything that reads `from` read `to`, which is in the same region.
  void replace(ir::ValueId from, ir::ValueId to) { map_.set(from, to); }

 private:
  Expected<Change> sweep_region(ir::RegionId region, const Rule& rule);

  ir::Module& module_;
  ir::ValueMap map_;
  ir::Builder* builder_ = nullptr;
};

using ir::attr_of;
/// Returns the attributes that are present, to make another node of the operator.
std::vector<ir::NamedAttr> attrs_of(const ir::Node& node);
using ir::constant_of;
using ops::list_of;
using ops::order_of;
/// Returns the node that makes the value if it is an `op` node, otherwise nullptr.
const ir::Node* made_by(const ir::Module& module, ir::ValueId value, const ir::OpDef& op);

/// Applies `sweep` to the top region, then to the regions of the nodes that remain in each. Regions
/// of nodes that a sweep removes are not entered.
Expected<Change> sweep_reached(ir::Module& module,
                               const std::function<Expected<Change>(ir::RegionId)>& sweep);

/// Visits the loops, inner ones first. Readers of their results are rewritten by the map when the
/// sweep reaches them. While a loop is visited its region's list ends with it, so what the visit
/// appends comes after the loop.
Change sweep_loops(ir::Module& module,
                   const std::function<Change(ir::NodeId loop, ir::ValueMap& map)>& visit);

}  // namespace scanloom::passes
