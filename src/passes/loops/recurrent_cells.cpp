#include "passes/loops/recurrent_cells.h"

#include "ops/ops.h"

namespace scanloom::passes {

using ir::ValueId;
using tensor::Tensor;

ValueId Writer::list(std::vector<std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return builder_.constant(Tensor::of<std::int64_t>({count}, values));
}

ValueId Writer::number(double value, ValueId like) {
  const bool is_double = builder_.module().value(like).type.dtype == DType::f64;
  return builder_.constant(is_double ? Tensor::scalar(value)
                                     : Tensor::scalar(static_cast<float>(value)));
}

Expected<ValueId> Writer::part(ValueId value, std::int64_t axis, std::int64_t first,
                               std::int64_t last) {
  return op(ops::slice_op, {value, list({first}), list({last}), list({axis})});
}

Expected<ValueId> Writer::at(ValueId value, std::int64_t axis, std::int64_t i) {
  SCANLOOM_TRY(const ValueId one, part(value, axis, i, i + 1));
  return op(ops::squeeze_op, {one}, {{"axes", std::vector<std::int64_t>{axis}}});
}

Expected<ValueId> Writer::add(ValueId a, ValueId b) { return op(ops::add_op, {a, b}); }
Expected<ValueId> Writer::mul(ValueId a, ValueId b) { return op(ops::mul_op, {a, b}); }

Expected<ValueId> Writer::where_less(ValueId a, ValueId b, ValueId yes, ValueId no) {
  SCANLOOM_TRY(const ValueId less, op(ops::less_op, {a, b}));
  return op(ops::where_op, {less, yes, no});
}

Expected<ValueId> Writer::product(ValueId rows, ValueId weight) {
  return op(ops::contract_op, {rows, weight}, {{"spec", "bi,ji->bj"}});
}

Expected<ValueId> Writer::cast(ValueId value, DType dtype) {
  if (builder_.module().value(value).type.dtype == dtype) return value;
  return op(ops::cast_op, {value}, {{"to", dtype}});
}

namespace {

using ops::Activation;
using ops::ActivationKind;

/// Like std::min(std::max(z, -clip), clip), which keeps NaN.
Expected<ValueId> clipped(Writer& write, ValueId z, double clip) {
  if (!(clip > 0)) return z;
  const ValueId low = write.number(-clip, z);
  const ValueId high = write.number(clip, z);
  SCANLOOM_TRY(const ValueId above, write.where_less(z, low, low, z));
  return write.where_less(high, above, high, above);
}

/// alpha x + beta, rounded twice.
Expected<ValueId> line(Writer& write, const Activation& activation, ValueId x) {
  const ValueId alpha = write.number(activation.alpha, x);
  const ValueId beta = write.number(activation.beta, x);
  SCANLOOM_TRY(const ValueId scaled, write.mul(alpha, x));
  return write.add(scaled, beta);
}

/// `below` where x < 0.
Expected<ValueId> below_zero(Writer& write, ValueId x, ValueId below) {
  const ValueId zero = write.number(0, x);
  return write.where_less(x, zero, below, x);
}

Expected<ValueId> elu(Writer& write, const Activation& activation, ValueId x) {
  const ValueId alpha = write.number(activation.alpha, x);
  const ValueId one = write.number(1, x);
  SCANLOOM_TRY(const ValueId power, write.op(ops::exp_op, {x}));
  SCANLOOM_TRY(const ValueId rest, write.op(ops::sub_op, {power, one}));
  SCANLOOM_TRY(const ValueId below, write.mul(alpha, rest));
  return below_zero(write, x, below);
}

/// Like std::max(0, std::min(1, line)), which turns NaN into 1.
Expected<ValueId> hard_sigmoid(Writer& write, const Activation& activation, ValueId x) {
  const ValueId zero = write.number(0, x);
  const ValueId one = write.number(1, x);
  SCANLOOM_TRY(const ValueId sum, line(write, activation, x));
  SCANLOOM_TRY(const ValueId low, write.where_less(sum, one, sum, one));
  return write.where_less(zero, low, low, zero);
}

Expected<ValueId> softsign(Writer& write, ValueId x) {
  const ValueId one = write.number(1, x);
  SCANLOOM_TRY(const ValueId size, write.op(ops::abs_op, {x}));
  SCANLOOM_TRY(const ValueId sum, write.add(one, size));
  return write.op(ops::div_op, {x, sum});
}

Expected<ValueId> scaled_tanh(Writer& write, const Activation& activation, ValueId x) {
  const ValueId alpha = write.number(activation.alpha, x);
  const ValueId beta = write.number(activation.beta, x);
  SCANLOOM_TRY(const ValueId inner, write.mul(beta, x));
  SCANLOOM_TRY(const ValueId tanh, write.op(ops::tanh_op, {inner}));
  return write.mul(alpha, tanh);
}

/// Like ops::activate.
Expected<ValueId> activated(Writer& write, const Activation& activation, ValueId x) {
  switch (activation.kind) {
    case ActivationKind::sigmoid:
      return write.op(ops::sigmoid_op, {x});
    case ActivationKind::tanh:
      return write.op(ops::tanh_op, {x});
    case ActivationKind::softplus:
      return write.op(ops::softplus_op, {x});
    case ActivationKind::relu: {
      const ValueId zero = write.number(0, x);
      return below_zero(write, x, zero);
    }
    case ActivationKind::leaky_relu: {
      const ValueId alpha = write.number(activation.alpha, x);
      SCANLOOM_TRY(const ValueId below, write.mul(alpha, x));
      return below_zero(write, x, below);
    }
    case ActivationKind::thresholded_relu: {
      const ValueId zero = write.number(0, x);
      const ValueId alpha = write.number(activation.alpha, x);
      SCANLOOM_TRY(const ValueId below, write.op(ops::less_equal_op, {x, alpha}));
      return write.op(ops::where_op, {below, zero, x});
    }
    case ActivationKind::elu:
      return elu(write, activation, x);
    case ActivationKind::hard_sigmoid:
      return hard_sigmoid(write, activation, x);
    case ActivationKind::softsign:
      return softsign(write, x);
    case ActivationKind::affine:
      return line(write, activation, x);
    case ActivationKind::scaled_tanh:
      return scaled_tanh(write, activation, x);
  }
  return fail(Code::internal, "an activation that does not exist");
}

/// Applies activation `index` to the clipped argument.
Expected<ValueId> gate_of(Writer& write, const CellForm& form, std::size_t index, ValueId z) {
  SCANLOOM_TRY(const ValueId limited, clipped(write, z, form.clip));
  return activated(write, form.activations[index], limited);
}

/// (x . W + h . R) + (Wb + Rb)
Expected<ValueId> sums_of(Writer& write, const CellWeights& weights, ValueId x, ValueId h) {
  SCANLOOM_TRY(const ValueId xw, write.product(x, weights.w));
  SCANLOOM_TRY(const ValueId hr, write.product(h, weights.r));
  SCANLOOM_TRY(const ValueId bias, write.add(weights.w_bias, weights.r_bias));
  SCANLOOM_TRY(const ValueId products, write.add(xw, hr));
  return write.add(products, bias);
}

/// The gates of an LSTM, from sums in the order i, o, f, c and peepholes in the order i, o, f.
class LstmGates {
 public:
  LstmGates(Writer& write, const CellWeights& weights, const CellForm& form, ValueId sums)
      : write_(write), weights_(weights), form_(form), sums_(sums) {}

  Expected<ValueId> of(std::int64_t index, std::size_t activation, ValueId peeped) {
    SCANLOOM_TRY(ValueId sum, row(sums_, 1, index));
    if (weights_.peepholes.valid() && peeped.valid()) {
      SCANLOOM_TRY(const ValueId peephole, row(weights_.peepholes, 0, index));
      SCANLOOM_TRY(const ValueId seen, write_.mul(peephole, peeped));
      SCANLOOM_TRY(sum, write_.add(sum, seen));
    }
    return gate_of(write_, form_, activation, sum);
  }

 private:
  Expected<ValueId> row(ValueId value, std::int64_t axis, std::int64_t index) {
    return write_.part(value, axis, index * form_.hidden, (index + 1) * form_.hidden);
  }

  Writer& write_;
  const CellWeights& weights_;
  const CellForm& form_;
  ValueId sums_;
};

/// See ops/recurrent/gru.cpp.
class GruCell {
 public:
  GruCell(Writer& write, const CellWeights& weights, const CellForm& form)
      : write_(write), weights_(weights), form_(form), hidden_(form.hidden) {}

  Expected<ValueId> next(ValueId x, ValueId h) {
    SCANLOOM_TRY(xw_, write_.product(x, weights_.w));
    SCANLOOM_TRY(const ValueId gate_weights, write_.part(weights_.r, 0, 0, 2 * hidden_));
    SCANLOOM_TRY(const ValueId hr, write_.product(h, gate_weights));
    SCANLOOM_TRY(const ValueId xw, write_.part(xw_, 1, 0, 2 * hidden_));
    SCANLOOM_TRY(const ValueId products, write_.add(xw, hr));
    SCANLOOM_TRY(const ValueId bias, bias_of(0, 2 * hidden_));
    SCANLOOM_TRY(const ValueId sums, write_.add(products, bias));
    SCANLOOM_TRY(const ValueId gates, gate_of(write_, form_, 0, sums));
    SCANLOOM_TRY(const ValueId z, write_.part(gates, 1, 0, hidden_));
    SCANLOOM_TRY(const ValueId r, write_.part(gates, 1, hidden_, 2 * hidden_));
    SCANLOOM_TRY(const ValueId content, form_.linear ? linear_content(r, h) : reset_content(r, h));
    SCANLOOM_TRY(const ValueId n, gate_of(write_, form_, 1, content));
    const ValueId one = write_.number(1, n);
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

  Writer& write_;
  const CellWeights& weights_;
  const CellForm& form_;
  const std::int64_t hidden_;
  ValueId xw_;
};

}  // namespace

Expected<std::vector<ValueId>> rnn_cell(Writer& write, const CellWeights& weights,
                                        const CellForm& form, ValueId x, ValueId h) {
  SCANLOOM_TRY(const ValueId sums, sums_of(write, weights, x, h));
  SCANLOOM_TRY(const ValueId next, gate_of(write, form, 0, sums));
  return std::vector{next};
}

Expected<std::vector<ValueId>> lstm_cell(Writer& write, const CellWeights& weights,
                                         const CellForm& form, ValueId x, ValueId h, ValueId c) {
  SCANLOOM_TRY(const ValueId sums, sums_of(write, weights, x, h));
  LstmGates gates(write, weights, form, sums);
  SCANLOOM_TRY(const ValueId i, gates.of(0, 0, c));
  ValueId f;
  if (form.coupled) {
    const ValueId one = write.number(1, i);
    SCANLOOM_TRY(f, write.op(ops::sub_op, {one, i}));
  } else {
    SCANLOOM_TRY(f, gates.of(2, 0, c));
  }
  SCANLOOM_TRY(const ValueId g, gates.of(3, 1, {}));
  SCANLOOM_TRY(const ValueId kept, write.mul(f, c));
  SCANLOOM_TRY(const ValueId added, write.mul(i, g));
  SCANLOOM_TRY(const ValueId next_c, write.add(kept, added));
  SCANLOOM_TRY(const ValueId o, gates.of(1, 0, next_c));
  SCANLOOM_TRY(const ValueId shown, activated(write, form.activations[2], next_c));
  SCANLOOM_TRY(const ValueId next_h, write.mul(o, shown));
  return std::vector{next_h, next_c};
}

Expected<std::vector<ValueId>> gru_cell(Writer& write, const CellWeights& weights,
                                        const CellForm& form, ValueId x, ValueId h) {
  SCANLOOM_TRY(const ValueId next, GruCell(write, weights, form).next(x, h));
  return std::vector{next};
}

}  // namespace scanloom::passes
