// The numbers that choices between strategies rest on, in one place. Measured on cores with AVX2
// and AVX-512, and rounded to what both agree on: choices have to be right within a factor of two
// or so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "loopnest/loopnest.h"

namespace scanloom::plan {

/// An execution of fewer steps is short: of loops inside of others, which are run again and again,
/// and of loops that a condition may end. Other ones are stepped until that has taken as long as
/// compiling (StepCounts): then no choice would have been better by more than half, and the first
/// result of a short loop does not wait for the compiler.
inline constexpr std::int64_t kMinStepsToCompile = 256;
/// Fewer steps pay where they compute so many elements in all: node by node, out of the cache, each
/// takes 0.2 to 0.5 ns.
inline constexpr double kMinOperationsToCompile = 1 << 24;

/// Why a loop is stepped that would be compiled if it took more steps, for people.
inline constexpr const char* kFewSteps = "so few steps do not pay for compiling";

/// Operations of a body that is compiled at once.
inline constexpr std::size_t kMaxCompiledInstructions = 2048;
/// States over several lanes that one function holds, for each register of the machine: of twice as
/// many as there are registers each step stores and loads half. Of hundreds, LLVM takes seconds to
/// find out where, and what it finds is slower than states that lie in memory.
inline constexpr std::size_t kMaxStatesOfRegister = 2;

/// What compiling such a loop takes, with the library of the compiler: measured within a factor of
/// 3 over 50 to 2000 operations, 1 to 64 states and 1 to 1000 lanes, on which it hardly depends.
constexpr double loop_compile_nanoseconds(std::size_t instructions, std::size_t states) {
  return 1e6 * (15 + 0.06 * static_cast<double>(instructions) + 0.3 * static_cast<double>(states));
}
/// What it takes for each lane of a step, at least: 4,000,000 lanes on a core with vectors of 64
/// bytes.
inline constexpr double kNanosecondsPerOperation = 0.1, kNanosecondsPerFunction = 1,
                        kNanosecondsPerPow = 16;
/// So long does nobody wait for: it is compiled without asking whether this run wins it back.
inline constexpr double kBriefCompileNanoseconds = 5e7;

// Of bodies that are compiled per step:

/// Compiling takes about 20 ms, the library of the compiler included, and 1 ms for each instruction
/// of the binding. It pays once the steps that were stepped have taken as long: then no choice
/// would have been better by more than half.
constexpr std::int64_t steps_worth_compiling(std::size_t instructions, double step_nanoseconds) {
  const double compiling = 1e6 * (20 + static_cast<double>(instructions));
  return static_cast<std::int64_t>(compiling / step_nanoseconds) + 1;
}
/// What a stepped call takes: for itself, and for each element or multiplication.
inline constexpr double kNanosecondsPerCall = 20;
inline constexpr double kNanosecondsPerElement = 0.5;
/// Of f16 and bf16, which kernels widen and round besides: from additions to divisions, f16 takes
/// 1.6 to 2.1 times as long as f32, bf16 three to four times.
inline constexpr double kNanosecondsPerF16 = 1;
inline constexpr double kNanosecondsPerProduct = 0.0625;
/// What calls take for an element, on average, where that share of them is of f16 or bf16.
constexpr double nanoseconds_per_element(double halves) {
  return kNanosecondsPerElement + halves * (kNanosecondsPerF16 - kNanosecondsPerElement);
}

// Looks at limits inside of loops go by the steps before, which says nothing of a branch that was
// not taken yet: what is dear is counted where it runs, by its estimate.

/// A side of a branch that takes less, by the estimate, passes as part of a step like the others.
inline constexpr double kMinChargeOfRegion = 50;
/// A call that may take so long is counted by itself, so that steps of many have looks in between.
inline constexpr double kMinChargeOfCall = 20e3;
/// As much may be spent between two looks. Estimates are often too low, by a factor of up to a
/// hundred; a look takes less than a thousandth of it.
inline constexpr std::int64_t kChargeBetweenPolls = 100'000;

/// Instructions of a binding: calls, and what becomes nests. By the above, two and a half seconds.
inline constexpr std::size_t kMaxStatementsOfBody = 2560;
/// Where not all of a body can become code: parts of it that do, and calls that make one worth
/// while (entering it takes as long as one or two).
inline constexpr std::size_t kMaxOutlinedRegions = 16;
inline constexpr std::size_t kMinCallsOfSection = 2;
/// Branches and loops inside it; the depth of what is described is theirs at most.
inline constexpr int kMaxBlocksOfBody = 32;
static_assert(kMaxBlocksOfBody <= loopnest::kMaxStatementDepth);
/// Steps of the loops inside, per step: limits are looked at between steps of the body, and of
/// loops inside whose number of steps only the run knows.
inline constexpr std::int64_t kMaxInnerSteps = 4096;
/// From so many on, and where threads may share the steps around them, loops inside become code
/// each for itself.
inline constexpr std::int64_t kMinStepsApart = 64;
/// What a step may take.
inline constexpr double kMaxNanosecondsBetweenPolls = 2e7;
/// Operations that are emitted (loopnest/size.h): those of programs once for each block of
/// lanes that is not part of a loop, those that have no vector form once for each lane.
inline constexpr std::int64_t kMaxEmittedOfBody = 16 * 1024;
/// Where more are, nests that read values in pieces are not split: each part is emitted.
inline constexpr std::int64_t kMaxEmittedToSplit = 8 * 1024;
/// Bytes of the body's values, which get memory of their own; more do not fit into the cache. With
/// loops inside, of all that is read and made, sequences too: calls that reuse memory are faster
/// from less on.
inline constexpr std::int64_t kMaxBytesOfBody = std::int64_t{4} << 20;
inline constexpr std::int64_t kMaxBytesOfNest = std::int64_t{1} << 20;
/// Elements that a nest computes; kernels share more than that among threads.
inline constexpr std::int64_t kMaxElementsOfNest = 64 * 1024;
/// Multiplications of a product that is a nest; kernels keep tiles of larger ones in registers, and
/// pack operands across which vectors would be taken.
inline constexpr std::int64_t kMaxProductOfNest = 4096;
inline constexpr std::int64_t kMaxProductAcross = 256;
/// Elements of an extreme that is one result of a nest; the kernel takes them in vectors.
inline constexpr std::int64_t kMaxMinMaxOfNest = 32;

}  // namespace scanloom::plan
