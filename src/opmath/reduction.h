// The kinds of `reduce` that are one ordered fold: what to do with each element, and with the
// result at the end. Used by kernels and machine code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensor/attr.h"

namespace scanloom::tensor {

/// The attributes of `reduce`, by index.
enum ReduceAttr : std::size_t { kReduceKind, kReduceAxes, kReduceKeepdims, kReduceEmptyIsAll };

struct Reduction {
  enum class Fold : std::uint8_t { sum, max, min, prod, sum_square, l1 };
  enum class Finish : std::uint8_t { none, mean, sqrt, log };

  std::string_view kind;
  Fold fold;
  Finish finish = Finish::none;
};

/// nullptr for kinds that are not a fold.
const Reduction* find_reduction(std::string_view kind);

/// Whether an axis is among those of the attribute, counted from either end; all axes are if the
/// attribute is absent.
bool is_reduced(const Attr& axes, int axis, int rank);

}  // namespace scanloom::tensor
