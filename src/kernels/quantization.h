// How scales and zero points apply to a tensor: one for all elements, or one per index of an axis.
// Used by quantize and dequantize.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/kernel.h"

namespace scanloom::kernels {

/// A tensor as three nested axes; parameters belong to the middle one (of size 1 if there is a
/// single scale and zero point). Steps count elements; 0 means that one parameter serves all.
struct QuantizedLayout {
  std::int64_t outer = 1, axis = 1, inner = 1;
  std::int64_t scale_step = 0, zero_step = 0;
};

/// Lays out inputs x, scale, zero (optional) and the attribute axis, as the operators have them.
/// Returns why a layout does not describe them; nullopt: it is set.
std::optional<Refusal> lay_out_quantized(const PrepareCtx& ctx, QuantizedLayout& layout);

/// Calls run(index along the axis, offset of the first element, elements) for all elements, in runs
/// that share their parameters. Threads share large tensors.
template <class Run>
void for_each_run(const QuantizedLayout& layout, int max_threads, const Run& run) {
  constexpr std::int64_t kPart = 32 * 1024;
  const std::int64_t rows = layout.outer * layout.axis, inner = layout.inner;
  const int threads = rows * inner < 4 * kPart ? 1 : max_threads;
  const std::int64_t parts = (inner + kPart - 1) / kPart;  // of a row
  if (parts > 1) {
    parallel_for(rows * parts, threads, [&](std::int64_t task) {
      const std::int64_t row = task / parts, first = task % parts * kPart;
      run(row % layout.axis, row * inner + first, std::min(kPart, inner - first));
    });
    return;
  }
  const std::int64_t together = kPart / std::max<std::int64_t>(inner, 1);
  parallel_for((rows + together - 1) / together, threads, [&](std::int64_t task) {
    const std::int64_t end = std::min((task + 1) * together, rows);
    for (std::int64_t row = task * together; row < end; ++row)
      run(row % layout.axis, row * inner, inner);
  });
}

}  // namespace scanloom::kernels
