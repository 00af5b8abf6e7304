// What errors say of an axis that a tensor does not have.
#pragma once

#include <fmt/format.h>

#include <string>

namespace scanloom::tensor {

/// "outside [-2, 2)", as normalise_axis (tensor/shape.h) has it.
inline std::string outside_axes(int rank) {
  return rank == 0 ? "but a scalar has no axes" : fmt::format("outside [-{}, {})", rank, rank);
}

}  // namespace scanloom::tensor
