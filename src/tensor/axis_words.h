// Wording of errors about an axis that a tensor does not have.
#pragma once

#include <fmt/format.h>

#include <string>

namespace scanloom::tensor {

/// "outside [-2, 2)", the range of normalise_axis (tensor/shape.h).
inline std::string outside_axes(int rank) {
  return rank == 0 ? "but a scalar has no axes" : fmt::format("outside [-{}, {})", rank, rank);
}

}  // namespace scanloom::tensor
