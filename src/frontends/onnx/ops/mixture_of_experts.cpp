// MoE of com.microsoft, a mixture of experts: each token is computed by the k experts that its
// router prefers. A loop over the experts gathers the tokens of each, so no expert computes others.
// Source: ONNX Runtime's docs/ContribOperators.md.
#include <algorithm>
#include <array>
#include <optional>

#include "frontends/onnx/ops/composed_loop.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/scan_parts.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// The weights [experts, out, in] and biases [experts, out] of the layers; those that are absent
/// are invalid. The third is the linear half of a gate.
struct ExpertLayers {
  std::array<ValueId, 3> weight, bias;
};

struct ExpertActivation {
  std::string kind;
  std::int64_t fusion = 0;  // of swiglu: 1 interleaves the two halves, 2 puts one after the other
  double alpha = 1, beta = 0;
  std::optional<double> limit;
};

ExpertActivation expert_activation(Composer& c) {
  ExpertActivation a{.kind = c.text("activation_type", "relu"),
                     .fusion = c.integer("swiglu_fusion", 0),
                     .alpha = c.real("activation_alpha", 1),
                     .beta = c.real("activation_beta", 0)};
  if (c.ctx().has_attribute("swiglu_limit")) a.limit = c.real("swiglu_limit", 0);
  constexpr std::array kKinds = {"relu", "gelu", "silu", "swiglu", "identity"};
  if (c.ok() && std::ranges::find(kKinds, a.kind) == kKinds.end())
    c.refuse(invalid_model("attribute 'activation_type' is '{}', which is not known", a.kind));
  if (c.ok() && (a.fusion < 0 || a.fusion > 2))
    c.refuse(invalid_model("attribute 'swiglu_fusion' is {}, not 0 to 2", a.fusion));
  return a;
}

/// G * sigmoid(alpha * G) * (L + beta), with G and L limited.
ValueId swiglu(Composer& c, ValueId gate, ValueId linear, const ExpertActivation& a) {
  if (a.limit) {
    gate = c.min(gate, c.like(*a.limit, gate));
    linear = c.max(c.min(linear, c.like(*a.limit, linear)), c.like(-*a.limit, linear));
  }
  const ValueId open = c.op(ops::sigmoid_op, {c.mul(gate, c.like(a.alpha, gate))});
  return c.mul(c.mul(gate, open), c.add(linear, c.like(a.beta, linear)));
}

/// Applies the activation to the result of the first layer; `linear` is that of the third.
ValueId activated(Composer& c, ValueId x, ValueId linear, const ExpertActivation& a) {
  if (a.kind == "swiglu") {
    if (linear.valid()) return swiglu(c, x, linear, a);
    const ValueId size = c.dim(x, 1), half = c.div(size, c.number(2)), none = c.number(0);
    if (a.fusion == 1)
      return swiglu(c, c.slice(x, 1, none, size, 2), c.slice(x, 1, c.number(1), size, 2), a);
    return swiglu(c, c.slice(x, 1, none, half), c.slice(x, 1, half, size), a);
  }
  ValueId y = x;
  if (a.kind == "relu") y = c.op(ops::relu_op, {x});
  if (a.kind == "gelu") y = c.gelu(x, true);
  if (a.kind == "silu") y = c.mul(x, c.op(ops::sigmoid_op, {x}));
  return linear.valid() ? c.mul(y, linear) : y;
}

/// Returns the weights [tokens, experts] with which the results are added: 0 for experts that are
/// not among the k preferred ones.
ValueId routing_weights(Composer& c, ValueId logits, ValueId mixing) {
  const std::int64_t k = c.integer("k", 1), experts = c.known_size(logits, 1);
  if (c.integer("use_sparse_mixer", 0) != 0)
    c.refuse(fail(Code::unsupported, "attribute 'use_sparse_mixer' is not supported"));
  if (c.ok() && (k < 1 || (experts >= 0 && k > experts)))
    c.refuse(invalid_model("attribute 'k' is {}, but there are {} experts", k, experts));
  if (!c.ok()) return {};
  const ValueId wide = c.cast(logits, at_least_f32(c.dtype(logits)));
  const ValueId soft = c.op(ops::softmax_op, {wide}, {{"axis", -1}});
  const ir::NodeId picked = c.take(c.builder().node(
      ops::topk_op, {soft, c.list({k})}, {{"axis", 1}, {"largest", 1}, {"sorted", 1}}, 2));
  if (!c.ok()) return {};
  const std::vector<ValueId> best = c.ctx().module().node(picked).outputs;
  ValueId kept = best[0];
  if (mixing.valid())
    kept = c.op(ops::gather_elements_op, {c.cast(mixing, c.dtype(soft)), best[1]}, {{"axis", 1}});
  if (c.integer("normalize_routing_weights", 0) != 0)
    kept = c.div(kept, c.reduce(kept, "sum", {1}));
  return c.op(ops::scatter_elements_op, {c.mul(soft, c.like(0, soft)), best[1], kept},
              {{"axis", 1}, {"reduction", "none"}});
}

/// The loop over the experts: adds the weighted results for the tokens of each.
ValueId sum_over_experts(Composer& c, ValueId x, ValueId routing, const ExpertLayers& layers,
                         const ExpertActivation& activation) {
  if (!c.ok()) return {};
  std::vector<MeasuredAxis> counts = {{routing, 1, "the router"}};
  for (const auto& parts : {layers.weight, layers.bias})
    for (const ValueId part : parts)
      if (part.valid()) counts.push_back({part, 0, "a layer"});
  ComposedLoop loop{.steps = c.take(common_size(c.ctx(), counts, "experts")),
                    .captured = {x},
                    .carried = {c.mul(x, c.like(0, x))},
                    .scanned = {{c.transpose(routing, {1, 0}), 0}},
                    .stacked = {}};
  std::array<int, 6> places{};  // in `scanned`; 0 if absent
  for (std::size_t i = 0; i < 6; ++i) {
    const ValueId part = i < 3 ? layers.weight[i] : layers.bias[i - 3];
    if (!part.valid()) continue;
    places[i] = static_cast<int>(loop.scanned.size());
    loop.scanned.push_back({part, 0});
  }
  const auto body = [&](Composer& inside, const ComposedLoop::Step& step) {
    const auto layer = [&](std::size_t i, ValueId in) {
      const ValueId y =
          inside.contract(in, step.scanned[static_cast<std::size_t>(places[i])], "mk,nk->mn");
      const int bias = places[i + 3];
      return bias == 0 ? y : inside.add(y, step.scanned[static_cast<std::size_t>(bias)]);
    };
    const ValueId weights = step.scanned[0];
    const ValueId tokens = inside.squeeze(inside.op(ops::non_zero_op, {weights}), {0});
    const ValueId in = inside.gather(step.captured[0], tokens, 0);
    const ValueId linear = places[2] == 0 ? ValueId{} : layer(2, in);
    const ValueId y = layer(1, activated(inside, layer(0, in), linear, activation));
    const ValueId weighted =
        inside.mul(y, inside.unsqueeze(inside.gather(weights, tokens, 0), {1}));
    const ValueId sum =
        inside.op(ops::scatter_nd_op, {step.carried[0], inside.unsqueeze(tokens, {1}), weighted},
                  {{"reduction", "add"}});
    return ComposedLoop::Yields{.carried = {sum}, .stacked = {}};
  };
  const std::vector<ValueId> results = make_loop(c, loop, "expert", body);
  return c.ok() ? results[0] : ValueId{};
}

/// Flattens the tokens, routes them and restores the shape. f16 is computed in f32.
Expected<void> emit_mixture(Composer& c, ExpertLayers layers, ValueId mixing) {
  const ValueId given = c.in(0), logits = c.in(1);
  const int rank = c.rank(0, given, 2);
  c.rank(1, logits, 2);
  if (c.ok() && rank > 3)
    c.refuse(invalid_model("{} has {} axes, not 2 or 3", c.ctx().describe_input(0), rank));
  const ExpertActivation activation = expert_activation(c);
  SCANLOOM_CHECK_OK(c.done());
  const DType wide = at_least_f32(c.dtype(given));
  for (auto* const parts : {&layers.weight, &layers.bias})
    for (ValueId& part : *parts)
      if (part.valid()) part = c.cast(part, wide);
  const ValueId width = c.dim(given, rank - 1);
  const ValueId flat = rank == 2 ? given : c.reshape(given, c.join({c.dim(logits, 0), width}));
  const ValueId x = c.cast(flat, wide);
  const ValueId routing = c.cast(routing_weights(c, logits, mixing), wide);
  const ValueId y = c.cast(sum_over_experts(c, x, routing, layers, activation), c.dtype(given));
  return c.emit(rank == 2 ? y : c.reshape(y, c.shape(given)));
}

}  // namespace

Expected<void> convert_moe(NodeCtx& ctx) {
  Composer c(ctx);
  ExpertLayers layers;
  for (int i = 0; i < 3; ++i) {
    const auto at = static_cast<std::size_t>(i);
    layers.weight[at] = c.optional_in(2 + 2 * i);
    layers.bias[at] = c.optional_in(3 + 2 * i);
    if (c.ok() && layers.weight[at].valid())
      if (const int rank = c.rank(2 + 2 * i, layers.weight[at], 3); c.ok() && rank != 3)
        return invalid_model("{} has {} axes, not 3", ctx.describe_input(2 + 2 * i), rank);
    if (c.ok() && layers.bias[at].valid())
      if (const int rank = c.rank(3 + 2 * i, layers.bias[at], 2); c.ok() && rank != 2)
        return invalid_model("{} has {} axes, not 2", ctx.describe_input(3 + 2 * i), rank);
  }
  SCANLOOM_CHECK_OK(c.done());
  if (!layers.weight[0].valid() || !layers.weight[1].valid())
    return invalid_model("inputs 2 and 4, the weights of the experts, are needed");
  return emit_mixture(c, layers, {});
}

}  // namespace scanloom::onnx
