// The constants of the cost model that chooses between strategies, in one place. Measured on cores
// with AVX2 and AVX-512 and rounded to values that suit both: choices need to be right within about
// a factor of two.
#pragma once

#include <cstddef>
#include <cstdint>

#include "loopnest/loopnest.h"

namespace scanloom::plan {

/// An inner loop, which runs repeatedly, or a loop that a condition may end is short below this
/// number of steps. Other loops are stepped until that has taken as long as compiling (StepCounts):
/// the total is then at most twice the best choice, and the first result of a short loop does not
/// wait for the compiler.
inline constexpr std::int64_t kMinStepsToCompile = 256;
/// Fewer steps pay too if they compute this many elements in total: node by node and out of cache,
/// an element takes 0.2 to 0.5 ns.
inline constexpr double kMinOperationsToCompile = 1 << 24;

/// The reason that `explain` gives for a stepped loop that would be compiled with more steps.
inline constexpr const char* kFewSteps = "too few steps to repay compilation";

/// Maximum operations of a body that is compiled as a whole loop.
inline constexpr std::size_t kMaxCompiledInstructions = 2048;

/// Returns the estimated time to compile a whole loop, including loading the compiler library.
/// Measurements agree within a factor of 3 over 50 to 2000 operations, 1 to 64 states and 1 to 1000
/// lanes; the number of lanes hardly matters.
constexpr double loop_compile_nanoseconds(std::size_t instructions, std::size_t states) {
  return 1e6 * (15 + 0.06 * static_cast<double>(instructions) + 0.3 * static_cast<double>(states));
}
/// Minimum time of whole-loop code per lane and step: measured over 4,000,000 lanes on a core with
/// 64-byte vectors.
inline constexpr double kNanosecondsPerOperation = 0.1, kNanosecondsPerFunction = 1,
                        kNanosecondsPerPow = 2;
/// Below this estimate a loop is compiled without checking that this run recovers the cost.
inline constexpr double kBriefCompileNanoseconds = 5e7;

// For bodies that are compiled per step:

/// Returns the number of stepped steps after which compiling pays. Compiling takes about 20 ms,
/// including loading the compiler library, plus 1 ms per instruction of the binding. It pays once
/// stepping has taken as long: the total is then at most twice the best choice.
constexpr std::int64_t steps_worth_compiling(std::size_t instructions, double step_nanoseconds) {
  const double compiling = 1e6 * (20 + static_cast<double>(instructions));
  return static_cast<std::int64_t>(compiling / step_nanoseconds) + 1;
}
/// Time of a stepped call: its overhead, and per element or multiplication.
inline constexpr double kNanosecondsPerCall = 20;
inline constexpr double kNanosecondsPerElement = 0.5;
/// Time per f16 or bf16 element, which kernels also widen and round. From addition to division, f16
/// takes 1.6 to 2.1 times as long as f32, and bf16 three to four times as long.
inline constexpr double kNanosecondsPerF16 = 1;
inline constexpr double kNanosecondsPerProduct = 0.0625;
/// Returns the average time per element if this fraction of the elements is f16 or bf16.
constexpr double nanoseconds_per_element(double fraction) {
  return kNanosecondsPerElement + fraction * (kNanosecondsPerF16 - kNanosecondsPerElement);
}

// Loops poll limits at a pace set by their earlier steps. These say nothing about a branch that was
// not taken yet, so expensive code charges its own estimate where it runs.

/// A branch region with a smaller estimate counts as part of an ordinary step.
inline constexpr double kMinChargeOfRegion = 50;
/// A call with at least this estimate is charged separately, so that a step of many such calls
/// polls in between.
inline constexpr double kMinChargeOfCall = 20e3;
/// Maximum charge between two polls. Estimates are often too low, by up to a factor of 100; a poll
/// takes less than a thousandth of this.
inline constexpr std::int64_t kChargeBetweenPolls = 100'000;

/// Maximum instructions of a compiled body. By the estimate above, compiling them takes 2.5 s.
inline constexpr std::size_t kMaxStatementsOfBody = 2560;
/// If only parts of a body can be compiled: the maximum number of outlined regions, and the minimum
/// calls of each (entering a region takes as long as one or two calls).
inline constexpr std::size_t kMaxOutlinedRegions = 16;
inline constexpr std::size_t kMinCallsOfSection = 2;
/// Maximum branches and inner loops of a body, which bounds how deep its description nests.
inline constexpr int kMaxBlocksOfBody = 32;
static_assert(kMaxBlocksOfBody <= loopnest::kMaxStatementDepth);
/// Maximum steps of inner loops between polls. Limits are polled between steps of the body, and
/// between steps of inner loops whose trip count only the run knows.
inline constexpr std::int64_t kMaxInnerSteps = 4096;
/// With at least this many inner steps, and an outer loop whose steps threads may share, each inner
/// loop is compiled separately.
inline constexpr std::int64_t kMinStepsApart = 64;
/// Maximum time of a step of a compiled body.
inline constexpr double kMaxNanosecondsBetweenPolls = 2e7;
/// Maximum operations that are emitted (loopnest/size.h). A program counts once per block of lanes
/// outside a lane loop; operations without a vector form count once per lane.
inline constexpr std::int64_t kMaxEmittedOfBody = 16 * 1024;
/// Above this, nests that read values in pieces are not split, because each part is emitted.
inline constexpr std::int64_t kMaxEmittedToSplit = 8 * 1024;
/// Maximum bytes of a body's values, which do not share memory; more do not fit in the cache. The
/// smaller limit applies to a body with inner loops, and counts everything that it reads and
/// writes, scanned values included: there, calls that reuse memory are faster sooner.
inline constexpr std::int64_t kMaxBytesOfBody = std::int64_t{4} << 20;
inline constexpr std::int64_t kMaxBytesOfNest = std::int64_t{1} << 20;
/// Maximum elements that a nest computes; kernels split more than that across threads.
inline constexpr std::int64_t kMaxElementsOfNest = 64 * 1024;
/// Maximum multiplications of a product that becomes a nest. For larger products kernels keep tiles
/// in registers, and pack operands whose lanes are not contiguous.
inline constexpr std::int64_t kMaxProductOfNest = 4096;
inline constexpr std::int64_t kMaxProductAcross = 256;
/// Maximum elements of a min/max that is a nest's only result; the kernel vectorizes it.
inline constexpr std::int64_t kMaxMinMaxOfNest = 32;

}  // namespace scanloom::plan
