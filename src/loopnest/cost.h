// Cost model constants, which passes base their choices on and by which compilers write code.
// Measured on cores with AVX2 and AVX-512.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scanloom::loopnest {

/// Upper bounds on the bytes of locals (they are on the stack), of a state that is copied instead
/// of swapped, and on number and bytes of all such states: more would not stay in registers between
/// steps.
inline constexpr std::int64_t kMaxLocalBytes = 16 * 1024;
inline constexpr std::int64_t kMaxLocalState = 128;
inline constexpr std::int64_t kMaxLocalStates = 64, kMaxBytesOfLocalStates = 4096;
/// Upper bound on the operands of a fused nest. Registers hold no more, and fusing further gains
/// little.
inline constexpr std::size_t kMaxOperandsOfNest = 64;
/// A function that occurs at most this often is inlined everywhere, unless it is a long one: a call
/// spills all vector registers that are needed after it.
inline constexpr int kMaxWrittenOut = 4;
/// Up to this many blocks of lanes are emitted one after the other instead of in a loop.
inline constexpr std::int64_t kBlocksInARow = 4;

}  // namespace scanloom::loopnest
