// Linear recurrences, s[t + 1] = A s[t] + G x[t], of one or two states, with the steps of a block
// in parallel. Cumulative sums are the case A = 1. With one state, A may differ from step to step.
//
// Steps are computed in blocks of 64 bytes. A block adds up what its inputs contribute in a tree,
// in pairs, then fours, and so on, and applies powers of A to the state before it, which is kept in
// f64. Blocks are grouped into chunks. A chunk also sums what it contributes to the state after it,
// starting from 0, so that the states at the beginnings of all chunks follow from few
// multiplications, and threads can take chunks in any order. Blocks and chunks are counted from the
// first step, so the bits depend neither on the number of threads nor on the instruction set,
// except for whether multiply-adds are fused.
//
// Two states are computed in a basis in which powers of A do not grow before they decay, where
// there is one: rounding errors would grow with them.
//
// A tree only ever combines neighbouring steps, so its partial sums are not larger than those of
// the steps in order. A chunk with a state that is not finite is computed step by step instead: a
// tree could overflow earlier, or multiply an infinity by a power that is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/stop_token.h"

namespace scanloom::tensor {

inline constexpr int kMaxLinearStates = 2;
inline constexpr std::int64_t kLinearChunk = 2048;  ///< steps
template <class T>
inline constexpr std::int64_t kLinearBlock = 64 / static_cast<std::int64_t>(sizeof(T));

/// A and G with what blocks need of them. Matrices are [row][column].
template <class T>
struct LinearMap {
  static constexpr int kMax = kMaxLinearStates;
  int states = 1, inputs = 1;
  /// Whether the factor of a step is A times an element of a sequence. There are then one state and
  /// one input.
  bool varies = false;
  T matrix[kMax][kMax] = {};  ///< A
  T gain[kMax][kMax] = {};    ///< G

  bool has_basis = false;  ///< whether blocks compute in another basis
  double to_basis[kMax][kMax] = {}, from_basis[kMax][kMax] = {};
  T row_basis[kMax][kMax] = {};               ///< from_basis, rounded
  T block_gain[kMax][kMax] = {};              ///< G in the basis
  T power[kMax][kMax][kLinearBlock<T>] = {};  ///< [..][i]: A^(i + 1) in the basis
  double block_power[kMax][kMax] = {};        ///< A^kLinearBlock in the basis
  double chunk_power[kMax][kMax] = {};        ///< A^kLinearChunk in the basis
  /// Whether steps may be computed in blocks: the powers are finite, and they do not grow.
  bool has_blocks = true;
};

/// `matrix` and `gain`: row by row. Powers are computed with about 100 bits. Those below the
/// smallest normal number of T become 0, because arithmetic on smaller ones is slow.
template <class T>
LinearMap<T> linear_map(int states, int inputs, bool varies, std::span<const double> matrix,
                        std::span<const double> gain);

/// A state, in the basis of blocks, or in that of the rows if it is not finite: the other one would
/// have differences of infinities.
struct LinearState {
  double of[kMaxLinearStates] = {};
  bool is_finite = true;
};

/// Up to kLinearChunk steps, at neighbouring addresses.
template <class T>
struct LinearChunk {
  const LinearMap<T>* map = nullptr;
  const T* x[kMaxLinearStates] = {};
  const T* factor = nullptr;       ///< only if the map varies
  T* rows[kMaxLinearStates] = {};  ///< the states after each step; null: not wanted
  std::int64_t steps = 0;
  std::int64_t stored = 0;  ///< the rows of how many steps: all, or all but the last one
  LinearState state;        ///< before the first step; becomes that after the last
  /// Becomes the state after the last step if it began with 0. If the map varies, the second number
  /// becomes the product of all factors, which must be 1 before.
  LinearState total;
  bool only_total = false;  ///< leaves `rows` and `state` alone
};

/// Computes the full blocks of a chunk; returns false if a state was not finite.
template <class T>
using LinearBlocksFn = bool (*)(LinearChunk<T>& chunk);

/// The plain form.
template <class T>
bool run_linear_blocks(LinearChunk<T>& chunk);

/// Computes the steps from `begin` on one after the other, and leaves `total` alone.
template <class T>
void run_linear_steps(LinearChunk<T>& chunk, std::int64_t begin);

/// A line of steps. Elements of neighbouring steps are `x_step` and `row_step` apart, which may be
/// negative.
template <class T>
struct LinearScan {
  const LinearMap<T>* map = nullptr;
  LinearBlocksFn<T> blocks = &run_linear_blocks<T>;
  const T* x[kMaxLinearStates] = {};
  std::int64_t x_step[kMaxLinearStates] = {1, 1};
  const T* factor = nullptr;  ///< only if the map varies
  std::int64_t factor_step = 1;
  T* rows[kMaxLinearStates] = {};  ///< null: not wanted
  std::int64_t row_step[kMaxLinearStates] = {1, 1};
  bool rows_before = false;  ///< rows are the states before each step, otherwise those after it
  std::int64_t steps = 0;
  T state[kMaxLinearStates] = {};  ///< before the first step; becomes that after the last
};

/// How many states threads share: the totals of the chunks.
std::int64_t linear_scan_scratch(std::int64_t steps);

/// Runs the line on at most `max_threads` threads. `scratch`: linear_scan_scratch states; null if
/// there is one thread. Ends early if `stop`, which may be null, says so.
template <class T>
void run_linear_scan(LinearScan<T>& scan, int max_threads, LinearState* scratch, StopToken* stop);

}  // namespace scanloom::tensor
