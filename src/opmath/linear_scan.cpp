// Runs lines of linear recurrences: chunk by chunk, on one thread or several.
#include "opmath/linear_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dot.h"
#include "base/thread_pool.h"

namespace scanloom::tensor {
namespace {

constexpr int kMaxCarried = kMaxLinearStates;
constexpr std::int64_t kChunksBetweenPolls = 8;
/// Fewer chunks per thread are not worth sharing.
constexpr std::int64_t kMinChunksOfThread = 4;
constexpr int kMaxGroups = 64;

/// The matrix times the state, plus `added`.
LinearState applied(const double (&matrix)[kMaxCarried][kMaxCarried], int states,
                    const LinearState& state, const LinearState& added) {
  LinearState result;
  for (int r = 0; r < states; ++r) {
    double& to = result.of[r];
    to = added.of[r];
    if (states > 1) to = multiply_add(matrix[r][1], state.of[1], to);
    to = multiply_add(matrix[r][0], state.of[0], to);
  }
  return result;
}

/// Moves a state from the beginning of a chunk to its end, given what the chunk adds. Returns
/// false, and leaves the state alone, if the result is not finite in T.
template <class T>
[[nodiscard]] bool carry(const LinearMap<T>& map, const LinearState& total, LinearState& state) {
  const double product[kMaxCarried][kMaxCarried] = {{total.of[1], 0}, {0, 0}};
  if (!state.is_finite) return false;
  const LinearState next =
      applied(map.varies ? product : map.chunk_power, map.states, state, total);
  constexpr auto kLargest = static_cast<double>(std::numeric_limits<T>::max());
  for (const double each : next.of)
    if (!(std::fabs(each) <= kLargest)) return false;
  state = next;
  return true;
}

/// Returns the states that rows have, given one in the basis of blocks, or the opposite.
template <class T>
LinearState in_basis(const LinearMap<T>& map, const double (&basis)[kMaxCarried][kMaxCarried],
                     const LinearState& state) {
  return map.has_basis && state.is_finite ? applied(basis, map.states, state, {}) : state;
}

/// Computes a chunk; returns whether it has a total.
template <class T>
bool run_chunk(LinearBlocksFn<T> blocks, LinearChunk<T>& chunk) {
  const LinearChunk<T> before = chunk;
  const std::int64_t whole = chunk.steps - chunk.steps % kLinearBlock<T>;
  const bool in_blocks =
      chunk.map->has_blocks && chunk.state.is_finite && (whole == 0 || blocks(chunk));
  if (!in_blocks) chunk = before;
  if (!chunk.only_total) run_linear_steps(chunk, in_blocks ? whole : 0);
  return in_blocks;
}

std::int64_t chunks_of(std::int64_t steps) { return (steps + kLinearChunk - 1) / kLinearChunk; }

/// The chunks of a line.
template <class T>
class Chunks {
 public:
  explicit Chunks(const LinearScan<T>& scan) : scan_(scan) {}

  /// Computes a chunk and its rows. `state`: before it; becomes that at the beginning of the next
  /// chunk, or after the last step.
  void run(std::int64_t index, LinearState& state) {
    LinearChunk<T> chunk = chunk_of(index);
    chunk.state = state;
    const std::int64_t first = index * kLinearChunk;
    point_rows(chunk, first);
    const bool has_total = run_chunk(scan_.blocks, chunk);
    put_rows(chunk, first, state);
    const bool is_last = first + chunk.steps == scan_.steps;
    if (is_last || !has_total || !carry(*scan_.map, chunk.total, state)) state = chunk.state;
  }

  /// Computes what a chunk adds to the state after it: a total that cannot be carried if its steps
  /// must be taken one by one.
  LinearState sum(std::int64_t index) {
    LinearChunk<T> chunk = chunk_of(index);
    chunk.only_total = true;
    if (run_chunk(scan_.blocks, chunk)) return chunk.total;
    return {{std::numeric_limits<double>::quiet_NaN(), 0}};
  }

 private:
  LinearChunk<T> chunk_of(std::int64_t index) {
    const std::int64_t first = index * kLinearChunk;
    LinearChunk<T> chunk{.map = scan_.map, .steps = std::min(kLinearChunk, scan_.steps - first)};
    chunk.stored = chunk.steps - (scan_.rows_before ? 1 : 0);
    for (int k = 0; k < scan_.map->inputs; ++k)
      chunk.x[k] = adjacent(scan_.x[k], scan_.x_step[k], first, chunk.steps, x_[k]);
    if (!scan_.map->varies) return chunk;
    chunk.factor = adjacent(scan_.factor, scan_.factor_step, first, chunk.steps, x_[1]);
    chunk.total.of[1] = 1;
    return chunk;
  }

  /// Returns elements of a line, copied if they are not adjacent.
  static const T* adjacent(const T* line, std::int64_t step, std::int64_t first, std::int64_t count,
                           T* copy) {
    const T* const from = line + first * step;
    if (step == 1) return from;
    for (std::int64_t t = 0; t < count; ++t) copy[t] = from[t * step];
    return copy;
  }

  T* row_at(int r, std::int64_t t) const { return scan_.rows[r] + t * scan_.row_step[r]; }

  void point_rows(LinearChunk<T>& chunk, std::int64_t first) {
    for (int r = 0; r < scan_.map->states; ++r) {
      if (scan_.rows[r] == nullptr) continue;
      chunk.rows[r] =
          scan_.row_step[r] == 1 ? row_at(r, first) + (scan_.rows_before ? 1 : 0) : y_[r];
    }
  }

  void put_rows(const LinearChunk<T>& chunk, std::int64_t first, const LinearState& before) {
    const std::int64_t offset = scan_.rows_before ? 1 : 0;
    const LinearState given = in_basis(*scan_.map, scan_.map->from_basis, before);
    for (int r = 0; r < scan_.map->states; ++r) {
      if (scan_.rows[r] == nullptr) continue;
      if (offset == 1)
        *row_at(r, first) = first == 0 ? scan_.state[r] : static_cast<T>(given.of[r]);
      if (scan_.row_step[r] == 1) continue;
      for (std::int64_t t = 0; t < chunk.stored; ++t) *row_at(r, first + offset + t) = y_[r][t];
    }
  }

  const LinearScan<T>& scan_;
  T x_[kMaxCarried][kLinearChunk],
      y_[kMaxCarried][kLinearChunk];  ///< copies of elements that are not adjacent
};

/// Runs chunks [begin, end) in order.
template <class T>
void run_range(const LinearScan<T>& scan, std::int64_t begin, std::int64_t end, LinearState& state,
               StopToken* stop) {
  Chunks<T> chunks(scan);
  for (std::int64_t i = begin; i < end; ++i) {
    if (stop != nullptr && i % kChunksBetweenPolls == 0 && stop->stop_requested()) return;
    chunks.run(i, state);
  }
}

/// Threads take a line in rounds: first one of them computes the first group of chunks, while each
/// other one sums a group after it. The states at the beginnings of the groups follow, and each
/// thread computes one more group.
template <class T>
class Shared {
 public:
  Shared(const LinearScan<T>& scan, int threads, LinearState* totals, StopToken* stop)
      : scan_(scan),
        groups_(std::min(threads, kMaxGroups)),
        totals_(totals),
        stop_(stop),
        count_(chunks_of(scan.steps)) {}

  void run(LinearState& state) {
    starts_[1] = state;
    parallel_for(groups_, groups_, [&](std::int64_t group) { first_round(group); });
    if (stop_ != nullptr && stop_->stopped()) return;
    const std::int64_t known = find_starts();
    if (known < groups_) {  // a state is not finite, or nearly so
      state = starts_[known];
      return run_range(scan_, begin_of(known), count_, state, stop_);
    }
    parallel_for(groups_, groups_, [&](std::int64_t i) {
      run_range(scan_, begin_of(i + 1), begin_of(i + 2), starts_[i + 1], stop_);
    });
    state = starts_[groups_];
  }

 private:
  [[nodiscard]] std::int64_t begin_of(std::int64_t group) const {
    return count_ * group / (groups_ + 1);
  }

  void first_round(std::int64_t group) {
    if (group == 0) return run_range(scan_, 0, begin_of(1), starts_[1], stop_);
    Chunks<T> chunks(scan_);
    for (std::int64_t i = begin_of(group); i < begin_of(group + 1); ++i) {
      if (stop_ != nullptr && i % kChunksBetweenPolls == 0 && stop_->stop_requested()) return;
      totals_[i] = chunks.sum(i);
    }
  }

  /// Finds the states at the beginnings of the groups; returns the last group that has one.
  std::int64_t find_starts() {
    for (std::int64_t group = 1; group < groups_; ++group) {
      starts_[group + 1] = starts_[group];
      for (std::int64_t i = begin_of(group); i < begin_of(group + 1); ++i)
        if (!carry(*scan_.map, totals_[i], starts_[group + 1])) return group;
    }
    return groups_;
  }

  const LinearScan<T>& scan_;
  const std::int64_t groups_;  ///< per round
  LinearState* const totals_;
  StopToken* const stop_;
  const std::int64_t count_;            ///< of chunks
  LinearState starts_[kMaxGroups + 1];  ///< by group: the state before it
};

}  // namespace

std::int64_t linear_scan_scratch(std::int64_t steps) { return chunks_of(steps); }

template <class T>
void run_linear_scan(LinearScan<T>& scan, int max_threads, LinearState* scratch, StopToken* stop) {
  const LinearMap<T>& map = *scan.map;
  const std::int64_t chunks = chunks_of(scan.steps);
  if (chunks == 0) return;
  LinearState state;
  for (int r = 0; r < map.states; ++r) {
    state.of[r] = scan.state[r];
    state.is_finite = state.is_finite && std::isfinite(scan.state[r]);
  }
  state = in_basis(map, map.to_basis, state);
  const std::int64_t threads =
      std::min<std::int64_t>({max_threads, pool_threads(), chunks / kMinChunksOfThread});
  if (scratch == nullptr || threads <= 1)
    run_range(scan, 0, chunks, state, stop);
  else
    Shared<T>(scan, static_cast<int>(threads), scratch, stop).run(state);
  state = in_basis(map, map.from_basis, state);
  for (int r = 0; r < map.states; ++r) scan.state[r] = static_cast<T>(state.of[r]);
}

template void run_linear_scan(LinearScan<float>&, int, LinearState*, StopToken*);
template void run_linear_scan(LinearScan<double>&, int, LinearState*, StopToken*);

}  // namespace scanloom::tensor
