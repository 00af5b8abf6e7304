// Recognizes the input projection of a recurrent loop: a product that computes the scanned rows,
// and optionally its sum with a bias. Used by block_plan.cpp and pipelined_projection.cpp.
#pragma once

#include <optional>

#include "ir/infer.h"
#include "ir/module.h"

namespace scanloom::plan {

struct Projection {
  ir::NodeId product;     ///< a contract
  ir::NodeId sum;         ///< of its result and the bias; invalid without bias
  ir::ValueId rows;       ///< the product's result
  ir::ValueId bias = {};  ///< the other term
};

/// Returns the projection that computes the value; nullopt if none does. The caller checks whether
/// anything else reads the rows, and whether the bias is a constant.
std::optional<Projection> projection_of(const ir::Module& module, const ir::Inference& inference,
                                        ir::ValueId value);

}  // namespace scanloom::plan
