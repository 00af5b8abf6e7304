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

}  // namespace scanloom::plan
