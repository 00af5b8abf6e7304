#include "kernels/tree_forest.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace scanloom::kernels {
namespace {

using tensor::TreeTables;

/// Steps from each inner node to its nearest and its farthest leaf.
struct LeafSteps {
  std::vector<int> nearest, farthest;

  /// Nodes lead only to later ones, so all are known after one pass from the end.
  template <class Real>
  explicit LeafSteps(const TreeTables<Real>& tables)
      : nearest(tables.features.size()), farthest(tables.features.size()) {
    for (std::size_t node = nearest.size(); node-- > 0;) {
      const std::int32_t a = tables.when_true[node], b = tables.when_false[node];
      nearest[node] = 1 + std::min(from(nearest, a), from(nearest, b));
      farthest[node] = 1 + std::max(from(farthest, a), from(farthest, b));
    }
  }
  static int from(const std::vector<int>& steps, std::int64_t to) {
    return to < 0 ? 0 : steps[static_cast<std::size_t>(to)];
  }
};

/// The order of the nodes: for each packed node, what it is in the tables (a node, or -1 - a leaf),
/// and how many nodes after it its two followers begin.
struct ForestOrder {
  std::vector<std::int64_t> sources;
  std::vector<std::int64_t> onward;
  std::vector<std::int64_t> roots;

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(sources.size()); }
};

/// Orders the nodes of one tree after the other. A node is followed by its two followers and
/// theirs, so that two steps of a walk often stay in one or two lines of the cache; then by the
/// rest, level by level.
template <class Real>
class ForestOrdering {
 public:
  explicit ForestOrdering(const TreeTables<Real>& tables) : tables_(tables) {}

  /// Returns whether there are at most `limit` nodes.
  bool order(std::int64_t limit, ForestOrder& made) {
    for (const std::int64_t root : tables_.roots) {
      made.roots.push_back(made.size());
      add(root, made);
      queue_ = {made.roots.back()};
      for (std::size_t next = 0; next < queue_.size(); ++next) {
        if (made.size() > limit) return false;
        for (const std::int64_t follower : follow(queue_[next], made))
          if (follower >= 0)
            for (const std::int64_t later : follow(follower, made))
              if (later >= 0) queue_.push_back(later);
      }
    }
    return made.size() <= limit;
  }

 private:
  static void add(std::int64_t source, ForestOrder& made) {
    made.sources.push_back(source);
    made.onward.push_back(0);
  }
  /// Adds the two followers of a packed node; returns those that have followers themselves, or -1.
  std::array<std::int64_t, 2> follow(std::int64_t at, ForestOrder& made) {
    const std::int64_t source = made.sources[static_cast<std::size_t>(at)];
    std::array<std::int64_t, 2> inner = {-1, -1};
    if (source < 0) return inner;
    const auto node = static_cast<std::size_t>(source);
    made.onward[static_cast<std::size_t>(at)] = made.size() - at;
    const std::int64_t next[] = {tables_.when_false[node], tables_.when_true[node]};
    for (std::size_t i = 0; i < 2; ++i) {
      if (next[i] >= 0) inner[i] = made.size();
      add(next[i], made);
    }
    return inner;
  }

  const TreeTables<Real>& tables_;
  std::vector<std::int64_t> queue_;
};

template <class Word, class Real>
PackedNodes<Real, Word> pack_nodes(const TreeTables<Real>& tables, const ForestOrder& order) {
  PackedNodes<Real, Word> packed;
  packed.nodes.reserve(order.sources.size());
  for (std::size_t i = 0; i < order.sources.size(); ++i) {
    TreeNode<Real, Word> made{std::numeric_limits<Real>::quiet_NaN(), 0, 0};
    if (order.sources[i] >= 0) {
      const auto node = static_cast<std::size_t>(order.sources[i]);
      made.threshold = tables.thresholds[node];
      made.feature = static_cast<Word>(tables.features[node]);
      if (tables.missing_true[node]) made.feature |= TreeNode<Real, Word>::kMissingTrue;
      made.onward = static_cast<Word>(order.onward[i]);
    }
    packed.nodes.push_back(made);
  }
  return packed;
}

/// Whether features and distances fit into the fields of narrow nodes.
template <class Real>
bool is_narrow(const TreeTables<Real>& tables, const ForestOrder& order) {
  constexpr std::int64_t kMaxFeature = TreeNode<Real, std::uint16_t>::kMissingTrue - 1;
  constexpr std::int64_t kMaxOnward = std::numeric_limits<std::uint16_t>::max();
  return std::ranges::all_of(tables.features,
                             [](auto feature) { return feature <= kMaxFeature; }) &&
         std::ranges::all_of(order.onward, [](auto onward) { return onward <= kMaxOnward; });
}

template <class Real>
bool has_one_weight(const TreeTables<Real>& tables) {
  if (tables.targets != 1) return false;
  for (std::size_t leaf = 0; leaf + 1 < tables.leaf_starts.size(); ++leaf)
    if (tables.leaf_starts[leaf + 1] - tables.leaf_starts[leaf] != 1) return false;
  return true;
}

template <class Real>
void add_leaves(const TreeTables<Real>& tables, const ForestOrder& order,
                TreeForest<Real>& forest) {
  const bool one_weight = has_one_weight(tables);
  if (one_weight)
    forest.weights.resize(order.sources.size());
  else
    forest.leaves.resize(order.sources.size());
  for (std::size_t i = 0; i < order.sources.size(); ++i) {
    if (order.sources[i] >= 0) continue;
    const std::int64_t leaf = -1 - order.sources[i];
    if (one_weight)
      forest.weights[i] = tables.leaf_weights[static_cast<std::size_t>(leaf)];
    else
      forest.leaves[i] = static_cast<std::int32_t>(leaf);
  }
}

/// Returns null if there are too many nodes.
template <class Real>
std::shared_ptr<const TreeForest<Real>> make_forest(const TreeTables<Real>& tables) {
  // Each node of a tree has one parent; others may have their own, up to some size.
  constexpr std::int64_t kMaxCopies = std::int64_t{1} << 20;
  const std::int64_t limit =
      std::min(2 * (std::ssize(tables.features) + std::ssize(tables.roots)) + kMaxCopies,
               std::int64_t{std::numeric_limits<std::int32_t>::max()});
  ForestOrder order;
  if (!ForestOrdering<Real>(tables).order(limit, order)) return nullptr;
  auto forest = std::make_shared<TreeForest<Real>>();
  const LeafSteps steps(tables);
  for (std::size_t tree = 0; tree < tables.roots.size(); ++tree) {
    const std::int64_t root = tables.roots[tree];
    forest->trees.push_back({.root = static_cast<std::int32_t>(order.roots[tree]),
                             .nearest = LeafSteps::from(steps.nearest, root),
                             .depth = LeafSteps::from(steps.farthest, root)});
    forest->steps += forest->trees.back().depth;
  }
  forest->missing_true = std::ranges::find(tables.missing_true, true) != tables.missing_true.end();
  if (is_narrow(tables, order))
    forest->packed = pack_nodes<std::uint16_t>(tables, order);
  else
    forest->packed = pack_nodes<std::uint32_t>(tables, order);
  add_leaves(tables, order, *forest);
  return forest;
}

}  // namespace

template <class Real>
std::shared_ptr<const TreeForest<Real>> packed_forest(const TreeTables<Real>& tables,
                                                      PackCache* packs) {
  if (packs == nullptr) return make_forest(tables);
  const auto address = [](const auto& table) {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(table.data()));
  };
  const PackCache::Key key{
      tables.thresholds.data(),
      static_cast<int>(KernelId::tree_ensemble),
      {address(tables.roots), address(tables.features), address(tables.missing_true),
       address(tables.when_true), address(tables.when_false), address(tables.leaf_starts),
       address(tables.leaf_weights), tables.targets}};
  const auto make = [&] { return std::static_pointer_cast<const void>(make_forest(tables)); };
  return std::static_pointer_cast<const TreeForest<Real>>(packs->get(key, make));
}

template std::shared_ptr<const TreeForest<float>> packed_forest(const TreeTables<float>&,
                                                                PackCache*);
template std::shared_ptr<const TreeForest<double>> packed_forest(const TreeTables<double>&,
                                                                 PackCache*);

}  // namespace scanloom::kernels
