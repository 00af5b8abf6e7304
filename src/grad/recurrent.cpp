// The rule of recurrent layers: the layer is written once more as a scan over its cells, which is
// then differentiated. The forward layer keeps its kernel. Its steps are computed a second time, as
// a loop that keeps what the reverse loop needs.
#include <scanloom/scan.h>

#include <algorithm>

#include "expr/apply.h"
#include "expr/substitute.h"
#include "grad/reverse.h"
#include "grad/rules.h"
#include "ops/ops.h"
#include "ops/recurrent/recurrent.h"

namespace scanloom::autodiff {
namespace {

// The first operands and results of the layers.
constexpr std::size_t kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kInitial = 5, kPeepholes = 7;
constexpr std::size_t kStates = 0, kLast = 1;

Expr part(const Expr& x, int axis, std::int64_t first, std::int64_t last) {
  std::vector<Index> items(static_cast<std::size_t>(axis), Index::all());
  items.push_back(Index::slice(first, last));
  return subtensor(x, items);
}

/// The product of rows with the rows of a weight.
Expr product(const Expr& rows, const Expr& weight) { return contract(rows, weight, "bi,ji->bj"); }

/// One layer, whose operands are `args`.
class RecurrentLayer {
 public:
  RecurrentLayer(const Pull& p, const std::vector<Expr>& args)
      : p_(p), args_(args), hidden_(p.attr("hidden_size").integer()) {}

  /// Returns as many results as the operator has.
  Expected<std::vector<Expr>> outputs() {
    if (const std::string_view other =
            ops::unusual_activation(p_.attr("activations"), activations());
        !other.empty())
      return fail(Code::unsupported, "the gradient of '{}' with the activation '{}'",
                  p_.node->op->name, other);
    const bool batch_first = p_.attr("layout").integer() != 0;
    x_ = batch_first ? dimshuffle(args_[kX], {1, 0, 2}) : args_[kX];
    const std::string& direction = p_.attr("direction").text();
    const std::int64_t count = direction == "bidirectional" ? 2 : 1;
    std::vector<std::vector<Expr>> made(is_lstm() ? 3 : 2);
    for (std::int64_t d = 0; d < count; ++d) {
      const std::vector<Expr> one = run(d, direction == "reverse" || d == 1, batch_first);
      for (std::size_t i = 0; i < made.size(); ++i) made[i].push_back(one[i]);
    }
    std::vector<Expr> results{stack(made[kStates], 1)};
    if (batch_first) results[kStates] = dimshuffle(results[kStates], {2, 0, 1, 3});
    for (std::size_t i = kLast; i < made.size(); ++i)
      results.push_back(stack(made[i], batch_first ? 1 : 0));
    results.resize(p_.node->outputs.size());
    return results;
  }

 private:
  struct Weights {
    Expr w, r, w_bias, r_bias, peepholes;
  };

  [[nodiscard]] bool is_lstm() const { return p_.node->op == &ops::lstm_op; }
  [[nodiscard]] std::span<const ops::ActivationKind> activations() const {
    if (is_lstm()) return ops::kLstmActivations;
    if (p_.node->op == &ops::gru_op) return ops::kGruActivations;
    return ops::kRnnActivations;
  }
  [[nodiscard]] bool has(std::size_t i) const { return i < args_.size() && args_[i].defined(); }

  /// Returns all states, the last h, and for an LSTM the last c.
  std::vector<Expr> run(std::int64_t d, bool backwards, bool batch_first) {
    const Weights weights = weights_of(d);
    ScanOptions options{.sequences = {x_, arange(0, size(x_, 0))}, .backwards = backwards};
    for (std::size_t i = 0; i < (is_lstm() ? 2u : 1u); ++i)
      options.initial.emplace_back(initial_state(i, d, batch_first));
    options.initial.emplace_back();
    const ScanResult scanned = scan_steps(options, [&](const StepInputs& step) {
      std::vector<Expr> before{step.state(0)};
      if (is_lstm()) before.push_back(step.state(1));
      std::vector<Expr> next = cell(weights, step[0], before);
      Expr row = next[0];
      if (has(kLengths)) {
        // Steps after the end of a row of the batch leave it as it is, in either direction.
        const Expr runs = expand_dims(step[1] < cast(args_[kLengths], DType::i64), {1});
        for (std::size_t i = 0; i < next.size(); ++i) next[i] = where(runs, next[i], before[i]);
        row = where(runs, row, number(0, row.dtype()));
      }
      next.push_back(row);
      return Step(std::move(next));
    });
    std::vector<Expr> results{scanned.outputs.back()};
    if (backwards) results[0] = subtensor(results[0], {Index::slice({}, {}, -1)});
    for (std::size_t i = 0; i + 1 < scanned.outputs.size(); ++i)
      results.push_back(scanned.outputs[i][-1]);
    return results;
  }

  Weights weights_of(std::int64_t d) {
    Weights weights{
        .w = args_[kW][d], .r = args_[kR][d], .w_bias = {}, .r_bias = {}, .peepholes = {}};
    const std::int64_t rows = (is_lstm() ? 4 : p_.node->op == &ops::gru_op ? 3 : 1) * hidden_;
    if (has(kB)) {
      weights.w_bias = part(args_[kB][d], 0, 0, rows);
      weights.r_bias = part(args_[kB][d], 0, rows, 2 * rows);
    } else {
      weights.w_bias = weights.r_bias = zeros(expr::integers({rows}), x_.dtype());
    }
    if (is_lstm() && has(kPeepholes)) weights.peepholes = args_[kPeepholes][d];
    return weights;
  }

  Expr initial_state(std::size_t state, std::int64_t d, bool batch_first) {
    if (!has(kInitial + state)) return zeros(shape_of({size(x_, 1), Expr(hidden_)}), x_.dtype());
    const Expr& all = args_[kInitial + state];
    return batch_first ? subtensor(all, {Index::all(), Index::of(d)}) : all[d];
  }

  [[nodiscard]] Expr limited(const Expr& z) const {
    const tensor::Attr& most = p_.attr("clip");
    if (!most.present()) return z;
    return clip(z, number(-most.real(), z.dtype()), number(most.real(), z.dtype()));
  }

  /// Returns gate i.
  [[nodiscard]] Expr gate(const Expr& z, std::int64_t i) const {
    return part(z, 1, i * hidden_, (i + 1) * hidden_);
  }

  /// Returns the next states; see ops/recurrent/lstm.cpp, gru.cpp and rnn.cpp for the formulas.
  std::vector<Expr> cell(const Weights& weights, const Expr& x, const std::vector<Expr>& before) {
    const Expr& h = before[0];
    if (p_.node->op == &ops::gru_op) return {gru_cell(weights, x, h)};
    const Expr z =
        product(x, weights.w) + product(h, weights.r) + (weights.w_bias + weights.r_bias);
    if (!is_lstm()) return {tanh(limited(z))};
    const Expr& c = before[1];
    const auto with_peephole = [&](std::int64_t i, std::int64_t peephole, const Expr& state) {
      if (!weights.peepholes.defined()) return limited(gate(z, i));
      const Expr weight = part(weights.peepholes, 0, peephole * hidden_, (peephole + 1) * hidden_);
      return limited(gate(z, i) + weight * state);
    };
    const Expr i = sigmoid(with_peephole(0, 0, c));
    const bool coupled = p_.attr("input_forget").integer() != 0;
    const Expr f = coupled ? number(1, i.dtype()) - i : sigmoid(with_peephole(2, 2, c));
    const Expr next_c = f * c + i * tanh(limited(gate(z, 3)));
    return {sigmoid(with_peephole(1, 1, next_c)) * tanh(next_c), next_c};
  }

  [[nodiscard]] Expr gru_cell(const Weights& weights, const Expr& x, const Expr& h) const {
    const std::int64_t two = 2 * hidden_, three = 3 * hidden_;
    const Expr xw = product(x, weights.w) + weights.w_bias;
    const Expr hr = product(h, part(weights.r, 0, 0, two)) + part(weights.r_bias, 0, 0, two);
    const Expr gates = sigmoid(limited(part(xw, 1, 0, two) + hr));
    const Expr z = gate(gates, 0), r = gate(gates, 1);
    const Expr own = part(weights.r, 0, two, three), bias = part(weights.r_bias, 0, two, three);
    const bool linear = p_.attr("linear_before_reset").integer() != 0;
    const Expr inner = linear ? r * (product(h, own) + bias) : product(r * h, own) + bias;
    const Expr n = tanh(limited(gate(xw, 2) + inner));
    return (number(1, z.dtype()) - z) * n + z * h;
  }

  const Pull& p_;
  const std::vector<Expr>& args_;
  const std::int64_t hidden_;
  Expr x_;  ///< [steps, batch, inputs]
};

/// Returns the cotangents of the wanted operands. The layer is written over placeholders, so that
/// the nodes which compute the operands are not part of it.
Expected<std::vector<Expr>> pulled(const Pull& p) {
  std::vector<Expr> args, wrt;
  expr::Replacements outside;
  for (const Expr& x : p.node->inputs) {
    args.push_back(x.defined() ? expr::placeholder(expr::type_of(x), x.name()) : Expr());
    if (x.defined()) outside.emplace(expr::key_of(args.back()), x);
  }
  SCANLOOM_TRY(const std::vector<Expr> made, RecurrentLayer(p, args).outputs());
  std::vector<Expr> outputs, cotangents;
  for (std::size_t i = 0; i < p.cotangents.size(); ++i) {
    if (!p.cotangents[i].defined()) continue;
    if (!made[i].defined())
      return fail(Code::unsupported, "the gradient of result {} of '{}'", i, p.node->op->name);
    if (made[i].error() != nullptr) return *made[i].error();
    outputs.push_back(made[i]);
    cotangents.push_back(p.cotangents[i]);
  }
  for (std::size_t i = 0; i < args.size(); ++i)
    if (p.wanted[i]) wrt.push_back(args[i]);
  SCANLOOM_TRY(const std::vector<Expr> slopes, pulled_back(outputs, cotangents, wrt));
  std::vector<Expr> defined;
  for (const Expr& x : slopes)
    if (x.defined()) defined.push_back(x);
  const std::vector<Expr> placed = expr::substituted(defined, outside);
  std::vector<Expr> results(args.size());
  std::size_t next = 0, at = 0;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (p.wanted[i] && slopes[at++].defined()) results[i] = placed[next++];
  return results;
}

void pull_layer(Pull& p) {
  auto results = pulled(p);
  if (results) {
    p.result = *std::move(results);
    return;
  }
  for (Expr& x : p.result) x = expr::failed(Error(results.error()));
}

}  // namespace

std::span<const RuleRow> recurrent_rules() {
  static const RuleRow rows[] = {
      {&ops::lstm_op, pull_layer}, {&ops::gru_op, pull_layer}, {&ops::rnn_op, pull_layer}};
  return rows;
}

}  // namespace scanloom::autodiff
