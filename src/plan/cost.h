// The numbers that choices between strategies rest on, in one place. Measured, see
// docs/benchmarks.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scanloom::plan {

/// Compiling a small loop takes 2 to 5 ms, a stepped step of a small body 10 to 100 ns; below this
/// many steps a session would have to run hundreds of times to win the compilation back.
inline constexpr std::int64_t kMinStepsToCompile = 256;

/// Compiling takes about half a millisecond per operation of the body.
inline constexpr std::size_t kMaxCompiledInstructions = 2048;
/// The same where nothing says yet how many steps there will be.
inline constexpr std::size_t kMaxInstructionsOfUnknownTrips = 512;

// Of bodies that are compiled step by step:

/// Compiling takes about 20 ms, the library of the compiler included, and 1 ms for each instruction
/// of the binding; a step saves about 20 ns for each, and for the loop itself.
constexpr std::int64_t steps_worth_compiling(std::size_t instructions) {
  const auto count = static_cast<std::int64_t>(instructions);
  return (20 + count) * 1'000'000 / (20 * (count + 1));
}
/// Calls and nests before they are joined.
inline constexpr std::size_t kMaxStatementsOfBody = 512;
/// Branches and loops inside it; the depth of what is described is theirs at most.
inline constexpr int kMaxBlocksOfBody = 32;
/// Steps of the loops inside, per step: limits are looked at between steps of the body.
inline constexpr std::int64_t kMaxInnerSteps = 4096;
/// Element operations that are emitted: those of programs once for each width of vectors, those
/// that have no vector form once for each lane.
inline constexpr std::int64_t kMaxEmittedOfBody = 16 * 1024;
/// Bytes of the body's values, which get memory of their own; more do not fit into the cache.
inline constexpr std::int64_t kMaxBytesOfBody = 1024 * 1024;
/// Bytes of those that lie on the stack, and of a state that is copied instead of swapped.
inline constexpr std::int64_t kMaxLocalBytes = 16 * 1024;
inline constexpr std::int64_t kMaxLocalState = 128;
/// Elements that a nest computes; kernels share more than that among threads.
inline constexpr std::int64_t kMaxElementsOfNest = 64 * 1024;
/// Multiplications of a product that is a nest; kernels keep tiles of larger ones in registers, and
/// pack operands across which vectors would be taken.
inline constexpr std::int64_t kMaxProductOfNest = 4096;
inline constexpr std::int64_t kMaxProductAcross = 256;
/// Elements of an extreme that is one result of a nest; the kernel takes them in vectors.
inline constexpr std::int64_t kMaxExtremeOfNest = 32;

}  // namespace scanloom::plan
