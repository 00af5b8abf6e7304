// The call of the operator linear_scan: its operands as lines of steps (linear_scan.h).
#pragma once

#include <array>

#include "opmath/linear_scan.h"
#include "tensor/call.h"

namespace scanloom::tensor {

struct LinearInput {
  static constexpr int x = 0, matrix = 1, gain = 2, initial = 3, more = 4, factor = 5;
};
struct LinearOutput {
  static constexpr int last = 0, first_row = 1;
};
struct LinearAttr {
  static constexpr int reverse = 0, before = 1;
};

/// Runs a call with the given form of blocks. `scratch`: linear_scan_scratch states if threads are
/// to share a line; null otherwise.
template <class T>
Status run_linear_call(const Call& call, LinearBlocksFn<T> blocks, LinearState* scratch) noexcept;

}  // namespace scanloom::tensor
