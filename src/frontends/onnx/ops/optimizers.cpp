// Adagrad, Adam and Momentum (ai.onnx.preview.training 1): one step for each of several tensors.
// The operands are the rate R, the number T of steps before this one, then all X, all gradients G,
// and the states; the results are all new X, then the new states.
#include <cstddef>
#include <vector>

#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

class OptimizerStep {
 public:
  /// `states`: of each tensor.
  OptimizerStep(NodeCtx& ctx, int states) : c(ctx), ctx_(ctx) {
    const int each = states + 2;  // X, G and the states
    if ((ctx.input_count() - 2) % each != 0)
      c.refuse(invalid_model("there are {} operands after R and T, not {} for each tensor",
                             ctx.input_count() - 2, each));
    count_ = (ctx.input_count() - 2) / each;
    rate_ = c.reshape(c.in(0), c.list({}));
    steps_ = c.reshape(c.in(1), c.list({}));
    norm_coefficient_ = c.real("norm_coefficient", 0);
  }

  [[nodiscard]] int count() const { return count_; }
  /// Operand `group` of tensor i: 0 for X, 1 for G, then the states.
  ValueId in(int group, int i) { return c.in(2 + group * count_ + i); }
  /// Sets result `group` of tensor i: 0 for X, then the states.
  void set(int group, int i, ValueId value) {
    if (c.ok() && ctx_.wants(group * count_ + i)) ctx_.set_output(group * count_ + i, value);
  }
  /// G with the gradient of a penalty on the squares of X.
  ValueId regularised(ValueId x, int i) {
    return c.add(c.mul(c.like(norm_coefficient_, x), x), in(1, i));
  }
  /// Scalars of the type of x.
  ValueId rate(ValueId x) { return c.cast(rate_, c.dtype(x)); }
  ValueId steps(ValueId x) { return c.cast(steps_, c.dtype(x)); }
  /// a after some steps, b before the first.
  ValueId after_first(ValueId a, ValueId b) {
    return c.where(c.less(c.number(0), c.cast(steps_, DType::i64)), a, b);
  }
  /// factor * old + (1 - factor) * added.
  ValueId averaged(double factor, ValueId old, ValueId added) {
    return c.add(c.mul(c.like(factor, old), old), c.mul(c.like(1 - factor, old), added));
  }

  Composer c;

 private:
  NodeCtx& ctx_;
  int count_ = 0;
  ValueId rate_, steps_;
  double norm_coefficient_ = 0;
};

}  // namespace

Expected<void> convert_adagrad(NodeCtx& ctx) {
  OptimizerStep step(ctx, 1);
  Composer& c = step.c;
  const double decay = c.real("decay_factor", 0), epsilon = c.real("epsilon", 1e-6);
  for (int i = 0; i < step.count() && c.ok(); ++i) {
    const ValueId x = step.in(0, i), g = step.regularised(x, i);
    const ValueId decayed = c.add(c.like(1, x), c.mul(step.steps(x), c.like(decay, x)));
    const ValueId squares = c.add(step.in(2, i), c.mul(g, g));
    const ValueId root = c.add(c.sqrt(squares), c.like(epsilon, x));
    const ValueId rate = c.div(step.rate(x), decayed);
    step.set(0, i, c.sub(x, c.div(c.mul(rate, g), root)));
    step.set(1, i, squares);
  }
  return c.done();
}

Expected<void> convert_adam(NodeCtx& ctx) {
  OptimizerStep step(ctx, 2);
  Composer& c = step.c;
  const double alpha = c.real("alpha", 0.9), beta = c.real("beta", 0.999);
  const double epsilon = c.real("epsilon", 1e-6), post = c.real("norm_coefficient_post", 0);
  for (int i = 0; i < step.count() && c.ok(); ++i) {
    const ValueId x = step.in(0, i), g = step.regularised(x, i);
    const ValueId mean = step.averaged(alpha, step.in(2, i), g);
    const ValueId square = step.averaged(beta, step.in(3, i), c.mul(g, g));
    const auto missing = [&](double factor) {  // of the weights of an average of T steps
      return c.sub(c.like(1, x), c.pow(c.like(factor, x), step.steps(x)));
    };
    const ValueId corrected = c.div(c.mul(step.rate(x), c.sqrt(missing(beta))), missing(alpha));
    const ValueId rate = step.after_first(corrected, step.rate(x));
    const ValueId root = c.add(c.sqrt(square), c.like(epsilon, x));
    const ValueId moved = c.sub(x, c.div(c.mul(rate, mean), root));
    step.set(0, i, c.mul(c.like(1 - post, x), moved));
    step.set(1, i, mean);
    step.set(2, i, square);
  }
  return c.done();
}

Expected<void> convert_momentum(NodeCtx& ctx) {
  OptimizerStep step(ctx, 1);
  Composer& c = step.c;
  for (const char* name : {"alpha", "beta", "mode", "norm_coefficient"})
    if (!ctx.has_attribute(name)) c.refuse(invalid_model("attribute '{}' is missing", name));
  const double alpha = c.real("alpha", 0), beta = c.real("beta", 0);
  const std::string mode = c.text("mode", "");
  if (c.ok() && mode != "nesterov" && mode != "standard")
    c.refuse(invalid_model("attribute 'mode' is '{}', neither nesterov nor standard", mode));
  for (int i = 0; i < step.count() && c.ok(); ++i) {
    const ValueId x = step.in(0, i), g = step.regularised(x, i);
    const ValueId weight = step.after_first(c.like(beta, x), c.like(1, x));
    const ValueId kept = c.mul(c.like(alpha, x), step.in(2, i));
    const ValueId speed = c.add(kept, c.mul(weight, g));
    const ValueId direction = mode == "nesterov" ? c.add(g, c.mul(c.like(alpha, x), speed)) : speed;
    step.set(0, i, c.sub(x, c.mul(step.rate(x), direction)));
    step.set(1, i, speed);
  }
  return c.done();
}

}  // namespace scanloom::onnx
