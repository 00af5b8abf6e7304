// The numbers that choices between strategies rest on, in one place. Measured, see
// docs/benchmarks.md.
#pragma once

#include <cstdint>

namespace scanloom::plan {

/// Compiling a small loop takes 2 to 5 ms, a stepped step of a small body 10 to 100 ns; below this
/// many steps a session would have to run hundreds of times to win the compilation back.
inline constexpr std::int64_t kMinStepsToCompile = 256;

}  // namespace scanloom::plan
