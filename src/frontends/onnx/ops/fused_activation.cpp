#include "frontends/onnx/ops/fused_activation.h"

#include <algorithm>

namespace scanloom::onnx {

using ir::ValueId;

namespace {

using Parameters = std::span<const double>;

double parameter(Parameters parameters, std::size_t i, double fallback) {
  return i < parameters.size() ? parameters[i] : fallback;
}

ValueId fused_leaky_relu(Composer& c, ValueId x, Parameters p) {
  const double alpha = parameter(p, 0, static_cast<double>(0.01f));
  return c.op(ops::leaky_relu_op, {x}, {{"alpha", alpha}});
}
ValueId fused_elu(Composer& c, ValueId x, Parameters p) {
  return c.op(ops::elu_op, {x}, {{"alpha", parameter(p, 0, 1)}});
}
ValueId fused_hard_sigmoid(Composer& c, ValueId x, Parameters p) {
  const double alpha = parameter(p, 0, static_cast<double>(0.2f));
  return c.op(ops::hard_sigmoid_op, {x}, {{"alpha", alpha}, {"beta", parameter(p, 1, 0.5)}});
}
ValueId fused_clip(Composer& c, ValueId x, Parameters p) {
  const ValueId low = p.empty() ? ValueId{} : c.like(p[0], x);
  return c.op(ops::clip_op, {x, low, p.size() < 2 ? ValueId{} : c.like(p[1], x)});
}
ValueId fused_selu(Composer& c, ValueId x, Parameters p) {
  const double alpha = parameter(p, 0, static_cast<double>(1.67326319217681884765625f));
  const double gamma = parameter(p, 1, static_cast<double>(1.05070102214813232421875f));
  return c.mul(c.op(ops::elu_op, {x}, {{"alpha", alpha}}), c.like(gamma, x));
}
ValueId fused_thresholded_relu(Composer& c, ValueId x, Parameters p) {
  return c.where(c.less(c.like(parameter(p, 0, 1), x), x), x, c.like(0, x));
}
ValueId fused_scaled_tanh(Composer& c, ValueId x, Parameters p) {
  const ValueId inner = c.mul(c.like(parameter(p, 1, 1), x), x);
  return c.mul(c.like(parameter(p, 0, 1), x), c.op(ops::tanh_op, {inner}));
}
ValueId fused_softsign(Composer& c, ValueId x, Parameters) {
  return c.div(x, c.add(c.like(1, x), c.abs(x)));
}
ValueId fused_affine(Composer& c, ValueId x, Parameters p) {
  const ValueId product = c.mul(c.like(parameter(p, 0, 1), x), x);
  return c.add(product, c.like(parameter(p, 1, 0), x));
}
template <const ir::OpDef& kOp>
ValueId fused_same(Composer& c, ValueId x, Parameters) {
  return c.op(kOp, {x});
}

struct FusedActivation {
  std::string_view name;
  ValueId (*apply)(Composer&, ValueId, Parameters);
};

constexpr FusedActivation kFused[] = {
    {"Affine", fused_affine},
    {"Clip", fused_clip},
    {"Elu", fused_elu},
    {"HardSigmoid", fused_hard_sigmoid},
    {"LeakyRelu", fused_leaky_relu},
    {"Relu", fused_same<ops::relu_op>},
    {"ScaledTanh", fused_scaled_tanh},
    {"Selu", fused_selu},
    {"Sigmoid", fused_same<ops::sigmoid_op>},
    {"Softplus", fused_same<ops::softplus_op>},
    {"Softsign", fused_softsign},
    {"Tanh", fused_same<ops::tanh_op>},
    {"ThresholdedRelu", fused_thresholded_relu},
};

}  // namespace

ValueId fused_activation(Composer& c, ValueId x, std::string_view name, Parameters parameters) {
  if (name.empty() || !c.ok()) return x;
  const auto* const found = std::ranges::find(kFused, name, &FusedActivation::name);
  if (found != std::end(kFused)) return found->apply(c, x, parameters);
  c.refuse(fail(Code::unsupported, "attribute 'activation' is '{}', which is not supported",
                shown_name(name)));
  return {};
}

ValueId fused_activation(Composer& c, ValueId x) {
  std::vector<double> parameters;
  for (const char* const name : {"activation_alpha", "activation_beta"})
    if (c.ctx().has_attribute(name)) parameters.push_back(c.real(name, 0));
  const std::string name = c.text("activation", "");
  // Selu's second parameter is named gamma.
  if (c.ctx().has_attribute("activation_gamma")) {
    const double gamma = c.real("activation_gamma", 0);
    if (name == "Selu") parameters.push_back(gamma);
  }
  return fused_activation(c, x, name, parameters);
}

}  // namespace scanloom::onnx
