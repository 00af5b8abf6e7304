// Checks that feeds have the sizes that a module's inputs declare. Used wherever a module is run.
#pragma once

#include <cstddef>
#include <span>

#include "base/expected.h"
#include "ir/module.h"
#include "tensor/shape.h"

namespace scanloom::plan {

/// Checks what can be said about the feed of one input alone; otherwise like the next function.
Expected<void> check_feed(const ir::Module& module, std::size_t input, const tensor::Shape& shape);
/// Checks `shapes`, one per input of the module. Shapes of inputs that are not tensors are ignored.
/// Errors: invalid_argument (sizes that do not match the module's, naming inputs and both numbers).
Expected<void> check_feeds(const ir::Module& module, std::span<const tensor::Shape> shapes);

}  // namespace scanloom::plan
