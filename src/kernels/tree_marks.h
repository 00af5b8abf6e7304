// Trees of few leaves as conditions that rule out leaves, for many rows at once. Every condition of
// a tree is evaluated, in whatever order, by vectors of rows. One that does not hold clears the
// bits of the leaves that are reached only if it does; the first leaf that is left is where the
// walk from the root would end (QuickScorer, Lucchese et al. 2015). No step waits for another, and
// nothing is gathered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/cpu.h"
#include "kernels/pack_cache.h"
#include "opmath/tree_tables.h"

namespace scanloom::kernels {

/// Rows that are marked together.
inline constexpr int kMarkRows = 16;
/// Words of a tree: 128 leaves of f32, 256 of f64.
inline constexpr int kMaxMarkWords = 4;

/// Bits of leaves. Its width is that of a feature, so that comparisons select words.
template <class Real>
using MarkWord = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
template <class Real>
inline constexpr int kMarkBits = 8 * sizeof(MarkWord<Real>);

/// Conditions of one tree, and where to write the marks.
template <class Real>
struct MarkTree {
  const Real* thresholds = nullptr;        ///< one per condition
  const std::uint32_t* columns = nullptr;  ///< one per condition
  const MarkWord<Real>* masks = nullptr;   ///< by condition and word: the leaves to keep
  /// The last conditions hold for NaN, too; the `ordered` first ones do not.
  std::int64_t ordered = 0, count = 0;
  int words = 1;
  const Real* x = nullptr;         ///< [column][kMarkRows]
  MarkWord<Real>* left = nullptr;  ///< [word][kMarkRows]
};

struct MarkFns {
  void (*f32)(const MarkTree<float>&) = nullptr;
  void (*f64)(const MarkTree<double>&) = nullptr;
  int vector_bytes = 0;

  template <class Real>
  [[nodiscard]] auto of() const {
    if constexpr (sizeof(Real) == 4)
      return f32;
    else
      return f64;
  }
};

/// The functions that `isa` permits.
const MarkFns& mark_fns(Isa isa);

/// A tree of a MarkForest, as ranges of its arrays.
struct MarkedTree {
  std::int64_t first = 0, ordered = 0, count = 0;  ///< conditions
  std::int64_t mask = 0;                           ///< the first word
  std::int64_t leaf = 0, leaf_count = 0;           ///< leaves
  int words = 1;
  int depth = 0;  ///< steps to the farthest leaf
  /// If all leaves have weights for the same targets: these, as a range of targets. Otherwise none.
  std::int64_t target = 0, targets = 0;
  std::int64_t weight = 0;  ///< of the first target and leaf; those of the next target follow
};

template <class Real>
struct MarkForest {
  std::vector<Real> thresholds;
  std::vector<std::uint32_t> columns;
  std::vector<MarkWord<Real>> masks;
  std::vector<std::int32_t> features;  ///< by column: only those that trees read
  std::vector<std::int32_t> leaves;    ///< numbers in the tables, tree by tree from left to right
  std::vector<std::int32_t> targets;   ///< of trees whose leaves agree on them
  std::vector<Real> weights;           ///< of such trees: by tree, target and leaf
  std::vector<MarkedTree> trees;

  /// Whether marking rows takes fewer instructions than walking with them.
  [[nodiscard]] bool pays(int vector_bytes) const;
};

/// Returns the trees, from the cache if it has them; null if a tree has too many leaves. `packs`
/// may be null.
template <class Real>
std::shared_ptr<const MarkForest<Real>> mark_forest(const tensor::TreeTables<Real>& tables,
                                                    PackCache* packs);

}  // namespace scanloom::kernels
