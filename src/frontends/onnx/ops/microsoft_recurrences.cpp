// Recurrences of com.microsoft that ONNX has, too, and what surrounds them: LinearAttention,
// LinearAttentionGate, CausalConvWithState and GemmaRotaryEmbedding. Source: ONNX Runtime's
// docs/ContribOperators.md.
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Error: an attribute that ONNX's operator does not have differs from what that computes.
Expected<void> check_attributes(
    NodeCtx& ctx, std::initializer_list<std::pair<const char*, std::int64_t>> attributes) {
  for (const auto& [name, only] : attributes) {
    SCANLOOM_TRY(const std::int64_t value, ctx.integer(name, only));
    if (value != only)
      return fail(Code::unsupported, "attribute '{}' is {}: only {} is supported", name, value,
                  only);
  }
  return {};
}

}  // namespace

Expected<void> convert_microsoft_linear_attention(NodeCtx& ctx) {
  SCANLOOM_CHECK_OK(check_attributes(ctx, {{"state_window", 0}}));
  return convert_linear_attention(ctx);
}

Expected<void> convert_microsoft_causal_conv_with_state(NodeCtx& ctx) {
  SCANLOOM_CHECK_OK(check_attributes(
      ctx, {{"state_window", 0}, {"channels_last", 0}, {"dilation", 1}, {"ndim", 1}}));
  return convert_causal_conv_with_state(ctx);
}

// decay = decay_scale * softplus(a + dt_bias) in f32, and beta = sigmoid(b).
Expected<void> convert_linear_attention_gate(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId a = c.in(0), offset = c.in(1), scale = c.in(2), b = c.optional_in(3);
  if (ctx.wants(1) && !b.valid())
    return invalid_model("output 1, beta, needs input 3, which is missing");
  const ValueId sum = c.add(c.cast(a, DType::f32), c.cast(offset, DType::f32));
  const ValueId decay = c.mul(c.cast(scale, DType::f32), c.op(ops::softplus_op, {sum}));
  if (b.valid()) {
    const ValueId beta =
        c.cast(c.op(ops::sigmoid_op, {c.cast(b, at_least_f32(c.dtype(b)))}), c.dtype(b));
    if (c.ok()) ctx.set_output(1, beta);
  }
  return c.emit(c.cast(decay, c.dtype(a)));
}

// x * cos(angles) + turned * sin(angles), for queries and for keys.
Expected<void> convert_gemma_rotary_embedding(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId angles = c.in(0);
  if (const int rank = c.rank(0, angles, 3); c.ok() && rank != 3)
    return invalid_model("{} has {} axes, not 3", ctx.describe_input(0), rank);
  const auto rotated = [&](int first) {
    const ValueId x = c.in(first), turned = c.in(first + 1);
    const DType dtype = c.dtype(x);
    const ValueId cosine = c.unsqueeze(c.cast(c.cos(angles), dtype), {1});
    const ValueId sine = c.unsqueeze(c.cast(c.sin(angles), dtype), {1});
    return c.add(c.mul(x, cosine), c.mul(turned, sine));
  };
  const ValueId key = rotated(3);
  if (c.ok()) ctx.set_output(1, key);
  return c.emit(rotated(1));
}

}  // namespace scanloom::onnx
