// Nodes are put in an order in which they lead only to later ones, and their tests are written with
// x <= threshold: x < t is x <= t', where t' is the number before t; the others exchange branches
// or take several nodes. So there is one kind of node to walk.
#include "frontends/onnx/ops/tree_tables.h"

#include <cmath>
#include <limits>

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Shape;
using tensor::Tensor;

namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();

/// Lists the nodes that roots lead to, each before those that it leads to. Error: a cycle.
Expected<std::vector<std::int64_t>> ordered_nodes(const TreeModel& model) {
  enum class Seen : std::uint8_t { no, open, done };
  std::vector<Seen> seen(model.nodes.size(), Seen::no);
  std::vector<std::int64_t> order, stack;
  const auto state = [&](std::int64_t node) -> Seen& {
    return seen[static_cast<std::size_t>(node)];
  };
  // The last root first, so that after reversing the first tree is first.
  for (std::size_t root = model.roots.size(); root-- > 0;) {
    if (model.roots[root] >= 0) stack.push_back(model.roots[root]);
    while (!stack.empty()) {
      const std::int64_t at = stack.back();
      if (state(at) != Seen::no) {
        if (state(at) == Seen::open) order.push_back(at);
        state(at) = Seen::done;
        stack.pop_back();
        continue;
      }
      state(at) = Seen::open;
      const SplitNode& node = model.nodes[static_cast<std::size_t>(at)];
      for (const std::int64_t to : {node.when_true, node.when_false}) {
        if (to < 0) continue;
        if (state(to) == Seen::open)
          return invalid_model("node {} of a tree leads back to itself", to);
        if (state(to) == Seen::no) stack.push_back(to);
      }
    }
  }
  return std::vector<std::int64_t>(order.rbegin(), order.rend());
}

/// Returns how many nodes of the result a node becomes.
std::int64_t nodes_for(const SplitNode& node) {
  if (node.mode == SplitMode::member) return 2 * static_cast<std::int64_t>(node.members.size());
  return node.mode == SplitMode::eq || node.mode == SplitMode::neq ? 2 : 1;
}

/// The attributes as they grow. Real is the type of x.
template <class Real>
struct TreeLists {
  std::vector<std::int64_t> roots;
  std::vector<std::int32_t> features, when_true, when_false, leaf_starts = {0}, leaf_targets;
  std::vector<Real> thresholds, leaf_weights;
  std::vector<char> missing_true;

  /// Appends the test x <= threshold.
  void add(std::int64_t feature, Real threshold, bool missing, std::int64_t yes, std::int64_t no) {
    features.push_back(static_cast<std::int32_t>(feature));
    thresholds.push_back(threshold);
    missing_true.push_back(missing ? 1 : 0);
    when_true.push_back(static_cast<std::int32_t>(yes));
    when_false.push_back(static_cast<std::int32_t>(no));
  }
  /// Appends the two tests of x == value.
  void add_equal(std::int64_t feature, Real value, bool missing, std::int64_t yes,
                 std::int64_t no) {
    const auto second = static_cast<std::int64_t>(features.size()) + 1;
    add(feature, value, missing, second, no);
    add(feature, before(value), false, no, yes);
  }
  /// The greatest number less than `value`; NaN, which no number is less than, if there is none.
  static Real before(Real value) {
    constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
    if (value == -kInfinity) return std::numeric_limits<Real>::quiet_NaN();
    return std::nextafter(value, -kInfinity);
  }
};

template <class Real>
void add_node(TreeLists<Real>& lists, const SplitNode& node, std::int64_t yes, std::int64_t no) {
  const auto split = static_cast<Real>(node.split);
  const bool missing = node.missing_true;
  switch (node.mode) {
    case SplitMode::leq:
      return lists.add(node.feature, split, missing, yes, no);
    case SplitMode::lt:
      return lists.add(node.feature, lists.before(split), missing, yes, no);
    case SplitMode::gt:
      return lists.add(node.feature, split, !missing, no, yes);
    case SplitMode::gte:
      return lists.add(node.feature, lists.before(split), !missing, no, yes);
    case SplitMode::eq:
      return lists.add_equal(node.feature, split, missing, yes, no);
    case SplitMode::neq:  // NaN differs from every number
      return lists.add_equal(node.feature, split, false, no, yes);
    case SplitMode::member:
      break;
  }
  for (std::size_t i = 0; i < node.members.size(); ++i) {
    const bool last = i + 1 == node.members.size();
    const auto next = static_cast<std::int64_t>(lists.features.size()) + 2;
    lists.add_equal(node.feature, static_cast<Real>(node.members[i]), missing, yes,
                    last ? no : next);
  }
}

template <class Real>
Expected<void> add_leaves(TreeLists<Real>& lists, const TreeModel& model) {
  for (const std::vector<LeafWeight>& leaf : model.leaves) {
    for (const LeafWeight& each : leaf) {
      if (each.target < 0 || each.target >= model.targets)
        return invalid_model("a leaf has a weight for target {}, but there {} {}", each.target,
                             model.targets == 1 ? "is" : "are", model.targets);
      lists.leaf_targets.push_back(static_cast<std::int32_t>(each.target));
      lists.leaf_weights.push_back(static_cast<Real>(each.weight));
    }
    lists.leaf_starts.push_back(static_cast<std::int32_t>(lists.leaf_targets.size()));
  }
  return {};
}

Expected<void> check_numbers(const TreeModel& model, const std::vector<std::int64_t>& order) {
  std::int64_t nodes = 0, weights = 0;
  for (const std::int64_t at : order) {
    const SplitNode& node = model.nodes[static_cast<std::size_t>(at)];
    if (node.feature < 0 || node.feature > kMaxInt)
      return invalid_model("node {} of a tree tests feature {}", at, node.feature);
    nodes += nodes_for(node);
  }
  for (const std::vector<LeafWeight>& leaf : model.leaves)
    weights += static_cast<std::int64_t>(leaf.size());
  const std::int64_t most =
      std::max({nodes, weights, static_cast<std::int64_t>(model.leaves.size()), model.targets});
  if (most >= kMaxInt)
    return fail(Code::unsupported,
                "the trees have {} nodes, leaves or targets, but at most {} are "
                "possible",
                most, kMaxInt - 1);
  if (model.targets < 1) return invalid_model("there are {} targets", model.targets);
  return {};
}

template <class Real>
Expected<TreeLists<Real>> lists_of(const TreeModel& model) {
  SCANLOOM_TRY(const std::vector<std::int64_t> order, ordered_nodes(model));
  SCANLOOM_CHECK_OK(check_numbers(model, order));
  std::vector<std::int64_t> placed(model.nodes.size());
  std::int64_t next = 0;
  for (const std::int64_t at : order) {
    placed[static_cast<std::size_t>(at)] = next;
    next += nodes_for(model.nodes[static_cast<std::size_t>(at)]);
  }
  const auto place = [&](std::int64_t to) {
    return to < 0 ? to : placed[static_cast<std::size_t>(to)];
  };
  TreeLists<Real> lists;
  for (const std::int64_t root : model.roots) lists.roots.push_back(place(root));
  for (const std::int64_t at : order) {
    const SplitNode& node = model.nodes[static_cast<std::size_t>(at)];
    add_node(lists, node, place(node.when_true), place(node.when_false));
  }
  SCANLOOM_CHECK_OK(add_leaves(lists, model));
  return lists;
}

template <class T>
Tensor table(Composer& c, DType dtype, const std::vector<T>& values) {
  return c.take(
      Tensor::copy_of(dtype, Shape{static_cast<std::int64_t>(values.size())}, values.data()));
}

template <class Real>
Expected<ValueId> scores_of(Composer& c, ValueId x, const TreeModel& model, const char* aggregate) {
  SCANLOOM_TRY(const TreeLists<Real> lists, lists_of<Real>(model));
  const auto real = [&](const std::vector<Real>& list) { return table(c, dtype_of<Real>, list); };
  const auto ints = [&](const std::vector<std::int32_t>& list) {
    return table(c, DType::i32, list);
  };
  std::vector<ir::NamedAttr> attrs = {
      {"roots", lists.roots},
      {"features", ints(lists.features)},
      {"thresholds", real(lists.thresholds)},
      {"missing_true", table(c, DType::boolean, lists.missing_true)},
      {"when_true", ints(lists.when_true)},
      {"when_false", ints(lists.when_false)},
      {"leaf_starts", ints(lists.leaf_starts)},
      {"leaf_targets", ints(lists.leaf_targets)},
      {"leaf_weights", real(lists.leaf_weights)},
      {"targets", model.targets},
      {"aggregate", aggregate}};
  return c.op(ops::tree_ensemble_op, {x}, std::move(attrs));
}

}  // namespace

Expected<ValueId> tree_scores(Composer& c, ValueId x, const TreeModel& model,
                              const char* aggregate) {
  if (c.dtype(x) == DType::f64) return scores_of<double>(c, x, model, aggregate);
  return scores_of<float>(c, x, model, aggregate);
}

}  // namespace scanloom::onnx
