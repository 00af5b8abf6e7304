// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. Axis 1 of the scores is the class; the
// target has the other axes.
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// The class to look up for each target; class 0 where the target is ignored.
struct Picked {
  ValueId classes;  // classes that are safe to look up
  ValueId ignored;  // invalid if none is ignored
};

Picked pick_classes(Composer& c, ValueId target) {
  if (!c.ctx().has_attribute("ignore_index")) return {target, {}};
  const std::int64_t number = c.integer("ignore_index", 0);
  // A number outside the range of the target's type cannot occur in it.
  if (c.dtype(target) == DType::i32 && number != static_cast<std::int32_t>(number))
    return {target, {}};
  const ValueId ignored = c.equal(target, c.cast(c.number(number), c.dtype(target)));
  return {c.where(ignored, c.like(0, target), target), ignored};
}

/// Returns the weight of each sample, 0 for ignored ones; invalid if all are 1.
ValueId factors(Composer& c, const Picked& picked, ValueId weight, DType dtype) {
  ValueId factor;
  if (weight.valid()) factor = c.gather(weight, picked.classes, 0);
  if (!picked.ignored.valid()) return factor;
  return c.where(picked.ignored, c.scalar(0, dtype), factor.valid() ? factor : c.scalar(1, dtype));
}

ValueId likelihood_loss(Composer& c, ValueId log_prob, ValueId target, ValueId weight) {
  const std::string reduction = c.text("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    c.refuse(invalid_model("attribute 'reduction' is '{}', not none, sum or mean", reduction));
  const Picked picked = pick_classes(c, target);
  const ValueId found =
      c.op(ops::gather_elements_op, {log_prob, c.unsqueeze(picked.classes, {1})}, {{"axis", 1}});
  ValueId loss = c.neg(c.squeeze(found, {1}));
  const ValueId factor = factors(c, picked, weight, c.dtype(log_prob));
  if (weight.valid()) loss = c.mul(loss, factor);
  // A product with 0 would not do: the score of class 0 may be infinite.
  if (picked.ignored.valid()) loss = c.where(picked.ignored, c.like(0, loss), loss);
  if (reduction == "none") return loss;
  if (reduction == "sum") return c.reduce_all(loss, "sum");
  if (!factor.valid()) return c.reduce_all(loss, "mean");
  return c.div(c.reduce_all(loss, "sum"), c.reduce_all(factor, "sum"));
}

}  // namespace

Expected<void> convert_negative_log_likelihood_loss(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId log_prob = c.in(0), target = c.in(1), weight = c.optional_in(2);
  c.rank(0, log_prob, 2);
  return c.emit(likelihood_loss(c, log_prob, target, weight));
}

Expected<void> convert_softmax_cross_entropy_loss(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId scores = c.in(0), labels = c.in(1), weights = c.optional_in(2);
  c.rank(0, scores, 2);
  const ValueId log_prob = c.op(ops::log_softmax_op, {scores}, {{"axis", 1}});
  const ValueId loss = likelihood_loss(c, log_prob, labels, weights);
  if (c.ok()) ctx.set_output(1, log_prob);
  return c.emit(loss);
}

}  // namespace scanloom::onnx
