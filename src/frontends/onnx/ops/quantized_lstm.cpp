// DynamicQuantizeLSTM: an LSTM whose weights are bytes. x is quantized at once, the state in each
// step, over all rows of the batch, by the smallest and largest element (DynamicQuantizeLinear).
// For every gate and unit
//   z = (xq . Wq) * (x_scale * w_scale) + (hq . Rq) * (h_scale * r_scale) + (Wb + Rb)
// where the sums of bytes minus their zero points are exact; the rest is that of
// ops/recurrent/lstm. ONNX Runtime gives the same results on one thread; with more, it quantizes
// each thread's rows of the batch by themselves. Rows past the end of their sequence are 0 and do
// not widen the range.
#include <algorithm>

#include "frontends/onnx/ops/composed_loop.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/fused_activation.h"
#include "frontends/onnx/ops/linear_quantization.h"
#include "frontends/onnx/ops/recurrent_activations.h"
#include "ops/recurrent/recurrent.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

enum LstmOperand : int {
  kSequence,
  kInputWeights,
  kStateWeights,
  kLayerBias,
  kSequenceLengths,
  kFirstH,
  kFirstC,
  kPeephole,
  kInputScale,
  kInputZero,
  kStateScale,
  kStateZero,
};

// Sizes of operands, a few times as large, do not overflow.
constexpr std::int64_t kMaxUnits = std::int64_t{1} << 32;

constexpr std::pair<ops::ActivationKind, const char*> kActivationNames[] = {
    {ops::ActivationKind::sigmoid, "Sigmoid"},
    {ops::ActivationKind::tanh, "Tanh"},
    {ops::ActivationKind::relu, "Relu"},
    {ops::ActivationKind::elu, "Elu"},
    {ops::ActivationKind::hard_sigmoid, "HardSigmoid"},
    {ops::ActivationKind::leaky_relu, "LeakyRelu"},
    {ops::ActivationKind::softplus, "Softplus"},
    {ops::ActivationKind::softsign, "Softsign"},
    {ops::ActivationKind::affine, "Affine"},
    {ops::ActivationKind::scaled_tanh, "ScaledTanh"},
    {ops::ActivationKind::thresholded_relu, "ThresholdedRelu"},
};

ValueId activated(Composer& c, const ops::Activation& activation, ValueId x) {
  const double parameters[] = {activation.alpha, activation.beta};
  const auto* const found = std::ranges::find(kActivationNames, activation.kind,
                                              [](const auto& row) { return row.first; });
  return fused_activation(c, x, found->second, parameters);
}

/// Weights of bytes, and their scale: one, or one per column.
struct QuantizedWeights {
  ByteMatrix matrix;
  ValueId scale;
};

/// The layer, and what all directions share.
struct QuantizedLayer {
  std::int64_t hidden = 0, directions = 1;
  bool reverse = false, coupled = false;
  double clip = 0;  ///< 0: there is none
  ops::Activations activations;
  ValueId steps, batch, lengths;
  DynamicallyQuantized x;
};

/// What a step of one direction reads. Absent peepholes and lengths are invalid.
struct StepOperands {
  QuantizedWeights r;
  ValueId bias, peepholes, lengths;

  [[nodiscard]] std::vector<ValueId> listed() const {
    std::vector<ValueId> present = {r.matrix.x, r.matrix.zero, r.scale, bias};
    for (const ValueId one : {peepholes, lengths})
      if (one.valid()) present.push_back(one);
    return present;
  }
  /// The same operands as arguments of the body.
  [[nodiscard]] StepOperands inside(const std::vector<ValueId>& arguments) const {
    StepOperands same{{{arguments[0], arguments[1]}, arguments[2]}, arguments[3], {}, {}};
    std::size_t next = 4;
    if (peepholes.valid()) same.peepholes = arguments[next++];
    if (lengths.valid()) same.lengths = arguments[next];
    return same;
  }
};

/// Error: a size of input i, where it is known, is not the one in `sizes`, where that is.
void expect_sizes(Composer& c, int i, const std::vector<std::int64_t>& sizes) {
  const ValueId x = c.in(i);
  if (!c.ok()) return;
  const tensor::Type& type = c.ctx().type(x);
  if (!type.ranked)
    return c.refuse(
        fail(Code::unsupported, "{} has an unknown number of axes", c.ctx().describe_input(i)));
  if (type.rank() != static_cast<int>(sizes.size()))
    return c.refuse(invalid_model("{} has {} axes, not {}", c.ctx().describe_input(i), type.rank(),
                                  sizes.size()));
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::int64_t known = c.known_size(x, static_cast<int>(axis));
    if (known >= 0 && sizes[axis] >= 0 && known != sizes[axis])
      return c.refuse(invalid_model("{} has {} elements along axis {}, not {}",
                                    c.ctx().describe_input(i), known, axis, sizes[axis]));
  }
}

void check_sizes(Composer& c, const QuantizedLayer& layer) {
  const std::int64_t d = layer.directions, h = layer.hidden;
  const std::int64_t batch = c.known_size(c.in(kSequence), 1);
  expect_sizes(c, kSequence, {-1, -1, c.known_size(c.in(kInputWeights), 1)});
  expect_sizes(c, kInputWeights, {d, -1, 4 * h});
  expect_sizes(c, kStateWeights, {d, h, 4 * h});
  const auto expect = [&](int i, const std::vector<std::int64_t>& sizes) {
    if (c.ctx().has(i)) expect_sizes(c, i, sizes);
  };
  expect(kLayerBias, {d, 8 * h});
  expect(kSequenceLengths, {batch});
  for (const int state : {kFirstH, kFirstC}) expect(state, {d, batch, h});
  expect(kPeephole, {d, 3 * h});
  for (const int parameter : {kInputScale, kInputZero, kStateScale, kStateZero}) {
    const bool per_column = c.rank(parameter, c.in(parameter), 1) > 1;
    expect_sizes(c, parameter, per_column ? std::vector{d, 4 * h} : std::vector{d});
  }
}

/// Returns element d of axis 0 of input i.
ValueId of_direction(Composer& c, int i, std::int64_t d) {
  return c.gather(c.in(i), c.number(d), 0);
}

QuantizedWeights weights_of(Composer& c, int weights, int scale, std::int64_t d) {
  const DType dtype = byte_type(c, weights);
  const ValueId zero = of_direction(c, scale + 1, d);
  if (c.ok() && c.dtype(zero) != dtype)
    c.refuse(invalid_model("{} has elements of type {}, not {}", c.ctx().describe_input(scale + 1),
                           dtype_onnx_name(c.dtype(zero)), dtype_onnx_name(dtype)));
  return {{of_direction(c, weights, d), zero}, of_direction(c, scale, d)};
}

/// Returns the sequence lengths as i64, after checking that they are between 0 and the steps.
ValueId checked_lengths(Composer& c, ValueId steps) {
  const ValueId lengths = c.cast(c.in(kSequenceLengths), DType::i64), none = c.number(0);
  const ValueId all = c.join({lengths, none});
  const ValueId least = c.reduce_all(all, "min"), most = c.reduce_all(all, "max");
  // The wrong length, if there is one, and what it is compared with.
  const ValueId worst = c.where(c.less(least, none), least, most);
  const ValueId right = c.where(c.less(worst, none), steps, c.min(steps, worst));
  const ValueId checked = c.op(ops::check_equal_op, {worst, right},
                               {{"text", "sequence length {} is outside the {} steps of X"}});
  return c.min(lengths, checked);
}

QuantizedLayer quantized_layer(Composer& c) {
  QuantizedLayer layer;
  NodeCtx& ctx = c.ctx();
  const std::string direction = c.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    c.refuse(invalid_model(
        "attribute 'direction' is '{}', neither forward, reverse nor bidirectional", direction));
  layer.reverse = direction == "reverse";
  layer.directions = direction == "bidirectional" ? 2 : 1;
  const std::int64_t known = c.known_size(c.in(kStateWeights), 1);
  layer.hidden = c.integer("hidden_size", known);
  if (c.ok() && (layer.hidden < 1 || layer.hidden > kMaxUnits))
    c.refuse(invalid_model("the number of units is {}, but must be known and between 1 and {}",
                           layer.hidden, kMaxUnits));
  layer.coupled = c.integer("input_forget", 0) != 0;
  layer.clip = c.real("clip", 0);
  const std::string names =
      c.take(joined_activations(ctx, static_cast<std::size_t>(3 * layer.directions)));
  layer.activations =
      c.take(ops::read_activations(names.empty() ? tensor::Attr() : tensor::Attr(names),
                                   static_cast<int>(layer.directions), ops::kLstmActivations));
  if (c.ok()) check_sizes(c, layer);
  const ValueId x = c.in(kSequence);
  if (c.ok() && c.dtype(x) != DType::f32)
    c.refuse(invalid_model("{} has elements of type {}, not float", ctx.describe_input(kSequence),
                           dtype_onnx_name(c.dtype(x))));
  layer.steps = c.dim(x, 0);
  layer.batch = c.dim(x, 1);
  ValueId counted = x;
  if (ctx.has(kSequenceLengths)) {
    layer.lengths = checked_lengths(c, layer.steps);
    counted = c.slice(x, 0, c.number(0), c.reduce_all(layer.lengths, "max"));
  }
  layer.x = dynamically_quantized(c, x, counted);
  return layer;
}

/// The sums of bytes times their scales.
ValueId byte_product(Composer& c, const DynamicallyQuantized& x, const QuantizedWeights& weights) {
  return scaled_byte_sums(c, {x.x, x.zero}, weights.matrix, c.mul(x.scale, weights.scale));
}

/// The gates of one step, from sums in the order i, o, f, c and peepholes in the order i, o, f.
class QuantizedCell {
 public:
  QuantizedCell(Composer& c, const QuantizedLayer& layer, std::int64_t direction,
                const StepOperands& operands)
      : c_(c),
        layer_(layer),
        operands_(operands),
        activations_(
            std::span(layer.activations).subspan(static_cast<std::size_t>(3 * direction), 3)) {}

  struct State {
    ValueId h, c;
  };

  State next(ValueId xw, ValueId shown_h, ValueId cell) {
    const DynamicallyQuantized h = dynamically_quantized(c_, shown_h);
    sums_ = c_.add(xw, byte_product(c_, h, operands_.r));
    const ValueId i = gate(0, 0, cell);
    const ValueId f = layer_.coupled ? c_.sub(c_.like(1, i), i) : gate(2, 0, cell);
    const ValueId g = gate(3, 1, {});
    const ValueId next_c = c_.add(c_.mul(f, cell), c_.mul(i, g));
    const ValueId o = gate(1, 0, next_c);
    return {c_.mul(o, activated(c_, activations_[2], next_c)), next_c};
  }

 private:
  ValueId part(ValueId x, std::int64_t axis, std::int64_t index) {
    return c_.slice(x, axis, index * layer_.hidden, (index + 1) * layer_.hidden);
  }
  ValueId gate(std::int64_t index, std::size_t activation, ValueId peeped) {
    ValueId z = part(sums_, 1, index);
    if (operands_.peepholes.valid() && peeped.valid())
      z = c_.add(z, c_.mul(part(operands_.peepholes, 0, index), peeped));
    z = c_.add(z, part(operands_.bias, 0, index));
    if (layer_.clip > 0)
      z = c_.op(ops::clip_op, {z, c_.like(-layer_.clip, z), c_.like(layer_.clip, z)});
    return activated(c_, activations_[activation], z);
  }

  Composer& c_;
  const QuantizedLayer& layer_;
  const StepOperands operands_;
  const std::span<const ops::Activation> activations_;
  ValueId sums_;
};

ValueId first_state(Composer& c, const QuantizedLayer& layer, int input, std::int64_t d) {
  if (c.ctx().has(input)) return of_direction(c, input, d);
  return c.expand(c.scalar(0, DType::f32), c.join({layer.batch, c.number(layer.hidden)}));
}

StepOperands step_operands(Composer& c, const QuantizedLayer& layer, std::int64_t d) {
  StepOperands operands{weights_of(c, kStateWeights, kStateScale, d), {}, {}, layer.lengths};
  const std::int64_t gates = 4 * layer.hidden;
  if (c.ctx().has(kLayerBias)) {
    const ValueId both = of_direction(c, kLayerBias, d);
    operands.bias = c.add(c.slice(both, 0, 0, gates), c.slice(both, 0, gates, 2 * gates));
  } else {
    operands.bias = c.expand(c.scalar(0, DType::f32), c.list({gates}));
  }
  if (c.ctx().has(kPeephole)) operands.peepholes = of_direction(c, kPeephole, d);
  return operands;
}

/// The results of one direction: [steps, batch, hidden], and twice [batch, hidden].
struct DirectionResults {
  ValueId all, last_h, last_c;
};

/// With lengths the carried values are the shown h, which is 0 after the end, c, and the last h.
/// A row without steps has last states of 0, as in ONNX Runtime.
DirectionResults run_direction(Composer& c, const QuantizedLayer& layer, std::int64_t d) {
  const bool backwards = layer.reverse || d == 1, ragged = layer.lengths.valid();
  const StepOperands operands = step_operands(c, layer, d);
  ValueId xw = byte_product(c, layer.x, weights_of(c, kInputWeights, kInputScale, d));
  const auto reversed = [&](ValueId x) {
    return c.op(ops::reverse_sequence_op, {x, layer.lengths},
                {{"batch_axis", 1}, {"time_axis", 0}});
  };
  if (backwards && ragged) xw = reversed(xw);
  ComposedLoop loop{
      .steps = layer.steps,
      .captured = operands.listed(),
      .carried = {first_state(c, layer, kFirstH, d), first_state(c, layer, kFirstC, d)},
      .scanned = {{xw, 0}},
      .stacked = {0},
      .backwards = backwards && !ragged};
  if (ragged) {
    const ValueId zeros =
        c.expand(c.scalar(0, DType::f32), c.join({layer.batch, c.number(layer.hidden)}));
    loop.carried.insert(loop.carried.end(), {zeros, zeros});
    loop.scanned.push_back({c.count_up(layer.steps), 0});
  }
  const auto body = [&](Composer& inside, const ComposedLoop::Step& step) {
    const StepOperands given = operands.inside(step.captured);
    QuantizedCell cell(inside, layer, d, given);
    const auto [h, cell_state] = cell.next(step.scanned[0], step.carried[0], step.carried[1]);
    if (!ragged) return ComposedLoop::Yields{{h, cell_state}, {h}};
    const ValueId goes_on = inside.unsqueeze(inside.less(step.scanned[1], given.lengths), {1});
    const auto kept = [&](ValueId next, ValueId old) { return inside.where(goes_on, next, old); };
    const ValueId shown = kept(h, inside.like(0, h));
    return ComposedLoop::Yields{{shown, kept(cell_state, step.carried[1]), kept(h, step.carried[2]),
                                 kept(cell_state, step.carried[3])},
                                {shown}};
  };
  const std::vector<ValueId> results = make_loop(c, loop, "cell", body);
  if (!c.ok()) return {};
  if (!ragged) return {results[2], results[0], results[1]};
  return {backwards ? reversed(results[4]) : results[4], results[2], results[3]};
}

}  // namespace

Expected<void> convert_dynamic_quantize_lstm(NodeCtx& ctx) {
  Composer c(ctx);
  for (int i = 0; i < 12; ++i) c.optional_in(i);
  const QuantizedLayer layer = quantized_layer(c);
  SCANLOOM_CHECK_OK(c.done());
  std::vector<ValueId> all, last_h, last_c;
  for (std::int64_t d = 0; d < layer.directions && c.ok(); ++d) {
    const DirectionResults results = run_direction(c, layer, d);
    if (!c.ok()) break;
    all.push_back(c.unsqueeze(results.all, {1}));
    last_h.push_back(c.unsqueeze(results.last_h, {0}));
    last_c.push_back(c.unsqueeze(results.last_c, {0}));
  }
  const auto joined = [&](std::vector<ValueId>& parts, std::int64_t axis) {
    return parts.size() == 1 ? parts[0] : c.concat(std::move(parts), axis);
  };
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, joined(all, 1));
  ctx.set_output(1, joined(last_h, 0));
  ctx.set_output(2, joined(last_c, 0));
  return c.done();
}

}  // namespace scanloom::onnx
