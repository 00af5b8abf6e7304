// Parts of constants that are stored as one piece, and so need no memory of their own.
#pragma once

#include <optional>
#include <span>

#include "ir/module.h"
#include "tensor/tensor.h"

namespace scanloom::passes {

/// Returns the result of a node of constants as a tensor that shares the memory of `inputs[0]`: its
/// elements under other sizes, or adjacent ones that a gather or a view selects. Returns nullopt
/// for other nodes, and for a part that would keep much more memory alive than it has.
/// Precondition: `type` is the type of the node's only result.
[[nodiscard]] std::optional<tensor::Tensor> stored_part(const ir::Node& node, const ir::Type& type,
                                                        std::span<const tensor::Tensor> inputs);

}  // namespace scanloom::passes
