// Runs the reference kernel of a node on values that are known before anything runs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/op_def.h"

namespace scanloom::ir {

/// The results of `op` on `inputs` (an absent operand: a Tensor that is not defined); nullopt where
/// it cannot or should not be done: effects, strings, results of unknown or large size. Errors: the
/// kernel's fault, not naming the node.
Expected<std::optional<std::vector<tensor::Tensor>>> evaluate(
    const OpDef& op, std::span<const tensor::Tensor> inputs, std::span<const tensor::Attr> attrs,
    std::span<const tensor::Type> outputs, std::int64_t max_elements);

}  // namespace scanloom::ir
