// Pipelines the input projection of a recurrent loop with the products of its state
// (kernels/pipelined_projection.h): the steps compute the scanned rows some steps ahead, instead of
// all rows before the loop. The rows are stored in the same memory either way.
//
// Whether the kernel takes this depends on the layouts of the products of a step, and the product
// that makes the rows is bound before these. So their layouts are forecast, the decision is made
// when that product is about to be bound, and all calls are emitted in their final form.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/pipelined_projection.h"
#include "plan/bind/layout_forecast.h"
#include "plan/bind/projection.h"

namespace scanloom::plan {

/// The pipeline of one loop while it is being bound.
class ProjectionPipeline {
 public:
  /// Forecasts the products of a step. `nodes`: of the body, in the order in which they are bound.
  /// Keeps a reference to the context. Preconditions: those of LayoutForecast.
  ProjectionPipeline(BindContext& ctx, const BoundLoop& loop, const std::vector<ir::NodeId>& nodes);

  /// Call before `node`, which makes rows of that scanned port, is bound. If it is the product of a
  /// projection whose rows nothing else reads, and the kernel reports that it pays, the steps will
  /// compute these rows. Only the first such projection of a loop is pipelined.
  void consider(ir::NodeId node, const BoundLoop& loop, std::size_t port);

  /// Whether bind() emits the call of this node.
  [[nodiscard]] bool has(ir::NodeId node) const;
  /// Binds the node: the projection's last node computes only the first rows, before the loop or
  /// before each block, and the products of a step get more operands. Errors: internal, if an
  /// operand is not laid out as forecast. Precondition: has().
  Expected<void> bind(ir::NodeId node);

  /// Reports to `explain` where the rows are made. Call when the loop's blocks are bound.
  void note(BoundLoop& loop) const;

 private:
  /// A product that every step computes.
  struct StepProduct {
    ir::NodeId node;
    std::vector<LaidOut> inputs;
    LaidOut output;
  };
  [[nodiscard]] bool is_for_loop_alone(ir::ValueId value) const;
  [[nodiscard]] const float* bias_of(const Projection& projection, ir::ValueId rows);
  void decide(const Projection& projection, const BoundLoop& loop, std::size_t port);
  [[nodiscard]] const kernels::PipelinedCall* step_call(ir::NodeId node) const;
  void bind_first_rows(ir::NodeId node);
  Expected<void> bind_step(ir::NodeId node);

  BindContext& ctx_;
  ir::NodeId loop_;
  std::vector<StepProduct> products_;
  // Set by decide():
  std::optional<kernels::PipelinedCalls> calls_;
  Projection projection_;
  ir::ValueId rows_;      ///< the scanned value
  ir::ValueId argument_;  ///< its slice
  Location x_;      ///< the operand that has a row for every step, of a block if there are some
  Location whole_;  ///< its first row of all; binding keeps alive what blocks read
};

/// Returns the pipeline of the loop; null if its steps can compute no projection. `nodes` as above.
std::shared_ptr<ProjectionPipeline> pipeline_of(BindContext& ctx, const BoundLoop& loop,
                                                const std::vector<ir::NodeId>& nodes);

}  // namespace scanloom::plan
