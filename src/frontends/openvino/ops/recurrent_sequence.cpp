// LSTMSequence, GRUSequence and RNNSequence, converted to the IR's layers with the batch first and
// the gates in the order of the IR.
#include <algorithm>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/recurrent.h"
#include "frontends/openvino/sizes.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// The positions of the operands: X, `states` states, sequence_lengths, W, R, B.
struct Sequence {
  int states = 1, gates = 1;
  RecurrentAttributes attrs;
  std::string direction;
  std::int64_t directions = 1;

  [[nodiscard]] int lengths() const { return states + 1; }
  [[nodiscard]] int w() const { return states + 2; }
  [[nodiscard]] int r() const { return states + 3; }
  [[nodiscard]] int b() const { return states + 4; }
};

Expected<void> check_operands(LayerCtx& ctx, const Sequence& sequence, std::int64_t bias_rows) {
  SCANLOOM_CHECK_OK(check_rank(ctx, 0, 3));
  for (int i = 1; i <= sequence.states; ++i) {
    SCANLOOM_CHECK_OK(check_rank(ctx, i, 3));
    SCANLOOM_CHECK_OK(check_size(ctx, i, 1, sequence.directions));
    SCANLOOM_CHECK_OK(check_size(ctx, i, 2, sequence.attrs.hidden));
  }
  SCANLOOM_CHECK_OK(check_rank(ctx, sequence.lengths(), 1));
  for (const int i : {sequence.w(), sequence.r()}) {
    SCANLOOM_CHECK_OK(check_rank(ctx, i, 3));
    SCANLOOM_CHECK_OK(check_size(ctx, i, 0, sequence.directions));
    SCANLOOM_CHECK_OK(check_size(ctx, i, 1, sequence.gates * sequence.attrs.hidden));
  }
  SCANLOOM_CHECK_OK(check_size(ctx, sequence.r(), 2, sequence.attrs.hidden));
  if (!ctx.has(sequence.b())) return {};
  SCANLOOM_CHECK_OK(check_rank(ctx, sequence.b(), 2));
  SCANLOOM_CHECK_OK(check_size(ctx, sequence.b(), 0, sequence.directions));
  return check_size(ctx, sequence.b(), 1, bias_rows * sequence.attrs.hidden);
}

Expected<Sequence> sequence_of(LayerCtx& ctx, int states, int gates,
                               const std::vector<std::string>& usual) {
  Sequence sequence{.states = states, .gates = gates};
  SCANLOOM_TRY(sequence.attrs, recurrent_attributes(ctx, usual));
  SCANLOOM_TRY(sequence.direction, ctx.attributes.choice("direction", "forward",
                                                         {"forward", "reverse", "bidirectional"}));
  sequence.directions = sequence.direction == "bidirectional" ? 2 : 1;
  return sequence;
}

/// "sigmoid,tanh,hardsigmoid:0.2:0.5", once per direction.
std::string activation_text(const Sequence& sequence) {
  std::string text;
  for (std::int64_t direction = 0; direction < sequence.directions; ++direction)
    for (const CellActivation& one : sequence.attrs.activations) {
      text += text.empty() ? one.name : "," + one.name;
      if (one.name == "hardsigmoid") text += fmt::format(":{}:{}", one.alpha, one.beta);
    }
  return text;
}

std::vector<ir::NamedAttr> attributes_of(const Sequence& sequence) {
  std::vector<ir::NamedAttr> attrs = {
      {"direction", sequence.direction}, {"hidden_size", sequence.attrs.hidden}, {"layout", 1}};
  if (!sequence.attrs.is_usual) attrs.push_back({"activations", activation_text(sequence)});
  if (sequence.attrs.clip > 0) attrs.push_back({"clip", sequence.attrs.clip});
  return attrs;
}

/// Whether the value is the size of axis 1 of x, which models with any number of steps compute.
bool is_number_of_steps(LayerCtx& ctx, ValueId value, ValueId x) {
  const auto size = size_of(ctx.module(), value);
  if (!size) return false;
  const tensor::Type& of = ctx.type(size->value);
  return of.ranked && size->axis < of.rank() &&
         of.dims[static_cast<std::size_t>(size->axis)] == ctx.type(x).dims[1];
}

/// Returns the lengths; invalid if they only repeat the sizes.
ValueId lengths_of(LayerComposer& c, const Sequence& sequence, ValueId x) {
  const std::int64_t steps = c.known_size(x, 1);
  const tensor::Tensor* const known = c.ctx().constant(sequence.lengths());
  if (known != nullptr && steps >= 0) {
    const LayerComposer::Ints lengths = c.constant_integers(sequence.lengths());
    if (std::ranges::all_of(lengths, [&](std::int64_t one) { return one == steps; })) return {};
  }
  const ValueId lengths = c.in(sequence.lengths());
  if (c.ok() && is_number_of_steps(c.ctx(), lengths, x)) return {};
  return c.dtype(lengths) == DType::i64 ? lengths : c.cast(lengths, DType::i32);
}

ValueId zeros_like(ops::Composer& c, ValueId x) { return c.expand(c.like(0, x), c.shape(x)); }

/// Returns [directions, rows], with zeros in place of the bias of the other product.
ValueId with_zeros(ops::Composer& c, ValueId bias) {
  return c.concat({bias, zeros_like(c, bias)}, 1);
}

/// Sets all results. They have the batch first; the one for all steps has the directions before the
/// steps.
Expected<void> finish(LayerComposer& c, const ir::OpDef& op, std::vector<ValueId> operands,
                      std::vector<ir::NamedAttr> attrs, int states) {
  SCANLOOM_CHECK_OK(c.done());
  LayerCtx& ctx = c.ctx();
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(op, std::move(operands), std::move(attrs), op.outputs.size()));
  const std::vector<ValueId> results = ctx.module().node(node).outputs;
  ctx.set_output(0, c.transpose(results[0], {0, 2, 1, 3}));
  SCANLOOM_CHECK_OK(c.done());
  for (int i = 1; i <= states; ++i) ctx.set_output(i, results[static_cast<std::size_t>(i)]);
  return {};
}

}  // namespace

// Opset 1 may have peepholes, like its cell.
Expected<void> convert_lstm_sequence(LayerCtx& ctx) {
  SCANLOOM_TRY(const Sequence sequence, sequence_of(ctx, 2, 4, {"sigmoid", "tanh", "tanh"}));
  SCANLOOM_CHECK_OK(check_operands(ctx, sequence, 4));
  SCANLOOM_TRY(const std::string format, lstm_weights_format(ctx));
  SCANLOOM_TRY(const bool input_forget, ctx.attributes.boolean("input_forget", false));
  LayerComposer c(ctx);
  const auto ordered = [&](int i) {
    return reordered_gates(c, c.in(i), 1, format, sequence.attrs.hidden);
  };
  const ValueId x = c.in(0), w = ordered(sequence.w()), r = ordered(sequence.r());
  const ValueId b = ctx.has(sequence.b()) ? with_zeros(c, ordered(sequence.b())) : ValueId{};
  auto attrs = attributes_of(sequence);
  attrs.push_back({"input_forget", input_forget});
  const ValueId lengths = lengths_of(c, sequence, x);
  return finish(c, ops::lstm_op, {x, w, r, b, lengths, c.in(1), c.in(2), c.optional_in(7)},
                std::move(attrs), 2);
}

// With linear_before_reset B holds z, r, h of the product with W, then h of the product with R.
Expected<void> convert_gru_sequence(LayerCtx& ctx) {
  SCANLOOM_TRY(const Sequence sequence, sequence_of(ctx, 1, 3, {"sigmoid", "tanh"}));
  SCANLOOM_TRY(const bool linear, ctx.attributes.boolean("linear_before_reset", false));
  SCANLOOM_CHECK_OK(check_operands(ctx, sequence, linear ? 4 : 3));
  LayerComposer c(ctx);
  const std::int64_t hidden = sequence.attrs.hidden;
  const ValueId x = c.in(0);
  ValueId b = c.optional_in(sequence.b());
  if (b.valid() && linear) {
    const ValueId none = zeros_like(c, c.slice(b, 1, 0, 2 * hidden));
    b = c.concat({c.slice(b, 1, 0, 3 * hidden), none, c.slice(b, 1, 3 * hidden, 4 * hidden)}, 1);
  } else if (b.valid()) {
    b = with_zeros(c, b);
  }
  auto attrs = attributes_of(sequence);
  attrs.push_back({"linear_before_reset", linear});
  const ValueId lengths = lengths_of(c, sequence, x);
  return finish(c, ops::gru_op, {x, c.in(sequence.w()), c.in(sequence.r()), b, lengths, c.in(1)},
                std::move(attrs), 1);
}

Expected<void> convert_rnn_sequence(LayerCtx& ctx) {
  SCANLOOM_TRY(const Sequence sequence, sequence_of(ctx, 1, 1, {"tanh"}));
  SCANLOOM_CHECK_OK(check_operands(ctx, sequence, 1));
  LayerComposer c(ctx);
  const ValueId x = c.in(0);
  const ValueId b = ctx.has(sequence.b()) ? with_zeros(c, c.in(sequence.b())) : ValueId{};
  const ValueId lengths = lengths_of(c, sequence, x);
  return finish(c, ops::rnn_op, {x, c.in(sequence.w()), c.in(sequence.r()), b, lengths, c.in(1)},
                attributes_of(sequence), 1);
}

}  // namespace scanloom::openvino
