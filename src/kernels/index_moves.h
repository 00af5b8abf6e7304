// What the kernels over tuples of indices do with the positions (index_walk.h): they move elements,
// or blocks of them, or combine them with those that exist.
#pragma once

#include "kernels/copy_plan.h"
#include "kernels/index_walk.h"
#include "opmath/scatter_reduction.h"

namespace scanloom::kernels {

/// The axes of a block that each tuple moves, with strides in elements of the source and the
/// target.
struct BlockAxes {
  tensor::Shape dims, from, to;
};

struct IndexSchedule {
  IndexWalk walk;
  CopyPlan block;  ///< of one tuple
  BlockAxes axes;  ///< the same, for reductions
  MoveRowFn move = nullptr;
  MoveElementsFn elements = nullptr;  ///< for tuples of one number that name one element
  CopyPlan whole;                     ///< of all of data, before updates are written
};

/// Blocks from the positions in the indexed operand to the other one.
MoveRowFn gather_move(const CopyPlan& block);
/// Blocks from the other operand to the positions in the indexed one.
MoveRowFn scatter_move(const CopyPlan& block, tensor::ScatterReduction reduction, DType dtype);

tensor::Status run_gather(const tensor::Call& call) noexcept;
/// Copies data to the result first, unless both are the same memory.
tensor::Status run_scatter(const tensor::Call& call) noexcept;

/// Completes a schedule whose walk and block axes are known. Inputs: data, indices, and for scatter
/// the updates.
Prepared prepared_gather(const PrepareCtx& ctx, IndexSchedule schedule);
Prepared prepared_scatter(const PrepareCtx& ctx, IndexSchedule schedule,
                          tensor::ScatterReduction reduction);

/// A walk for tuples of `length` numbers along the last axis of the indices.
struct TupleSource {
  const tensor::Operand &indices, &indexed, &other;
  int batch = 0;  ///< leading axes that all three share
};
IndexSchedule tuple_schedule(const TupleSource& of, bool gathers);
/// One index per element; elsewhere than along `axis` it is at the position of its element.
IndexSchedule element_schedule(const TupleSource& of, int axis);

}  // namespace scanloom::kernels
