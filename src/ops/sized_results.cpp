#include "ops/sized_results.h"

#include "ops/ops.h"

namespace scanloom::ops {

tensor::ObjectFn sized_results_of(const ir::OpDef& op) {
  return &op == &non_max_suppression_op ? selected_boxes : nullptr;
}

}  // namespace scanloom::ops
