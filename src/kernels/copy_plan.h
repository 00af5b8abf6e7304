// CopyPlan: copies elements between two strided layouts. Decided once: which axes are joined, and
// their order, which follows the target's layout in memory. Used by copy, concat and pad.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu.h"
#include "kernels/transpose.h"
#include "tensor/call.h"
#include "tensor/shape.h"

namespace scanloom::kernels {

struct CopyPlan;
using CopyFn = void (*)(const CopyPlan& plan, const std::byte* from, std::byte* to);

struct CopyPlan {
  enum class Inner : std::uint8_t {
    run,        ///< whole rows of adjacent elements: memcpy
    transpose,  ///< exchanges the last two axes
    elements,   ///< anything else
  };
  struct Axis {
    std::int64_t dim = 1, from = 0, to = 0;  ///< strides in elements
  };

  Inner inner = Inner::run;
  bool empty = false;
  int rank = 0;           ///< of `axes`, without the innermost ones, which `inner` handles
  int element_bytes = 1;  ///< as copied: short runs may be one element
  Axis row, column;  ///< row: the innermost axis; column: for transpose, the axis whose `from` is 1
  std::array<Axis, tensor::kMaxRank> axes{};
  std::int64_t bytes = 0;  ///< of all elements
  TransposeFn transpose = nullptr;
  CopyFn copy = nullptr;
};

/// Strides count elements of `element_bytes` bytes: 1, 2, 4, 8 or 16. A stride of 0 in `from`
/// repeats the element.
CopyPlan plan_copy(std::span<const std::int64_t> dims, const std::int64_t* from,
                   const std::int64_t* to, int element_bytes, Isa isa);

/// Threads share copies of at least so many bytes: smaller ones end before a thread has started.
inline constexpr std::int64_t kMinThreadedCopy = std::int64_t{1} << 18;
/// A copy of more bytes polls. Elements far apart take up to 10 ns each.
inline constexpr std::int64_t kBetweenPolls = std::int64_t{16} << 20;

void run_copy(const CopyPlan& plan, const std::byte* from, std::byte* to);
/// Shares a large copy among threads, and polls between parts of a very large one; the call then
/// returns Call::ok_or_stopped().
void run_copy(const CopyPlan& plan, const std::byte* from, std::byte* to, const tensor::Call& call);
/// Copies one of `shares` parts of about the same size, some of which may be empty.
void run_copy_share(const CopyPlan& plan, const std::byte* from, std::byte* to, std::int64_t share,
                    std::int64_t shares);

}  // namespace scanloom::kernels
