// Capabilities of this machine: the best instruction set that kernels may use, and the cores.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scanloom {

enum class Isa : std::uint8_t {
  baseline,  ///< what every machine of the architecture has: x86-64-v2 (SSE 4.2), Armv8-A
  avx2,      ///< with FMA and F16C
  avx512,    ///< F, BW, DQ, VL, CD, in addition to avx2
  neon,
};

/// "baseline", "avx2", "avx512", "neon".
std::string_view isa_name(Isa isa);

/// The best set of this machine, or a lesser one named by SCANLOOM_ISA (baseline, sse4, avx2,
/// avx512, neon). Reads the environment once. Thread safe.
Isa active_isa();
/// Why SCANLOOM_ISA was ignored; empty if it was followed or is not set.
std::string_view isa_warning();

/// Whether a multiply-add rounds once; without fused multiply-add it rounds twice.
constexpr bool fuses([[maybe_unused]] Isa isa) {
#if defined(__aarch64__)
  return true;  // baseline has it too
#else
  return isa != Isa::baseline;
#endif
}
/// fuses(active_isa()).
bool has_fma();

/// For tests: lowers active_isa() from now on; ignores sets that the machine lacks.
void mask_isa_for_test(Isa isa);

/// The processor's name as the system gives it, or else the architecture's.
std::string cpu_name();

/// Cores that this process may use, by affinity and cgroup quota; at least 1.
int available_cores();

}  // namespace scanloom
