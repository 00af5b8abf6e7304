// LSTMCell, GRUCell and RNNCell, expanded to arithmetic so that loops over them are optimised and
// compiled like loops over hand-written cells. The sums are those of lstm, gru and rnn
// (ops/recurrent/lstm.cpp).
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/recurrent.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

struct CellWeights {
  ValueId w, r;
  ValueId b;  // invalid if zero
};

/// Multiplies `rows` by the transposed weight.
ValueId product(ops::Composer& c, ValueId rows, ValueId weight) {
  return c.contract(rows, weight, "bi,ji->bj");
}

ValueId sum_of(ops::Composer& c, ValueId x, ValueId h, const CellWeights& weights) {
  const ValueId products = c.add(product(c, x, weights.w), product(c, h, weights.r));
  return weights.b.valid() ? c.add(products, weights.b) : products;
}

/// X and the states must be matrices, the states with hidden_size columns; weights have `gates`
/// rows per unit.
Expected<void> check_cell(LayerCtx& ctx, int states, int gates, std::int64_t hidden) {
  for (int i = 0; i < states + 3; ++i) SCANLOOM_CHECK_OK(check_rank(ctx, i, 2));
  for (int i = 1; i <= states; ++i) SCANLOOM_CHECK_OK(check_size(ctx, i, 1, hidden));
  for (int i = states + 1; i <= states + 2; ++i)
    SCANLOOM_CHECK_OK(check_size(ctx, i, 0, gates * hidden));
  return check_size(ctx, states + 2, 1, hidden);
}

/// States must have as many rows as X, because the sums would broadcast a single row.
Expected<void> check_rows(LayerCtx& ctx, int states) {
  LayerComposer c(ctx);
  const ValueId x = c.in(0);
  const std::int64_t rows = c.known_size(x, 0);
  for (int i = 1; i <= states && c.ok(); ++i) {
    const ValueId state = c.in(i);
    const std::int64_t own = c.known_size(state, 0);
    if (rows < 0 || own < 0)
      c.op(ops::check_equal_op, {c.dim(state, 0), c.dim(x, 0)},
           {{"text", fmt::format("input {} has {{}} rows, X has {{}}", i)}});
    else if (rows != own)
      c.refuse(invalid_model("input {} has {} rows, X has {}", i, own, rows));
  }
  return c.done();
}

/// Whether W and R are one matrix, as in IRs before version 10; the fifth input is then B.
bool is_joined(LayerCtx& ctx, ValueId fifth) {
  const tensor::Type& type = ctx.type(fifth);
  return ctx.input_count() == 5 && type.ranked && type.rank() == 1;
}

/// Splits one matrix [rows, inputs + hidden] into W and R.
Expected<CellWeights> parted_weights(LayerCtx& ctx, std::int64_t hidden) {
  LayerComposer c(ctx);
  const ValueId joined = c.in(3);
  SCANLOOM_CHECK_OK(check_rank(ctx, 3, 2));
  SCANLOOM_CHECK_OK(check_size(ctx, 3, 0, 4 * hidden));
  const std::int64_t inputs = c.known_size(c.in(0), 1), columns = c.known_size(joined, 1);
  if (inputs >= 0 && columns >= 0 && inputs + hidden != columns)
    return invalid_model("input 3 has {} columns, {} of X and {} of H are needed", columns, inputs,
                         hidden);
  const ValueId end = c.dim(joined, 1), border = c.sub(end, c.number(hidden));
  const CellWeights weights{c.slice(joined, 1, c.number(0), border),
                            c.slice(joined, 1, border, end), c.in(4)};
  SCANLOOM_CHECK_OK(c.done());
  return weights;
}

Expected<CellWeights> lstm_weights(LayerCtx& ctx, std::int64_t hidden) {
  LayerComposer c(ctx);
  CellWeights weights{.w = c.in(3), .r = c.in(4)};
  SCANLOOM_CHECK_OK(c.done());
  if (is_joined(ctx, weights.r)) {
    for (int i = 0; i < 3; ++i) SCANLOOM_CHECK_OK(check_rank(ctx, i, 2));
    for (int i = 1; i < 3; ++i) SCANLOOM_CHECK_OK(check_size(ctx, i, 1, hidden));
    SCANLOOM_CHECK_OK(check_size(ctx, 4, 0, 4 * hidden));
    SCANLOOM_TRY(weights, parted_weights(ctx, hidden));
  } else {
    SCANLOOM_CHECK_OK(check_cell(ctx, 2, 4, hidden));
    weights.b = c.optional_in(5);
    if (weights.b.valid()) SCANLOOM_CHECK_OK(check_size(ctx, 5, 0, 4 * hidden));
  }
  SCANLOOM_TRY(const std::string format, lstm_weights_format(ctx));
  for (ValueId* const one : {&weights.w, &weights.r, &weights.b})
    if (one->valid()) *one = reordered_gates(c, *one, 0, format, hidden);
  SCANLOOM_CHECK_OK(c.done());
  return weights;
}

}  // namespace

// Opset 1 may have peepholes P: i and f see the old cell, o the new one.
Expected<void> convert_lstm_cell(LayerCtx& ctx) {
  SCANLOOM_TRY(const RecurrentAttributes attrs,
               recurrent_attributes(ctx, {"sigmoid", "tanh", "tanh"}));
  SCANLOOM_TRY(const bool input_forget, ctx.attributes.boolean("input_forget", false));
  const std::int64_t hidden = attrs.hidden;
  SCANLOOM_TRY(const CellWeights weights, lstm_weights(ctx, hidden));
  if (ctx.has(6)) SCANLOOM_CHECK_OK(check_size(ctx, 6, 0, 3 * hidden));
  SCANLOOM_CHECK_OK(check_rows(ctx, 2));
  LayerComposer c(ctx);
  const ValueId h = c.in(1), cell = c.in(2), peepholes = c.optional_in(6);
  const ValueId sums = sum_of(c, c.in(0), h, weights);
  // Peepholes are in the order i, o, f.
  const auto gate = [&](std::int64_t index, std::size_t activation, ValueId seen) {
    ValueId sum = c.slice(sums, 1, index * hidden, (index + 1) * hidden);
    if (peepholes.valid() && seen.valid())
      sum = c.add(sum, c.mul(c.slice(peepholes, 0, index * hidden, (index + 1) * hidden), seen));
    return activated(c, attrs, activation, sum);
  };
  const ValueId i = gate(0, 0, cell);
  const ValueId f = input_forget ? c.sub(c.like(1, i), i) : gate(2, 0, cell);
  const ValueId g = gate(3, 1, {});
  const ValueId next_cell = c.add(c.mul(f, cell), c.mul(i, g));
  const ValueId o = gate(1, 0, next_cell);
  RecurrentAttributes unclipped = attrs;
  unclipped.clip = 0;
  const ValueId next = c.mul(o, activated(c, unclipped, 2, next_cell));
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, next);
  ctx.set_output(1, next_cell);
  return {};
}

// With linear_before_reset B has a fourth part, for the product with R inside the reset.
Expected<void> convert_gru_cell(LayerCtx& ctx) {
  SCANLOOM_TRY(const RecurrentAttributes attrs, recurrent_attributes(ctx, {"sigmoid", "tanh"}));
  SCANLOOM_TRY(const bool linear, ctx.attributes.boolean("linear_before_reset", false));
  const std::int64_t hidden = attrs.hidden;
  SCANLOOM_CHECK_OK(check_cell(ctx, 1, 3, hidden));
  if (ctx.has(4)) SCANLOOM_CHECK_OK(check_size(ctx, 4, 0, (linear ? 4 : 3) * hidden));
  SCANLOOM_CHECK_OK(check_rows(ctx, 1));
  LayerComposer c(ctx);
  const ValueId h = c.in(1), w = c.in(2), r = c.in(3), b = c.optional_in(4);
  const auto biased = [&](ValueId x, std::int64_t first, std::int64_t last) {
    return b.valid() ? c.add(x, c.slice(b, 0, first * hidden, last * hidden)) : x;
  };
  const ValueId xw = product(c, c.in(0), w);
  const ValueId hr = product(c, h, c.slice(r, 0, 0, 2 * hidden));
  const ValueId gates =
      activated(c, attrs, 0, biased(c.add(c.slice(xw, 1, 0, 2 * hidden), hr), 0, 2));
  const ValueId z = c.slice(gates, 1, 0, hidden);
  const ValueId reset = c.slice(gates, 1, hidden, 2 * hidden);
  const ValueId x_new = c.slice(xw, 1, 2 * hidden, 3 * hidden);
  const ValueId r_new = c.slice(r, 0, 2 * hidden, 3 * hidden);
  const ValueId content =
      linear ? c.add(biased(x_new, 2, 3), c.mul(reset, biased(product(c, h, r_new), 3, 4)))
             : biased(c.add(x_new, product(c, c.mul(reset, h), r_new)), 2, 3);
  const ValueId n = activated(c, attrs, 1, content);
  return c.emit(c.add(c.mul(c.sub(c.like(1, z), z), n), c.mul(z, h)));
}

Expected<void> convert_rnn_cell(LayerCtx& ctx) {
  SCANLOOM_TRY(const RecurrentAttributes attrs, recurrent_attributes(ctx, {"tanh"}));
  SCANLOOM_CHECK_OK(check_cell(ctx, 1, 1, attrs.hidden));
  if (ctx.has(4)) SCANLOOM_CHECK_OK(check_size(ctx, 4, 0, attrs.hidden));
  LayerComposer c(ctx);
  const CellWeights weights{c.in(2), c.in(3), c.optional_in(4)};
  SCANLOOM_CHECK_OK(check_rows(ctx, 1));
  return c.emit(activated(c, attrs, 0, sum_of(c, c.in(0), c.in(1), weights)));
}

}  // namespace scanloom::openvino
