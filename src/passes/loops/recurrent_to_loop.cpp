// Turns GRU and RNN layers, and LSTM layers over a batch of many rows, into loops over their cells,
// which are then optimised and compiled like cells that a user has written out. The bits are those
// of the operators' reference: sums and products are in its order, those of f16 and bf16 are
// computed in f32, and the states are rounded as there. Steps after a row's sequence length leave
// its states as they are. For few rows the LSTM's kernel, which supports f32 and the usual
// activations, is faster than a loop, which gains from products of many rows and from threads
// (interchange_batch). It runs before the passes on bodies.
#include "ops/ops.h"
#include "ops/recurrent/recurrent.h"
#include "passes/loops/recurrent_cells.h"
#include "passes/rewrite/layer_operands.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Builder;
using ir::Module;
using ir::Node;
using ir::Type;
using ir::ValueId;
using tensor::Dim;
using tensor::Tensor;

// The first operands and results of the layers, and those that only lstm and gru have.
using layers::kB, layers::kLengths, layers::kR, layers::kW, layers::kX;
constexpr std::size_t kInitial = layers::kInitialH;
constexpr std::size_t kStates = 0, kLast = 1;
constexpr std::size_t kPeepholes = 7;  // of lstm
constexpr std::size_t kReset = 2;      // of gru

/// Rows of a batch, and units, from which on a loop is as fast as the LSTM's kernel.
constexpr std::int64_t kMinRowsOfLstm = 16;
constexpr std::int64_t kMinUnitsOfLstm = 64;

ValueId operand(const Node& node, std::size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : ValueId{};
}

bool is_read(ValueId value, const std::vector<std::uint32_t>& uses) {
  return value.index < uses.size() && uses[value.index] > 0;
}

/// Whether sizes could be the same when the model runs.
bool may_be_equal(const Type& type, const std::vector<Dim>& sizes) {
  if (!type.ranked || type.dims.size() != sizes.size()) return false;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const Dim size = type.dims[axis];
    if (size.is_constant() && sizes[axis].is_constant() && size != sizes[axis]) return false;
  }
  return true;
}

/// A layer, and what its attributes and types say.
struct RecurrentLayer {
  Rewriter& rewriter;
  const Node& node;
  const Type x;
  const DType computed_in;
  const std::int64_t hidden;
  const bool batch_first;

  RecurrentLayer(Rewriter& at, const Node& layer)
      : rewriter(at),
        node(layer),
        x(at.type(layer.inputs[kX])),
        computed_in(x.dtype == DType::f64 ? DType::f64 : DType::f32),
        hidden(attr_of(layer, "hidden_size").integer()),
        batch_first(attr_of(layer, "layout").integer() != 0) {}

  [[nodiscard]] bool is_lstm() const { return node.op == &ops::lstm_op; }
  [[nodiscard]] std::size_t count_of_states() const { return is_lstm() ? 2 : 1; }

  [[nodiscard]] std::span<const ops::ActivationKind> usual_activations() const {
    if (is_lstm()) return ops::kLstmActivations;
    if (node.op == &ops::rnn_op) return ops::kRnnActivations;
    return ops::kGruActivations;
  }

  [[nodiscard]] double clip() const {
    const tensor::Attr& attr = attr_of(node, "clip");
    return attr.present() ? attr.real() : 0;
  }

  [[nodiscard]] bool has(std::size_t i) const { return operand(node, i).valid(); }
  // The axes of X, and their sizes. Precondition: its rank is known.
  [[nodiscard]] std::int64_t batch_axis() const { return batch_first ? 0 : 1; }
  [[nodiscard]] std::int64_t step_axis() const { return batch_first ? 1 : 0; }
  [[nodiscard]] Dim batch() const { return x.dims[batch_first ? 0 : 1]; }
  [[nodiscard]] Dim steps() const { return x.dims[batch_first ? 1 : 0]; }
  [[nodiscard]] Type state_type() const { return Type::of(x.dtype, {batch(), hidden}); }

  /// Whether a loop computes the same, and not slower than a kernel. `uses`: by ValueId, before the
  /// first rewrite.
  [[nodiscard]] bool can_be_written(const std::vector<std::uint32_t>& uses) const {
    if (!is_floating_point(x.dtype) || dtype_bytes(x.dtype) < 2 || !x.ranked) return false;
    for (const std::size_t i : {kW, kR})
      if (!rewriter.type(node.inputs[i]).is_static()) return false;
    if (!sizes_are_sure()) return false;
    if (!is_lstm()) return node.outputs.size() <= kReset || !is_read(node.outputs[kReset], uses);
    const bool is_large =
        batch().is_constant() && batch().value() >= kMinRowsOfLstm && hidden >= kMinUnitsOfLstm;
    return is_large || !has_kernel();
  }

  /// Whether kernels/lstm.cpp supports the layer.
  [[nodiscard]] bool has_kernel() const {
    const bool known_lengths =
        !has(kLengths) || rewriter.type(node.inputs[kLengths]).dtype == DType::i32;
    return x.dtype == DType::f32 && known_lengths && !has(kPeepholes) && !(clip() > 0) &&
           attr_of(node, "input_forget").integer() == 0 &&
           ops::unusual_activation(attr_of(node, "activations"), usual_activations()).empty();
  }

  /// The operator checks the sizes of its operands; the loop's slices and sums would not. Those of
  /// lengths and states may be open: OperandWriter::checked.
  [[nodiscard]] bool sizes_are_sure() const {
    const Dim rows = rewriter.type(node.inputs[kW]).dims[1];
    const auto fits = [&](std::size_t i, const std::vector<Dim>& sizes) {
      if (!has(i)) return true;
      const Type& type = rewriter.type(node.inputs[i]);
      return type.ranked && type.dims == sizes;
    };
    const auto may_fit = [&](std::size_t i, const std::vector<Dim>& sizes) {
      return !has(i) || may_be_equal(rewriter.type(node.inputs[i]), sizes);
    };
    const std::vector<Dim> peepholes = {directions(), 3 * hidden};
    return fits(kB, {directions(), 2 * rows.value()}) && may_fit(kLengths, {batch()}) &&
           may_fit(kInitial, state_sizes()) &&
           (!is_lstm() || (may_fit(kInitial + 1, state_sizes()) && fits(kPeepholes, peepholes)));
  }

  [[nodiscard]] Dim directions() const { return rewriter.type(node.inputs[kW]).dims[0]; }
  /// Of the states before the first step.
  [[nodiscard]] std::vector<Dim> state_sizes() const {
    if (batch_first) return {batch(), directions(), hidden};
    return {directions(), batch(), hidden};
  }
};

/// What the loop of one direction reads.
struct LoopOperands {
  std::vector<ValueId> captured, initial, scanned;
};

/// Adds the nodes before the loops of a layer.
class OperandWriter {
 public:
  OperandWriter(const RecurrentLayer& layer, Writer& write) : layer_(layer), write_(write) {}

  /// Returns the lengths as i64, after checking that they are between 0 and the number of steps.
  Expected<ValueId> checked_lengths() {
    const ValueId none = write_.list({0});
    SCANLOOM_TRY(const ValueId given, checked(kLengths, "sequence_lens", {layer_.batch()}));
    SCANLOOM_TRY(const ValueId lengths, write_.cast(given, DType::i64));
    SCANLOOM_TRY(const ValueId all, write_.op(ops::concat_op, {lengths, none}, {{"axis", 0}}));
    const auto reduced = [&](const char* kind) {
      return write_.op(ops::reduce_op, {all},
                       {{"kind", kind}, {"axes", std::vector<std::int64_t>{0}}, {"keepdims", 0}});
    };
    SCANLOOM_TRY(const ValueId least, reduced("min"));
    SCANLOOM_TRY(const ValueId most, reduced("max"));
    SCANLOOM_TRY(const ValueId steps, step_count());
    const ValueId zero = write_.builder().constant(Tensor::of<std::int64_t>({}, {{0}}));
    // The wrong length, if there is one, and what it is compared with.
    SCANLOOM_TRY(const ValueId worst, write_.where_less(least, zero, least, most));
    SCANLOOM_TRY(const ValueId not_above, write_.where_less(steps, worst, steps, worst));
    SCANLOOM_TRY(const ValueId right, write_.where_less(worst, zero, steps, not_above));
    SCANLOOM_TRY(const ValueId checked,
                 write_.op(ops::check_equal_op, {worst, right},
                           {{"text", "sequence length {} is outside the {} steps of X"}}));
    return write_.op(ops::min_op, {lengths, checked});
  }

  /// `lengths`: checked; invalid if all rows take all steps.
  Expected<LoopOperands> of_direction(std::int64_t d, ValueId lengths) {
    SCANLOOM_TRY(const CellWeights outer, weights_of(d));
    LoopOperands operands{.captured = {outer.w, outer.r, outer.w_bias, outer.r_bias}};
    for (const ValueId one : {outer.peepholes, lengths})
      if (one.valid()) operands.captured.push_back(one);
    for (std::size_t i = 0; i < layer_.count_of_states(); ++i) {
      SCANLOOM_TRY(operands.initial.emplace_back(), initial_state(i, d));
    }
    operands.scanned.push_back(layer_.node.inputs[kX]);
    if (lengths.valid()) {
      SCANLOOM_TRY(operands.scanned.emplace_back(), step_numbers());
    }
    return operands;
  }

 private:
  /// Returns row d of an operand, in the type that is computed in.
  Expected<ValueId> row_of(std::size_t i, std::int64_t d) {
    SCANLOOM_TRY(const ValueId row, write_.at(layer_.node.inputs[i], 0, d));
    return write_.cast(row, layer_.computed_in);
  }

  Expected<CellWeights> weights_of(std::int64_t d) {
    CellWeights weights;
    SCANLOOM_TRY(weights.w, row_of(kW, d));
    SCANLOOM_TRY(weights.r, row_of(kR, d));
    if (layer_.is_lstm() && layer_.has(kPeepholes)) {
      SCANLOOM_TRY(weights.peepholes, row_of(kPeepholes, d));
    }
    const std::int64_t rows = layer_.rewriter.type(layer_.node.inputs[kW]).dims[1].value();
    if (!layer_.has(kB)) {
      SCANLOOM_TRY(Tensor zeros, Tensor::zeros(layer_.computed_in, {rows}));
      weights.w_bias = weights.r_bias = write_.builder().constant(std::move(zeros));
      return weights;
    }
    SCANLOOM_TRY(const ValueId both, row_of(kB, d));
    SCANLOOM_TRY(weights.w_bias, write_.part(both, 0, 0, rows));
    SCANLOOM_TRY(weights.r_bias, write_.part(both, 0, rows, 2 * rows));
    return weights;
  }

  Expected<ValueId> initial_state(std::size_t state, std::int64_t d) {
    if (layer_.has(kInitial + state)) {
      SCANLOOM_TRY(
          const ValueId all,
          checked(kInitial + state, state == 0 ? "initial_h" : "initial_c", layer_.state_sizes()));
      return write_.at(all, layer_.batch_first ? 1 : 0, d);
    }
    SCANLOOM_TRY(const ValueId sizes, list_of({layer_.batch(), layer_.hidden}));
    SCANLOOM_TRY(Tensor zero, Tensor::zeros(layer_.x.dtype, {}));
    return write_.op(ops::expand_op, {write_.builder().constant(std::move(zero)), sizes});
  }

  /// Returns the operand as a value of these sizes, which are the batch or numbers. If its type
  /// does not say that it has them, the run checks it.
  Expected<ValueId> checked(std::size_t i, std::string_view name, const std::vector<Dim>& sizes) {
    const ValueId given = layer_.node.inputs[i];
    const std::vector<Dim> declared = layer_.rewriter.type(given).dims;
    if (declared == sizes) return given;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (declared[axis] == sizes[axis]) continue;
      SCANLOOM_TRY(const ValueId size,
                   write_.op(ops::dim_op, {given}, {{"axis", static_cast<std::int64_t>(axis)}}));
      SCANLOOM_TRY(const ValueId wanted, size_of(sizes[axis]));
      SCANLOOM_CHECK_OK(
          write_.op(ops::check_equal_op, {size, wanted},
                    {{"text", fmt::format("{} has size {{}} on axis {}, not {{}}", name, axis)}}));
    }
    SCANLOOM_TRY(const ValueId list, list_of(sizes));
    return write_.op(ops::reshape_op, {given, list}, {{"allowzero", 1}});
  }

  /// Returns the batch, or a number, as a scalar.
  Expected<ValueId> size_of(Dim size) {
    if (size != layer_.batch())
      return write_.builder().constant(Tensor::of<std::int64_t>({}, {{size.value()}}));
    return write_.op(ops::dim_op, {layer_.node.inputs[kX]}, {{"axis", layer_.batch_axis()}});
  }

  /// The same as a list.
  Expected<ValueId> list_of(const std::vector<Dim>& sizes) {
    std::vector<ValueId> parts;
    for (const Dim size : sizes) {
      if (size != layer_.batch()) {
        parts.push_back(write_.list({size.value()}));
        continue;
      }
      SCANLOOM_TRY(const ValueId one, size_of(size));
      SCANLOOM_TRY(parts.emplace_back(),
                   write_.op(ops::unsqueeze_op, {one}, {{"axes", std::vector<std::int64_t>{0}}}));
    }
    return write_.op(ops::concat_op, std::move(parts), {{"axis", 0}});
  }

  [[nodiscard]] Expected<ValueId> step_count() {
    return write_.op(ops::dim_op, {layer_.node.inputs[kX]}, {{"axis", layer_.step_axis()}});
  }

  Expected<ValueId> step_numbers() {
    const auto number = [&](std::int64_t value) {
      return write_.builder().constant(Tensor::of<std::int64_t>({}, {{value}}));
    };
    SCANLOOM_TRY(const ValueId steps, step_count());
    return write_.op(ops::range_op, {number(0), steps, number(1)});
  }

  const RecurrentLayer& layer_;
  Writer& write_;
};

/// Adds the body of the loop of one direction: the cell.
class CellWriter {
 public:
  /// `activations`: of the direction.
  CellWriter(const RecurrentLayer& layer, std::span<const ops::Activation> activations,
             bool has_lengths)
      : layer_(layer), activations_(activations), has_lengths_(has_lengths) {}

  Expected<void> add(ir::NodeId loop, const LoopOperands& operands) const {
    Module& module = layer_.rewriter.module();
    const ir::RegionId body = module.add_region(loop, "cell");
    module.node(loop).regions.push_back(body);
    std::vector<ValueId> arguments, states;
    for (const ValueId value : operands.captured)
      arguments.push_back(module.add_argument(body, layer_.rewriter.type(value)));
    for (std::size_t i = 0; i < operands.initial.size(); ++i)
      states.push_back(module.add_argument(body, layer_.state_type()));
    const ValueId x =
        module.add_argument(body, Type::of(layer_.x.dtype, {layer_.batch(), layer_.x.dims[2]}));
    Builder builder(module, body);
    builder.set_location(layer_.node.location);
    Writer write(builder);
    CellWeights weights{arguments[0], arguments[1], arguments[2], arguments[3], {}};
    if (layer_.is_lstm() && layer_.has(kPeepholes)) weights.peepholes = arguments[4];
    SCANLOOM_TRY(std::vector<ValueId> next, cell(write, weights, x, states));
    ValueId row = next[0];
    if (has_lengths_) {
      const ValueId step = module.add_argument(body, Type::scalar(DType::i64));
      SCANLOOM_TRY(row, keep_ended(write, step, arguments.back(), states, next));
    }
    next.push_back(row);
    module.region(body).yields = std::move(next);
    return {};
  }

 private:
  /// Returns the next states, h first, in the type of the layer.
  Expected<std::vector<ValueId>> cell(Writer& write, const CellWeights& weights, ValueId x,
                                      const std::vector<ValueId>& states) const {
    const CellForm form{
        .hidden = layer_.hidden,
        .clip = layer_.clip(),
        .activations = activations_,
        .coupled = layer_.is_lstm() && attr_of(layer_.node, "input_forget").integer() != 0,
        .linear = layer_.node.op == &ops::gru_op &&
                  attr_of(layer_.node, "linear_before_reset").integer() != 0};
    SCANLOOM_TRY(const ValueId wide_x, write.cast(x, layer_.computed_in));
    std::vector<ValueId> wide, next;
    for (const ValueId state : states) {
      SCANLOOM_TRY(wide.emplace_back(), write.cast(state, layer_.computed_in));
    }
    if (layer_.is_lstm()) {
      SCANLOOM_TRY(next, lstm_cell(write, weights, form, wide_x, wide[0], wide[1]));
    } else if (layer_.node.op == &ops::rnn_op) {
      SCANLOOM_TRY(next, rnn_cell(write, weights, form, wide_x, wide[0]));
    } else {
      SCANLOOM_TRY(next, gru_cell(write, weights, form, wide_x, wide[0]));
    }
    for (ValueId& state : next) {
      SCANLOOM_TRY(state, write.cast(state, layer_.x.dtype));
    }
    return next;
  }

  /// Keeps the states of rows whose sequence has ended; returns the step's row, which is 0 there.
  Expected<ValueId> keep_ended(Writer& write, ValueId step, ValueId lengths,
                               const std::vector<ValueId>& states,
                               std::vector<ValueId>& next) const {
    SCANLOOM_TRY(const ValueId goes_on, write.op(ops::less_op, {step, lengths}));
    SCANLOOM_TRY(const ValueId rows,
                 write.op(ops::unsqueeze_op, {goes_on}, {{"axes", std::vector<std::int64_t>{1}}}));
    SCANLOOM_TRY(Tensor zero, Tensor::zeros(layer_.x.dtype, {}));
    SCANLOOM_TRY(
        const ValueId row,
        write.op(ops::where_op, {rows, next[0], write.builder().constant(std::move(zero))}));
    for (std::size_t i = 0; i < next.size(); ++i) {
      SCANLOOM_TRY(next[i], write.op(ops::where_op, {rows, next[i], states[i]}));
    }
    return row;
  }

  const RecurrentLayer& layer_;
  const std::span<const ops::Activation> activations_;
  const bool has_lengths_;
};

/// Replaces one layer by the loops of its directions.
class LayerRewriter {
 public:
  LayerRewriter(Rewriter& rewriter, const Node& node)
      : layer_(rewriter, node), write_(rewriter.build()), operands_(layer_, write_) {}

  /// Returns whether the layer was rewritten. `uses`: by ValueId, before the first rewrite.
  Expected<bool> rewrite(const std::vector<std::uint32_t>& uses) {
    if (!layer_.can_be_written(uses)) return false;
    const std::string& direction = attr_of(layer_.node, "direction").text();
    std::vector<ValueId> states;
    std::vector<std::vector<ValueId>> lasts(layer_.count_of_states());  // [state][direction]
    const std::int64_t count = direction == "bidirectional" ? 2 : 1;
    SCANLOOM_TRY(activations_,
                 ops::read_activations(attr_of(layer_.node, "activations"), static_cast<int>(count),
                                       layer_.usual_activations()));
    if (layer_.has(kLengths)) {
      SCANLOOM_TRY(lengths_, operands_.checked_lengths());
    }
    for (std::int64_t d = 0; d < count; ++d) {
      SCANLOOM_TRY(const Results made, run(d, direction == "reverse" || d == 1));
      states.push_back(made.states);
      for (std::size_t i = 0; i < lasts.size(); ++i) lasts[i].push_back(made.lasts[i]);
    }
    // [steps, directions, batch, hidden] and [directions, batch, hidden]. If the batch comes first,
    // the directions are joined before the steps, which copies whole sequences.
    SCANLOOM_TRY(ValueId all, joined(states, 1));
    if (layer_.batch_first) {
      SCANLOOM_TRY(all, write_.op(ops::transpose_op, {all},
                                  {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}}));
    }
    layer_.rewriter.replace(layer_.node.outputs[kStates], all);
    for (std::size_t i = 0; i < lasts.size(); ++i) {
      SCANLOOM_TRY(const ValueId last, joined(lasts[i], layer_.batch_first ? 1 : 0));
      layer_.rewriter.replace(layer_.node.outputs[kLast + i], last);
    }
    return true;
  }

 private:
  struct Results {
    ValueId states;
    std::vector<ValueId> lasts;  ///< of h, and of c
  };

  /// Joins the values along a new axis.
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

  Expected<Results> run(std::int64_t d, bool backwards) {
    SCANLOOM_TRY(const LoopOperands operands, operands_.of_direction(d, lengths_));
    const auto& [captured, initial, scanned] = operands;
    Module& module = layer_.rewriter.module();
    const std::int64_t axis = layer_.step_axis();
    const Dim steps = layer_.steps(), batch = layer_.batch();
    std::vector<ValueId> inputs = captured;
    inputs.insert(inputs.end(), initial.begin(), initial.end());
    inputs.insert(inputs.end(), scanned.begin(), scanned.end());
    std::vector<Type> results(initial.size(), layer_.state_type());
    results.push_back(Type::of(layer_.x.dtype,
                               layer_.batch_first ? std::vector<Dim>{batch, steps, layer_.hidden}
                                                  : std::vector<Dim>{steps, batch, layer_.hidden}));
    const ir::NodeId loop =
        module.add_node(write_.builder().region(), ir::loop_op, std::move(inputs), {},
                        std::move(results), layer_.node.location);
    ir::LoopPorts ports{.fixed_sizes = true,
                        .captured = static_cast<std::uint32_t>(captured.size()),
                        .carried = static_cast<std::uint32_t>(initial.size())};
    for (std::size_t i = 0; i < scanned.size(); ++i)
      ports.scanned.push_back(
          {.axis = i == 0 ? axis : 0, .start = backwards ? -1 : 0, .stride = backwards ? -1 : 1});
    ports.stacked.push_back({.axis = axis, .reverse = backwards});
    module.node(loop).loop = std::move(ports);
    const std::size_t each = layer_.usual_activations().size();
    const auto activations =
        std::span(activations_).subspan(static_cast<std::size_t>(d) * each, each);
    SCANLOOM_CHECK_OK(CellWriter(layer_, activations, lengths_.valid()).add(loop, operands));
    std::vector<ValueId> lasts = module.node(loop).outputs;
    const ValueId all = lasts.back();
    lasts.pop_back();
    return Results{all, std::move(lasts)};
  }

  const RecurrentLayer layer_;
  Writer write_;
  OperandWriter operands_;
  ops::Activations activations_;  ///< of both directions
  ValueId lengths_;               ///< invalid: all rows take all steps
};

}  // namespace

Expected<Change> recurrent_to_loop(ir::Module& module) {
  const std::vector<std::uint32_t> uses = ir::count_uses(module);
  return Rewriter(module).sweep([&](Rewriter& rewriter, ir::NodeId id) -> Expected<bool> {
    const Node node = rewriter.module().node(id);  // by value: adding nodes may move it
    if (node.op != &ops::gru_op && node.op != &ops::rnn_op && node.op != &ops::lstm_op)
      return false;
    return LayerRewriter(rewriter, node).rewrite(uses);
  });
}

}  // namespace scanloom::passes
