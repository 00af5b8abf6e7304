#include "kernels/product.h"

#include <algorithm>
#include <array>

#include "base/cache.h"
#include "base/thread_pool.h"

namespace scanloom::kernels {
namespace {

// A panel of B with this many rows stays in the L1 cache while strips of A pass over it.
constexpr std::int64_t kBlockRows = 256;
// Rows of C, and bytes of a row, per task.
constexpr std::int64_t kProductRows = 96;
// Rows with which waiting for B once is a part of the time that matters.
constexpr std::int64_t kMaxFetchingRows = 2 * kProductRows;
constexpr std::int64_t kMinTaskColumnBytes = 256, kTaskColumnBytes = 2048;

// A B larger than this leaves the L2 cache between two strips; blocks pay then.
std::int64_t cached_bytes() { return l2_cache_bytes() / 2; }

// The columns of a task: so few that all rows of B stay in the L2 cache from one strip to the next,
// and from one task to the next, unless even the fewest would not.
template <class T>
std::int64_t task_columns(const ProductFns<T>& fns, std::int64_t k) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  constexpr std::int64_t kMax = kTaskColumnBytes / kSize;
  const std::int64_t cached = cached_bytes() / (k * kSize + 1) / fns.panel * fns.panel;
  return cached < kMinTaskColumnBytes / kSize ? kMax : std::min(cached, kMax);
}

template <class T>
Strip<T> strip_of(const ProductFns<T>& fns, const Product<T>& p) {
  Strip<T> s;
  s.columns = p.b.n;
  s.k = p.b.k;
  s.a = p.a;
  s.a_row = p.a_row;
  s.a_step = p.a_step;
  s.padded = p.packed != nullptr;
  s.b = s.padded ? p.packed : p.b.data;
  s.b_step = s.padded ? fns.panel : p.b.step;
  s.b_panel = s.padded ? fns.panel * p.b.k : fns.panel;
  s.resume = p.resume;
  s.c = p.c;
  s.c_row = p.c_row;
  s.c_column = p.c_column;
  s.bias = p.bias;
  return s;
}

// Restricts the product to columns [first, first + count); first is a multiple of the panel.
template <class T>
Strip<T> columns_of(const ProductFns<T>& fns, Strip<T> s, std::int64_t first, std::int64_t count) {
  s.b += first / fns.panel * s.b_panel;
  s.c += first * s.c_column;
  if (s.bias != nullptr) s.bias += first;
  s.columns = count;
  return s;
}

bool stop_requested(tensor::StopToken* stop) { return stop != nullptr && stop->stop_requested(); }

// Calls f(strip) for blocks of k, in order.
template <class T, class F>
void for_each_block(const Strip<T>& whole, F&& f) {
  for (std::int64_t k = 0; k < whole.k; k += kBlockRows) {
    Strip<T> block = whole;
    block.k = std::min(kBlockRows, whole.k - k);
    block.a += k * whole.a_step;
    block.b += k * whole.b_step;
    block.resume = whole.resume || k > 0;
    if (k + block.k < whole.k) block.bias = nullptr;
    f(block);
  }
}

// Within a block, a panel of B meets all rows before the next panel does.
template <class T>
void in_blocks(const ProductFns<T>& fns, const Strip<T>& whole, std::int64_t m,
               tensor::StopToken* stop) {
  for_each_block(whole, [&](const Strip<T>& block) {
    if (stop_requested(stop)) return;
    for (std::int64_t j = 0; j < whole.columns; j += fns.panel)
      multiply_strips(fns, columns_of(fns, block, j, std::min(fns.panel, whole.columns - j)), m);
  });
}

// Columns of C whose elements are adjacent: a panel is summed elsewhere and stored once.
template <class T>
void into_columns(const ProductFns<T>& fns, const Strip<T>& whole, std::int64_t m,
                  tensor::StopToken* stop) {
  constexpr std::int64_t kMaxPanel = 128 / static_cast<std::int64_t>(sizeof(T));
  alignas(64) T sums[kProductRows * kMaxPanel];
  for (std::int64_t j = 0; j < whole.columns; j += fns.panel) {
    if (stop_requested(stop)) return;
    Strip<T> panel = columns_of(fns, whole, j, std::min(fns.panel, whole.columns - j));
    T* const to = panel.c;
    panel.c = sums;
    panel.c_row = fns.panel;
    panel.c_column = 1;
    for_each_block(panel, [&](const Strip<T>& block) { multiply_strips(fns, block, m); });
    std::int64_t row = 0;
    for (; row + 4 <= m; row += 4)
      fns.transpose4(sums + row * fns.panel, fns.panel, panel.columns, whole.c_column, to + row);
    for (; row < m; ++row)
      for (std::int64_t column = 0; column < panel.columns; ++column)
        to[column * whole.c_column + row] = sums[row * fns.panel + column];
  }
}

// Whether B is in no cache, meets too few rows to make up for waiting for it, and has panels of
// which two stay in the L2 cache.
template <class T>
bool fetches_panels(const ProductFns<T>& fns, const Product<T>& p, std::int64_t bytes) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t strips = (p.m + fns.rows - 1) / fns.rows;
  return p.packed_once && p.a_step == 1 && strips > 1 && p.m / strips >= kMinFetchingRows &&
         p.m <= kMaxFetchingRows && bytes > cached_bytes() &&
         p.b.k * fns.panel * kSize <= cached_bytes();
}

// B comes from memory: a panel meets all rows, and meanwhile the next one is fetched, so that the
// first strip does not wait for memory while the others do not use it.
template <class T>
void in_fetched_panels(const ProductFns<T>& fns, const Strip<T>& whole, std::int64_t m,
                       tensor::StopToken* stop) {
  const std::int64_t strips = (m + fns.rows - 1) / fns.rows;
  const std::int64_t bytes = kFetchStep * fns.panel * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t j = 0; j < whole.columns; j += fns.panel) {
    if (stop_requested(stop)) return;
    Strip<T> panel = columns_of(fns, whole, j, std::min(fns.panel, whole.columns - j));
    panel.ahead = reinterpret_cast<const std::byte*>(panel.b + panel.b_panel);
    panel.ahead_end = reinterpret_cast<const std::byte*>(panel.b + 2 * panel.b_panel);
    panel.ahead_lines = (bytes / kCacheLine + strips - 1) / strips;
    multiply_strips(fns, panel, m);
  }
}

// `fetches`: see fetches_panels().
template <class T>
void task(const ProductFns<T>& fns, const Strip<T>& s, std::int64_t m, bool fetches,
          tensor::StopToken* stop) {
  const bool of_columns = s.c_row == 1 && s.c_column != 1 && m > 1 && s.k > 0;
  if (of_columns && s.padded && !s.resume && m <= kProductRows)
    return into_columns(fns, s, m, stop);
  if (fetches) return in_fetched_panels(fns, s, m, stop);
  const bool blocks = m > fns.rows && s.k > kBlockRows &&
                      s.k * s.columns * static_cast<std::int64_t>(sizeof(T)) > cached_bytes();
  if (blocks)
    in_blocks(fns, s, m, stop);
  else
    multiply_strips(fns, s, m);
}

// Work (multiply-adds) that is not divided only to poll in between: some milliseconds.
constexpr std::int64_t kMaxUnpolledWork = 32'000'000;

// Weights smaller than this stay in the L1 cache as a whole.
constexpr std::int64_t kNearBytes = 32 * 1024;

}  // namespace

bool goes_backwards(const void* weights, std::int64_t bytes) {
  if (bytes <= kNearBytes) return false;
  // Turns of several matrices. Two that share an entry merely lose the gain.
  thread_local std::array<bool, 64> turns{};
  bool& turn = turns[(reinterpret_cast<std::uintptr_t>(weights) >> 12) % turns.size()];
  turn = !turn;
  return turn;
}

template <class T>
void multiply_strips(const ProductFns<T>& fns, Strip<T> s, std::int64_t m) {
  const std::int64_t strips = (m + fns.rows - 1) / fns.rows;
  for (std::int64_t number = 0; number < strips; ++number) {
    const std::int64_t height = m / strips + (number < m % strips ? 1 : 0);
    fns.strip[height - 1](s);
    s.a += height * s.a_row;
    s.c += height * s.c_row;
    if (s.ahead == nullptr) continue;
    s.ahead += s.k / kFetchStep * s.ahead_lines * kCacheLine;
    if (s.ahead >= s.ahead_end) s.ahead = nullptr, s.ahead_lines = 0;
  }
}

template <class T>
void multiply(const ProductFns<T>& fns, const Product<T>& p, int max_threads) {
  if (p.m == 0 || p.b.n == 0) return;
  Strip<T> whole = strip_of(fns, p);
  const std::int64_t columns = task_columns(fns, p.b.k);
  const std::int64_t bytes = p.b.n * p.b.k * static_cast<std::int64_t>(sizeof(T));
  const bool fetches = fetches_panels(fns, p, bytes);
  const std::int64_t products = p.m * p.b.n * p.b.k;
  const bool threads =
      max_threads > 1 && products > (p.m == 1 ? kMinThreadWorkOfRow : kMinThreadWork);
  // A single strip reads B once, in order: splitting it would only add startup costs.
  const bool small = p.m <= fns.rows || (p.m <= kProductRows && p.b.n <= columns);
  if (small && !threads && products <= kMaxUnpolledWork) {
    if (p.m == 1) whole.backwards = goes_backwards(whole.b, bytes);
    return task(fns, whole, p.m, fetches, p.stop);
  }
  // With few rows tasks are narrower, so that there are enough of them for all threads.
  const std::int64_t narrow = std::max(columns / 4 / fns.panel, std::int64_t{1}) * fns.panel;
  const std::int64_t most = threads && p.m <= kProductRows ? narrow : columns;
  const std::int64_t parts = (p.b.n + most - 1) / most;
  const std::int64_t panels = (p.b.n + fns.panel - 1) / fns.panel;
  const std::int64_t width = (panels + parts - 1) / parts * fns.panel;
  const std::int64_t across = (p.b.n + width - 1) / width;
  const std::int64_t down = (p.m + kProductRows - 1) / kProductRows;
  const std::int64_t rows = (p.m + down - 1) / down;
  const auto work = [&](std::int64_t index) {
    if (stop_requested(p.stop)) return;
    const std::int64_t row = index % down * rows, column = index / down * width;
    Strip<T> part = columns_of(fns, whole, column, std::min(width, p.b.n - column));
    part.a += row * part.a_row;
    part.c += row * part.c_row;
    if (row < p.m) task(fns, part, std::min(rows, p.m - row), fetches, p.stop);
  };
  if (threads) return parallel_for(across * down, max_threads, work);
  for (std::int64_t index = 0; index < across * down; ++index) work(index);
}

template void multiply_strips(const ProductFns<float>&, Strip<float>, std::int64_t);
template void multiply_strips(const ProductFns<double>&, Strip<double>, std::int64_t);
template void multiply_strips(const ProductFns<std::int32_t>&, Strip<std::int32_t>, std::int64_t);
template void multiply(const ProductFns<float>&, const Product<float>&, int);
template void multiply(const ProductFns<double>&, const Product<double>&, int);
template void multiply(const ProductFns<std::int32_t>&, const Product<std::int32_t>&, int);

}  // namespace scanloom::kernels
