// Rewriter: replaces nodes one by one, in one sweep over all regions. A rule sees each node with
// its operands already rewritten and may put others in its place; these stand where it stood.
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
#include "passes/pass.h"

namespace scanloom::passes {

class Rewriter {
 public:
  /// Whether the node was replaced: all its results that are read must have been.
  using Rule = std::function<Expected<bool>(Rewriter&, ir::NodeId)>;

  explicit Rewriter(ir::Module& module) : module_(module), map_(module) {}

  Expected<Change> sweep(const Rule& rule);

  [[nodiscard]] ir::Module& module() { return module_; }
  [[nodiscard]] const ir::Type& type(ir::ValueId value) const { return module_.value(value).type; }
  /// Adds before the current node, from whose place they come.
  [[nodiscard]] ir::Builder& build() { return *builder_; }
  /// Everything that reads `from` is to read `to`, which is in the same region.
  void replace(ir::ValueId from, ir::ValueId to) { map_.set(from, to); }

 private:
  Expected<Change> sweep_region(ir::RegionId region, const Rule& rule);

  ir::Module& module_;
  ir::ValueMap map_;
  ir::Builder* builder_ = nullptr;
};

using ir::attr_of;
/// Those that are present, to make another node of the operator.
std::vector<ir::NamedAttr> attrs_of(const ir::Node& node);
/// The axes that the attribute `axes` names, in [0, rank), sorted; nullopt where it is left out or
/// names others.
std::optional<std::vector<std::int64_t>> named_axes(const ir::Node& node, int rank);
using ir::constant_of;
/// The order that a transpose gives the axes of its operand, each in [0, rank); nullopt where the
/// rank of that is not known, for then the order is also a check of it.
std::optional<std::vector<std::int64_t>> order_of(const ir::Module& module, const ir::Node& node);
/// The node that makes the value, if it is an `op` node; otherwise nullptr.
const ir::Node* made_by(const ir::Module& module, ir::ValueId value, const ir::OpDef& op);

/// What `sweep(region)` changes of the top region, and then of the regions of the nodes that are
/// left in each: what a sweep dissolves is not entered.
Expected<Change> sweep_reached(ir::Module& module,
                               const std::function<Expected<Change>(ir::RegionId)>& sweep);

/// Visits the loops, those inside others first. What reads results of theirs is rewritten by the
/// map when the sweep gets there; the region's list ends with the loop while it is visited, and
/// what the visit adds to it stands behind the loop.
Change sweep_loops(ir::Module& module,
                   const std::function<Change(ir::NodeId loop, ir::ValueMap& map)>& visit);

}  // namespace scanloom::passes
