// Forms of decision trees and distances.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exporters/onnx/forms.h"
#include "opmath/tree_tables.h"

namespace scanloom::exporters::onnx::forms {
namespace {

using Ints = std::vector<std::int64_t>;
using tensor::TreeAggregate;
using Tables = tensor::TreeTables<float>;

/// The attributes of TreeEnsembleRegressor, whose nodes include the leaves and have one parent.
struct Regressor {
  Ints trees, ids, features, missing_true, when_true, when_false;
  std::vector<std::string> modes;
  std::vector<double> values;
  Ints target_trees, target_ids, targets;
  std::vector<double> weights;
};

/// Limit on the nodes that are written more than once because several nodes lead to them.
constexpr std::size_t kMaxCopies = std::size_t{1} << 20;

void add_leaf(const Tables& tables, std::int64_t tree, std::int64_t id, std::size_t leaf,
              Regressor& to) {
  for (std::int32_t i = tables.leaf_starts[leaf]; i < tables.leaf_starts[leaf + 1]; ++i) {
    const auto weight = static_cast<std::size_t>(i);
    to.target_trees.push_back(tree);
    to.target_ids.push_back(id);
    to.targets.push_back(tables.leaf_targets[weight]);
    to.weights.push_back(tables.leaf_weights[weight]);
  }
}

/// Adds a node whose branches are still unknown, and returns its position.
std::size_t add_node(const Tables& tables, std::int64_t tree, std::int64_t id, std::int64_t from,
                     Regressor& to) {
  const bool leaf = from < 0;
  const auto node = static_cast<std::size_t>(leaf ? 0 : from);
  to.trees.push_back(tree);
  to.ids.push_back(id);
  to.features.push_back(leaf ? 0 : tables.features[node]);
  to.missing_true.push_back(!leaf && tables.missing_true[node] ? 1 : 0);
  to.modes.emplace_back(leaf ? "LEAF" : "BRANCH_LEQ");
  to.values.push_back(leaf ? 0 : tables.thresholds[node]);
  to.when_true.push_back(0);
  to.when_false.push_back(0);
  if (leaf) add_leaf(tables, tree, id, static_cast<std::size_t>(-1 - from), to);
  return to.ids.size() - 1;
}

/// Writes a tree level by level; false if there are too many nodes.
bool add_tree(const Tables& tables, std::int64_t tree, Regressor& to) {
  Ints queue = {tables.roots[static_cast<std::size_t>(tree)]};
  const std::size_t limit = tables.features.size() + tables.leaf_starts.size() + kMaxCopies;
  for (std::size_t id = 0; id < queue.size(); ++id) {
    const std::size_t at = add_node(tables, tree, static_cast<std::int64_t>(id), queue[id], to);
    if (to.ids.size() > limit) return false;
    if (queue[id] < 0) continue;
    const auto node = static_cast<std::size_t>(queue[id]);
    to.when_true[at] = static_cast<std::int64_t>(queue.size());
    queue.push_back(tables.when_true[node]);
    to.when_false[at] = static_cast<std::int64_t>(queue.size());
    queue.push_back(tables.when_false[node]);
  }
  return true;
}

std::optional<Regressor> regressor_of(const Tables& tables) {
  Regressor made;
  for (std::size_t tree = 0; tree < tables.roots.size(); ++tree)
    if (!add_tree(tables, static_cast<std::int64_t>(tree), made)) return std::nullopt;
  return made;
}

/// The attributes of TreeEnsemble, which has arrays for inner nodes and for leaves. A tree that is
/// one leaf is a node that leads there in both cases.
template <class Real>
struct Ensemble {
  Ints roots, features, missing_true, when_true, true_leafs, when_false, false_leafs;
  std::vector<std::uint8_t> modes;
  std::vector<Real> splits;
  Ints targets;  ///< of the leaves
  std::vector<Real> weights;
};

/// Writes trees whose leaves have one weight each. Where they have several, a tree is written
/// several times in a row, copy k with weight k of each leaf.
template <class Real>
class EnsembleWriter {
 public:
  explicit EnsembleWriter(const tensor::TreeTables<Real>& tables)
      : tables_(tables), nodes_(std::ssize(tables.features)), leaves_(tables.leaves()) {
    for (std::int64_t leaf = 0; leaf < leaves_; ++leaf)
      copies_ = std::max(copies_, weight_count(leaf));
  }

  /// Returns nullopt, with the reason in `why`, if there are too many copies or a leaf has no
  /// weight that leaves a minimum or maximum as it is.
  std::optional<Ensemble<Real>> write(std::string& why) {
    const auto limit = static_cast<std::int64_t>(kMaxCopies);
    if (copies_ > 1 && nodes_ + leaves_ > limit / copies_) {
      why = "of leaves with several weights, whose trees would be copied too often";
      return std::nullopt;
    }
    for (std::int64_t copy = 0; copy < copies_; ++copy) {
      for (std::int64_t leaf = 0; leaf < leaves_; ++leaf) add_weight(leaf, copy);
      for (std::int64_t node = 0; node < nodes_; ++node) add_node(node, copy);
    }
    for (const std::int64_t root : tables_.roots)
      for (std::int64_t copy = 0; copy < copies_; ++copy) add_root(root, copy);
    if (!lacks_weight_) return std::move(made_);
    why = "of minima or maxima with a leaf without a weight";
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::int64_t first_weight(std::int64_t leaf) const {
    return tables_.leaf_starts[static_cast<std::size_t>(leaf)];
  }
  [[nodiscard]] std::int64_t weight_count(std::int64_t leaf) const {
    return first_weight(leaf + 1) - first_weight(leaf);
  }

  /// A leaf with fewer weights adds 0 to a sum; minima and maxima take its last one again.
  void add_weight(std::int64_t leaf, std::int64_t copy) {
    const bool sum = tables_.aggregate == TreeAggregate::sum;
    const std::int64_t count = weight_count(leaf), from = sum ? copy : std::min(copy, count - 1);
    const bool has = from >= 0 && from < count;
    lacks_weight_ |= !has && !sum;
    const auto at = static_cast<std::size_t>(has ? first_weight(leaf) + from : 0);
    made_.targets.push_back(has ? tables_.leaf_targets[at] : 0);
    made_.weights.push_back(has ? tables_.leaf_weights[at] : Real{0});
  }
  void add_node(std::int64_t number, std::int64_t copy) {
    const auto node = static_cast<std::size_t>(number);
    add_test(tables_.features[node], tables_.thresholds[node], tables_.missing_true[node]);
    add_branch(tables_.when_true[node], copy, made_.when_true, made_.true_leafs);
    add_branch(tables_.when_false[node], copy, made_.when_false, made_.false_leafs);
  }
  void add_root(std::int64_t root, std::int64_t copy) {
    made_.roots.push_back(root < 0 ? std::ssize(made_.features) : copy * nodes_ + root);
    if (root >= 0) return;
    add_test(0, Real{0}, false);
    add_branch(root, copy, made_.when_true, made_.true_leafs);
    add_branch(root, copy, made_.when_false, made_.false_leafs);
  }
  void add_test(std::int64_t feature, Real threshold, bool missing_true) {
    constexpr std::uint8_t kLessOrEqual = 0;
    made_.features.push_back(feature);
    made_.modes.push_back(kLessOrEqual);
    made_.splits.push_back(threshold);
    made_.missing_true.push_back(missing_true ? 1 : 0);
  }
  void add_branch(std::int64_t to, std::int64_t copy, Ints& targets, Ints& are_leafs) {
    targets.push_back(to < 0 ? copy * leaves_ - 1 - to : copy * nodes_ + to);
    are_leafs.push_back(to < 0 ? 1 : 0);
  }

  const tensor::TreeTables<Real>& tables_;
  std::int64_t nodes_, leaves_, copies_ = 1;
  bool lacks_weight_ = false;
  Ensemble<Real> made_;
};

template <class T>
tensor::Tensor list_of(const std::vector<T>& values) {
  return tensor::Tensor::of<T>({std::ssize(values)}, values);
}

/// The operator for trees since version 5 of the domain, the first that computes in f64.
template <class Real>
void write_ensemble(NodeEmitter& node) {
  const auto tables = tensor::TreeTables<Real>::of(node.node().attrs);
  std::string why;
  const std::optional<Ensemble<Real>> trees = EnsembleWriter<Real>(tables).write(why);
  if (!trees) return node.refuse(std::move(why));
  const auto how = tables.aggregate == TreeAggregate::sum   ? std::int64_t{1}
                   : tables.aggregate == TreeAggregate::min ? std::int64_t{2}
                                                            : std::int64_t{3};
  node.finish(
      "TreeEnsemble",
      {attribute("n_targets", tables.targets), attribute("aggregate_function", how),
       attribute("tree_roots", trees->roots), attribute("nodes_featureids", trees->features),
       attribute("nodes_modes", list_of<std::uint8_t>(trees->modes)),
       attribute("nodes_splits", list_of<Real>(trees->splits)),
       attribute("nodes_missing_value_tracks_true", trees->missing_true),
       attribute("nodes_truenodeids", trees->when_true),
       attribute("nodes_trueleafs", trees->true_leafs),
       attribute("nodes_falsenodeids", trees->when_false),
       attribute("nodes_falseleafs", trees->false_leafs),
       attribute("leaf_targetids", trees->targets),
       attribute("leaf_weights", list_of<Real>(trees->weights))},
      "ai.onnx.ml");
}

}  // namespace

void squared_distances(NodeEmitter& node) {
  const std::string a = node.op("Unsqueeze", {node.in(0), node.list({1})});
  const std::string b = node.op("Unsqueeze", {node.in(1), node.list({0})});
  const std::string difference = node.op("Sub", {a, b});
  node.need_opset(18);
  node.emit("ReduceSumSquare", {difference, node.list({2})}, node.outputs(),
            {attribute("keepdims", std::int64_t{0})});
}

void tree_ensemble(NodeEmitter& node) {
  if (node.dtype() != DType::f32) return write_ensemble<double>(node);
  // A model has one version of the domain, and from 5 on it has no operator with leaves among
  // nodes.
  if (node.graph().parts().machine_learning() >= ModelParts::kTreeEnsembleVersion)
    return write_ensemble<float>(node);
  const Tables tables = Tables::of(node.node().attrs);
  const std::optional<Regressor> trees = regressor_of(tables);
  if (!trees) return node.refuse("of nodes with several parents, which would be copied too often");
  const char* const aggregate = tables.aggregate == TreeAggregate::sum   ? "SUM"
                                : tables.aggregate == TreeAggregate::min ? "MIN"
                                                                         : "MAX";
  node.graph().parts().use_machine_learning();
  node.finish(
      "TreeEnsembleRegressor",
      {attribute("n_targets", tables.targets),
       attribute("aggregate_function", std::string(aggregate)),
       attribute("nodes_treeids", trees->trees), attribute("nodes_nodeids", trees->ids),
       attribute("nodes_featureids", trees->features), attribute("nodes_modes", trees->modes),
       attribute("nodes_values", trees->values),
       attribute("nodes_missing_value_tracks_true", trees->missing_true),
       attribute("nodes_truenodeids", trees->when_true),
       attribute("nodes_falsenodeids", trees->when_false),
       attribute("target_treeids", trees->target_trees),
       attribute("target_nodeids", trees->target_ids), attribute("target_ids", trees->targets),
       attribute("target_weights", trees->weights)},
      "ai.onnx.ml");
}

}  // namespace scanloom::exporters::onnx::forms
