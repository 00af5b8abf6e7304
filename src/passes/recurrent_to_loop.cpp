// Layers of gated or simple recurrent units, and of long short-term memory over a batch of many
// rows, become loops over their cells, which are then optimised and compiled as the same cells are
// that a user has written out. The bits are those of the operators' reference: its sums and
// products stand here in its order. Layers with sequence lengths, a clip, peepholes or activations
// of their own stay. For few rows the LSTM's kernel is faster than a loop, which pays off by
// products of many rows and by threads (interchange_batch). It stands before the passes on bodies.
#include <algorithm>

#include "ops/ops.h"
#include "passes/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Builder;
using ir::Module;
using ir::Node;
using ir::Type;
using ir::ValueId;
using tensor::Dim;
using tensor::Tensor;

// The operands and results that the layers begin with, and what only lstm and gru have.
constexpr std::size_t kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kInitial = 5;
constexpr std::size_t kStates = 0, kLast = 1;
constexpr std::size_t kPeepholes = 7;  // of lstm
constexpr std::size_t kReset = 2;      // of gru

/// Rows of a batch, and units, from which an LSTM is as fast as a loop.
constexpr std::int64_t kLeastRowsOfLstm = 16;
constexpr std::int64_t kLeastUnitsOfLstm = 64;

ValueId operand(const Node& node, std::size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : ValueId{};
}

/// Adds nodes to one region.
class Writer {
 public:
  explicit Writer(Builder& builder) : builder_(builder) {}

  [[nodiscard]] Builder& builder() { return builder_; }
  Expected<ValueId> op(const ir::OpDef& def, std::vector<ValueId> inputs,
                       std::vector<ir::NamedAttr> attrs = {}) {
    return builder_.op(def, std::move(inputs), std::move(attrs));
  }
  ValueId list(std::vector<std::int64_t> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return builder_.constant(Tensor::of<std::int64_t>({count}, values));
  }
  /// Elements [first, last) of an axis.
  Expected<ValueId> part(ValueId value, std::int64_t axis, std::int64_t first, std::int64_t last) {
    return op(ops::slice_op, {value, list({first}), list({last}), list({axis})});
  }
  /// Element i of an axis, which goes away.
  Expected<ValueId> at(ValueId value, std::int64_t axis, std::int64_t i) {
    SCANLOOM_TRY(const ValueId one, part(value, axis, i, i + 1));
    return op(ops::squeeze_op, {one}, {{"axes", std::vector<std::int64_t>{axis}}});
  }
  Expected<ValueId> add(ValueId a, ValueId b) { return op(ops::add_op, {a, b}); }
  Expected<ValueId> mul(ValueId a, ValueId b) { return op(ops::mul_op, {a, b}); }
  /// Rows times the rows of a weight.
  Expected<ValueId> product(ValueId rows, ValueId weight) {
    return op(ops::contract_op, {rows, weight}, {{"spec", "bi,ji->bj"}});
  }

 private:
  Builder& builder_;
};

/// What a cell reads, outside its loop or as the loop's arguments.
struct CellWeights {
  ValueId w, r, w_bias, r_bias;
};

/// h' = tanh((x . W + h . R) + (Wb + Rb))
Expected<ValueId> rnn_cell(Writer& write, const CellWeights& weights, ValueId x, ValueId h) {
  SCANLOOM_TRY(const ValueId xw, write.product(x, weights.w));
  SCANLOOM_TRY(const ValueId hr, write.product(h, weights.r));
  SCANLOOM_TRY(const ValueId bias, write.add(weights.w_bias, weights.r_bias));
  SCANLOOM_TRY(const ValueId products, write.add(xw, hr));
  SCANLOOM_TRY(const ValueId sum, write.add(products, bias));
  return write.op(ops::tanh_op, {sum});
}

/// See ops/lstm.cpp; returns h' and c'.
Expected<std::vector<ValueId>> lstm_cell(Writer& write, const CellWeights& weights,
                                         std::int64_t hidden, ValueId x, ValueId h, ValueId c) {
  SCANLOOM_TRY(const ValueId xw, write.product(x, weights.w));
  SCANLOOM_TRY(const ValueId hr, write.product(h, weights.r));
  SCANLOOM_TRY(const ValueId bias, write.add(weights.w_bias, weights.r_bias));
  SCANLOOM_TRY(const ValueId products, write.add(xw, hr));
  SCANLOOM_TRY(const ValueId sums, write.add(products, bias));
  const auto gate = [&](const ir::OpDef& activation, std::int64_t index) -> Expected<ValueId> {
    SCANLOOM_TRY(const ValueId sum, write.part(sums, 1, index * hidden, (index + 1) * hidden));
    return write.op(activation, {sum});
  };
  SCANLOOM_TRY(const ValueId i, gate(ops::sigmoid_op, 0));
  SCANLOOM_TRY(const ValueId o, gate(ops::sigmoid_op, 1));
  SCANLOOM_TRY(const ValueId f, gate(ops::sigmoid_op, 2));
  SCANLOOM_TRY(const ValueId g, gate(ops::tanh_op, 3));
  SCANLOOM_TRY(const ValueId kept, write.mul(f, c));
  SCANLOOM_TRY(const ValueId added, write.mul(i, g));
  SCANLOOM_TRY(const ValueId next_c, write.add(kept, added));
  SCANLOOM_TRY(const ValueId shown, write.op(ops::tanh_op, {next_c}));
  SCANLOOM_TRY(const ValueId next_h, write.mul(o, shown));
  return std::vector{next_h, next_c};
}

/// See ops/gru.cpp.
class GruCell {
 public:
  GruCell(Writer& write, const CellWeights& weights, std::int64_t hidden, bool linear)
      : write_(write), weights_(weights), hidden_(hidden), linear_(linear) {}

  Expected<ValueId> next(ValueId x, ValueId h) {
    SCANLOOM_TRY(xw_, write_.product(x, weights_.w));
    SCANLOOM_TRY(const ValueId gate_weights, write_.part(weights_.r, 0, 0, 2 * hidden_));
    SCANLOOM_TRY(const ValueId hr, write_.product(h, gate_weights));
    SCANLOOM_TRY(const ValueId xw, write_.part(xw_, 1, 0, 2 * hidden_));
    SCANLOOM_TRY(const ValueId products, write_.add(xw, hr));
    SCANLOOM_TRY(const ValueId bias, bias_of(0, 2 * hidden_));
    SCANLOOM_TRY(const ValueId sums, write_.add(products, bias));
    SCANLOOM_TRY(const ValueId gates, write_.op(ops::sigmoid_op, {sums}));
    SCANLOOM_TRY(const ValueId z, write_.part(gates, 1, 0, hidden_));
    SCANLOOM_TRY(const ValueId r, write_.part(gates, 1, hidden_, 2 * hidden_));
    SCANLOOM_TRY(const ValueId content, linear_ ? linear_content(r, h) : reset_content(r, h));
    SCANLOOM_TRY(const ValueId n, write_.op(ops::tanh_op, {content}));
    SCANLOOM_TRY(const ValueId one, constant_one(n));
    SCANLOOM_TRY(const ValueId rest, write_.op(ops::sub_op, {one, z}));
    SCANLOOM_TRY(const ValueId fresh, write_.mul(rest, n));
    SCANLOOM_TRY(const ValueId kept, write_.mul(z, h));
    return write_.add(fresh, kept);
  }

 private:
  Expected<ValueId> bias_of(std::int64_t first, std::int64_t last) {
    SCANLOOM_TRY(const ValueId w, write_.part(weights_.w_bias, 0, first, last));
    SCANLOOM_TRY(const ValueId r, write_.part(weights_.r_bias, 0, first, last));
    return write_.add(w, r);
  }

  Expected<ValueId> new_weights() { return write_.part(weights_.r, 0, 2 * hidden_, 3 * hidden_); }

  /// (x . W + (r * h) . R) + (Wb + Rb)
  Expected<ValueId> reset_content(ValueId r, ValueId h) {
    SCANLOOM_TRY(const ValueId reset, write_.mul(r, h));
    SCANLOOM_TRY(const ValueId weights, new_weights());
    SCANLOOM_TRY(const ValueId hr, write_.product(reset, weights));
    SCANLOOM_TRY(const ValueId xw, write_.part(xw_, 1, 2 * hidden_, 3 * hidden_));
    SCANLOOM_TRY(const ValueId products, write_.add(xw, hr));
    SCANLOOM_TRY(const ValueId bias, bias_of(2 * hidden_, 3 * hidden_));
    return write_.add(products, bias);
  }

  /// (x . W + Wb) + r * (h . R + Rb)
  Expected<ValueId> linear_content(ValueId r, ValueId h) {
    SCANLOOM_TRY(const ValueId weights, new_weights());
    SCANLOOM_TRY(const ValueId hr, write_.product(h, weights));
    SCANLOOM_TRY(const ValueId r_bias, write_.part(weights_.r_bias, 0, 2 * hidden_, 3 * hidden_));
    SCANLOOM_TRY(const ValueId inner, write_.add(hr, r_bias));
    SCANLOOM_TRY(const ValueId reset, write_.mul(r, inner));
    SCANLOOM_TRY(const ValueId xw, write_.part(xw_, 1, 2 * hidden_, 3 * hidden_));
    SCANLOOM_TRY(const ValueId w_bias, write_.part(weights_.w_bias, 0, 2 * hidden_, 3 * hidden_));
    SCANLOOM_TRY(const ValueId outer, write_.add(xw, w_bias));
    return write_.add(outer, reset);
  }

  Expected<ValueId> constant_one(ValueId like) {
    SCANLOOM_TRY(Tensor one, scalar_of(1, write_.builder().module().value(like).type.dtype));
    return write_.builder().constant(std::move(one));
  }

  static Expected<Tensor> scalar_of(double value, DType dtype) {
    if (dtype == DType::f64) return Tensor::scalar(value);
    return Tensor::scalar(static_cast<float>(value));
  }

  Writer& write_;
  const CellWeights& weights_;
  std::int64_t hidden_;
  bool linear_;
  ValueId xw_;
};

/// One layer.
class Layer {
 public:
  Layer(Rewriter& rewriter, const Node& node, const std::vector<std::uint32_t>& uses)
      : uses_(uses),
        rewriter_(rewriter),
        node_(node),
        write_(rewriter.build()),
        x_(rewriter.type(node.inputs[kX])),
        hidden_(attr_of(node, "hidden_size").integer()),
        batch_first_(attr_of(node, "layout").integer() != 0) {}

  Expected<bool> rewrite() {
    if (!can_be_written()) return false;
    const std::string& direction = attr_of(node_, "direction").text();
    std::vector<ValueId> states;
    std::vector<std::vector<ValueId>> lasts(count_of_states());  // [state][direction]
    const std::int64_t count = direction == "bidirectional" ? 2 : 1;
    for (std::int64_t d = 0; d < count; ++d) {
      SCANLOOM_TRY(const Results made, run(d, direction == "reverse" || d == 1));
      states.push_back(made.states);
      for (std::size_t i = 0; i < lasts.size(); ++i) lasts[i].push_back(made.lasts[i]);
    }
    // [steps, directions, batch, hidden] and [directions, batch, hidden]. With the batch first the
    // directions are joined before the steps, which copies whole sequences.
    SCANLOOM_TRY(ValueId all, joined(states, 1));
    if (batch_first_) {
      SCANLOOM_TRY(all, write_.op(ops::transpose_op, {all},
                                  {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}}));
    }
    rewriter_.replace(node_.outputs[kStates], all);
    for (std::size_t i = 0; i < lasts.size(); ++i) {
      SCANLOOM_TRY(const ValueId last, joined(lasts[i], batch_first_ ? 1 : 0));
      rewriter_.replace(node_.outputs[kLast + i], last);
    }
    return true;
  }

 private:
  struct Results {
    ValueId states;
    std::vector<ValueId> lasts;  ///< of h, and of c
  };

  [[nodiscard]] bool is_lstm() const { return node_.op == &ops::lstm_op; }
  [[nodiscard]] std::size_t count_of_states() const { return is_lstm() ? 2 : 1; }

  [[nodiscard]] bool can_be_written() const {
    const bool is_wide = x_.dtype == DType::f32 || x_.dtype == DType::f64;
    if (!is_wide || !x_.ranked || operand(node_, kLengths).valid() ||
        attr_of(node_, "clip").present() || attr_of(node_, "activations").present())
      return false;
    for (const std::size_t i : {kW, kR})
      if (!rewriter_.type(node_.inputs[i]).is_static()) return false;
    if (!sizes_are_sure()) return false;
    if (is_lstm()) {
      const Dim batch = x_.dims[batch_first_ ? 0 : 1];
      return batch.is_constant() && batch.value() >= kLeastRowsOfLstm &&
             hidden_ >= kLeastUnitsOfLstm && !operand(node_, kPeepholes).valid() &&
             attr_of(node_, "input_forget").integer() == 0;
    }
    return node_.outputs.size() <= kReset || !is_read(node_.outputs[kReset]);
  }

  [[nodiscard]] bool is_read(ValueId value) const {
    return value.index < uses_.size() && uses_[value.index] > 0;
  }

  /// The operator checks the sizes of its operands, the loop's slices and sums would not.
  [[nodiscard]] bool sizes_are_sure() const {
    const Dim directions = rewriter_.type(node_.inputs[kW]).dims[0];
    const Dim rows = rewriter_.type(node_.inputs[kW]).dims[1];
    const Dim batch = x_.dims[batch_first_ ? 0 : 1];
    const auto has = [&](std::size_t i, const std::vector<Dim>& sizes) {
      if (!operand(node_, i).valid()) return true;
      const Type& type = rewriter_.type(node_.inputs[i]);
      return type.ranked && type.dims == sizes;
    };
    const std::vector<Dim> state = batch_first_ ? std::vector<Dim>{batch, directions, hidden_}
                                                : std::vector<Dim>{directions, batch, hidden_};
    return has(kB, {directions, 2 * rows.value()}) && has(kInitial, state) &&
           (!is_lstm() || has(kInitial + 1, state));
  }

  /// Each with a new axis there, one behind the other.
  Expected<ValueId> joined(const std::vector<ValueId>& values, std::int64_t axis) {
    std::vector<ValueId> parts;
    for (const ValueId value : values) {
      SCANLOOM_TRY(const ValueId one, write_.op(ops::unsqueeze_op, {value},
                                                {{"axes", std::vector<std::int64_t>{axis}}}));
      parts.push_back(one);
    }
    if (parts.size() == 1) return parts[0];
    return write_.op(ops::concat_op, std::move(parts), {{"axis", axis}});
  }

  Expected<CellWeights> weights_of(std::int64_t d) {
    CellWeights weights;
    SCANLOOM_TRY(weights.w, write_.at(node_.inputs[kW], 0, d));
    SCANLOOM_TRY(weights.r, write_.at(node_.inputs[kR], 0, d));
    const std::int64_t rows = rewriter_.type(node_.inputs[kW]).dims[1].value();
    if (!operand(node_, kB).valid()) {
      SCANLOOM_TRY(Tensor zeros, Tensor::zeros(x_.dtype, {rows}));
      weights.w_bias = weights.r_bias = write_.builder().constant(std::move(zeros));
      return weights;
    }
    SCANLOOM_TRY(const ValueId both, write_.at(node_.inputs[kB], 0, d));
    SCANLOOM_TRY(weights.w_bias, write_.part(both, 0, 0, rows));
    SCANLOOM_TRY(weights.r_bias, write_.part(both, 0, rows, 2 * rows));
    return weights;
  }

  Expected<ValueId> initial_state(std::size_t state, std::int64_t d) {
    if (operand(node_, kInitial + state).valid())
      return write_.at(node_.inputs[kInitial + state], batch_first_ ? 1 : 0, d);
    SCANLOOM_TRY(const ValueId batch,
                 write_.op(ops::dim_op, {node_.inputs[kX]}, {{"axis", batch_first_ ? 0 : 1}}));
    SCANLOOM_TRY(const ValueId rows,
                 write_.op(ops::unsqueeze_op, {batch}, {{"axes", std::vector<std::int64_t>{0}}}));
    SCANLOOM_TRY(const ValueId sizes,
                 write_.op(ops::concat_op, {rows, write_.list({hidden_})}, {{"axis", 0}}));
    SCANLOOM_TRY(Tensor zero, Tensor::zeros(x_.dtype, {}));
    return write_.op(ops::expand_op, {write_.builder().constant(std::move(zero)), sizes});
  }

  Expected<Results> run(std::int64_t d, bool backwards) {
    SCANLOOM_TRY(const CellWeights outer, weights_of(d));
    std::vector<ValueId> initial;
    for (std::size_t i = 0; i < count_of_states(); ++i) {
      SCANLOOM_TRY(initial.emplace_back(), initial_state(i, d));
    }
    Module& module = rewriter_.module();
    const std::int64_t axis = batch_first_ ? 1 : 0;  // of the steps
    const Dim steps = x_.dims[batch_first_ ? 1 : 0], batch = x_.dims[batch_first_ ? 0 : 1];
    const Type state = Type::of(x_.dtype, {batch, hidden_});
    const std::vector<ValueId> captured = {outer.w, outer.r, outer.w_bias, outer.r_bias};
    std::vector<ValueId> inputs = captured;
    inputs.insert(inputs.end(), initial.begin(), initial.end());
    inputs.push_back(node_.inputs[kX]);
    std::vector<Type> results(initial.size(), state);
    results.push_back(Type::of(x_.dtype, batch_first_ ? std::vector<Dim>{batch, steps, hidden_}
                                                      : std::vector<Dim>{steps, batch, hidden_}));
    const ir::NodeId loop = module.add_node(write_.builder().region(), ir::loop_op,
                                            std::move(inputs), {}, std::move(results), node_.place);
    ir::LoopPorts ports{.fixed_sizes = true,
                        .captured = static_cast<std::uint32_t>(captured.size()),
                        .carried = static_cast<std::uint32_t>(initial.size())};
    ports.scanned.push_back(
        {.axis = axis, .start = backwards ? -1 : 0, .stride = backwards ? -1 : 1});
    ports.stacked.push_back({.axis = axis, .reverse = backwards});
    module.node(loop).loop = std::move(ports);
    const ir::RegionId body = module.add_region(loop, "cell");
    module.node(loop).regions.push_back(body);
    std::vector<ValueId> arguments;
    for (const ValueId value : captured)
      arguments.push_back(module.add_argument(body, rewriter_.type(value)));
    std::vector<ValueId> states;
    for (std::size_t i = 0; i < initial.size(); ++i)
      states.push_back(module.add_argument(body, state));
    const ValueId x = module.add_argument(body, Type::of(x_.dtype, {batch, x_.dims[2]}));
    Builder builder(module, body);
    builder.set_place(node_.place);
    Writer write(builder);
    SCANLOOM_TRY(std::vector<ValueId> yields,
                 cell(write, {arguments[0], arguments[1], arguments[2], arguments[3]}, x, states));
    yields.push_back(yields[0]);
    module.region(body).yields = std::move(yields);
    std::vector<ValueId> lasts = module.node(loop).outputs;
    const ValueId all = lasts.back();
    lasts.pop_back();
    return Results{all, std::move(lasts)};
  }

  /// The next states, h first.
  Expected<std::vector<ValueId>> cell(Writer& write, const CellWeights& weights, ValueId x,
                                      const std::vector<ValueId>& states) const {
    if (is_lstm()) return lstm_cell(write, weights, hidden_, x, states[0], states[1]);
    if (node_.op == &ops::rnn_op) {
      SCANLOOM_TRY(const ValueId next, rnn_cell(write, weights, x, states[0]));
      return std::vector{next};
    }
    const bool linear = attr_of(node_, "linear_before_reset").integer() != 0;
    SCANLOOM_TRY(const ValueId next, GruCell(write, weights, hidden_, linear).next(x, states[0]));
    return std::vector{next};
  }

  const std::vector<std::uint32_t>& uses_;  ///< of the values before the first rewrite
  Rewriter& rewriter_;
  const Node& node_;
  Writer write_;
  const Type x_;
  const std::int64_t hidden_;
  const bool batch_first_;
};

}  // namespace

Expected<Change> recurrent_to_loop(ir::Module& module) {
  const std::vector<std::uint32_t> uses = ir::count_uses(module);
  return Rewriter(module).sweep([&](Rewriter& rewriter, ir::NodeId id) -> Expected<bool> {
    const Node node = rewriter.module().node(id);  // by value: adding nodes may move it
    if (node.op != &ops::gru_op && node.op != &ops::rnn_op && node.op != &ops::lstm_op)
      return false;
    return Layer(rewriter, node, uses).rewrite();
  });
}

}  // namespace scanloom::passes
