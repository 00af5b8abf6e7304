// The input projection of a recurrent loop: a product that makes the rows that it scans, and
// perhaps the sum of that with a bias. What is made in blocks and what is pipelined both ask for
// it.
#pragma once

#include <optional>

#include "ir/infer.h"
#include "ir/module.h"

namespace scanloom::plan {

struct Projection {
  ir::NodeId product;     ///< a contract
  ir::NodeId sum;         ///< of its result and the bias; none where there is no bias
  ir::ValueId rows;       ///< the product's result
  ir::ValueId bias = {};  ///< the other term
};

/// Returns what makes the value; nullopt where that is no projection. Whether nothing else reads
/// the rows, and whether the bias is a constant, is left to ask.
std::optional<Projection> projection_of(const ir::Module& module, const ir::Inference& inference,
                                        ir::ValueId value);

}  // namespace scanloom::plan
