// Runs the reference kernel of a node on values that are known before any run.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/op_def.h"

namespace scanloom::ir {

/// The results of `op` on `inputs` (an absent operand is an undefined Tensor); nullopt if it cannot
/// or should not be evaluated: effects, strings, results of unknown or large size. Errors: the
/// kernel's fault, without the node's name.
Expected<std::optional<std::vector<tensor::Tensor>>> evaluate(
    const OpDef& op, std::span<const tensor::Tensor> inputs, std::span<const tensor::Attr> attrs,
    std::span<const tensor::Type> outputs, std::int64_t max_elements);

}  // namespace scanloom::ir
