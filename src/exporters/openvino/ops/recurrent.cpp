// lstm, gru and rnn as sequence layers, which have the batch first, another gate order, and one
// bias where the operators have two. Features these layers lack are written as an iterator.
// Constant weights stay constants, because implementations only fuse those.
#include <algorithm>

#include "exporters/openvino/ops/forms.h"
#include "exporters/openvino/ops/recurrent_cells.h"
#include "ops/recurrent/recurrent.h"

namespace scanloom::exporters::openvino {

using ops::ActivationKind;
using tensor::Tensor;

namespace {

/// One kind of layer. `gates` is the IR's gate order, as positions in the operator's order.
struct Kind {
  const char* type;
  NodeWriter::Ints gates;
  std::span<const ActivationKind> usual;
};

class SequenceWriter {
 public:
  SequenceWriter(NodeWriter& out, Kind kind)
      : out_(out),
        kind_(std::move(kind)),
        dtype_(out.dtype()),
        hidden_(out.integer("hidden_size")),
        directions_(out.text("direction") == "bidirectional" ? 2 : 1),
        batch_first_(out.integer("layout") == 1) {}

  /// Whether the IR layer supports these activations, with the same ones in both directions, and
  /// implementations compute it correctly: OpenVINO ignores the lengths if sizes are unknown.
  bool is_layer(const ops::Activations& all) {
    if (out_.has(kLengths) && !out_.type(kX).is_static()) return false;
    const std::size_t count = kind_.usual.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view name = word_of(all[i]);
      if (name.empty() || (directions_ == 2 && !same(all[i], all[count + i]))) return false;
      activations_.emplace_back(name, all[i]);
    }
    return true;
  }

  void write(std::vector<Output> biases) {
    const Output x = batch_first_ ? out_.in(kX) : out_.transpose(out_.in(kX), {1, 0, 2}, dtype_);
    const Output sizes = out_.shape_of(x);
    std::vector<Output> inputs{x, state(kInitialH, sizes)};
    const bool has_cell = kind_.gates.size() == 4;
    if (has_cell) inputs.push_back(state(kInitialC, sizes));
    inputs.push_back(lengths(sizes));
    inputs.push_back(ordered(kW));
    inputs.push_back(ordered(kR));
    inputs.push_back(out_.concat(std::move(biases), 1, dtype_));
    std::vector<DType> results(has_cell ? 3 : 2, dtype_);
    const std::vector<Output> made =
        out_.layers(kind_.type, 5, std::move(inputs), std::move(results), data());
    // In the IR, rows are [batch, directions, steps, hidden].
    const NodeWriter::Ints order =
        batch_first_ ? NodeWriter::Ints{0, 2, 1, 3} : NodeWriter::Ints{2, 1, 0, 3};
    out_.set(0, out_.transpose(made[0], order, dtype_));
    for (std::size_t i = 1; i < made.size(); ++i)
      out_.set(i, batch_first_ ? made[i] : out_.transpose(made[i], {1, 0, 2}, dtype_));
  }

  /// Returns the bias of one gate, taken from W's or R's half.
  Output bias(std::int64_t gate, bool of_r) {
    const auto gates = static_cast<std::int64_t>(kind_.gates.size());
    const std::int64_t at = (of_r ? gates + gate : gate) * hidden_;
    if (!out_.has(kB)) return out_.constant(zeros({directions_, hidden_}));
    return out_.slice(out_.in(kB), 1, out_.list({at}), out_.list({at + hidden_}), 1, dtype_);
  }
  Output both_biases(std::int64_t gate) {
    return out_.binary("Add", bias(gate, false), bias(gate, true), dtype_);
  }

 private:
  /// Returns empty if the layers or their implementations lack the activation.
  static std::string_view word_of(const ops::Activation& one) {
    switch (one.kind) {
      case ActivationKind::sigmoid:
        return "sigmoid";
      case ActivationKind::tanh:
        return "tanh";
      case ActivationKind::relu:
        return "relu";
      case ActivationKind::elu:
      case ActivationKind::hard_sigmoid:
      case ActivationKind::leaky_relu:
      case ActivationKind::softplus:
      case ActivationKind::softsign:
      case ActivationKind::affine:
      case ActivationKind::scaled_tanh:
      case ActivationKind::thresholded_relu:
        return {};
    }
    return {};
  }

  static bool same(const ops::Activation& a, const ops::Activation& b) {
    return a.kind == b.kind && a.alpha == b.alpha && a.beta == b.beta;
  }

  Tensor zeros(const tensor::Shape& shape) {
    Expected<Tensor> made = Tensor::zeros(dtype_, shape);
    if (made) return *std::move(made);
    out_.refuse(made.error().message());
    return Tensor::scalar(0.0f);
  }

  /// Returns a state as [batch, directions, hidden]; zeros if absent. `sizes` are those of x.
  Output state(std::size_t i, Output sizes) {
    if (out_.has(i))
      return batch_first_ ? out_.in(i) : out_.transpose(out_.in(i), {1, 0, 2}, dtype_);
    const Output batch = out_.gather(sizes, out_.list({0}), 0, DType::i64);
    const Output shape = out_.concat({batch, out_.list({directions_, hidden_})}, 0, DType::i64);
    return out_.broadcast(out_.scalar(0, dtype_), shape, dtype_);
  }

  Output lengths(Output sizes) {
    if (out_.has(kLengths)) return out_.in(kLengths);
    const Output batch = out_.gather(sizes, out_.list({0}), 0, DType::i64);
    return out_.broadcast(out_.gather(sizes, out_.list({1}), 0, DType::i64), batch, DType::i64);
  }

  /// Returns W or R with its gates in the order of the IR.
  Output ordered(std::size_t i) {
    if (std::ranges::is_sorted(kind_.gates)) return out_.in(i);
    if (const Tensor* const known = out_.constant_in(i))
      if (const Expected<Tensor> moved = moved_gates(*known)) return out_.constant(*moved);
    std::vector<Output> parts;
    for (const std::int64_t gate : kind_.gates)
      parts.push_back(out_.slice(out_.in(i), 1, out_.list({gate * hidden_}),
                                 out_.list({(gate + 1) * hidden_}), 1, dtype_));
    return out_.concat(std::move(parts), 1, dtype_);
  }

  Expected<Tensor> moved_gates(const Tensor& weights) const {
    SCANLOOM_TRY(Tensor moved, Tensor::zeros(weights.dtype(), weights.shape()));
    const std::size_t gate =
        weights.bytes() / static_cast<std::size_t>(directions_) / kind_.gates.size();
    const auto* const from = static_cast<const std::byte*>(weights.data());
    auto* to = static_cast<std::byte*>(moved.mutable_data());
    for (std::int64_t direction = 0; direction < directions_; ++direction)
      for (const std::int64_t source : kind_.gates) {
        const auto at = static_cast<std::size_t>(direction) * kind_.gates.size() +
                        static_cast<std::size_t>(source);
        to = std::copy_n(from + at * gate, gate, to);
      }
    return moved;
  }

  Data data() {
    Data data{{"direction", out_.text("direction")}, {"hidden_size", std::to_string(hidden_)}};
    std::string names, alphas, betas;
    for (const auto& [name, one] : activations_) {
      const char* const comma = names.empty() ? "" : ",";
      names += comma + std::string(name);
      alphas += comma + real_text(one.alpha);
      betas += comma + real_text(one.beta);
    }
    data.emplace_back("activations", names);
    data.emplace_back("activations_alpha", alphas);
    data.emplace_back("activations_beta", betas);
    const tensor::Attr& clip = out_.attr("clip");
    data.emplace_back("clip", real_text(clip.present() ? clip.real() : 0));
    if (kind_.gates.size() == 3)
      data.emplace_back("linear_before_reset", out_.flag("linear_before_reset") ? "true" : "false");
    return data;
  }

  NodeWriter& out_;
  Kind kind_;
  DType dtype_;
  std::int64_t hidden_, directions_;
  bool batch_first_;
  std::vector<std::pair<std::string_view, ops::Activation>> activations_;
};

}  // namespace

namespace {

Expected<ops::Activations> activations_of(const NodeWriter& out,
                                          std::span<const ActivationKind> usual) {
  const int directions = out.text("direction") == "bidirectional" ? 2 : 1;
  return ops::read_activations(out.attr("activations"), directions, usual);
}

}  // namespace

/// Gates i, o, f, c become f, i, c, o.
void write_lstm(NodeWriter& out) {
  const Expected<ops::Activations> all = activations_of(out, ops::kLstmActivations);
  if (!all) return out.refuse(all.error().message());
  SequenceWriter writer(out, {"LSTMSequence", {2, 0, 3, 1}, ops::kLstmActivations});
  if (out.has(kPeepholes) || out.flag("input_forget") || !writer.is_layer(*all))
    return write_cells(out, Cell::lstm, *all);
  std::vector<Output> biases;
  for (const std::int64_t gate : {2, 0, 3, 1}) biases.push_back(writer.both_biases(gate));
  writer.write(std::move(biases));
}

/// The candidate has two biases if the reset gate is applied between them.
void write_gru(NodeWriter& out) {
  const Expected<ops::Activations> all = activations_of(out, ops::kGruActivations);
  if (!all) return out.refuse(all.error().message());
  SequenceWriter writer(out, {"GRUSequence", {0, 1, 2}, ops::kGruActivations});
  const bool has_reset = out.node().outputs.size() > 2;
  if ((has_reset && out.is_read(2)) || !writer.is_layer(*all))
    return write_cells(out, Cell::gru, *all);
  std::vector<Output> biases{writer.both_biases(0), writer.both_biases(1)};
  if (out.flag("linear_before_reset")) {
    biases.push_back(writer.bias(2, false));
    biases.push_back(writer.bias(2, true));
  } else {
    biases.push_back(writer.both_biases(2));
  }
  writer.write(std::move(biases));
  if (has_reset) out.set_unread(2);
}

void write_rnn(NodeWriter& out) {
  const Expected<ops::Activations> all = activations_of(out, ops::kRnnActivations);
  if (!all) return out.refuse(all.error().message());
  SequenceWriter writer(out, {"RNNSequence", {0}, ops::kRnnActivations});
  if (!writer.is_layer(*all)) return write_cells(out, Cell::rnn, *all);
  writer.write({writer.both_biases(0)});
}

}  // namespace scanloom::exporters::openvino
