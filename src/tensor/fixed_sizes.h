// The rule of loops whose carried values keep their sizes, with its one message.
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "tensor/shape.h"

namespace scanloom::tensor {

/// Error: step `step` (from 0) makes `after` of a carried value that had the sizes `before`.
/// `state` says which one it is.
template <class Describe>
Expected<void> check_fixed_sizes(Describe state, std::int64_t step, const Shape& before,
                                 const Shape& after) {
  if (before == after) return {};
  return fail(Code::invalid_argument,
              "{} has sizes {} before step {}, the step makes it {}; its sizes are fixed", state(),
              before.to_string(), step, after.to_string());
}

}  // namespace scanloom::tensor
