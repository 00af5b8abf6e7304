// The cost constants by which binding and runs choose between strategies. Measured on cores with
// AVX2 and AVX-512 and rounded to values that suit both: choices have to be right within a factor
// of about two.
#pragma once

#include <cstddef>
#include <cstdint>

#include "loopnest/loopnest.h"

namespace scanloom::plan {

/// An execution with fewer steps counts as short, for inner loops, which run again and again, and
/// for loops that a condition may end. Other loops are stepped until that has taken as long as
/// compiling (StepCounts). Then no choice would have been better by more than half, and the first
/// result of a short loop does not wait for the compiler.
inline constexpr std::int64_t kMinStepsToCompile = 256;
/// Fewer steps pay if they compute this many elements in total: node by node, outside the cache,
/// each element takes 0.2 to 0.5 ns.
inline constexpr double kMinOperationsToCompile = 1 << 24;

/// The reason that users see for a loop that is stepped but would be compiled with more steps.
inline constexpr const char* kFewSteps = "so few steps do not pay for compiling";

/// Maximum operations of a whole-loop compiled body.
inline constexpr std::size_t kMaxCompiledInstructions = 2048;
/// Maximum states over several lanes in one function, per register of the machine. With twice as
/// many states as registers, each step stores and loads half of them. With hundreds, LLVM takes
/// seconds to allocate registers, and the code is slower than with states in memory.
inline constexpr std::size_t kMaxStatesOfRegister = 2;

/// Time to compile such a loop, including loading the compiler's library. Measured within a factor
/// of 3 for 50 to 2000 operations, 1 to 64 states and 1 to 1000 lanes, which hardly matter.
constexpr double loop_compile_nanoseconds(std::size_t instructions, std::size_t states) {
  return 1e6 * (15 + 0.06 * static_cast<double>(instructions) + 0.3 * static_cast<double>(states));
}
/// Least time per lane of a step; measured with 4,000,000 lanes on a core with 64-byte vectors.
inline constexpr double kNanosecondsPerOperation = 0.1, kNanosecondsPerFunction = 1,
                        kNanosecondsPerPow = 16;
/// Loops that compile faster than this are compiled whether or not this run wins the time back.
inline constexpr double kBriefCompileNanoseconds = 5e7;

// Bodies that are compiled per step:

/// Compiling takes about 20 ms, including loading the compiler's library, plus 1 ms for each
/// instruction of the binding. It pays once the stepped steps have taken as long: then no choice
/// would have been better by more than half.
constexpr std::int64_t steps_worth_compiling(std::size_t instructions, double step_nanoseconds) {
  const double compiling = 1e6 * (20 + static_cast<double>(instructions));
  return static_cast<std::int64_t>(compiling / step_nanoseconds) + 1;
}
/// Time of a stepped call: the call itself, and each element or multiplication.
inline constexpr double kNanosecondsPerCall = 20;
inline constexpr double kNanosecondsPerElement = 0.5;
/// Time per element of f16 and bf16, which kernels also widen and round. From additions to
/// divisions, f16 takes 1.6 to 2.1 times as long as f32, and bf16 three to four times.
inline constexpr double kNanosecondsPerF16 = 1;
inline constexpr double kNanosecondsPerProduct = 0.0625;
/// Average time per element of calls if the share `halves` of the elements is f16 or bf16.
constexpr double nanoseconds_per_element(double halves) {
  return kNanosecondsPerElement + halves * (kNanosecondsPerF16 - kNanosecondsPerElement);
}

// Polls inside loops are scheduled by the time of earlier steps, which says nothing about a branch
// not taken before. Therefore expensive parts charge their estimate where they run.

/// A region of a branch with a smaller estimate charges nothing.
inline constexpr double kMinChargeOfRegion = 50;
/// A call with at least this estimate charges it by itself, so that a step of many such calls polls
/// between them.
inline constexpr double kMinChargeOfCall = 20e3;
/// Maximum charge between two polls. Estimates are often too low, by a factor of up to a hundred; a
/// poll takes less than a thousandth of this.
inline constexpr std::int64_t kChargeBetweenPolls = 100'000;

/// Maximum instructions of a compiled body: calls and nests. By the above, compiling them takes two
/// and a half seconds.
inline constexpr std::size_t kMaxStatementsOfBody = 2560;
/// If only parts of a body can be compiled: the maximum number of outlined regions, and the minimum
/// calls that make a region worthwhile (entering it takes as long as one or two calls).
inline constexpr std::size_t kMaxOutlinedRegions = 16;
inline constexpr std::size_t kMinCallsOfSection = 2;
/// Maximum branches and loops inside a body, which also bounds the depth of its description.
inline constexpr int kMaxBlocksOfBody = 32;
static_assert(kMaxBlocksOfBody <= loopnest::kMaxStatementDepth);
/// Maximum steps of inner loops per step. Limits are polled between steps of the body, and between
/// those of inner loops whose trip count is known only at run time.
inline constexpr std::int64_t kMaxInnerSteps = 4096;
/// If threads may share the steps of a loop, inner loops with at least this many steps are compiled
/// separately.
inline constexpr std::int64_t kMinStepsApart = 64;
/// Maximum time of a step.
inline constexpr double kMaxNanosecondsBetweenPolls = 2e7;
/// Maximum emitted operations (loopnest/size.h). Those of programs count once for each block of
/// lanes outside a loop; those without a vector form count once for each lane.
inline constexpr std::int64_t kMaxEmittedOfBody = 16 * 1024;
/// Above this number, nests that read values in pieces are not split, since each part is emitted.
inline constexpr std::int64_t kMaxEmittedToSplit = 8 * 1024;
/// Maximum bytes of the body's values, which get memory of their own; more would not fit into the
/// cache. With inner loops (second constant), the bytes of all values read and made, including
/// sequences: calls that reuse memory become faster sooner.
inline constexpr std::int64_t kMaxBytesOfBody = std::int64_t{4} << 20;
inline constexpr std::int64_t kMaxBytesOfNest = std::int64_t{1} << 20;
/// Maximum elements that a nest computes; kernels share more than that among threads.
inline constexpr std::int64_t kMaxElementsOfNest = 64 * 1024;
/// Maximum multiplications of a product that is a nest. Kernels keep tiles of larger products in
/// registers, and pack operands that vectors would read across.
inline constexpr std::int64_t kMaxProductOfNest = 4096;
inline constexpr std::int64_t kMaxProductAcross = 256;
/// Maximum elements of a minimum or maximum that is one result of a nest; the kernel reads them in
/// vectors.
inline constexpr std::int64_t kMaxMinMaxOfNest = 32;

}  // namespace scanloom::plan
