// Affine recurrences of one element, y[t] = a[t] * y[t - 1] + b[t], with the steps of a block in
// parallel. A block composes its maps in pairs, then fours, then all, and applies them to the state
// before it: a tree of products and sums, each rounded, in the same order on every machine. The
// reference kernel of the operator and the vector kernel compute the same bits.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/call.h"

namespace scanloom::tensor {

/// Steps composed per block. Products of so few factors overflow only for factors that would soon
/// overflow anyway.
inline constexpr std::int64_t kAffineBlock = 8;

/// Elements of neighbouring steps are `a_step`, `b_step`, `y_step` apart in memory. y has one
/// element more than there are steps: y[0] is the state before the first step.
template <class T>
struct AffineScan {
  const T* a = nullptr;
  const T* b = nullptr;
  T* y = nullptr;
  std::int64_t a_step = 1, b_step = 1, y_step = 1;
  std::int64_t steps = 0;
};

/// Runs steps [begin, end) one after the other; y[begin] must be set.
template <class T>
void run_affine_steps(const AffineScan<T>& scan, std::int64_t begin, std::int64_t end) {
  T state = scan.y[begin * scan.y_step];
  for (std::int64_t t = begin; t < end; ++t) {
    const T product = scan.a[t * scan.a_step] * state;
    state = product + scan.b[t * scan.b_step];
    scan.y[(t + 1) * scan.y_step] = state;
  }
}

/// Runs the block that begins at this step. Returns false if a state would not be finite: products
/// may then have overflowed where sequential steps do not, as in 0 times infinity.
template <class T>
[[nodiscard]] bool run_affine_block(const AffineScan<T>& scan, std::int64_t begin) {
  T a[kAffineBlock], b[kAffineBlock], y[kAffineBlock];
  for (std::int64_t i = 0; i < kAffineBlock; ++i) {
    a[i] = scan.a[(begin + i) * scan.a_step];
    b[i] = scan.b[(begin + i) * scan.b_step];
  }
  for (std::int64_t width = 1; width < kAffineBlock; width *= 2)
    for (std::int64_t i = 0; i < kAffineBlock; ++i) {
      if ((i & width) == 0) continue;
      const std::int64_t before = i / width * width - 1;
      const T product = a[i] * b[before];
      b[i] = product + b[i];
      a[i] = a[i] * a[before];
    }
  const T state = scan.y[begin * scan.y_step];
  bool is_finite = true;
  for (std::int64_t i = 0; i < kAffineBlock; ++i) {
    const T product = a[i] * state;
    y[i] = product + b[i];
    is_finite = is_finite && std::isfinite(y[i]);
  }
  for (std::int64_t i = 0; is_finite && i < kAffineBlock; ++i)
    scan.y[(begin + i + 1) * scan.y_step] = y[i];
  return is_finite;
}

template <class T>
void run_affine_scan(const AffineScan<T>& scan) {
  std::int64_t t = 0;
  for (; t + kAffineBlock <= scan.steps; t += kAffineBlock)
    if (!run_affine_block(scan, t)) run_affine_steps(scan, t, t + kAffineBlock);
  run_affine_steps(scan, t, scan.steps);
}

/// The operands of a call. If `reverse`, the steps run from the last element to the first, and y[0]
/// is stored after the last element.
template <class T>
[[nodiscard]] AffineScan<T> affine_scan_of(const Call& call, bool reverse) {
  const Operand &a = call.in(0), &b = call.in(1), &y = call.out(0);
  AffineScan<T> scan{.a = a.data<const T>(),
                     .b = b.data<const T>(),
                     .y = y.data<T>(),
                     .a_step = a.strides[0],
                     .b_step = b.strides[0],
                     .y_step = y.strides[0],
                     .steps = a.dims[0]};
  if (reverse) {
    scan.a += (scan.steps - 1) * scan.a_step;
    scan.b += (scan.steps - 1) * scan.b_step;
    scan.y += scan.steps * scan.y_step;
    scan.a_step = -scan.a_step;
    scan.b_step = -scan.b_step;
    scan.y_step = -scan.y_step;
  }
  scan.y[0] = *call.in(2).data<const T>();
  return scan;
}

}  // namespace scanloom::tensor
