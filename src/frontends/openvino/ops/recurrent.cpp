#include "frontends/openvino/ops/recurrent.h"

#include <algorithm>
#include <cctype>

#include "base/ascii.h"

namespace scanloom::openvino {

using ir::ValueId;

Expected<RecurrentAttributes> recurrent_attributes(LayerCtx& ctx,
                                                   const std::vector<std::string>& usual) {
  RecurrentAttributes attrs;
  SCANLOOM_TRY(attrs.hidden, ctx.attributes.integer("hidden_size"));
  if (attrs.hidden < 1 || attrs.hidden > std::int64_t{1} << 32)
    return invalid_model("attribute 'hidden_size' is {}, outside [1, 2^32]", attrs.hidden);
  // LSTMSequence of opset 1 uses this name.
  SCANLOOM_TRY(const double threshold, ctx.attributes.real("clip_threshold", 0));
  SCANLOOM_TRY(attrs.clip, ctx.attributes.real("clip", threshold));
  if (!(attrs.clip >= 0))
    return invalid_model("attribute 'clip' is {}, but at least 0 is needed", attrs.clip);
  std::vector<std::string> names = ctx.attributes.texts("activations");
  if (names.empty()) names = usual;
  if (names.size() != usual.size())
    return invalid_model("attribute 'activations' has {} names, but {} are needed", names.size(),
                         usual.size());
  SCANLOOM_TRY(const auto alpha, ctx.attributes.floats("activations_alpha"));
  SCANLOOM_TRY(const auto beta, ctx.attributes.floats("activations_beta"));
  for (std::size_t i = 0; i < names.size(); ++i) {
    CellActivation one{.name = lowered(names[i])};
    attrs.is_usual = attrs.is_usual && one.name == usual[i];
    if (one.name != "sigmoid" && one.name != "tanh" && one.name != "relu" &&
        one.name != "hardsigmoid")
      return fail(Code::unsupported,
                  "activation '{}' is not one of sigmoid, tanh, relu and hardsigmoid", one.name);
    if (i < alpha.size()) one.alpha = alpha[i];
    if (i < beta.size()) one.beta = beta[i];
    attrs.activations.push_back(std::move(one));
  }
  return attrs;
}

ValueId activated(ops::Composer& c, const RecurrentAttributes& attrs, std::size_t activation,
                  ValueId x) {
  if (attrs.clip > 0) x = c.op(ops::clip_op, {x, c.like(-attrs.clip, x), c.like(attrs.clip, x)});
  const CellActivation& one = attrs.activations[activation];
  if (one.name == "sigmoid") return c.op(ops::sigmoid_op, {x});
  if (one.name == "tanh") return c.op(ops::tanh_op, {x});
  if (one.name == "relu") return c.op(ops::relu_op, {x});
  return c.op(ops::hard_sigmoid_op, {x}, {{"alpha", one.alpha}, {"beta", one.beta}});
}

Expected<std::string> lstm_weights_format(LayerCtx& ctx) {
  return ctx.attributes.choice("weights_format", "fico", {"fico", "icof", "ifco", "ifoc", "iofc"});
}

ValueId reordered_gates(ops::Composer& c, ValueId weights, std::int64_t axis,
                        const std::string& format, std::int64_t hidden) {
  if (format == kLstmGates) return weights;
  std::vector<ValueId> gates;
  for (const char gate : kLstmGates) {
    const auto at = static_cast<std::int64_t>(format.find(gate));
    gates.push_back(c.slice(weights, axis, at * hidden, (at + 1) * hidden));
  }
  return c.concat(std::move(gates), axis);
}

Expected<void> check_rank(LayerCtx& ctx, int i, int wanted) {
  SCANLOOM_TRY(const ValueId value, ctx.in(i));
  const tensor::Type& type = ctx.type(value);
  if (!type.ranked || type.rank() == wanted) return {};
  return invalid_model("input {} has {} axes, not {}", i, type.rank(), wanted);
}

Expected<void> check_size(LayerCtx& ctx, int i, int axis, std::int64_t wanted) {
  SCANLOOM_TRY(const ValueId value, ctx.in(i));
  const tensor::Type& type = ctx.type(value);
  if (!type.ranked || axis >= type.rank()) return {};
  const tensor::Dim size = type.dims[static_cast<std::size_t>(axis)];
  if (!size.is_constant() || size.value() == wanted) return {};
  return invalid_model("input {} has {} elements on axis {}, not {}", i, size.value(), axis,
                       wanted);
}

}  // namespace scanloom::openvino
