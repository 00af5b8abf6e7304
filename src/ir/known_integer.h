// The number that a value of one element has, where the sizes of the inputs decide it.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/infer.h"

namespace scanloom::ir {

/// Returns nullopt where only the data decide it, or where there is not one element.
std::optional<std::int64_t> known_integer(const Inference& inference, ValueId id);

}  // namespace scanloom::ir
