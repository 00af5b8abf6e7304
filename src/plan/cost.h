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
/// Statements of a body that is compiled step by step, before they are joined.
inline constexpr std::size_t kMostStatementsOfBody = 512;
/// Compiling a body takes about 20 ms and 1 ms for each of its instructions, the library of the
/// compiler included; a step saves about 20 ns for each.
constexpr std::int64_t steps_worth_compiling(std::size_t instructions) {
  return (20 + static_cast<std::int64_t>(instructions)) * 1'000'000 /
         (20 * static_cast<std::int64_t>(instructions) + 20);
}
/// Bytes of all operands of a body whose values get memory of their own, for being compiled.
inline constexpr std::int64_t kMostBytesOfBody = 16 * 1024 * 1024;
/// The same where nothing says yet how many steps there will be.
inline constexpr std::size_t kMaxInstructionsOfUnknownTrips = 512;

}  // namespace scanloom::plan
