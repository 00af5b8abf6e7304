// TreeEnsemble (ai.onnx.ml 5).
#include <cmath>

#include "frontends/onnx/ops/attribute_tensors.h"
#include "frontends/onnx/ops/class_labels.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/tree_tables.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

using Ints = std::vector<std::int64_t>;

/// Returns a branch of TreeModel.
Expected<std::int64_t> branch_to(std::int64_t id, bool leaf, const TreeModel& model) {
  const auto count = static_cast<std::int64_t>(leaf ? model.leaves.size() : model.nodes.size());
  if (id < 0 || id >= count)
    return invalid_model("a branch leads to {} {}, but there are {}", leaf ? "leaf" : "node", id,
                         count);
  return leaf ? -1 - id : id;
}

Expected<void> read_branches(NodeCtx& ctx, const char* ids, const char* leafs, TreeModel& model,
                             std::int64_t SplitNode::* branch) {
  SCANLOOM_TRY(const Ints to, ctx.integers(ids));
  SCANLOOM_TRY(const Ints is_leaf, ctx.integers(leafs));
  SCANLOOM_CHECK_OK(check_entries(ids, to.size(), model.nodes.size()));
  SCANLOOM_CHECK_OK(check_entries(leafs, is_leaf.size(), model.nodes.size()));
  for (std::size_t i = 0; i < to.size(); ++i) {
    SCANLOOM_TRY(model.nodes[i].*branch, branch_to(to[i], is_leaf[i] != 0, model));
  }
  return {};
}

/// Reads the sets of the nodes that test for membership, which NaN separates.
Expected<void> read_members(NodeCtx& ctx, TreeModel& model) {
  SCANLOOM_TRY(const std::vector<double> members, tensor_numbers(ctx, "membership_values"));
  std::size_t next = 0;
  for (std::size_t node = 0; node < model.nodes.size(); ++node) {
    SplitNode& split = model.nodes[node];
    if (split.mode != SplitMode::member) continue;
    while (next < members.size() && !std::isnan(members[next]))
      split.members.push_back(members[next++]);
    ++next;
    if (split.members.empty()) return invalid_model("node {} has no members to test for", node);
  }
  return {};
}

Expected<void> read_splits(NodeCtx& ctx, TreeModel& model) {
  SCANLOOM_TRY(const Ints features, ctx.integers("nodes_featureids"));
  SCANLOOM_TRY(const std::vector<double> modes, tensor_numbers(ctx, "nodes_modes"));
  SCANLOOM_TRY(const std::vector<double> splits, tensor_numbers(ctx, "nodes_splits"));
  SCANLOOM_TRY(Ints missing, ctx.integers("nodes_missing_value_tracks_true"));
  if (missing.empty()) missing.assign(features.size(), 0);
  SCANLOOM_CHECK_OK(check_entries("nodes_modes", modes.size(), features.size()));
  SCANLOOM_CHECK_OK(check_entries("nodes_splits", splits.size(), features.size()));
  SCANLOOM_CHECK_OK(
      check_entries("nodes_missing_value_tracks_true", missing.size(), features.size()));
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (!(modes[i] >= 0 && modes[i] <= 6))
      return invalid_model("attribute 'nodes_modes' has the unknown mode {}", modes[i]);
    if (features[i] < 0)
      return invalid_model("attribute 'nodes_featureids' has feature {}", features[i]);
    model.nodes.push_back({.mode = static_cast<SplitMode>(modes[i]),
                           .feature = features[i],
                           .split = splits[i],
                           .missing_true = missing[i] == 1});
  }
  return read_members(ctx, model);
}

Expected<TreeModel> read_trees(NodeCtx& ctx) {
  TreeModel model;
  SCANLOOM_TRY(model.targets, ctx.integer("n_targets", 1));
  SCANLOOM_CHECK_OK(read_splits(ctx, model));
  SCANLOOM_TRY(const Ints targets, ctx.integers("leaf_targetids"));
  SCANLOOM_TRY(const std::vector<double> weights, tensor_numbers(ctx, "leaf_weights"));
  SCANLOOM_CHECK_OK(check_entries("leaf_weights", weights.size(), targets.size()));
  for (std::size_t i = 0; i < targets.size(); ++i)
    model.leaves.push_back({{targets[i], weights[i]}});
  SCANLOOM_CHECK_OK(
      read_branches(ctx, "nodes_truenodeids", "nodes_trueleafs", model, &SplitNode::when_true));
  SCANLOOM_CHECK_OK(
      read_branches(ctx, "nodes_falsenodeids", "nodes_falseleafs", model, &SplitNode::when_false));
  SCANLOOM_TRY(model.roots, ctx.integers("tree_roots"));
  const auto nodes = static_cast<std::int64_t>(model.nodes.size());
  for (const std::int64_t root : model.roots)
    if (root < 0 || root >= nodes)
      return invalid_model("attribute 'tree_roots' has node {}, but there are {}", root, nodes);
  return model;
}

}  // namespace

Expected<void> convert_tree_ensemble(NodeCtx& ctx) {
  ctx.ignore("nodes_hitrates");
  SCANLOOM_TRY(const TreeModel model, read_trees(ctx));
  SCANLOOM_TRY(const std::int64_t how, ctx.integer("aggregate_function", 1));
  if (how < 0 || how > 3)
    return invalid_model("attribute 'aggregate_function' is {}, not 0 to 3", how);
  SCANLOOM_TRY(const std::int64_t transform, ctx.integer("post_transform", 0));
  if (transform < 0 || transform > 4)
    return invalid_model("attribute 'post_transform' is {}, not 0 to 4", transform);
  Composer c(ctx);
  const ValueId x = rows_of(c);
  const DType dtype = c.dtype(x);
  SCANLOOM_TRY(ValueId y, tree_scores(c, c.cast(x, at_least_f32(dtype)), model,
                                      how == 2   ? "min"
                                      : how == 3 ? "max"
                                                 : "sum"));
  if (how == 0) y = c.div(y, c.like(static_cast<double>(model.roots.size()), y));
  y = c.cast(y, dtype);
  // Numbered as ONNX does.
  constexpr PostTransform kTransforms[] = {PostTransform::none, PostTransform::softmax,
                                           PostTransform::logistic, PostTransform::softmax_zero,
                                           PostTransform::probit};
  return c.emit(transformed_targets(c, y, model.targets, kTransforms[transform]));
}

}  // namespace scanloom::onnx
