// Random trees, walked node by node here and by the kernel: for all numbers of rows around those
// that it interleaves, layouts, numbers of threads and kinds of leaves.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "opmath/tree_tables.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

using tensor::Tensor;

template <class Real>
struct RandomTrees {
  std::vector<std::int64_t> roots;
  std::vector<std::int32_t> features, when_true, when_false, leaf_starts = {0}, leaf_targets;
  std::vector<Real> thresholds, leaf_weights;
  std::vector<char> missing_true;
  int targets = 1;

  /// `weights`: how many each leaf has; -1: a random number.
  RandomTrees(unsigned seed, int trees, int depth, int feature_count, int target_count, int weights)
      : targets(target_count), random_(seed), feature_count_(feature_count), weights_(weights) {
    for (int tree = 0; tree < trees; ++tree) roots.push_back(grow(depth));
  }

  /// Lets every third node lead to the same node in both cases, so that it has two parents.
  void share_nodes() {
    for (std::size_t node = 0; node < features.size(); node += 3)
      when_false[node] = when_true[node];
  }

  [[nodiscard]] std::vector<Attr> attrs(const char* aggregate) const {
    const auto ints = [](const std::vector<std::int32_t>& list) {
      return *Tensor::copy_of(DType::i32, {std::ssize(list)}, list.data());
    };
    const auto real = [](const std::vector<Real>& list) {
      return *Tensor::copy_of(dtype_of<Real>, {std::ssize(list)}, list.data());
    };
    return {Attr(roots),
            Attr(ints(features)),
            Attr(real(thresholds)),
            Attr(*Tensor::copy_of(DType::boolean, {std::ssize(missing_true)}, missing_true.data())),
            Attr(ints(when_true)),
            Attr(ints(when_false)),
            Attr(ints(leaf_starts)),
            Attr(ints(leaf_targets)),
            Attr(real(leaf_weights)),
            Attr(targets),
            Attr(aggregate)};
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  std::int64_t grow(int depth) {
    if (depth == 0 || below(8) == 0) return add_leaf();
    const std::size_t node = features.size();
    features.push_back(below(feature_count_));
    thresholds.push_back(static_cast<Real>(below(64) - 32) / 16);
    missing_true.push_back(below(2) == 0 ? 1 : 0);
    when_true.push_back(0);
    when_false.push_back(0);
    when_true[node] = static_cast<std::int32_t>(grow(depth - 1));
    when_false[node] = static_cast<std::int32_t>(grow(depth - 1));
    return static_cast<std::int64_t>(node);
  }
  std::int64_t add_leaf() {
    const int count = weights_ < 0 ? below(4) : weights_;
    for (int i = 0; i < count; ++i) {
      leaf_targets.push_back(below(targets));
      leaf_weights.push_back(static_cast<Real>(below(2001) - 1000) / 300);
    }
    leaf_starts.push_back(static_cast<std::int32_t>(leaf_targets.size()));
    return 1 - std::ssize(leaf_starts);
  }

  std::mt19937 random_;
  int feature_count_, weights_;
};

/// The definition, row by row.
template <class Real>
std::vector<Real> expected_scores(const RandomTrees<Real>& trees, Buffer& x,
                                  const char* aggregate) {
  const std::string how = aggregate;
  std::vector<Real> scores;
  const std::int64_t columns = x.dims()[1];
  for (std::int64_t row = 0; row < x.dims()[0]; ++row) {
    std::vector<Real> sums(static_cast<std::size_t>(trees.targets));
    std::vector<bool> seen(sums.size());
    for (std::int64_t at : trees.roots) {
      while (at >= 0) {
        const auto node = static_cast<std::size_t>(at);
        const Real value = x.at<Real>(row * columns + trees.features[node]);
        const bool holds =
            std::isnan(value) ? trees.missing_true[node] != 0 : value <= trees.thresholds[node];
        at = holds ? trees.when_true[node] : trees.when_false[node];
      }
      const auto leaf = static_cast<std::size_t>(-1 - at);
      for (std::int32_t i = trees.leaf_starts[leaf]; i < trees.leaf_starts[leaf + 1]; ++i) {
        const auto target =
            static_cast<std::size_t>(trees.leaf_targets[static_cast<std::size_t>(i)]);
        const Real weight = trees.leaf_weights[static_cast<std::size_t>(i)];
        Real& sum = sums[target];
        if (how == "sum")
          sum += weight;
        else if (!seen[target] || (how == "min" ? weight < sum : weight > sum))
          sum = weight;
        seen[target] = true;
      }
    }
    scores.insert(scores.end(), sums.begin(), sums.end());
  }
  return scores;
}

template <class Real>
void expect_scores(const RandomTrees<Real>& trees, std::int64_t rows, std::int64_t columns,
                   const char* aggregate, Layout layout, int threads) {
  Buffer x(dtype_of<Real>, {rows, columns}, layout),
      y(dtype_of<Real>, {rows, trees.targets}, layout);
  x.fill_random(static_cast<unsigned>(rows));
  for (std::int64_t i = 0; i < x.elements(); i += 7)
    x.at<Real>(i) = std::numeric_limits<Real>::quiet_NaN();
  const Use use{.id = KernelId::tree_ensemble,
                .inputs = {&x},
                .outputs = {&y},
                .attrs = trees.attrs(aggregate)};
  ASSERT_EQ(run(use, active_isa(), threads), "");
  EXPECT_EQ(difference(y, expected_scores(trees, x, aggregate)), "")
      << rows << " rows, " << threads << " threads, " << aggregate;
}

template <class Real>
void expect_all_ways(const RandomTrees<Real>& trees, std::int64_t columns) {
  for (const std::int64_t rows : {0, 1, 2, 7, 8, 9, 15, 16, 17, 64, 515})
    for (const Layout layout : kLayouts)
      for (const char* aggregate : {"sum", "min", "max"})
        for (const int threads : {1, 2, 7})
          expect_scores(trees, rows, columns, aggregate, layout, threads);
}

TEST(TreeEnsemble, OneWeightPerLeaf) {
  expect_all_ways(RandomTrees<float>(1, 11, 6, 5, 1, 1), 5);
  expect_all_ways(RandomTrees<double>(2, 3, 9, 4, 1, 1), 6);
}

TEST(TreeEnsemble, SeveralWeightsPerLeaf) {
  expect_all_ways(RandomTrees<float>(3, 9, 5, 3, 4, 3), 3);
  expect_all_ways(RandomTrees<double>(4, 17, 4, 5, 3, -1), 5);
}

// Enough work for one row to be shared by trees.
TEST(TreeEnsemble, ManyTreesForFewRows) {
  const RandomTrees<float> trees(5, 7000, 6, 7, 1, 1);
  for (const std::int64_t rows : {1, 3})
    for (const int threads : {1, 2, 7})
      expect_scores(trees, rows, 7, "sum", Layout::contiguous, threads);
}

TEST(TreeEnsemble, TreesThatAreLeaves) {
  expect_all_ways(RandomTrees<float>(6, 5, 0, 1, 2, 2), 1);
  expect_all_ways(RandomTrees<float>(7, 0, 0, 1, 2, 2), 1);
}

TEST(TreeEnsemble, NodesWithSeveralParents) {
  RandomTrees<float> trees(10, 5, 7, 4, 1, 1);
  trees.share_nodes();
  expect_all_ways(trees, 4);
}

// Each node of a chain leads to the next one in both cases, so as a tree there are 2^40 leaves.
TEST(TreeEnsemble, RefusesWhatWouldBecomeTooLarge) {
  constexpr int kNodes = 40;
  RandomTrees<float> trees(11, 0, 0, 1, 1, 1);
  trees.roots = {0};
  for (int node = 0; node < kNodes; ++node) {
    trees.features.push_back(0);
    trees.thresholds.push_back(0);
    trees.missing_true.push_back(0);
    trees.when_true.push_back(node + 1 < kNodes ? node + 1 : -1);
    trees.when_false.push_back(trees.when_true.back());
  }
  trees.leaf_targets = {0};
  trees.leaf_weights = {1};
  trees.leaf_starts = {0, 1};
  Buffer x(DType::f32, {3, 1}), y(DType::f32, {3, 1});
  EXPECT_EQ(run({.id = KernelId::tree_ensemble,
                 .inputs = {&x},
                 .outputs = {&y},
                 .attrs = trees.attrs("sum")},
                active_isa()),
            "too many nodes with several parents");
}

// Features and distances that need wide nodes.
TEST(TreeEnsemble, ManyFeaturesAndLargeTrees) {
  constexpr std::int64_t kColumns = 40000;
  const RandomTrees<float> of_columns(12, 3, 6, kColumns, 1, 1);
  const RandomTrees<double> also(13, 3, 6, kColumns, 2, -1);
  const RandomTrees<float> deep(14, 1, 22, 3, 1, 1);  // about 200,000 nodes
  for (const std::int64_t rows : {1, 9}) {
    for (const Layout layout : kLayouts) {
      expect_scores(of_columns, rows, kColumns, "sum", layout, 2);
      expect_scores(also, rows, kColumns, "min", layout, 2);
    }
    expect_scores(deep, rows, 3, "sum", Layout::contiguous, 1);
  }
}

// Trees of one to four words of leaves, and of more, as marks or not; wide vectors and narrow ones.
TEST(TreeEnsemble, FewAndManyLeaves) {
  for (const int depth : {1, 3, 5, 6, 7, 8, 9})
    for (const std::int64_t rows : {7, 8, 16, 33, 200}) {
      const auto seed = static_cast<unsigned>(20 + depth);
      expect_scores(RandomTrees<float>(seed, 6, depth, 9, 3, 2), rows, 9, "sum", Layout::contiguous,
                    1);
      expect_scores(RandomTrees<double>(seed, 6, depth, 9, 1, 1), rows, 9, "max",
                    Layout::contiguous, 2);
    }
}

// All nodes of a level ask the same, and NaN is a threshold, too.
TEST(TreeEnsemble, EqualConditions) {
  RandomTrees<float> trees(30, 40, 6, 4, 3, 3);
  for (std::size_t node = 0; node < trees.features.size(); ++node) {
    trees.features[node] = static_cast<std::int32_t>(node % 2);
    trees.thresholds[node] = node % 3 == 0 ? -0.0F : node % 3 == 1 ? 0.0F : std::nanf("");
  }
  expect_all_ways(trees, 4);
}

// Every leaf of a tree has its weights for the same targets, in the same order.
TEST(TreeEnsemble, LeavesThatAgreeOnTargets) {
  RandomTrees<float> trees(31, 30, 5, 6, 3, 2);
  for (std::size_t i = 0; i < trees.leaf_targets.size(); ++i)
    trees.leaf_targets[i] = i % 2 == 0 ? 2 : 0;
  expect_all_ways(trees, 6);
}

// Enough rows and trees for several threads, each with columns and scores of its own.
TEST(TreeEnsemble, ManyRowsOnSeveralThreads) {
  const RandomTrees<double> trees(32, 300, 5, 30, 1, 1);
  for (const int threads : {1, 2, 7})
    expect_scores(trees, 300, 31, "sum", Layout::contiguous, threads);
}

TEST(TreeEnsemble, SharesPackedTrees) {
  const RandomTrees<float> trees(8, 4, 5, 3, 1, 1);
  PackCache packs;
  const std::vector<Attr> attrs = trees.attrs("sum");
  for (const std::int64_t rows : {3, 40}) {
    Buffer x(DType::f32, {rows, 3}), y(DType::f32, {rows, 1});
    x.fill_random(9);
    ASSERT_EQ(run({.id = KernelId::tree_ensemble,
                   .inputs = {&x},
                   .outputs = {&y},
                   .attrs = attrs,
                   .packs = &packs},
                  active_isa()),
              "");
    EXPECT_EQ(difference(y, expected_scores(trees, x, "sum")), "");
  }
}

}  // namespace
}  // namespace scanloom::kernels::testing
