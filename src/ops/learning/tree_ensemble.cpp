// Every tree sends a row of x to one of its leaves, and the weights of these leaves are added up
// in the order of the trees, for every target: one order, however rows and trees are shared out.
#include "opmath/tree_tables.h"

#include "ops/matrix/matrices.h"
#include "ops/ops.h"
#include "ops/step_rules.h"

namespace scanloom::ops {
namespace {
namespace tree_ensemble {

using tensor::Operand;
using tensor::Tensor;
using tensor::TreeAttr;
using tensor::TreeTables;

const tensor::Attr& attr_at(const ir::InferCtx& ctx, TreeAttr which) {
  return ctx.attr(static_cast<int>(which));
}

/// Checks that an attribute is a tensor of that type and size.
Expected<void> check_table(const ir::InferCtx& ctx, TreeAttr which, std::string_view name,
                           DType dtype, std::int64_t size) {
  const Tensor& table = attr_at(ctx, which).tensor();
  if (table.dtype() == dtype && table.shape().rank() == 1 && table.elements() == size) return {};
  return invalid_model("{} is {}{}, but must be {}[{}]", name, dtype_name(table.dtype()),
                       table.shape().to_string(), dtype_name(dtype), size);
}

Expected<void> check_tables(const ir::InferCtx& ctx, DType real) {
  const std::int64_t nodes = attr_at(ctx, TreeAttr::features).tensor().elements();
  const std::int64_t weights = attr_at(ctx, TreeAttr::leaf_targets).tensor().elements();
  const std::int64_t starts = attr_at(ctx, TreeAttr::leaf_starts).tensor().elements();
  if (starts < 1) return invalid_model("leaf_starts is empty");
  SCANLOOM_CHECK_OK(check_table(ctx, TreeAttr::features, "features", DType::i32, nodes));
  SCANLOOM_CHECK_OK(check_table(ctx, TreeAttr::thresholds, "thresholds", real, nodes));
  SCANLOOM_CHECK_OK(
      check_table(ctx, TreeAttr::missing_true, "missing_true", DType::boolean, nodes));
  SCANLOOM_CHECK_OK(check_table(ctx, TreeAttr::when_true, "when_true", DType::i32, nodes));
  SCANLOOM_CHECK_OK(check_table(ctx, TreeAttr::when_false, "when_false", DType::i32, nodes));
  SCANLOOM_CHECK_OK(check_table(ctx, TreeAttr::leaf_starts, "leaf_starts", DType::i32, starts));
  SCANLOOM_CHECK_OK(check_table(ctx, TreeAttr::leaf_targets, "leaf_targets", DType::i32, weights));
  return check_table(ctx, TreeAttr::leaf_weights, "leaf_weights", real, weights);
}

/// Checks that paths lead to later nodes and end in leaves.
template <class Real>
Expected<void> check_paths(const TreeTables<Real>& trees) {
  const auto nodes = static_cast<std::int64_t>(trees.features.size());
  for (const std::int64_t root : trees.roots)
    if (root >= nodes || root < -trees.leaves())
      return invalid_model("a root is {}, but there are {} nodes and {} leaves", root, nodes,
                           trees.leaves());
  for (std::int64_t node = 0; node < nodes; ++node)
    for (const auto& branches : {trees.when_true, trees.when_false}) {
      const std::int64_t to = branches[static_cast<std::size_t>(node)];
      if (to >= nodes || to < -trees.leaves() || (to >= 0 && to <= node))
        return invalid_model(
            "node {} leads to {}, but there are {} leaves, and nodes lead only to "
            "later ones",
            node, to, trees.leaves());
    }
  return {};
}

template <class Real>
Expected<void> check_leaves(const TreeTables<Real>& trees) {
  const auto weights = static_cast<std::int32_t>(trees.leaf_targets.size());
  std::int32_t last = 0;
  for (const std::int32_t start : trees.leaf_starts) {
    if (start < last || start > weights)
      return invalid_model("leaf_starts has {} after {}, but there are {} weights", start, last,
                           weights);
    last = start;
  }
  if (trees.leaf_starts.front() != 0 || last != weights)
    return invalid_model("leaf_starts goes from {} to {}, not from 0 to {}",
                         trees.leaf_starts.front(), last, weights);
  for (const std::int32_t target : trees.leaf_targets)
    if (target < 0 || target >= trees.targets)
      return invalid_model("a leaf has a weight for target {}, but there are {}", target,
                           trees.targets);
  return {};
}

Expected<void> check_features(const ir::InferCtx& ctx) {
  const tensor::Type& x = ctx.in(0);
  for (const std::int32_t feature : attr_at(ctx, TreeAttr::features).tensor().as<std::int32_t>()) {
    if (feature < 0) return invalid_model("a node tests feature {}", feature);
    if (x.ranked && x.dims[1].is_constant() && feature >= x.dims[1].value())
      return invalid_model("a node tests feature {}, but x has {}", feature, x.dims[1].value());
  }
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const tensor::Type& x = ctx.in(0);
  if (x.dtype != DType::f32 && x.dtype != DType::f64)
    return fail(Code::unsupported, "x is {}, but must be f32 or f64", dtype_name(x.dtype));
  if (x.ranked && x.rank() != 2)
    return invalid_model("x has {} {}, but must have 2", x.rank(), x.rank() == 1 ? "axis" : "axes");
  const std::int64_t targets = attr_at(ctx, TreeAttr::targets).integer();
  if (targets < 1 || targets > std::numeric_limits<std::int32_t>::max())
    return invalid_model("there are {} targets, but must be 1 to 2^31 - 1", targets);
  const std::string& how = attr_at(ctx, TreeAttr::aggregate).text();
  if (how != "sum" && how != "min" && how != "max")
    return invalid_model("the aggregate is '{}', but must be sum, min or max", how);
  SCANLOOM_CHECK_OK(check_tables(ctx, x.dtype));
  SCANLOOM_CHECK_OK(check_features(ctx));
  const auto check = [&]<class Real>(TreeTables<Real> trees) -> Expected<void> {
    SCANLOOM_CHECK_OK(check_paths(trees));
    return check_leaves(trees);
  };
  SCANLOOM_CHECK_OK(x.dtype == DType::f32 ? check(TreeTables<float>::of(ctx.attrs()))
                                          : check(TreeTables<double>::of(ctx.attrs())));
  ctx.set(0, x.dtype, {x.ranked ? x.dims[0] : ctx.dims().fresh(), tensor::Dim(targets)});
  return {};
}

/// Returns the leaf that a row reaches. Precondition: all features are within the row.
template <class Real>
std::int64_t leaf_of(const TreeTables<Real>& trees, std::int64_t root, const Real* row,
                     std::int64_t step) {
  std::int64_t at = root;
  while (at >= 0) {
    const auto node = static_cast<std::size_t>(at);
    const Real value = row[trees.features[node] * step];
    const bool missing = value != value;
    const bool holds = missing ? trees.missing_true[node] : value <= trees.thresholds[node];
    at = holds ? trees.when_true[node] : trees.when_false[node];
  }
  return -1 - at;
}

template <class Real>
void score_row(const TreeTables<Real>& trees, const Real* row, std::int64_t step, Real* scores,
               std::int64_t score_step) {
  const auto score = [&](std::int64_t target) -> Real& { return scores[target * score_step]; };
  for (std::int64_t target = 0; target < trees.targets; ++target)
    score(target) = tensor::first_score<Real>(trees.aggregate);
  for (const std::int64_t root : trees.roots) {
    const auto leaf = static_cast<std::size_t>(leaf_of(trees, root, row, step));
    for (std::int32_t i = trees.leaf_starts[leaf]; i < trees.leaf_starts[leaf + 1]; ++i) {
      const auto weight = static_cast<std::size_t>(i);
      Real& sum = score(trees.leaf_targets[weight]);
      sum = tensor::next_score(trees.aggregate, sum, trees.leaf_weights[weight]);
    }
  }
  for (std::int64_t target = 0; target < trees.targets; ++target)
    score(target) = tensor::last_score(trees.aggregate, score(target));
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return visit_real(call.out(0).dtype, [&]<class Real> {
    const Operand &x = call.in(0), &y = call.out(0);
    const TreeTables<Real> trees = TreeTables<Real>::of(
        std::span(call.attrs, static_cast<std::size_t>(TreeAttr::aggregate) + 1));
    for (const std::int32_t feature : trees.features)
      if (feature >= x.dims[1])
        return call.fail("a node tests feature {}, but x has {}", feature, x.dims[1]);
    for (std::int64_t row = 0; row < x.dims[0]; ++row)
      score_row(trees, x.data<const Real>() + row * x.strides[0], x.strides[1],
                y.data<Real>() + row * y.strides[0], y.strides[1]);
    return tensor::Status::ok;
  });
}

Expected<int> steps_of_rows(const ir::StepSite& s) {
  if (s.axis(0) == 0) return 0;
  return across("a tree tests features of all steps");
}

}  // namespace tree_ensemble
}  // namespace

constinit const ir::OpDef tree_ensemble_op{
    .name = "tree_ensemble",
    .doc =
        "Decision trees over the rows of x: y[row, target] is the sum, minimum or maximum of the "
        "weights that the leaves reached by the row have for the target, in the order of the "
        "trees, "
        "or 0 if none has one. A node tests x[row, feature] <= threshold; NaN counts as true where "
        "missing_true is. Branches lead to a later node, or to leaf -1 - n where they are "
        "negative; "
        "the weights of a leaf are those from its leaf_starts to the next.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .attrs = {{"roots", tensor::AttrKind::integers},
              {"features", tensor::AttrKind::tensor},
              {"thresholds", tensor::AttrKind::tensor},
              {"missing_true", tensor::AttrKind::tensor},
              {"when_true", tensor::AttrKind::tensor},
              {"when_false", tensor::AttrKind::tensor},
              {"leaf_starts", tensor::AttrKind::tensor},
              {"leaf_targets", tensor::AttrKind::tensor},
              {"leaf_weights", tensor::AttrKind::tensor},
              {"targets", tensor::AttrKind::integer},
              {"aggregate", tensor::AttrKind::text}},
    .effects = ir::Effects::may_fail,
    .infer = tree_ensemble::infer,
    .reference = tree_ensemble::reference,
    .recompute = ir::Recompute::expensive,
    .batching = ir::Batching::call,
    .steps = {.axis = tree_ensemble::steps_of_rows},
};

}  // namespace scanloom::ops
