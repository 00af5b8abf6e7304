// Whether feeds have the sizes that the inputs of a module need, whoever runs it.
#pragma once

#include <span>

#include "base/expected.h"
#include "ir/module.h"
#include "tensor/shape.h"

namespace scanloom::plan {

/// Checks `shapes`, by input of the module; shapes of inputs that are no tensors are ignored.
/// Errors: invalid_argument (sizes that do not fit the module's, naming inputs and both numbers).
Expected<void> check_feeds(const ir::Module& module, std::span<const tensor::Shape> shapes);

}  // namespace scanloom::plan
