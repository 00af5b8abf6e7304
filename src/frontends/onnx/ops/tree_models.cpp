// TreeEnsembleClassifier and TreeEnsembleRegressor: trees whose nodes are named by the numbers of
// tree and node.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "frontends/onnx/ops/attribute_tensors.h"
#include "frontends/onnx/ops/class_labels.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/tree_node_table.h"
#include "frontends/onnx/ops/tree_tables.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::string_view kLeaf = "LEAF";

struct NodeLists {
  Ints trees, ids, features, when_true, when_false, missing;
  std::vector<std::string> modes;
  std::vector<double> values;
};

Expected<NodeLists> read_node_lists(NodeCtx& ctx) {
  ctx.ignore("nodes_hitrates");
  ctx.ignore("nodes_hitrates_as_tensor");
  NodeLists lists;
  SCANLOOM_TRY(lists.trees, ctx.integers("nodes_treeids"));
  const std::size_t count = lists.trees.size();
  const auto read = [&](const char* name, Ints& list) -> Expected<void> {
    SCANLOOM_TRY(list, ctx.integers(name));
    return check_entries(name, list.size(), count);
  };
  SCANLOOM_CHECK_OK(read("nodes_nodeids", lists.ids));
  SCANLOOM_CHECK_OK(read("nodes_featureids", lists.features));
  SCANLOOM_CHECK_OK(read("nodes_truenodeids", lists.when_true));
  SCANLOOM_CHECK_OK(read("nodes_falsenodeids", lists.when_false));
  SCANLOOM_TRY(lists.modes, ctx.texts("nodes_modes"));
  SCANLOOM_CHECK_OK(check_entries("nodes_modes", lists.modes.size(), count));
  SCANLOOM_TRY(lists.values, numbers_either_way(ctx, "nodes_values"));
  SCANLOOM_CHECK_OK(check_entries("nodes_values", lists.values.size(), count));
  SCANLOOM_TRY(lists.missing, ctx.integers("nodes_missing_value_tracks_true"));
  if (!lists.missing.empty())
    SCANLOOM_CHECK_OK(
        check_entries("nodes_missing_value_tracks_true", lists.missing.size(), count));
  lists.missing.resize(count);
  return lists;
}

Expected<SplitMode> mode_of(const std::string& name) {
  static const std::map<std::string, SplitMode, std::less<>> kModes = {
      {"BRANCH_LEQ", SplitMode::leq}, {"BRANCH_LT", SplitMode::lt}, {"BRANCH_GTE", SplitMode::gte},
      {"BRANCH_GT", SplitMode::gt},   {"BRANCH_EQ", SplitMode::eq}, {"BRANCH_NEQ", SplitMode::neq}};
  const auto found = kModes.find(name);
  if (found == kModes.end())
    return invalid_model("attribute 'nodes_modes' has the unknown mode '{}'", name);
  return found->second;
}

/// Numbers the nodes of a model as branches of TreeModel.
Expected<TreeNodeTable> number_nodes(const NodeLists& lists, TreeModel& model) {
  std::vector<TreeNodeTable::Row> rows;
  rows.reserve(lists.trees.size());
  // About half of the nodes are leaves.
  model.nodes.reserve(lists.trees.size() / 2 + 1);
  model.leaves.reserve(lists.trees.size() / 2 + 1);
  const std::string* known = nullptr;  // most nodes have the mode of an earlier one
  std::optional<SplitMode> mode;
  for (std::size_t i = 0; i < lists.trees.size(); ++i) {
    const bool is_leaf = lists.modes[i] == kLeaf;
    if (!is_leaf && (known == nullptr || *known != lists.modes[i])) {
      SCANLOOM_TRY(mode, mode_of(lists.modes[i]));
      known = &lists.modes[i];
    }
    const auto number =
        static_cast<std::int64_t>(is_leaf ? model.leaves.size() : model.nodes.size());
    rows.push_back({lists.trees[i], lists.ids[i], is_leaf ? -1 - number : number});
    if (is_leaf)
      model.leaves.emplace_back();
    else
      model.nodes.push_back({.mode = *mode,
                             .feature = lists.features[i],
                             .split = lists.values[i],
                             .missing_true = lists.missing[i] == 1});
  }
  return TreeNodeTable::of(std::move(rows));
}

Expected<void> connect_nodes(const NodeLists& lists, TreeNodeTable& table, TreeModel& model) {
  for (std::size_t i = 0; i < lists.trees.size(); ++i) {
    if (lists.modes[i] == kLeaf) continue;
    const std::int64_t tree = lists.trees[i];
    SCANLOOM_TRY(const TreeNodeTable::Row* const from, table.at(tree, lists.ids[i]));
    SplitNode& node = model.nodes[static_cast<std::size_t>(from->branch)];
    SCANLOOM_TRY(TreeNodeTable::Row* const yes, table.at(tree, lists.when_true[i]));
    SCANLOOM_TRY(TreeNodeTable::Row* const no, table.at(tree, lists.when_false[i]));
    node.when_true = yes->branch;
    node.when_false = no->branch;
    yes->has_parent = no->has_parent = true;
  }
  return {};
}

/// The root of a tree is its first node that no other leads to. Trees are in the order in which
/// they occur.
Expected<void> find_roots(const NodeLists& lists, TreeNodeTable& table, TreeModel& model) {
  std::map<std::int64_t, std::size_t> positions;  // by tree
  std::vector<std::optional<std::int64_t>> roots;
  std::size_t position = 0;  // of the tree of the row before
  for (std::size_t i = 0; i < lists.trees.size(); ++i) {
    const std::int64_t tree = lists.trees[i];
    if (i == 0 || tree != lists.trees[i - 1]) {
      position = positions.try_emplace(tree, roots.size()).first->second;
      if (position == roots.size()) roots.emplace_back();
    }
    if (roots[position]) continue;
    SCANLOOM_TRY(const TreeNodeTable::Row* const row, table.at(tree, lists.ids[i]));
    if (!row->has_parent) roots[position] = row->branch;
  }
  for (const auto& [tree, at] : positions)
    if (!roots[at])
      return invalid_model("tree {} has no root: every node leads back to itself", tree);
  for (const auto& root : roots) model.roots.push_back(*root);
  return {};
}

/// Reads the weights of leaves, whose attributes begin with `what`, "class" or "target".
Expected<void> read_weights(NodeCtx& ctx, const std::string& what, TreeNodeTable& table,
                            TreeModel& model) {
  SCANLOOM_TRY(const Ints trees, ctx.integers(what + "_treeids"));
  SCANLOOM_TRY(const Ints nodes, ctx.integers(what + "_nodeids"));
  SCANLOOM_TRY(const Ints targets, ctx.integers(what + "_ids"));
  SCANLOOM_TRY(const std::vector<double> weights, numbers_either_way(ctx, what + "_weights"));
  SCANLOOM_CHECK_OK(check_entries(what + "_nodeids", nodes.size(), trees.size()));
  SCANLOOM_CHECK_OK(check_entries(what + "_ids", targets.size(), trees.size()));
  SCANLOOM_CHECK_OK(check_entries(what + "_weights", weights.size(), trees.size()));
  for (std::size_t i = 0; i < trees.size(); ++i) {
    SCANLOOM_TRY(const TreeNodeTable::Row* const row, table.at(trees[i], nodes[i]));
    // Weights of inner nodes are never reached.
    if (row->branch < 0)
      model.leaves[static_cast<std::size_t>(-1 - row->branch)].push_back({targets[i], weights[i]});
    if (targets[i] < 0 || targets[i] >= model.targets)
      return invalid_model("attribute '{}_ids' has {}, but there {} {}", what, targets[i],
                           model.targets == 1 ? "is" : "are", model.targets);
  }
  return {};
}

Expected<TreeModel> read_tree_model(NodeCtx& ctx, const std::string& what, std::int64_t targets) {
  TreeModel model{.targets = targets};
  SCANLOOM_TRY(const NodeLists lists, read_node_lists(ctx));
  SCANLOOM_TRY(TreeNodeTable table, number_nodes(lists, model));
  SCANLOOM_CHECK_OK(connect_nodes(lists, table, model));
  SCANLOOM_CHECK_OK(find_roots(lists, table, model));
  SCANLOOM_CHECK_OK(read_weights(ctx, what, table, model));
  return model;
}

/// Input 0 as rows of f32, or f64 if that is its type.
ValueId tree_rows(Composer& c) {
  const ValueId x = rows_of(c);
  return c.cast(x, c.dtype(x) == DType::f64 ? DType::f64 : DType::f32);
}

/// How a classifier of two classes treats its scores, which it may have for one of them alone.
struct TwoClasses {
  bool has_first = false, has_second = false;  ///< there are weights for it
  bool positive = true;                        ///< no weight is negative

  /// Positive weights for one class are probabilities, others are distances from a boundary.
  [[nodiscard]] bool are_probabilities() const { return has_first != has_second && positive; }
};

TwoClasses describe_two(const TreeModel& model) {
  TwoClasses two;
  std::set<std::int64_t> classes;
  for (const auto& leaf : model.leaves)
    for (const LeafWeight& each : leaf) {
      classes.insert(each.target);
      two.positive = two.positive && !(each.weight < 0);
    }
  two.has_first = classes.contains(0);
  two.has_second = classes.contains(1);
  return two;
}

/// Labels and scores of a classifier.
struct Classified {
  ValueId label, scores;
};

/// The rules are onnxruntime's, because the specification leaves open what scores and base values
/// mean for two classes. A class without weights has the score 0.
Classified classify_two(Composer& c, ValueId sums, const TreeModel& model,
                        const std::vector<double>& base, const ClassLabels& labels,
                        PostTransform transform) {
  const TwoClasses two = describe_two(model);
  const DType dtype = c.dtype(sums);
  ValueId first = column(c, sums, 0), second = column(c, sums, 1);
  const ValueId zero = c.mul(first, c.scalar(0, dtype));
  if (base.size() == 2 && two.has_second) {
    second = c.add(first, c.scalar(base[1], dtype));
    first = two.has_first ? c.neg(second) : zero;
  } else if (!base.empty() && two.has_first) {
    first = c.add(first, c.scalar(base[0], dtype));
  }
  const bool one_score = !two.has_second && base.size() < 2;
  const ValueId deciding = two.has_second ? second : first;
  const ValueId boundary = c.scalar(two.are_probabilities() ? 0.5 : 0, dtype);
  return {labels.either(c, c.squeeze(c.less(boundary, deciding), {1})),
          one_score ? spread(c, first, !two.are_probabilities(), transform)
                    : transformed(c, c.concat({first, second}, 1), transform)};
}

Classified classify(Composer& c, ValueId sums, const std::vector<double>& base,
                    const ClassLabels& labels, PostTransform transform) {
  if (!base.empty()) {
    std::vector<double> padded = base;
    padded.resize(labels.size());
    sums = c.add(sums, numbers_value(c, padded, c.dtype(sums)));
  }
  const auto classes = static_cast<std::int64_t>(labels.size());
  return {labels.at(c, best_class(c, sums)), transformed_targets(c, sums, classes, transform)};
}

}  // namespace

Expected<void> convert_tree_ensemble_regressor(NodeCtx& ctx) {
  SCANLOOM_TRY(const std::int64_t targets, ctx.integer("n_targets", 1));
  SCANLOOM_TRY(const TreeModel model, read_tree_model(ctx, "target", targets));
  SCANLOOM_TRY(const std::vector<double> base, numbers_either_way(ctx, "base_values"));
  if (!base.empty())
    SCANLOOM_CHECK_OK(check_entries("base_values", base.size(), static_cast<std::size_t>(targets)));
  SCANLOOM_TRY(const std::string how, ctx.text("aggregate_function", "SUM"));
  SCANLOOM_TRY(const PostTransform transform, read_transform(ctx));
  const char* const aggregate = how == "MIN"                       ? "min"
                                : how == "MAX"                     ? "max"
                                : how == "SUM" || how == "AVERAGE" ? "sum"
                                                                   : nullptr;
  if (aggregate == nullptr)
    return invalid_model(
        "attribute 'aggregate_function' is '{}', but must be SUM, AVERAGE, MIN or "
        "MAX",
        how);
  Composer c(ctx);
  SCANLOOM_TRY(ValueId y, tree_scores(c, tree_rows(c), model, aggregate));
  if (how == "AVERAGE") y = c.div(y, c.like(static_cast<double>(model.roots.size()), y));
  if (!base.empty()) y = c.add(y, numbers_value(c, base, c.dtype(y)));
  return c.emit(c.cast(transformed_targets(c, y, targets, transform), DType::f32));
}

Expected<void> convert_tree_ensemble_classifier(NodeCtx& ctx) {
  SCANLOOM_TRY(const ClassLabels labels,
               read_labels(ctx, "classlabels_strings", "classlabels_int64s"));
  const std::size_t classes = labels.size();
  SCANLOOM_TRY(const TreeModel model,
               read_tree_model(ctx, "class", static_cast<std::int64_t>(classes)));
  SCANLOOM_TRY(const std::vector<double> base, numbers_either_way(ctx, "base_values"));
  if (base.size() > classes)
    return invalid_model("attribute 'base_values' has {} entries for {} classes", base.size(),
                         classes);
  SCANLOOM_TRY(const PostTransform transform, read_transform(ctx));
  Composer c(ctx);
  SCANLOOM_TRY(const ValueId sums, tree_scores(c, tree_rows(c), model, "sum"));
  const Classified made = classes == 2 ? classify_two(c, sums, model, base, labels, transform)
                                       : classify(c, sums, base, labels, transform);
  const ValueId scores = c.cast(made.scores, DType::f32);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, made.label);
  ctx.set_output(1, scores);
  return {};
}

}  // namespace scanloom::onnx
