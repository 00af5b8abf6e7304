#include "kernels/measure.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "kernels/pack_cache.h"
#include "kernels/simd.h"

namespace scanloom::kernels {
namespace {

constexpr double kSeconds = 0.05;

/// Returns calls of `work` per second, from the fastest of many short spans: other processes may
/// slow some down.
template <class Work>
double calls_per_second(const Work& work) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::duration time) {
    return std::chrono::duration<double>(time).count();
  };
  std::int64_t calls = 1;
  double best = 0;
  const auto begin = Clock::now();
  while (seconds(Clock::now() - begin) < kSeconds) {
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < calls; ++i) work();
    const double took = seconds(Clock::now() - start);
    if (took < kSeconds / 50)
      calls *= 2;
    else
      best = std::max(best, static_cast<double>(calls) / took);
  }
  return best;
}

Strip<float> packed_strip(const ProductFns<float>& fns, std::int64_t columns, std::int64_t k,
                          const float* b) {
  Strip<float> s;
  s.columns = columns;
  s.k = k;
  s.b = b;
  s.b_step = fns.panel;
  s.b_panel = fns.panel * k;
  s.padded = true;
  return s;
}

}  // namespace

double measure_operations(Isa isa) {
  const ProductFns<float>& fns = simd_tables(isa).f32;
  constexpr std::int64_t kDepth = 64;
  const std::int64_t columns = 2 * fns.panel;
  const auto b = packed_memory<float>(columns * kDepth);
  std::vector<float> a(static_cast<std::size_t>(fns.rows * kDepth));
  std::vector<float> c(static_cast<std::size_t>(fns.rows * columns));
  Strip<float> s = packed_strip(fns, columns, kDepth, b.get());
  s.a = a.data();
  s.a_row = kDepth;
  s.a_step = 1;
  s.c = c.data();
  s.c_row = columns;
  const auto each = static_cast<double>(2 * fns.rows * columns * kDepth);
  return each * calls_per_second([&] { fns.strip[fns.rows - 1](s); });
}

double measure_reads(Isa isa, std::int64_t bytes) {
  const ProductFns<float>& fns = simd_tables(isa).f32;
  constexpr std::int64_t kDepth = 256;
  const std::int64_t depth = std::min(kDepth, bytes / 4 / fns.panel);
  const std::int64_t panels = std::max<std::int64_t>(bytes / 4 / (fns.panel * depth), 1);
  const std::int64_t columns = panels * fns.panel;
  const auto b = packed_memory<float>(columns * depth);
  std::vector<float> a(static_cast<std::size_t>(depth)), c(static_cast<std::size_t>(2 * columns));
  Strip<float> s = packed_strip(fns, columns, depth, b.get());
  s.a = a.data();
  s.a_step = 1;
  s.c = c.data();
  s.c_row = columns;
  // In the L1 cache a single row waits for its own sums rather than for the weights.
  const double calls = std::max(calls_per_second([&] { fns.strip[0](s); }),
                                calls_per_second([&] { fns.strip[1](s); }));
  return static_cast<double>(columns * depth * 4) * calls;
}

}  // namespace scanloom::kernels
