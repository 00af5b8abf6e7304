// The plain form of steps and blocks of linear recurrences.
#include <algorithm>
#include <cmath>

#include "base/cpu.h"
#include "base/with_fma.h"
#include "opmath/linear_scan.h"

namespace scanloom::tensor {
namespace {

/// kFuses: whether a multiply-add rounds once.
template <class T, bool kFuses>
struct Plain {
  static constexpr int kMax = kMaxLinearStates;
  static constexpr std::int64_t kBlock = kLinearBlock<T>;
  using Chunk = LinearChunk<T>;
  using Map = LinearMap<T>;

  template <class Real>
  static Real multiply_add(Real a, Real b, Real c) {
    if constexpr (!kFuses) {
      const Real product = a * b;
      return product + c;
    } else if constexpr (sizeof(Real) == sizeof(float)) {
      return __builtin_fmaf(a, b, c);
    } else {
      return __builtin_fma(a, b, c);
    }
  }

  static T factor(const Chunk& chunk, std::int64_t t) {
    return chunk.map->matrix[0][0] * chunk.factor[t];
  }

  static void store(const Chunk& chunk, std::int64_t t, const T (&rows)[kMax]) {
    if (t >= chunk.stored) return;
    for (int r = 0; r < chunk.map->states; ++r)
      if (chunk.rows[r] != nullptr) chunk.rows[r][t] = rows[r];
  }

  // --- steps, in the given basis

  static void in_basis(const Map& map, const double (&basis)[kMax][kMax], LinearState& state) {
    if (!map.has_basis || !state.is_finite) return;
    const LinearState from = state;
    for (int r = 0; r < kMax; ++r)
      state.of[r] = basis[r][0] * from.of[0] + basis[r][1] * from.of[1];
  }

  /// Coefficients of 0 count as absent, so that infinities do not reach states through them.
  static void step(const Chunk& chunk, std::int64_t t, T (&s)[kMax]) {
    const Map& map = *chunk.map;
    T next[kMax] = {};
    for (int r = 0; r < map.states; ++r) {
      for (int k = 0; k < map.inputs; ++k)
        if (map.gain[r][k] != 0) next[r] = multiply_add(map.gain[r][k], chunk.x[k][t], next[r]);
      if (map.varies) next[r] = multiply_add(factor(chunk, t), s[0], next[r]);
      for (int c = map.states - 1; !map.varies && c >= 0; --c)
        if (map.matrix[r][c] != 0) next[r] = multiply_add(map.matrix[r][c], s[c], next[r]);
    }
    std::ranges::copy(next, s);
  }

  static void steps(Chunk& chunk, std::int64_t begin) {
    if (begin == chunk.steps) return;
    in_basis(*chunk.map, chunk.map->from_basis, chunk.state);
    T s[kMax] = {static_cast<T>(chunk.state.of[0]), static_cast<T>(chunk.state.of[1])};
    for (std::int64_t t = begin; t < chunk.steps; ++t) {
      step(chunk, t, s);
      store(chunk, t, s);
    }
    chunk.state = {{static_cast<double>(s[0]), static_cast<double>(s[1])},
                   std::isfinite(s[0]) && std::isfinite(s[1])};
    in_basis(*chunk.map, chunk.map->to_basis, chunk.state);
  }

  // --- blocks

  /// h + A^(i + 1) s, for all states.
  static void apply(const Map& map, std::int64_t i, const T (&s)[kMax], T (&h)[kMax]) {
    for (int r = 0; r < map.states; ++r) {
      if (map.states > 1) h[r] = multiply_add(map.power[r][1][i], s[1], h[r]);
      h[r] = multiply_add(map.power[r][0][i], s[0], h[r]);
    }
  }

  /// Moves a state past a block, given what the block adds.
  static void advance(const Map& map, const T (&added)[kMax], LinearState& state) {
    const LinearState from = state;
    for (int r = 0; r < map.states; ++r) {
      double& to = state.of[r];
      to = added[r];
      if (map.states > 1) to = multiply_add(map.block_power[r][1], from.of[1], to);
      to = multiply_add(map.block_power[r][0], from.of[0], to);
    }
  }

  static T term(const Chunk& chunk, int state, std::int64_t t) {
    const Map& map = *chunk.map;
    const T first = map.block_gain[state][0] * chunk.x[0][t];
    return map.inputs == 1 ? first : multiply_add(map.block_gain[state][1], chunk.x[1][t], first);
  }

  /// Adds to the second half of each 2 * half steps what the first half contributes. Vectors treat
  /// all lanes alike, so the first half adds 0 times the same.
  static void join(const Map& map, std::int64_t half, T (&h)[kBlock][kMax]) {
    for (std::int64_t begin = 0; begin < kBlock; begin += 2 * half) {
      const T before[kMax] = {h[begin + half - 1][0], h[begin + half - 1][1]};
      for (std::int64_t i = 0; i < 2 * half; ++i)
        for (int r = 0; r < map.states; ++r)
          for (int c = map.states - 1; c >= 0; --c) {
            const T power = i < half ? T{0} : map.power[r][c][i - half];
            h[begin + i][r] = multiply_add(power, before[c], h[begin + i][r]);
          }
    }
  }

  /// Stores the rows of a step; returns whether they and the states are finite.
  static bool put(const Chunk& chunk, std::int64_t t, const T (&h)[kMax]) {
    const Map& map = *chunk.map;
    T rows[kMax] = {h[0], h[1]};
    bool is_finite = std::isfinite(h[0]) && std::isfinite(h[1]);
    for (int r = 0; map.has_basis && r < kMax; ++r) {
      rows[r] = multiply_add(map.row_basis[r][0], h[0], map.row_basis[r][1] * h[1]);
      is_finite = is_finite && (chunk.rows[r] == nullptr || std::isfinite(rows[r]));
    }
    store(chunk, t, rows);
    return is_finite;
  }

  static bool blocks(Chunk& chunk) {
    if (chunk.map->varies) return varying_blocks(chunk);
    const Map& map = *chunk.map;
    bool is_finite = true;
    for (std::int64_t begin = 0; begin + kBlock <= chunk.steps; begin += kBlock) {
      T h[kBlock][kMax] = {};
      for (std::int64_t i = 0; i < kBlock; ++i)
        for (int r = 0; r < map.states; ++r) h[i][r] = term(chunk, r, begin + i);
      for (std::int64_t half = 1; half < kBlock; half *= 2) join(map, half, h);
      const T added[kMax] = {h[kBlock - 1][0], h[kBlock - 1][1]};
      advance(map, added, chunk.total);
      if (chunk.only_total) continue;
      const T state[kMax] = {static_cast<T>(chunk.state.of[0]), static_cast<T>(chunk.state.of[1])};
      for (std::int64_t i = 0; i < kBlock; ++i) {
        apply(map, i, state, h[i]);
        is_finite = put(chunk, begin + i, h[i]) && is_finite;
      }
      advance(map, added, chunk.state);
    }
    return is_finite;
  }

  static bool varying_blocks(Chunk& chunk) {
    bool is_finite = true;
    for (std::int64_t begin = 0; begin + kBlock <= chunk.steps; begin += kBlock) {
      T h[kBlock], by[kBlock];
      for (std::int64_t i = 0; i < kBlock; ++i) {
        h[i] = term(chunk, 0, begin + i);
        by[i] = factor(chunk, begin + i);
      }
      for (std::int64_t half = 1; half < kBlock; half *= 2)
        for (std::int64_t i = 0; i < kBlock; ++i) {
          if ((i & half) == 0) continue;
          const std::int64_t before = i / half * half - 1;
          h[i] = multiply_add(by[i], h[before], h[i]);
          by[i] = by[i] * by[before];
        }
      const double last = h[kBlock - 1], product = by[kBlock - 1];
      chunk.total.of[0] = multiply_add(product, chunk.total.of[0], last);
      chunk.total.of[1] = product * chunk.total.of[1];
      if (chunk.only_total) continue;
      const T state = static_cast<T>(chunk.state.of[0]);
      for (std::int64_t i = 0; i < kBlock; ++i) {
        const T row[kMax] = {multiply_add(by[i], state, h[i])};
        is_finite = put(chunk, begin + i, row) && is_finite;
      }
      chunk.state.of[0] = multiply_add(product, chunk.state.of[0], last);
    }
    return is_finite;
  }
};

// Flattened copies for machines with fused multiply-add.
template <class T>
SCANLOOM_WITH_FMA bool fused_blocks(LinearChunk<T>& chunk) {
  return Plain<T, true>::blocks(chunk);
}
template <class T>
SCANLOOM_WITH_FMA void fused_steps(LinearChunk<T>& chunk, std::int64_t begin) {
  Plain<T, true>::steps(chunk, begin);
}

}  // namespace

template <class T>
bool run_linear_blocks(LinearChunk<T>& chunk) {
  return has_fma() ? fused_blocks(chunk) : Plain<T, false>::blocks(chunk);
}

template <class T>
void run_linear_steps(LinearChunk<T>& chunk, std::int64_t begin) {
  if (has_fma())
    fused_steps(chunk, begin);
  else
    Plain<T, false>::steps(chunk, begin);
}

template bool run_linear_blocks(LinearChunk<float>&);
template bool run_linear_blocks(LinearChunk<double>&);
template void run_linear_steps(LinearChunk<float>&, std::int64_t);
template void run_linear_steps(LinearChunk<double>&, std::int64_t);

}  // namespace scanloom::tensor
