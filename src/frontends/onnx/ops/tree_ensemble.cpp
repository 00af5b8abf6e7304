// TreeEnsemble (ai.onnx.ml 5): all rows descend all trees at once, in one loop over the depth. Its
// state is the current node of each pair of row and tree. Leaves lead to themselves.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "frontends/onnx/ops/composed_loop.h"
#include "frontends/onnx/ops/converters.h"
#include "tensor/scalar_eval.h"

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Tensor;

namespace {

using Ints = std::vector<std::int64_t>;

enum Mode : std::int64_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };

/// Indexed by node: inner nodes first, then leaves.
struct Trees {
  Ints roots, features, modes, when_true, when_false, missing;
  std::vector<double> splits;
  Ints targets;  // by leaf
  std::vector<double> weights;
  std::int64_t inner = 0;
};

/// Returns the numbers of a tensor attribute.
Expected<std::vector<double>> tensor_floats(NodeCtx& ctx, std::string_view name) {
  SCANLOOM_TRY(const AttributeProto* const found, ctx.attribute(name, AttributeKind::tensor));
  std::vector<double> values;
  if (found == nullptr || found->tensors.empty()) return values;
  SCANLOOM_TRY(const Tensor tensor, ctx.reading().tensors.read(found->tensors.front()));
  const DType dtype = tensor.dtype();
  const auto* const data = static_cast<const std::byte*>(tensor.data());
  const bool known = is_integer(dtype) || is_floating_point(dtype);
  for (std::int64_t i = 0; known && i < tensor.elements(); ++i) {
    tensor::ScalarProgram program{.inputs = {dtype}};
    program.append({.op = tensor::ScalarOp::cast, .dtype = DType::f64, .args = {0, -1, -1}});
    tensor::ScalarReg registers[2] = {};
    const auto width = static_cast<std::int64_t>(dtype_bytes(dtype));
    tensor::load_scalars(dtype, data + i * width, width, registers, 1);
    tensor::eval_scalar(program, registers, 1);
    values.push_back(std::bit_cast<double>(registers[1].low));
  }
  return values;
}

Expected<void> check_count(std::string_view name, std::size_t count, std::size_t wanted) {
  if (count == wanted) return {};
  return invalid_model("attribute '{}' has {} entries, but there are {}", name, count, wanted);
}

/// Returns where a branch leads: inner nodes keep their number, leaves become -1 - id.
Expected<std::int64_t> target_of(std::int64_t id, bool leaf, std::int64_t inner,
                                 std::int64_t leaves) {
  const std::int64_t count = leaf ? leaves : inner;
  if (id < 0 || id >= count)
    return invalid_model("a branch leads to {} {}, but there are {}", leaf ? "leaf" : "node", id,
                         count);
  return leaf ? -1 - id : id;
}

Expected<void> read_branches(NodeCtx& ctx, const char* ids, const char* leafs, std::int64_t inner,
                             std::int64_t leaves, Ints& to) {
  SCANLOOM_TRY(const Ints nodes, ctx.integers(ids));
  SCANLOOM_TRY(const Ints is_leaf, ctx.integers(leafs));
  SCANLOOM_CHECK_OK(check_count(ids, nodes.size(), static_cast<std::size_t>(inner)));
  SCANLOOM_CHECK_OK(check_count(leafs, is_leaf.size(), static_cast<std::size_t>(inner)));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    SCANLOOM_TRY(to.emplace_back(), target_of(nodes[i], is_leaf[i] != 0, inner, leaves));
  }
  return {};
}

/// Expands tests for membership in a set into chains of equality tests.
Expected<void> expand_members(Trees& trees, const std::vector<double>& members) {
  std::size_t next = 0;
  const std::size_t given = trees.modes.size();
  for (std::size_t node = 0; node < given; ++node) {
    if (trees.modes[node] != kMember) continue;
    std::vector<double> set;
    while (next < members.size() && !std::isnan(members[next])) set.push_back(members[next++]);
    ++next;
    if (set.empty()) return invalid_model("node {} has no members to test for", node);
    std::size_t at = node;
    const std::int64_t when_false = trees.when_false[node];
    for (std::size_t i = 0; i < set.size(); ++i) {
      trees.modes[at] = kEq;
      trees.splits[at] = set[i];
      if (i + 1 == set.size()) break;
      trees.when_false[at] = static_cast<std::int64_t>(trees.modes.size());
      at = trees.modes.size();
      trees.modes.push_back(kEq);
      trees.splits.push_back(0);
      trees.features.push_back(trees.features[node]);
      trees.missing.push_back(trees.missing[node]);
      trees.when_true.push_back(trees.when_true[node]);
      trees.when_false.push_back(when_false);
    }
    trees.when_false[at] = when_false;
  }
  return {};
}

/// Numbers leaves after the inner nodes and makes them lead to themselves.
void append_leaves(Trees& trees) {
  trees.inner = static_cast<std::int64_t>(trees.modes.size());
  for (Ints* const branches : {&trees.when_true, &trees.when_false})
    for (std::int64_t& to : *branches)
      if (to < 0) to = trees.inner + (-1 - to);
  for (std::size_t leaf = 0; leaf < trees.targets.size(); ++leaf) {
    const std::int64_t self = trees.inner + static_cast<std::int64_t>(leaf);
    trees.when_true.push_back(self);
    trees.when_false.push_back(self);
    trees.features.push_back(0);
    trees.modes.push_back(kLeq);
    trees.missing.push_back(0);
    trees.splits.push_back(0);
  }
}

/// Returns the longest path from a root to a leaf, in branches. Error: a cycle.
Expected<std::int64_t> depth_of(const Trees& trees) {
  constexpr std::int64_t kUnknown = -1, kOpen = -2;
  Ints height(trees.modes.size(), kUnknown);
  for (std::size_t leaf = static_cast<std::size_t>(trees.inner); leaf < height.size(); ++leaf)
    height[leaf] = 0;
  std::int64_t depth = 0;
  for (const std::int64_t root : trees.roots) {
    Ints stack = {root};
    while (!stack.empty()) {
      const auto at = static_cast<std::size_t>(stack.back());
      if (height[at] >= 0) {
        stack.pop_back();
        continue;
      }
      const bool opened = height[at] == kOpen;
      height[at] = kOpen;
      std::int64_t below = 0;
      bool complete = true;
      for (const std::int64_t to : {trees.when_true[at], trees.when_false[at]}) {
        const std::int64_t known = height[static_cast<std::size_t>(to)];
        if (known == kOpen) return invalid_model("node {} of a tree leads back to itself", to);
        if (known < 0 && opened) return fail(Code::internal, "node {} of a tree is missing", to);
        if (known < 0) stack.push_back(to);
        complete = complete && known >= 0;
        below = std::max(below, known);
      }
      if (complete) height[at] = below + 1;
    }
    depth = std::max(depth, height[static_cast<std::size_t>(root)]);
  }
  return depth;
}

Expected<Trees> read_trees(NodeCtx& ctx) {
  Trees trees;
  SCANLOOM_TRY(trees.roots, ctx.integers("tree_roots"));
  SCANLOOM_TRY(trees.features, ctx.integers("nodes_featureids"));
  const std::size_t nodes = trees.features.size();
  for (const std::int64_t feature : trees.features)
    if (feature < 0) return invalid_model("attribute 'nodes_featureids' has feature {}", feature);
  SCANLOOM_TRY(const std::vector<double> modes, tensor_floats(ctx, "nodes_modes"));
  SCANLOOM_TRY(trees.splits, tensor_floats(ctx, "nodes_splits"));
  SCANLOOM_CHECK_OK(check_count("nodes_modes", modes.size(), nodes));
  SCANLOOM_CHECK_OK(check_count("nodes_splits", trees.splits.size(), nodes));
  for (const double mode : modes) {
    if (!(mode >= 0 && mode <= 6))
      return invalid_model("attribute 'nodes_modes' has the unknown mode {}", mode);
    trees.modes.push_back(static_cast<std::int64_t>(mode));
  }
  SCANLOOM_TRY(trees.missing, ctx.integers("nodes_missing_value_tracks_true"));
  if (trees.missing.empty()) trees.missing.assign(nodes, 0);
  SCANLOOM_CHECK_OK(check_count("nodes_missing_value_tracks_true", trees.missing.size(), nodes));
  SCANLOOM_TRY(trees.targets, ctx.integers("leaf_targetids"));
  SCANLOOM_TRY(trees.weights, tensor_floats(ctx, "leaf_weights"));
  SCANLOOM_CHECK_OK(check_count("leaf_weights", trees.weights.size(), trees.targets.size()));
  const auto inner = static_cast<std::int64_t>(nodes);
  const auto leaves = static_cast<std::int64_t>(trees.targets.size());
  SCANLOOM_CHECK_OK(
      read_branches(ctx, "nodes_truenodeids", "nodes_trueleafs", inner, leaves, trees.when_true));
  SCANLOOM_CHECK_OK(read_branches(ctx, "nodes_falsenodeids", "nodes_falseleafs", inner, leaves,
                                  trees.when_false));
  for (const std::int64_t root : trees.roots)
    if (root < 0 || root >= inner)
      return invalid_model("attribute 'tree_roots' has node {}, but there are {}", root, inner);
  SCANLOOM_TRY(const std::vector<double> members, tensor_floats(ctx, "membership_values"));
  SCANLOOM_CHECK_OK(expand_members(trees, members));
  append_leaves(trees);
  return trees;
}

ValueId floats_of(Composer& c, const std::vector<double>& values, DType dtype) {
  Tensor made = c.take(
      Tensor::copy_of(DType::f64, {static_cast<std::int64_t>(values.size())}, values.data()));
  return c.ok() ? c.cast(c.ctx().builder().constant(std::move(made)), dtype) : ValueId{};
}

/// Returns the leaf, as a node number, that each row reaches in each tree.
ValueId reached_leaves(Composer& c, const Trees& trees, ValueId x, std::int64_t depth) {
  const auto count = static_cast<std::int64_t>(trees.roots.size());
  const ValueId start = c.expand(c.list(trees.roots), c.join({c.dim(x, 0), c.number(count)}));
  ComposedLoop loop{.steps = c.number(depth), .carried = {start}};
  const DType dtype = c.dtype(x);
  loop.captured = {x,
                   c.list(trees.features),
                   floats_of(c, trees.splits, dtype),
                   c.list(trees.modes),
                   c.list(trees.when_true),
                   c.list(trees.when_false),
                   c.equal(c.list(trees.missing), c.number(1))};
  for (std::int64_t mode = kLeq; mode <= kNeq; ++mode) loop.captured.push_back(c.number(mode));
  const auto body = [](Composer& inside, const ComposedLoop::Step& step) {
    const std::vector<ValueId>& in = step.captured;
    const ValueId at = step.carried[0];
    const auto entry = [&](std::size_t table) { return inside.gather(in[table], at, 0); };
    const ValueId value = inside.op(ops::gather_elements_op, {in[0], entry(1)}, {{"axis", 1}});
    const ValueId split = entry(2), mode = entry(3);
    const auto is = [&](Mode wanted) {
      return inside.equal(mode, in[7 + static_cast<std::size_t>(wanted)]);
    };
    const auto negated = [&](ValueId test) { return inside.op(ops::logical_not_op, {test}); };
    const ValueId equal = inside.equal(value, split);
    ValueId holds = negated(equal);  // kNeq
    holds = inside.where(is(kEq), equal, holds);
    holds = inside.where(is(kGt), inside.less(split, value), holds);
    holds = inside.where(is(kGte), inside.less_equal(split, value), holds);
    holds = inside.where(is(kLt), inside.less(value, split), holds);
    holds = inside.where(is(kLeq), inside.less_equal(value, split), holds);
    const ValueId absent = inside.both(inside.op(ops::is_nan_op, {value}), entry(6));
    holds = inside.op(ops::logical_or_op, {holds, absent});
    return ComposedLoop::Yields{.carried = {inside.where(holds, entry(4), entry(5))},
                                .stacked = {}};
  };
  const std::vector<ValueId> results = make_loop(c, loop, "tree_ensemble", body);
  return c.ok() ? results[0] : ValueId{};
}

/// Returns [rows, targets] from the reached leaves, [rows, trees].
Expected<ValueId> aggregate(Composer& c, const Trees& trees, ValueId leaves, std::int64_t targets,
                            DType dtype) {
  const std::int64_t how = c.integer("aggregate_function", 1);
  if (how < 0 || how > 3)
    return invalid_model("attribute 'aggregate_function' is {}, not 0 to 3", how);
  const ValueId index = c.sub(leaves, c.number(trees.inner));
  const ValueId weight = c.unsqueeze(c.gather(floats_of(c, trees.weights, dtype), index, 0), {2});
  const ValueId target = c.unsqueeze(c.gather(c.list(trees.targets), index, 0), {2});
  const ValueId hits = c.equal(target, c.count_up(c.number(targets)));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double neutral = how == 2 ? kInfinity : how == 3 ? -kInfinity : 0;
  const ValueId each = c.where(hits, weight, c.scalar(neutral, dtype));
  const char* const kind = how == 2 ? "min" : how == 3 ? "max" : "sum";
  const ValueId all = c.squeeze(c.reduce(each, kind, {1}), {1});
  if (how != 0) return all;
  return c.div(all, c.scalar(static_cast<double>(trees.roots.size()), dtype));
}

}  // namespace

Expected<void> convert_tree_ensemble(NodeCtx& ctx) {
  ctx.ignore("nodes_hitrates");
  SCANLOOM_TRY(const Trees trees, read_trees(ctx));
  SCANLOOM_TRY(const std::int64_t targets, ctx.integer("n_targets", 1));
  for (const std::int64_t target : trees.targets)
    if (target < 0 || target >= targets)
      return invalid_model("attribute 'leaf_targetids' has target {}, but there are {}", target,
                           targets);
  SCANLOOM_TRY(const std::int64_t depth, depth_of(trees));
  Composer c(ctx);
  const ValueId x = c.in(0);
  if (const int rank = c.rank(0, x, 2); c.ok() && rank != 2)
    return invalid_model("{} has {} axes, not 2", ctx.describe_input(0), rank);
  const ValueId leaves = reached_leaves(c, trees, x, depth);
  SCANLOOM_TRY(const ValueId y, aggregate(c, trees, leaves, targets, c.dtype(x)));
  const std::int64_t transform = c.integer("post_transform", 0);
  if (transform == 0) return c.emit(y);
  if (transform == 1) return c.emit(c.op(ops::softmax_op, {y}, {{"axis", 1}}));
  if (transform == 2) return c.emit(c.op(ops::sigmoid_op, {y}));
  return fail(Code::unsupported, "attribute 'post_transform' is {}, only 0, 1 and 2 are possible",
              transform);
}

}  // namespace scanloom::onnx
