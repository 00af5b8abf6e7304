// tree_ensemble: trees packed for walking. A walk takes the same steps whatever it finds, because
// leaves lead to themselves, so no branch is mispredicted. Several walks are interleaved, because
// each one waits for memory and comparisons: of several rows in one tree or, where there are few
// rows, of one row in several trees. Many rows and trees of few leaves are not walked at all
// (tree_rows.h). Weights are added tree by tree in all cases.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/thread_pool.h"
#include "kernels/tree_forest.h"
#include "kernels/tree_rows.h"

namespace scanloom::kernels {
namespace {
namespace tree_ensemble {

using tensor::Call;
using tensor::Operand;
using tensor::Status;
using tensor::TreeTables;

constexpr std::size_t kWalks = 8;
/// Rows that pass a tree before the next tree, so that its nodes stay in the caches.
constexpr std::int64_t kMaxRows = 512, kMinRows = 32;
/// The rows of a block leave room for the nodes of a tree in the L2 cache.
constexpr std::int64_t kBlockBytes = std::int64_t{128} << 10;
/// Steps of walks that are worth another thread.
constexpr std::int64_t kThreadSteps = 16384;
/// Most rows whose trees are shared among threads, which takes a node number per row and tree.
constexpr std::int64_t kFewRows = 16;
constexpr std::int64_t kMaxChunks = 256;

template <class Real>
struct Walks {
  std::array<const Real*, kWalks> rows;
  std::array<std::int32_t, kWalks> at;
};

/// Returns how many nodes a walk goes on, 0 at a leaf.
template <bool kMissing, bool kAdjacent, class Node, class Real>
std::int32_t step_from(const Node& node, const Real* row, std::int64_t column) {
  const std::int64_t feature = kMissing ? node.feature & ~Node::kMissingTrue : node.feature;
  const Real value = row[kAdjacent ? feature : feature * column];
  bool holds = value <= node.threshold;
  if constexpr (kMissing)
    holds = holds || ((value != value) & ((node.feature & Node::kMissingTrue) != 0));
  return static_cast<std::int32_t>(node.onward) + (holds ? 1 : 0);
}

/// Takes the steps to the nearest leaf without asking, then until all walks are at leaves.
template <bool kMissing, bool kAdjacent, class Word, class Real>
void walk(const TreeForest<Real>& forest, std::int64_t column, int nearest, int depth,
          Walks<Real>& walks) {
  const auto* const nodes = std::get_if<PackedNodes<Real, Word>>(&forest.packed)->nodes.data();
  Walks<Real> local = walks;
  // Without a loop over the walks, their places are kept in registers.
  const auto step_all = [&]<std::size_t... kWalk>(std::index_sequence<kWalk...>) {
    std::int32_t moved = 0;
    const auto take = [&](std::int32_t& at, const Real* row) {
      const std::int32_t onward = step_from<kMissing, kAdjacent>(nodes[at], row, column);
      at += onward;
      moved |= onward;
    };
    (take(local.at[kWalk], local.rows[kWalk]), ...);
    return moved;
  };
  constexpr std::make_index_sequence<kWalks> kAll;
  int step = 0;
  for (; step < nearest; ++step) step_all(kAll);
  while (step++ < depth && step_all(kAll) != 0) {
  }
  walks.at = local.at;
}

template <class Real>
using WalkFn = void (*)(const TreeForest<Real>&, std::int64_t, int, int, Walks<Real>&);

template <class Word, class Real>
WalkFn<Real> walk_with(bool missing, bool adjacent) {
  if (missing) return adjacent ? walk<true, true, Word, Real> : walk<true, false, Word, Real>;
  return adjacent ? walk<false, true, Word, Real> : walk<false, false, Word, Real>;
}

template <class Real>
WalkFn<Real> walk_of(const TreeForest<Real>& forest, bool adjacent) {
  return std::holds_alternative<PackedNodes<Real, std::uint16_t>>(forest.packed)
             ? walk_with<std::uint16_t, Real>(forest.missing_true, adjacent)
             : walk_with<std::uint32_t, Real>(forest.missing_true, adjacent);
}

template <class Real>
struct TreeSchedule {
  TreeTables<Real> tables;  ///< views of the node's attributes, which outlive the binding
  std::shared_ptr<const TreeForest<Real>> forest;
  WalkFn<Real> walk = nullptr;
  std::int64_t block = kMaxRows;
};

/// The operands of a call, by rows.
template <class Real>
class TreeRun {
 public:
  TreeRun(const TreeSchedule<Real>& schedule, const Call& call)
      : schedule_(schedule), forest_(*schedule.forest), x_(call.in(0)), y_(call.out(0)) {}

  /// Scores rows, a block at a time.
  void score(std::int64_t first, std::int64_t last) const {
    for (; first < last; first += schedule_.block)
      score_block(first, std::min(first + schedule_.block, last));
  }

  /// Finds the leaves of one row in the trees [first, last).
  void find_leaves(std::int64_t row, std::size_t first, std::size_t last,
                   std::int32_t* leaves) const {
    Walks<Real> walks;
    walks.rows.fill(row_at(row));
    for (std::size_t tree = first; tree < last; tree += kWalks) {
      const std::size_t count = std::min(kWalks, last - tree);
      int nearest = std::numeric_limits<int>::max(), depth = 0;
      for (std::size_t i = 0; i < kWalks; ++i) {
        // Walks that are left over repeat the first one.
        const PackedTree& packed = forest_.trees[tree + (i < count ? i : 0)];
        walks.at[i] = packed.root;
        nearest = std::min(nearest, packed.nearest);
        depth = std::max(depth, packed.depth);
      }
      schedule_.walk(forest_, x_.strides[1], nearest, depth, walks);
      std::copy_n(walks.at.begin(), count, leaves + (tree - first));
    }
  }

  void begin_row(std::int64_t row) const {
    for (std::int64_t target = 0; target < schedule_.tables.targets; ++target)
      score_at(row, target) = tensor::first_score<Real>(schedule_.tables.aggregate);
  }
  void add_leaf(std::int64_t row, std::int32_t leaf) const {
    const TreeTables<Real>& tables = schedule_.tables;
    const auto at = static_cast<std::size_t>(leaf);
    if (forest_.one_weight()) {
      Real& score = score_at(row, 0);
      score = tensor::next_score(tables.aggregate, score, forest_.weights[at]);
      return;
    }
    const auto number = static_cast<std::size_t>(forest_.leaves[at]);
    const auto end = static_cast<std::size_t>(tables.leaf_starts[number + 1]);
    for (auto i = static_cast<std::size_t>(tables.leaf_starts[number]); i < end; ++i) {
      Real& score = score_at(row, tables.leaf_targets[i]);
      score = tensor::next_score(tables.aggregate, score, tables.leaf_weights[i]);
    }
  }
  void end_row(std::int64_t row) const {
    for (std::int64_t target = 0; target < schedule_.tables.targets; ++target)
      score_at(row, target) = tensor::last_score(schedule_.tables.aggregate, score_at(row, target));
  }

 private:
  [[nodiscard]] const Real* row_at(std::int64_t row) const {
    return x_.data<const Real>() + row * x_.strides[0];
  }
  [[nodiscard]] Real& score_at(std::int64_t row, std::int64_t target) const {
    return y_.data<Real>()[row * y_.strides[0] + target * y_.strides[1]];
  }

  void score_block(std::int64_t first, std::int64_t last) const {
    for (std::int64_t row = first; row < last; ++row) begin_row(row);
    constexpr auto kStep = static_cast<std::int64_t>(kWalks);
    const std::int64_t whole = last - (last - first) % kStep;
    if (whole > first) score_by_rows(first, whole);
    for (std::int64_t row = whole; row < last; ++row) score_by_trees(row);
    for (std::int64_t row = first; row < last; ++row) end_row(row);
  }

  /// Sends all rows, a multiple of kWalks, through one tree after the other.
  void score_by_rows(std::int64_t first, std::int64_t last) const {
    for (const PackedTree& tree : forest_.trees)
      for (std::int64_t row = first; row < last; row += kWalks) {
        Walks<Real> walks;
        for (std::size_t i = 0; i < kWalks; ++i)
          walks.rows[i] = row_at(row + static_cast<std::int64_t>(i));
        walks.at.fill(tree.root);
        schedule_.walk(forest_, x_.strides[1], tree.nearest, tree.depth, walks);
        add_leaves(row, walks.at);
      }
  }

  /// Adds the leaves that kWalks adjacent rows have reached.
  void add_leaves(std::int64_t row, const std::array<std::int32_t, kWalks>& leaves) const {
    if (forest_.one_weight() && schedule_.tables.aggregate == tensor::TreeAggregate::sum) {
      Real* const scores = &score_at(row, 0);
      const std::int64_t step = y_.strides[0];
      const Real* const weights = forest_.weights.data();
      for (std::size_t i = 0; i < kWalks; ++i)
        scores[static_cast<std::int64_t>(i) * step] += weights[leaves[i]];
      return;
    }
    for (std::size_t i = 0; i < kWalks; ++i)
      add_leaf(row + static_cast<std::int64_t>(i), leaves[i]);
  }

  void score_by_trees(std::int64_t row) const {
    std::array<std::int32_t, kWalks> leaves;
    for (std::size_t tree = 0; tree < forest_.trees.size(); tree += kWalks) {
      const std::size_t end = std::min(tree + kWalks, forest_.trees.size());
      find_leaves(row, tree, end, leaves.data());
      for (std::size_t i = 0; i < end - tree; ++i) add_leaf(row, leaves[i]);
    }
  }

  const TreeSchedule<Real>& schedule_;
  const TreeForest<Real>& forest_;
  const Operand &x_, &y_;
};

/// Shares the trees of a few rows among threads, then adds their weights in order.
template <class Real>
void run_few_rows(const TreeRun<Real>& run, std::int64_t rows, std::size_t trees,
                  std::int64_t chunks, const Call& call) {
  auto* const leaves = reinterpret_cast<std::int32_t*>(*call.scratch);
  const auto find = [&](std::int64_t chunk) {
    const auto part = static_cast<std::size_t>(chunk), parts = static_cast<std::size_t>(chunks);
    const std::size_t first = trees * part / parts, last = trees * (part + 1) / parts;
    for (std::int64_t row = 0; row < rows; ++row)
      run.find_leaves(row, first, last, leaves + static_cast<std::size_t>(row) * trees + first);
  };
  parallel_for(chunks, call.max_threads, find);
  for (std::int64_t row = 0; row < rows; ++row) {
    run.begin_row(row);
    for (std::size_t tree = 0; tree < trees; ++tree)
      run.add_leaf(row, leaves[static_cast<std::size_t>(row) * trees + tree]);
    run.end_row(row);
  }
}

template <class Real>
Status run_trees(const Call& call) noexcept {
  const auto& schedule = *static_cast<const TreeSchedule<Real>*>(call.prepared);
  const TreeRun<Real> run(schedule, call);
  const std::int64_t rows = call.in(0).dims[0];
  const std::int64_t shares =
      std::min<std::int64_t>(call.max_threads, rows * schedule.forest->steps / kThreadSteps);
  if (shares < 2) {
    run.score(0, rows);
    return Status::ok;
  }
  if (rows <= kFewRows) {
    run_few_rows(run, rows, schedule.forest->trees.size(), shares, call);
    return Status::ok;
  }
  // A few parts per thread, because rows take different times; of whole groups of walks.
  constexpr auto kStep = static_cast<std::int64_t>(kWalks);
  const std::int64_t wanted = std::min(4 * shares, kMaxChunks);
  const std::int64_t part = (rows / wanted + kStep) / kStep * kStep;
  const auto score = [&](std::int64_t chunk) {
    if (!call.stop_requested()) run.score(chunk * part, std::min((chunk + 1) * part, rows));
  };
  parallel_for((rows + part - 1) / part, call.max_threads, score);
  return call.ok_or_stopped();
}

template <class Real>
Prepared prepare_trees(const PrepareCtx& ctx) {
  const Operand& x = ctx.inputs[0];
  TreeSchedule<Real> schedule{.tables = TreeTables<Real>::of(ctx.attrs)};
  if (x.dims[1] == 0) return Prepared::no("rows without features");
  for (const std::int32_t feature : schedule.tables.features)
    if (feature >= x.dims[1]) return Prepared::no("a feature that x lacks");
  if (std::optional<Prepared> marked = prepare_marked_trees(ctx, schedule.tables))
    return *std::move(marked);
  schedule.forest = packed_forest(schedule.tables, ctx.packs);
  if (schedule.forest == nullptr) return Prepared::no("too many nodes with several parents");
  schedule.walk = walk_of(*schedule.forest, x.strides[1] == 1);
  const std::int64_t row_bytes = x.dims[1] * std::int64_t{sizeof(Real)};
  schedule.block = std::clamp(kBlockBytes / row_bytes / 8 * 8, kMinRows, kMaxRows);
  const auto trees = static_cast<std::int64_t>(schedule.tables.roots.size());
  const std::int64_t few = x.dims[0] <= kFewRows ? x.dims[0] * trees : 0;
  return {.state = std::make_shared<const TreeSchedule<Real>>(std::move(schedule)),
          .scratch_bytes = few * std::int64_t{sizeof(std::int32_t)},
          .run = run_trees<Real>};
}

Prepared prepare(const PrepareCtx& ctx) {
  return ctx.inputs[0].dtype == DType::f32 ? prepare_trees<float>(ctx) : prepare_trees<double>(ctx);
}

}  // namespace tree_ensemble
}  // namespace

extern constinit const KernelDef tree_ensemble_kernel{
    .name = "tree_ensemble",
    .doc = "Decision trees, packed: several walks interleaved, or all conditions for many rows.",
    .prepare = tree_ensemble::prepare,
    .run = tree_ensemble::run_trees<float>,
};

}  // namespace scanloom::kernels
