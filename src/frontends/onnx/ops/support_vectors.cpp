// SVMClassifier and SVMRegressor, as products with matrices. Support vectors are grouped by class;
// a classifier decides between every two classes, as in libsvm.
#include <algorithm>

#include "frontends/onnx/ops/attribute_tensors.h"
#include "frontends/onnx/ops/class_labels.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<double>;

struct SupportVectors {
  Floats vectors, coefficients, rho;
  std::string kernel;
  double gamma = 0, coef0 = 0, degree = 0;
  std::int64_t count = 0;  ///< 0: the model is linear

  [[nodiscard]] std::int64_t features() const {
    return static_cast<std::int64_t>(vectors.size()) / count;
  }
};

/// The number of support vectors is checked against their elements.
Expected<SupportVectors> read_vectors(NodeCtx& ctx, std::int64_t count) {
  SupportVectors model{.count = count};
  SCANLOOM_TRY(model.vectors, ctx.floats("support_vectors"));
  SCANLOOM_TRY(model.coefficients, ctx.floats("coefficients"));
  SCANLOOM_TRY(model.rho, ctx.floats("rho"));
  SCANLOOM_TRY(model.kernel, ctx.text("kernel_type", "LINEAR"));
  SCANLOOM_TRY(const Floats parameters, ctx.floats("kernel_params"));
  const auto elements = static_cast<std::int64_t>(model.vectors.size());
  if (count < 0 || (count > 0 && (elements == 0 || elements % count != 0)))
    return invalid_model("attribute 'support_vectors' has {} entries for {} support vectors",
                         elements, count);
  if (model.coefficients.empty()) return invalid_model("attribute 'coefficients' is missing");
  if (!parameters.empty()) {
    SCANLOOM_CHECK_OK(check_entries("kernel_params", parameters.size(), 3));
    model.gamma = parameters[0];
    model.coef0 = parameters[1];
    model.degree = parameters[2];
  }
  constexpr std::string_view kKernels[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  if (std::ranges::find(kKernels, model.kernel) == std::end(kKernels))
    return invalid_model(
        "attribute 'kernel_type' is '{}', but must be LINEAR, POLY, RBF or SIGMOID", model.kernel);
  if (count == 0) model.kernel = "LINEAR";
  return model;
}

/// Returns the kernel of every row of x with every row of `vectors`.
ValueId kernel_values(Composer& c, ValueId x, ValueId vectors, const SupportVectors& model) {
  const auto number = [&](double value) { return c.scalar(value, DType::f32); };
  if (model.kernel == "RBF") {
    const ValueId squares = c.op(ops::squared_distances_op, {x, vectors});
    return c.exp(c.mul(number(-model.gamma), squares));
  }
  const ValueId products = c.contract(x, vectors, "nf,sf->ns");
  if (model.kernel == "LINEAR") return products;
  const ValueId scaled = c.add(c.mul(number(model.gamma), products), number(model.coef0));
  if (model.kernel == "SIGMOID") return c.op(ops::tanh_op, {scaled});
  if (model.degree == 2) return c.mul(scaled, scaled);
  if (model.degree == 3) return c.mul(c.mul(scaled, scaled), scaled);
  return c.pow(scaled, number(model.degree));
}

ValueId matrix_of(Composer& c, const Floats& values, std::int64_t rows, std::int64_t columns) {
  return c.reshape(numbers_value(c, values), c.list({rows, columns}));
}

ValueId kernels_of(Composer& c, ValueId x, const SupportVectors& model) {
  return kernel_values(c, x, matrix_of(c, model.vectors, model.count, model.features()), model);
}

/// A classifier: its classes and the support vectors of each.
struct VectorClasses {
  ClassLabels labels;
  Ints sizes;
  Floats prob_a, prob_b;
  std::int64_t count = 0;

  [[nodiscard]] std::int64_t pairs() const { return count * (count - 1) / 2; }
};

/// The most classes: their pairs are columns of matrices.
constexpr std::size_t kMaxClasses = 2048;

Expected<void> check_classes(const VectorClasses& classes, const SupportVectors& model) {
  if (classes.labels.size() > kMaxClasses)
    return fail(Code::unsupported, "it has {} classes, but at most {} are possible",
                classes.labels.size(), kMaxClasses);
  if (model.count == 0) {
    const std::size_t number = model.coefficients.size();
    if (number % classes.labels.size() != 0)
      return invalid_model("attribute 'coefficients' has {} entries for {} classes", number,
                           classes.labels.size());
    return model.rho.empty() ? Expected<void>(invalid_model("attribute 'rho' is missing"))
                             : Expected<void>();
  }
  const auto pairs = static_cast<std::size_t>(classes.pairs());
  SCANLOOM_CHECK_OK(
      check_entries("vectors_per_class", classes.sizes.size(), classes.labels.size()));
  SCANLOOM_CHECK_OK(check_entries("coefficients", model.coefficients.size(),
                                  static_cast<std::size_t>((classes.count - 1) * model.count)));
  SCANLOOM_CHECK_OK(check_entries("rho", model.rho.size(), pairs));
  SCANLOOM_CHECK_OK(check_entries("prob_b", classes.prob_b.size(), classes.prob_a.size()));
  if (!classes.prob_a.empty())
    SCANLOOM_CHECK_OK(check_entries("prob_a", classes.prob_a.size(), pairs));
  return {};
}

/// Returns the coefficients of each support vector for each pair of classes, [vectors, pairs]. For
/// classes i < j, vectors of i have theirs in row j - 1, those of j in row i.
Floats pair_coefficients(const VectorClasses& classes, const SupportVectors& model) {
  const std::int64_t pairs = classes.pairs();
  Floats matrix(static_cast<std::size_t>(model.count * pairs));
  Ints first = {0};
  for (const std::int64_t size : classes.sizes) first.push_back(first.back() + size);
  std::int64_t pair = 0;
  const auto fill = [&](std::int64_t of_class, std::int64_t row) {
    const auto at = static_cast<std::size_t>(of_class);
    for (std::int64_t vector = first[at]; vector < first[at + 1]; ++vector)
      matrix[static_cast<std::size_t>(vector * pairs + pair)] =
          model.coefficients[static_cast<std::size_t>(row * model.count + vector)];
  };
  for (std::int64_t i = 0; i < classes.count; ++i)
    for (std::int64_t j = i + 1; j < classes.count; ++j, ++pair) {
      fill(i, j - 1);
      fill(j, i);
    }
  return matrix;
}

/// Calls f(pair, i, j) for all pairs of classes i < j.
template <class F>
void for_each_pair(std::int64_t classes, F f) {
  std::size_t pair = 0;
  for (std::int64_t i = 0; i < classes; ++i)
    for (std::int64_t j = i + 1; j < classes; ++j)
      f(pair++, static_cast<std::size_t>(i), static_cast<std::size_t>(j));
}

/// Returns the class with the most votes, the first of equal ones, of decisions [rows, pairs].
ValueId winner(Composer& c, ValueId decisions, std::int64_t classes) {
  const std::int64_t pairs = classes * (classes - 1) / 2;
  Floats first(static_cast<std::size_t>(pairs * classes)), second = first;
  for_each_pair(classes, [&](std::size_t pair, std::size_t i, std::size_t j) {
    first[pair * static_cast<std::size_t>(classes) + i] = 1;
    second[pair * static_cast<std::size_t>(classes) + j] = 1;
  });
  const auto votes = [&](ValueId won, const Floats& whose) {
    return c.contract(c.cast(won, DType::f32), matrix_of(c, whose, pairs, classes), "np,pc->nc");
  };
  const ValueId wins = c.less(c.scalar(0, DType::f32), decisions);
  const ValueId loses = c.op(ops::logical_not_op, {wins});
  return best_class(c, c.add(votes(wins, first), votes(loses, second)));
}

/// Returns probabilities of classes from decisions: those of pairs are sigmoids, and are coupled.
ValueId probabilities(Composer& c, ValueId decisions, const VectorClasses& classes) {
  const auto number = [&](double value) { return c.scalar(value, DType::f32); };
  const ValueId line =
      c.add(c.mul(decisions, numbers_value(c, classes.prob_a)), numbers_value(c, classes.prob_b));
  const ValueId chance = c.sub(number(1), c.op(ops::sigmoid_op, {line}));
  const ValueId within = c.min(c.max(chance, number(1e-7)), number(1 - 1e-7f));
  // A column of zeros for the diagonal, then those of pairs, then of their opposites.
  const ValueId zeros = c.mul(column(c, within, 0), number(0));
  const ValueId all = c.concat({zeros, within, c.sub(number(1), within)}, 1);
  Ints columns(static_cast<std::size_t>(classes.count * classes.count));
  for_each_pair(classes.count, [&](std::size_t pair, std::size_t i, std::size_t j) {
    const auto count = static_cast<std::size_t>(classes.count);
    columns[i * count + j] = static_cast<std::int64_t>(pair) + 1;
    columns[j * count + i] = static_cast<std::int64_t>(pair) + 1 + classes.pairs();
  });
  const ValueId square =
      c.reshape(c.gather(all, c.list(columns), 1),
                c.join({c.dim(decisions, 0), c.list({classes.count, classes.count})}));
  return c.op(ops::pairwise_coupling_op, {square});
}

/// Labels of a model without support vectors, from scores [rows, classes].
ValueId linear_label(Composer& c, ValueId scores, const VectorClasses& classes,
                     const Floats& coefficients) {
  const ValueId best = best_class(c, scores);
  if (classes.count != 2) return classes.labels.at(c, best);
  // Of two classes the second one wins if any score exceeds the boundary.
  const bool positive = std::ranges::all_of(coefficients, [](double each) { return each >= 0; });
  const ValueId greatest = c.squeeze(c.reduce(scores, "max", {1}), {1});
  const ValueId beyond = positive ? c.less_equal(c.scalar(0.5, DType::f32), greatest)
                                  : c.less(c.scalar(0, DType::f32), greatest);
  return classes.labels.at(c, c.where(beyond, c.number(1), best));
}

struct VectorResult {
  ValueId label, scores;
};

VectorResult classify_linear(Composer& c, ValueId x, const VectorClasses& classes,
                             const SupportVectors& model, PostTransform transform) {
  const auto features = static_cast<std::int64_t>(model.coefficients.size()) / classes.count;
  const ValueId weights = matrix_of(c, model.coefficients, classes.count, features);
  const ValueId scores =
      c.add(kernel_values(c, x, weights, model), c.scalar(model.rho[0], DType::f32));
  return {linear_label(c, scores, classes, model.coefficients), transformed(c, scores, transform)};
}

VectorResult classify_pairs(Composer& c, ValueId x, const VectorClasses& classes,
                            const SupportVectors& model, PostTransform transform) {
  const ValueId weights =
      matrix_of(c, pair_coefficients(classes, model), model.count, classes.pairs());
  const ValueId decisions =
      c.add(c.contract(kernels_of(c, x, model), weights, "ns,sp->np"), numbers_value(c, model.rho));
  const ValueId label = classes.labels.at(c, winner(c, decisions, classes.count));
  if (!classes.prob_a.empty())
    return {label, transformed(c, probabilities(c, decisions, classes), transform)};
  if (classes.count > 2) return {label, transformed(c, decisions, transform)};
  return {label, spread(c, decisions, transform == PostTransform::none, transform)};
}

}  // namespace

Expected<void> convert_svm_classifier(NodeCtx& ctx) {
  VectorClasses classes;
  SCANLOOM_TRY(classes.labels, read_labels(ctx, "classlabels_strings", "classlabels_ints"));
  classes.count = static_cast<std::int64_t>(classes.labels.size());
  SCANLOOM_TRY(classes.sizes, ctx.integers("vectors_per_class"));
  std::int64_t vectors = 0;
  for (const std::int64_t size : classes.sizes) {
    if (size < 0 || size > (std::int64_t{1} << 31))
      return invalid_model("attribute 'vectors_per_class' has {}", size);
    vectors += size;
  }
  SCANLOOM_TRY(classes.prob_a, ctx.floats("prob_a"));
  SCANLOOM_TRY(classes.prob_b, ctx.floats("prob_b"));
  SCANLOOM_TRY(const SupportVectors model, read_vectors(ctx, vectors));
  SCANLOOM_CHECK_OK(check_classes(classes, model));
  SCANLOOM_TRY(const PostTransform transform, read_transform(ctx));
  if (vectors > 0 && classes.count < 2)
    return invalid_model("it has support vectors, but one class");
  Composer c(ctx);
  const ValueId x = c.cast(rows_of(c), DType::f32);
  const VectorResult made = model.count == 0 ? classify_linear(c, x, classes, model, transform)
                                             : classify_pairs(c, x, classes, model, transform);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, made.label);
  ctx.set_output(1, made.scores);
  return {};
}

Expected<void> convert_svm_regressor(NodeCtx& ctx) {
  SCANLOOM_TRY(const std::int64_t count, ctx.integer("n_supports", 0));
  SCANLOOM_TRY(const SupportVectors model, read_vectors(ctx, count));
  SCANLOOM_TRY(const std::int64_t one_class, ctx.integer("one_class", 0));
  ctx.ignore("post_transform");  // a single target has none
  if (model.rho.empty()) return invalid_model("attribute 'rho' is missing");
  if (count > 0)
    SCANLOOM_CHECK_OK(
        check_entries("coefficients", model.coefficients.size(), static_cast<std::size_t>(count)));
  Composer c(ctx);
  const ValueId given = rows_of(c);
  const ValueId x = c.cast(given, DType::f32);
  const auto size = static_cast<std::int64_t>(model.coefficients.size());
  const ValueId weights = matrix_of(c, model.coefficients, 1, size);
  const ValueId kernels = count > 0 ? kernels_of(c, x, model) : x;
  ValueId y = c.add(c.contract(kernels, weights, "ns,ts->nt"), c.scalar(model.rho[0], DType::f32));
  const auto number = [&](double value) { return c.scalar(value, DType::f32); };
  if (one_class != 0) y = c.where(c.less(number(0), y), number(1), number(-1));
  return c.emit(y);
}

}  // namespace scanloom::onnx
