// How much state a compiled function keeps in the machine's registers.
#pragma once

#include <cstddef>

namespace scanloom {

/// The maximum number of states of several lanes in one function, per machine register. With twice
/// as many states as registers, each step spills and reloads half of them. With hundreds, register
/// allocation takes LLVM seconds, and the result is slower than keeping states in memory.
inline constexpr std::size_t kMaxStatesPerRegister = 2;
/// The vector registers that every machine has at least; some have twice as many.
inline constexpr std::size_t kMinVectorRegisters = 16;

}  // namespace scanloom
