#include "frontends/onnx/ops/class_labels.h"

#include <numeric>

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Shape;
using tensor::Tensor;

namespace {

ValueId labels_value(Composer& c, const ClassLabels& labels) {
  if (!labels.are_texts()) return c.list(labels.integers);
  const Shape shape = {static_cast<std::int64_t>(labels.texts.size())};
  Tensor made = c.take(Tensor::of_strings(shape, labels.texts));
  return c.ok() ? c.ctx().builder().constant(std::move(made)) : ValueId{};
}

/// The inverse of the normal distribution, with Winitzki's approximation of the inverse error
/// function: the specification gives no other definition, and models were fitted with this one.
ValueId probit(Composer& c, ValueId score) {
  constexpr double kA = 0.147, kPi = 3.14159, kRoot = 1.41421356;
  const auto number = [&](double value) { return c.like(value, score); };
  const ValueId x = c.sub(c.mul(score, number(2)), number(1));
  const ValueId log = c.log(c.mul(c.sub(number(1), x), c.add(number(1), x)));
  const ValueId half = c.add(number(2 / (kPi * kA)), c.mul(number(0.5), log));
  const ValueId inner = c.sub(c.mul(half, half), c.mul(number(1 / kA), log));
  const ValueId size = c.sqrt(c.sub(c.sqrt(inner), half));
  const ValueId sign = c.where(c.less(x, number(0)), number(-1), number(1));
  return c.mul(c.mul(sign, size), number(kRoot));
}

/// A softmax over the scores that are not zero.
ValueId softmax_zero(Composer& c, ValueId scores) {
  const ValueId greatest = c.reduce(scores, "max", {1});
  const ValueId counts = c.less(c.like(1e-7, scores), c.abs(scores));
  const ValueId power = c.exp(c.sub(scores, greatest));
  const ValueId sum = c.reduce(c.where(counts, power, c.like(0, scores)), "sum", {1});
  return c.div(c.where(counts, power, c.mul(scores, c.exp(c.neg(greatest)))), sum);
}

}  // namespace

ValueId rows_of(Composer& c) {
  const ValueId x = c.in(0);
  const int rank = c.rank(0, x, 1);
  if (!c.ok() || rank == 2) return x;
  if (rank == 1) return c.unsqueeze(x, {0});
  c.refuse(invalid_model("{} has {} axes, but must have 1 or 2", c.ctx().describe_input(0), rank));
  return {};
}

ValueId numbers_value(Composer& c, const std::vector<double>& values, DType dtype) {
  const Shape shape = {static_cast<std::int64_t>(values.size())};
  const std::vector<float> narrow(values.begin(), values.end());
  Tensor made = c.take(dtype == DType::f64 ? Tensor::copy_of(DType::f64, shape, values.data())
                                           : Tensor::copy_of(DType::f32, shape, narrow.data()));
  return c.ok() ? c.ctx().builder().constant(std::move(made)) : ValueId{};
}

ValueId ClassLabels::at(Composer& c, ValueId index) const {
  std::vector<std::int64_t> counted(integers.size());
  std::iota(counted.begin(), counted.end(), std::int64_t{0});
  if (!are_texts() && integers == counted) return index;
  return c.gather(labels_value(c, *this), index, 0);
}

ValueId ClassLabels::either(Composer& c, ValueId condition) const {
  ClassLabels two = *this;
  if (size() != 2 && are_texts()) two.texts = {"0", "1"};
  if (size() != 2 && !are_texts()) two.integers = {0, 1};
  return two.at(c, c.cast(condition, DType::i64));
}

Expected<ClassLabels> read_labels(NodeCtx& ctx, std::string_view texts, std::string_view integers) {
  ClassLabels labels;
  SCANLOOM_TRY(labels.texts, ctx.texts(texts));
  SCANLOOM_TRY(labels.integers, ctx.integers(integers));
  if (labels.texts.empty() == labels.integers.empty())
    return invalid_model("attributes '{}' and '{}' are both {}, but one of them is needed", texts,
                         integers, labels.texts.empty() ? "missing" : "present");
  return labels;
}

Expected<PostTransform> read_transform(NodeCtx& ctx) {
  SCANLOOM_TRY(const std::string name, ctx.text("post_transform", "NONE"));
  if (name == "NONE") return PostTransform::none;
  if (name == "SOFTMAX") return PostTransform::softmax;
  if (name == "LOGISTIC") return PostTransform::logistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::softmax_zero;
  if (name == "PROBIT") return PostTransform::probit;
  return invalid_model(
      "attribute 'post_transform' is '{}', but must be NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or "
      "PROBIT",
      name);
}

ValueId transformed(Composer& c, ValueId scores, PostTransform transform) {
  switch (transform) {
    case PostTransform::none:
      break;
    case PostTransform::softmax:
      return c.op(ops::softmax_op, {scores}, {{"axis", 1}});
    case PostTransform::logistic:
      return c.op(ops::sigmoid_op, {scores});
    case PostTransform::softmax_zero:
      return softmax_zero(c, scores);
    case PostTransform::probit:
      return probit(c, scores);
  }
  return scores;
}

ValueId transformed_targets(Composer& c, ValueId scores, std::int64_t targets,
                            PostTransform transform) {
  const bool applies = targets > 1 || transform == PostTransform::probit;
  return applies ? transformed(c, scores, transform) : scores;
}

ValueId spread(Composer& c, ValueId score, bool opposite, PostTransform transform) {
  const ValueId negative = c.neg(score);
  if (transform == PostTransform::logistic)
    return c.concat({c.op(ops::sigmoid_op, {negative}), c.op(ops::sigmoid_op, {score})}, 1);
  const ValueId first = opposite ? negative : c.sub(c.like(1, score), score);
  const ValueId both = c.concat({first, score}, 1);
  return transform == PostTransform::probit ? transformed(c, both, transform) : both;
}

ValueId column(Composer& c, ValueId scores, std::int64_t index) {
  return c.slice(scores, 1, index, index + 1);
}

ValueId best_class(Composer& c, ValueId scores) {
  return c.op(ops::argmax_op, {scores}, {{"axis", 1}, {"keepdims", 0}, {"select_last_index", 0}});
}

}  // namespace scanloom::onnx
