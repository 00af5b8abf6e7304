#include "base/cpu.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/isa_sets.h"

namespace scanloom {
namespace {

Isa detect() {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
  return avx512 ? Isa::avx512 : avx2 ? Isa::avx2 : Isa::baseline;
#elif defined(__aarch64__)
  return Isa::neon;
#else
  return Isa::baseline;
#endif
}

bool parse_isa(std::string_view text, Isa& isa) {
  for (const Isa known : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::neon})
    if (text == isa_name(known)) return isa = known, true;
  if (text == "sse4") return isa = Isa::baseline, true;
  return false;
}

struct Choice {
  Isa isa;
  std::string_view warning;
};

Choice choose() {
  const Isa best = detect();
  const char* const text = std::getenv("SCANLOOM_ISA");
  if (text == nullptr || *text == '\0') return {best, {}};
  Isa wanted = best;
  if (!parse_isa(text, wanted))
    return {best, "SCANLOOM_ISA is none of baseline, sse4, avx2, avx512, neon; it is ignored"};
  const bool lesser = wanted == Isa::baseline || (wanted <= best && best != Isa::neon);
  if (wanted != best && !lesser)
    return {best, "SCANLOOM_ISA names an instruction set that this machine lacks; it is ignored"};
  return {wanted, {}};
}

const Choice& choice() {
  static const Choice chosen = choose();
  return chosen;
}

std::atomic<int>& mask() {
  static std::atomic<int> isa{-1};
  return isa;
}

/// The cgroup's quota in cores; 0 if there is none.
double quota_cores() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0)
    return std::atof(quota.c_str()) / period;
  std::ifstream v1("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double microseconds = 0;
  if (v1 >> microseconds && v1_period >> period && microseconds > 0 && period > 0)
    return microseconds / period;
  return 0;
}

}  // namespace

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::neon:
      return "neon";
  }
  return "baseline";
}

Isa active_isa() {
  const int masked = mask().load(std::memory_order_relaxed);
  return masked >= 0 ? static_cast<Isa>(masked) : choice().isa;
}

std::vector<Isa> machine_isas() {
  std::vector<Isa> isas = {Isa::baseline};
  const Isa best = detect();
  if (best == Isa::avx512) isas.push_back(Isa::avx2);
  if (best != Isa::baseline) isas.push_back(best);
  return isas;
}

std::string_view isa_warning() { return choice().warning; }

bool has_fma() { return fuses(active_isa()); }

void mask_isa_for_test(Isa isa) {
  const Isa best = choice().isa;
  if (isa == Isa::baseline || isa == best || (isa < best && best != Isa::neon))
    mask().store(static_cast<int>(isa), std::memory_order_relaxed);
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "AArch64";
#else
  return "unknown";
#endif
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = 1;
  if (sched_getaffinity(0, sizeof set, &set) == 0) cores = std::max(1, CPU_COUNT(&set));
  const double quota = quota_cores();
  if (quota > 0) cores = std::min(cores, std::max(1, static_cast<int>(std::ceil(quota))));
  return cores;
}

}  // namespace scanloom
