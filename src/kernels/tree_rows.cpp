#include "kernels/tree_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <utility>

#include "base/thread_pool.h"
#include "kernels/tree_marks.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::Status;
using tensor::TreeAggregate;
using tensor::TreeTables;

constexpr std::int64_t kRows = kMarkRows;
/// With fewer rows, a group is mostly empty.
constexpr std::int64_t kMinRows = kMarkRows / 2;
constexpr std::int64_t kMaxTreeSlots = 16;
/// Trees times rows that are worth another thread.
constexpr std::int64_t kThreadTrees = 8192;

template <class Real>
struct MarkSchedule {
  TreeTables<Real> tables;  ///< views of the node's attributes, which outlive the binding
  std::shared_ptr<const MarkForest<Real>> forest;
  void (*mark)(const MarkTree<Real>&) = nullptr;
  std::int64_t groups = 0, slots = 1;

  /// Numbers that one slot keeps: kRows of each column, then of each target.
  [[nodiscard]] std::int64_t slot_elements() const {
    return (std::ssize(forest->features) + tables.targets) * kRows;
  }
};

/// Scores groups of kRows rows. The last group is filled up with copies of the last row.
template <class Real>
class GroupScoring {
 public:
  GroupScoring(const MarkSchedule<Real>& schedule, const Call& call, std::int64_t slot)
      : schedule_(schedule),
        forest_(*schedule.forest),
        x_(call.in(0)),
        y_(call.out(0)),
        columns_(reinterpret_cast<Real*>(*call.scratch) + slot * schedule.slot_elements()),
        scores_(columns_ + std::ssize(forest_.features) * kRows) {}

  void score(std::int64_t group) {
    const std::int64_t first = group * kRows, count = std::min(kRows, x_.dims[0] - first);
    read_columns(first, count);
    const TreeAggregate aggregate = schedule_.tables.aggregate;
    std::fill_n(scores_, schedule_.tables.targets * kRows, tensor::first_score<Real>(aggregate));
    for (const MarkedTree& tree : forest_.trees) {
      find_leaves(tree);
      if (tree.targets == 0)
        add_leaves(tree);
      else if (aggregate == TreeAggregate::sum)
        add_to_targets<TreeAggregate::sum>(tree);
      else if (aggregate == TreeAggregate::min)
        add_to_targets<TreeAggregate::min>(tree);
      else
        add_to_targets<TreeAggregate::max>(tree);
    }
    for (std::int64_t row = 0; row < count; ++row)
      for (std::int64_t target = 0; target < schedule_.tables.targets; ++target)
        y_.data<Real>()[(first + row) * y_.strides[0] + target * y_.strides[1]] =
            tensor::last_score(aggregate, scores_[target * kRows + row]);
  }

 private:
  void read_columns(std::int64_t first, std::int64_t count) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      const Real* const from =
          x_.data<const Real>() + (first + std::min(row, count - 1)) * x_.strides[0];
      Real* to = columns_ + row;
      for (const std::int32_t feature : forest_.features) {
        *to = from[feature * x_.strides[1]];
        to += kRows;
      }
    }
  }

  /// Sets leaves_ to the leaf of each row, counted from the left.
  void find_leaves(const MarkedTree& tree) {
    std::array<MarkWord<Real>, kMaxMarkWords * kRows> left;
    schedule_.mark({.thresholds = forest_.thresholds.data() + tree.first,
                    .columns = forest_.columns.data() + tree.first,
                    .masks = forest_.masks.data() + tree.mask,
                    .ordered = tree.ordered,
                    .count = tree.count,
                    .words = tree.words,
                    .x = columns_,
                    .left = left.data()});
    for (std::size_t row = 0; row < kRows; ++row) {
      std::size_t word = 0;
      while (left[word * kRows + row] == 0) ++word;
      leaves_[row] =
          static_cast<int>(word) * kMarkBits<Real> + std::countr_zero(left[word * kRows + row]);
    }
  }

  template <TreeAggregate kAggregate>
  void add_to_targets(const MarkedTree& tree) {
    const Real* weights = forest_.weights.data() + tree.weight;
    for (std::int64_t i = 0; i < tree.targets; ++i) {
      const auto target = forest_.targets[static_cast<std::size_t>(tree.target + i)];
      Real* const scores = scores_ + target * kRows;
      for (std::size_t row = 0; row < kRows; ++row)
        scores[row] = tensor::next_score(kAggregate, scores[row], weights[leaves_[row]]);
      weights += tree.leaf_count;
    }
  }
  void add_leaves(const MarkedTree& tree) {
    const TreeTables<Real>& tables = schedule_.tables;
    for (std::size_t row = 0; row < kRows; ++row) {
      const auto leaf =
          static_cast<std::size_t>(forest_.leaves[static_cast<std::size_t>(tree.leaf) +
                                                  static_cast<std::size_t>(leaves_[row])]);
      const auto end = static_cast<std::size_t>(tables.leaf_starts[leaf + 1]);
      for (auto i = static_cast<std::size_t>(tables.leaf_starts[leaf]); i < end; ++i) {
        Real& score = scores_[tables.leaf_targets[i] * kRows + static_cast<std::int64_t>(row)];
        score = tensor::next_score(tables.aggregate, score, tables.leaf_weights[i]);
      }
    }
  }

  const MarkSchedule<Real>& schedule_;
  const MarkForest<Real>& forest_;
  const Operand &x_, &y_;
  Real *columns_, *scores_;
  std::array<int, kRows> leaves_ = {};
};

template <class Real>
Status run_marks(const Call& call) noexcept {
  const auto& schedule = *static_cast<const MarkSchedule<Real>*>(call.prepared);
  const std::int64_t slots = call.max_threads > 1 ? schedule.slots : 1;
  const auto work = [&](std::int64_t slot) {
    GroupScoring<Real> scoring(schedule, call, slot);
    for (std::int64_t group = slot; group < schedule.groups && !call.stop_requested();
         group += slots)
      scoring.score(group);
  };
  if (slots > 1)
    parallel_for(slots, call.max_threads, work);
  else
    work(0);
  return call.ok_or_stopped();
}

}  // namespace

template <class Real>
std::optional<Prepared> prepare_marked_trees(const PrepareCtx& ctx,
                                             const TreeTables<Real>& tables) {
  const std::int64_t rows = ctx.inputs[0].dims[0];
  if (rows < kMinRows) return std::nullopt;
  const MarkFns& fns = mark_fns(ctx.isa);
  MarkSchedule<Real> schedule{.tables = tables,
                              .forest = mark_forest(tables, ctx.packs),
                              .mark = fns.of<Real>(),
                              .groups = (rows + kRows - 1) / kRows};
  if (schedule.forest == nullptr || !schedule.forest->pays(fns.vector_bytes)) return std::nullopt;
  const std::int64_t work = rows * std::ssize(schedule.forest->trees);
  schedule.slots =
      std::clamp(work / kThreadTrees, std::int64_t{1}, std::min(kMaxTreeSlots, schedule.groups));
  const std::int64_t elements = schedule.slots * schedule.slot_elements();
  return Prepared{.state = std::make_shared<const MarkSchedule<Real>>(std::move(schedule)),
                  .scratch_bytes = elements * std::int64_t{sizeof(Real)},
                  .run = run_marks<Real>};
}

template std::optional<Prepared> prepare_marked_trees(const PrepareCtx&, const TreeTables<float>&);
template std::optional<Prepared> prepare_marked_trees(const PrepareCtx&, const TreeTables<double>&);

}  // namespace scanloom::kernels
