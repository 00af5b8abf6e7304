// The check for loops whose carried values keep their sizes, with its error message.
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "tensor/shape.h"

namespace scanloom::tensor {

/// Error: step `step` (from 0) gives a carried value the sizes `after`, but it had the sizes
/// `before`. `state` describes the value.
template <class Describe>
Expected<void> check_fixed_sizes(Describe state, std::int64_t step, const Shape& before,
                                 const Shape& after) {
  if (before == after) return {};
  return fail(Code::invalid_argument,
              "{} has sizes {} before step {}, but the step makes it {}; its sizes are fixed",
              state(), before.to_string(), step, after.to_string());
}

}  // namespace scanloom::tensor
