// LinearClassifier and LinearRegressor: a product with a matrix, and what is made of its rows.
#include "frontends/onnx/ops/attribute_tensors.h"
#include "frontends/onnx/ops/class_labels.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

using Floats = std::vector<double>;

/// Returns x times the transposed coefficients, [targets, features], plus the intercepts.
ValueId linear_scores(Composer& c, ValueId rows, const Floats& coefficients,
                      const Floats& intercepts, std::int64_t targets) {
  const ValueId x = c.cast(rows, DType::f32);
  const auto count = static_cast<std::int64_t>(coefficients.size());
  const ValueId matrix =
      c.reshape(numbers_value(c, coefficients), c.list({targets, count / targets}));
  const ValueId y = c.contract(x, matrix, "nf,tf->nt");
  return intercepts.empty() ? y : c.add(y, numbers_value(c, intercepts));
}

/// "3 scores", "1 target".
std::string amount_of(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Checks the numbers of entries and drops coefficients beyond one per target and feature, as
/// onnxruntime does. `features` is -1 if they are not known.
Expected<void> fit_coefficients(NodeCtx& ctx, std::int64_t features, Floats& coefficients,
                                const Floats& intercepts, std::int64_t targets,
                                std::string_view what) {
  const auto count = static_cast<std::int64_t>(coefficients.size());
  if (targets < 1 || count < targets || (features < 0 && count % targets != 0))
    return invalid_model("attribute 'coefficients' has {} entries for {}", count,
                         amount_of(targets, what));
  if (!intercepts.empty() && static_cast<std::int64_t>(intercepts.size()) != targets)
    return invalid_model("attribute 'intercepts' has {} entries for {}", intercepts.size(),
                         amount_of(targets, what));
  if (features < 0) return {};
  if (features > count / targets)
    return invalid_model("attribute 'coefficients' has {} entries for {} of {}", count,
                         amount_of(targets, what), amount_of(features, "feature"));
  const std::int64_t needed = features * targets;
  if (needed == count) return {};
  ctx.reading().diagnostics.warning(fmt::format(
      "onnx: {}: attribute 'coefficients' has {} entries for {} of {}, which need {}: the others "
      "are ignored",
      ctx.describe_location(), count, amount_of(targets, what), amount_of(features, "feature"),
      needed));
  coefficients.resize(static_cast<std::size_t>(needed));
  return {};
}

}  // namespace

Expected<void> convert_linear_regressor(NodeCtx& ctx) {
  SCANLOOM_TRY(const std::int64_t targets, ctx.integer("targets", 1));
  SCANLOOM_TRY(Floats coefficients, ctx.floats("coefficients"));
  SCANLOOM_TRY(const Floats intercepts, ctx.floats("intercepts"));
  SCANLOOM_TRY(const PostTransform transform, read_transform(ctx));
  Composer c(ctx);
  const ValueId rows = rows_of(c);
  SCANLOOM_CHECK_OK(
      fit_coefficients(ctx, c.known_size(rows, 1), coefficients, intercepts, targets, "target"));
  const ValueId y = linear_scores(c, rows, coefficients, intercepts, targets);
  return c.emit(transformed_targets(c, y, targets, transform));
}

// A model of two classes may have the scores of the second one alone.
Expected<void> convert_linear_classifier(NodeCtx& ctx) {
  ctx.ignore("multi_class");  // has no effect on the result
  SCANLOOM_TRY(const ClassLabels labels,
               read_labels(ctx, "classlabels_strings", "classlabels_ints"));
  SCANLOOM_TRY(Floats coefficients, ctx.floats("coefficients"));
  SCANLOOM_TRY(const Floats intercepts, ctx.floats("intercepts"));
  SCANLOOM_TRY(const PostTransform transform, read_transform(ctx));
  Composer c(ctx);
  const ValueId rows = rows_of(c);
  const std::int64_t features = c.known_size(rows, 1);
  const auto classes = static_cast<std::int64_t>(labels.size());
  auto scored = static_cast<std::int64_t>(intercepts.size());
  if (scored == 0) {
    const bool one = static_cast<std::int64_t>(coefficients.size()) == features;
    scored = classes == 2 && one ? 1 : classes;
  }
  SCANLOOM_CHECK_OK(fit_coefficients(ctx, features, coefficients, intercepts, scored, "score"));
  if (scored != classes && scored != 1)
    return invalid_model("it has {} scores for {} classes", scored, classes);
  const ValueId scores = linear_scores(c, rows, coefficients, intercepts, scored);
  ValueId label, given;
  if (scored > 1) {
    label = labels.at(c, best_class(c, scores));
    given = transformed(c, scores, transform);
  } else {
    label = labels.either(c, c.squeeze(c.less(c.scalar(0, DType::f32), scores), {1}));
    given = classes == 2 ? spread(c, scores, false, transform)
                         : transformed_targets(c, scores, scored, transform);
  }
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, label);
  ctx.set_output(1, given);
  return {};
}

}  // namespace scanloom::onnx
