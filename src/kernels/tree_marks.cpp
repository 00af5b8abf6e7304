#include "kernels/tree_marks.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <span>
#include <tuple>

#include "kernels/isa_tables.h"
#include "kernels/kernel.h"

namespace scanloom::kernels {
namespace {

using tensor::TreeTables;

/// An inner node: unless its condition holds, the leaves [first, end) of its tree are cleared.
struct Condition {
  std::int32_t node = 0;
  int first = 0, end = 0;
};

/// The conditions of one tree, and its leaves from left to right, the side that holds first. Nodes
/// with several parents appear once for each.
struct UnrolledTree {
  std::vector<Condition> conditions;
  std::vector<std::int32_t> leaves;
  int depth = 0;
};

/// Returns nothing if there are more than `limit` leaves.
template <class Real>
std::optional<UnrolledTree> unroll(const TreeTables<Real>& tables, std::int64_t root,
                                   std::size_t limit) {
  enum class Next : std::uint8_t { when_true, when_false, leave };
  struct Visit {
    std::int64_t source;
    int first = 0;
    Next next = Next::when_true;
  };
  UnrolledTree tree;
  std::vector<Visit> path{{root}};
  while (!path.empty()) {
    Visit& visit = path.back();
    const auto leaves = static_cast<int>(tree.leaves.size());
    if (visit.source < 0) {
      if (tree.leaves.size() == limit) return std::nullopt;
      tree.leaves.push_back(static_cast<std::int32_t>(-1 - visit.source));
      tree.depth = std::max(tree.depth, static_cast<int>(path.size()) - 1);
      path.pop_back();
      continue;
    }
    const auto node = static_cast<std::size_t>(visit.source);
    switch (visit.next) {
      case Next::when_true:
        // Each node of a longer path leads to more leaves.
        if (path.size() > limit) return std::nullopt;
        visit.first = leaves;
        visit.next = Next::when_false;
        path.push_back({tables.when_true[node]});
        break;
      case Next::when_false:
        tree.conditions.push_back({static_cast<std::int32_t>(node), visit.first, leaves});
        visit.next = Next::leave;
        path.push_back({tables.when_false[node]});
        break;
      case Next::leave:
        path.pop_back();
        break;
    }
  }
  return tree;
}

template <class Real>
class MarkPacking {
 public:
  explicit MarkPacking(const TreeTables<Real>& tables)
      : tables_(tables), made_(std::make_shared<MarkForest<Real>>()) {}

  std::shared_ptr<const MarkForest<Real>> pack() {
    for (const std::int64_t root : tables_.roots) {
      const std::optional<UnrolledTree> tree = unroll(tables_, root, kMaxLeaves);
      if (!tree) return nullptr;
      add(*tree);
    }
    return made_;
  }

 private:
  using Word = MarkWord<Real>;
  static constexpr int kBits = kMarkBits<Real>;
  static constexpr std::size_t kMaxLeaves = std::size_t{kMaxMarkWords} * kBits;

  void add(const UnrolledTree& tree) {
    MarkedTree marked{.first = std::ssize(made_->thresholds),
                      .mask = std::ssize(made_->masks),
                      .leaf = std::ssize(made_->leaves),
                      .leaf_count = std::ssize(tree.leaves),
                      .words = (static_cast<int>(tree.leaves.size()) + kBits - 1) / kBits,
                      .depth = tree.depth,
                      .target = std::ssize(made_->targets),
                      .weight = std::ssize(made_->weights)};
    add_conditions(tree, marked);
    made_->leaves.insert(made_->leaves.end(), tree.leaves.begin(), tree.leaves.end());
    if (const auto targets = targets_of(tree.leaves.front()); agree_on(tree, targets)) {
      marked.targets = std::ssize(targets);
      made_->targets.insert(made_->targets.end(), targets.begin(), targets.end());
      for (std::int64_t i = 0; i < marked.targets; ++i)
        for (const std::int32_t leaf : tree.leaves)
          made_->weights.push_back(
              tables_.leaf_weights[number(tables_.leaf_starts[number(leaf)] + i)]);
    }
    made_->trees.push_back(marked);
  }

  /// Equal conditions of a tree, of which symmetric trees have many, become one.
  void add_conditions(const UnrolledTree& tree, MarkedTree& marked) {
    // By bits, as NaN has no order.
    const auto key = [&](const Condition& condition) {
      const auto node = static_cast<std::size_t>(condition.node);
      return std::tuple(tables_.missing_true[node], tables_.features[node],
                        std::bit_cast<Word>(tables_.thresholds[node]));
    };
    std::vector<Condition> sorted = tree.conditions;
    std::ranges::sort(sorted, {}, key);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (i == 0 || key(sorted[i]) != key(sorted[i - 1])) {
        const auto node = static_cast<std::size_t>(sorted[i].node);
        made_->thresholds.push_back(tables_.thresholds[node]);
        made_->columns.push_back(column_of(tables_.features[node]));
        made_->masks.resize(made_->masks.size() + number(marked.words), ~Word{0});
        ++marked.count;
        if (!tables_.missing_true[node]) ++marked.ordered;
      }
      Word* const masks = made_->masks.data() + made_->masks.size() - marked.words;
      for (int leaf = sorted[i].first; leaf < sorted[i].end; ++leaf)
        masks[leaf / kBits] &= ~(Word{1} << (leaf % kBits));
    }
  }

  [[nodiscard]] std::span<const std::int32_t> targets_of(std::int32_t leaf) const {
    const std::int32_t first = tables_.leaf_starts[number(leaf)];
    return tables_.leaf_targets.subspan(number(first),
                                        number(tables_.leaf_starts[number(leaf) + 1] - first));
  }
  [[nodiscard]] bool agree_on(const UnrolledTree& tree,
                              std::span<const std::int32_t> targets) const {
    return std::ranges::all_of(tree.leaves, [&](std::int32_t leaf) {
      return std::ranges::equal(targets_of(leaf), targets);
    });
  }

  std::uint32_t column_of(std::int32_t feature) {
    const auto next = static_cast<std::uint32_t>(made_->features.size());
    const auto [at, added] = columns_.try_emplace(feature, next);
    if (added) made_->features.push_back(feature);
    return at->second;
  }
  static std::size_t number(std::int64_t at) { return static_cast<std::size_t>(at); }

  const TreeTables<Real>& tables_;
  std::shared_ptr<MarkForest<Real>> made_;
  std::map<std::int32_t, std::uint32_t> columns_;
};

}  // namespace

template <class Real>
bool MarkForest<Real>::pays(int vector_bytes) const {
  // Instructions per step of kMarkRows walks, about; per condition; and to find the leaves.
  constexpr std::int64_t kWalkStep = 100, kCondition = 4, kTree = 160;
  const std::int64_t vectors = kMarkRows * std::int64_t{sizeof(Real)} / vector_bytes;
  std::int64_t marking = 0, walking = 0;
  for (const MarkedTree& tree : trees) {
    marking += tree.count * (kCondition + vectors * (1 + 2 * tree.words)) + kTree * tree.words;
    walking += kWalkStep * tree.depth;
  }
  return marking < walking;
}

template <class Real>
std::shared_ptr<const MarkForest<Real>> mark_forest(const TreeTables<Real>& tables,
                                                    PackCache* packs) {
  const auto make = [&] { return MarkPacking<Real>(tables).pack(); };
  if (packs == nullptr) return make();
  const auto address = [](const auto& table) {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(table.data()));
  };
  constexpr std::int64_t kMarks = 1;  // unlike the key of packed_forest
  const PackCache::Key key{
      tables.thresholds.data(),
      static_cast<int>(KernelId::tree_ensemble),
      {address(tables.roots), address(tables.features), address(tables.missing_true),
       address(tables.when_true), address(tables.when_false), address(tables.leaf_starts),
       address(tables.leaf_targets), address(tables.leaf_weights), tables.targets, kMarks}};
  return std::static_pointer_cast<const MarkForest<Real>>(
      packs->get(key, [&] { return std::static_pointer_cast<const void>(make()); }));
}

template struct MarkForest<float>;
template struct MarkForest<double>;
template std::shared_ptr<const MarkForest<float>> mark_forest(const TreeTables<float>&, PackCache*);
template std::shared_ptr<const MarkForest<double>> mark_forest(const TreeTables<double>&,
                                                               PackCache*);

#if defined(__x86_64__)
namespace N_SSE4 {
extern const MarkFns kMarkFns;
}
namespace N_AVX2 {
extern const MarkFns kMarkFns;
}
namespace N_AVX3 {
extern const MarkFns kMarkFns;
}

const MarkFns& mark_fns(Isa isa) {
  return table_for(isa, N_SSE4::kMarkFns, N_AVX2::kMarkFns, N_AVX3::kMarkFns);
}
#else
namespace N_NEON {
extern const MarkFns kMarkFns;
}

const MarkFns& mark_fns(Isa) { return N_NEON::kMarkFns; }
#endif

}  // namespace scanloom::kernels
