// The numbers that the choices of passes rest on, and by which compilers write code. Measured on
// cores with AVX2 and AVX-512.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scanloom::loopnest {

/// Bytes of those that lie on the stack; of a state that is copied instead of swapped, and of all
/// such states: more do not stay in registers from step to step.
inline constexpr std::int64_t kMaxLocalBytes = 16 * 1024;
inline constexpr std::int64_t kMaxLocalState = 128;
inline constexpr std::int64_t kMaxLocalStates = 64, kMaxBytesOfLocalStates = 4096;
/// Operands of a nest that others have joined: registers hold no more, and joining gains little
/// then.
inline constexpr std::size_t kMaxOperandsOfNest = 64;
/// A function that occurs at most so often is written out everywhere, unless it is a long one: a
/// call stores all vector registers that are needed behind it.
inline constexpr int kMaxWrittenOut = 4;
/// So few blocks of lanes stand one after the other rather than in a loop.
inline constexpr std::int64_t kBlocksInARow = 4;

}  // namespace scanloom::loopnest
