// BindContext: the state that the functions of binding share, one per bind(). It holds the module
// with the types and numbers inferred from the feeds' sizes, the Binding under construction, the
// locations of values, and the regions being walked.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ir/infer.h"
#include "plan/bind/block_plan.h"
#include "plan/bind/builder.h"
#include "plan/bind/conv_pairs.h"
#include "plan/bind/fusion.h"
#include "plan/bind/values.h"
#include "plan/plan.h"

namespace scanloom::plan {

class ProjectionPipeline;

/// A region that is being bound.
struct RegionFrame {
  enum class Kind : std::uint8_t { top, loop_body, then_region, else_region, only_region };

  ir::RegionId region;
  std::size_t next = 0;  ///< the next node to bind
  Kind kind = Kind::top;
  ir::NodeId node;                     ///< the loop or branch
  std::uint32_t index = 0;             ///< its index in Binding::loops or ::branches
  std::uint32_t jump = 0;              ///< else_region: the jump over it
  std::uint32_t first = 0;             ///< the first instruction of a branch's region
  std::vector<Location> results;       ///< locations of a branch's results
  bool certain = true;                 ///< it runs in every run of the binding
  bool trapped = false;                ///< a node cannot be bound; the rest is left out
  std::vector<ir::NodeId> order = {};  ///< order of the nodes, if not that of the region
};

struct BindContext {
  BindContext(std::shared_ptr<const Plan> plan_to_bind, std::span<const tensor::Shape> feed_shapes,
              const MayGoOn& asked)
      : plan(std::move(plan_to_bind)),
        module(plan->module),
        builder(plan, feed_shapes),
        values(module, inference, builder),
        may_go_on(asked) {}
  BindContext(const BindContext&) = delete;
  BindContext& operator=(const BindContext&) = delete;

  std::shared_ptr<const Plan> plan;
  const ir::Module& module;
  tensor::DimTable dims;
  ir::Inference inference;
  BindingBuilder builder;
  ValueLocations values;
  std::vector<RegionFrame> frames;                 ///< outermost first
  std::vector<std::uint32_t> uses_of_elements;     ///< by ValueId, see block_plan.h
  std::map<std::uint32_t, BlockPlan> block_plans;  ///< by NodeId, of loops not bound yet
  std::vector<bool> is_bound_with_loop;            ///< by NodeId: with the loop that reads it
  Fusion fusion;                                   ///< of the top region
  ConvPairs pairs;                                 ///< of the top region
  /// The projections of the outermost loop being bound; null if its steps compute none.
  std::shared_ptr<ProjectionPipeline> pipeline;
  const MayGoOn& may_go_on;
  std::optional<Error> stopped;  ///< error of may_go_on while compiling
};

}  // namespace scanloom::plan
