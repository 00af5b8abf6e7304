// What this machine can do: the best instruction set that kernels may use, and how many cores.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scanloom {

enum class Isa : std::uint8_t {
  baseline,  ///< what every machine of its kind has: x86-64-v2 (SSE 4.2), Armv8-A
  avx2,      ///< with FMA and F16C
  avx512,    ///< F, BW, DQ, VL, CD, on top of avx2
  neon,
};

/// "baseline", "avx2", "avx512", "neon".
std::string_view isa_name(Isa isa);

/// The best set of this machine, or a lesser one that SCANLOOM_ISA names (baseline, sse4, avx2,
/// avx512, neon). The environment is read once. Thread safe.
Isa active_isa();
/// Why SCANLOOM_ISA was not followed; empty when it was, or is not set.
std::string_view isa_warning();

/// Whether products that are added are rounded once, with the sum; where the set has no fused
/// multiply-add, twice.
constexpr bool fuses([[maybe_unused]] Isa isa) {
#if defined(__aarch64__)
  return true;  // baseline has it too
#else
  return isa != Isa::baseline;
#endif
}
/// fuses(active_isa()).
bool has_fma();

/// For tests: lowers active_isa() from now on; sets that the machine lacks are ignored.
void mask_isa_for_test(Isa isa);

/// The processor's name as the system gives it, or the architecture's.
std::string cpu_name();

/// Cores that this process may use: affinity and the cgroup's quota, at least 1.
int available_cores();

}  // namespace scanloom
