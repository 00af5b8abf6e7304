// A step of a gated recurrent unit. For every unit and gate
//   xw = x . W[row], hr = h . R[row], each from 0, k in order (base/dot.h)
//   z = f((xw_z + hr_z) + (Wb_z + Rb_z)), r = f((xw_r + hr_r) + (Wb_r + Rb_r))
//   n = g((xw_n + (r * h) . R[row]) + (Wb_n + Rb_n)), or with linear_before_reset
//   n = g((xw_n + Wb_n) + r * (hr_n + Rb_n))
//   h' = (1 - z) * n + z * h
// Products are rounded before they are added. With a clip, the arguments of f and g are clamped to
// [-clip, clip]. f16 and bf16 are computed in f32, with the state rounded once per step. A row's
// steps end with its sequence length: later rows of Y are 0, and Y_h holds the last valid state
// (the initial one for length 0). Backwards, only the valid prefix is reversed.
#include "ops/ops.h"
#include "ops/recurrent/recurrent_layer.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {
namespace gru {

constexpr int kLinear = 3;
constexpr int kClip = 4;
constexpr int kActivations = 5;
constexpr int kReset = 2;  // among the outputs

enum Gate : std::int64_t { kUpdateGate = 0, kResetGate = 1, kNewGate = 2 };

DType computed_in(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_TRY(const RecurrentSizes sizes, recurrent_sizes(ctx, 3));
  SCANLOOM_CHECK_OK(read_activations(ctx.attr(kActivations),
                                     static_cast<int>(sizes.directions.value()), kGruActivations));
  SCANLOOM_CHECK_OK(set_recurrent_results(ctx, sizes));
  return set_sizes(ctx, kReset, computed_in(ctx.dtype()), state_sizes(sizes));
}

template <class T>
class GruCell {
 public:
  using Real = typename RecurrentLayer<T>::Real;

  GruCell(const RecurrentLayer<T>& layer, const Activations& activations)
      : layer_(layer),
        activations_(activations),
        linear_(layer.call().attrs[kLinear].integer() != 0),
        clip_(clip_of<Real>(layer.call().attrs[kClip])) {}

  void load(std::int64_t d) {
    weights_ = RecurrentWeights<T>(layer_.call(), d);
    gate_activation_ = activations_[static_cast<std::size_t>(2 * d)];
    new_activation_ = activations_[static_cast<std::size_t>(2 * d + 1)];
  }

  void start(std::int64_t d, std::int64_t row) {
    reset_ = layer_.template state_line<Real>(layer_.call().out(kReset), d, row);
    for (std::int64_t j = 0; j < layer_.hidden(); ++j) reset_[j] = 0;
  }

  // The product with R needs the reset state of all units at once.
  void step(const Line<const T>& x, const Line<T>& h, const Line<T>& y) const {
    for (std::int64_t j = 0; j < layer_.hidden(); ++j) {
      const Real r = gate(kResetGate, j, x, h);
      reset_[j] = linear_ ? r : r * h.at(j);
    }
    for (std::int64_t j = 0; j < layer_.hidden(); ++j) {
      const Real z = gate(kUpdateGate, j, x, h);
      const Real n = clipped_activation(new_activation_, new_content(j, x, h), clip_);
      const Real fresh = (1 - z) * n, kept = z * h.at(j);
      y[j] = tensor::narrow<T>(fresh + kept);
    }
  }

 private:
  [[nodiscard]] Real gate(Gate gate, std::int64_t j, const Line<const T>& x,
                          const Line<T>& h) const {
    const std::int64_t row = gate * layer_.hidden() + j;
    const Real xw = weights_.xw(row, x), hr = weights_.hr(row, h);
    const Real bias = weights_.w_bias(row) + weights_.r_bias(row);
    return clipped_activation(gate_activation_, (xw + hr) + bias, clip_);
  }

  [[nodiscard]] Real new_content(std::int64_t j, const Line<const T>& x, const Line<T>& h) const {
    const std::int64_t row = kNewGate * layer_.hidden() + j;
    const Real xw = weights_.xw(row, x);
    if (!linear_) {
      const Real hr = weights_.hr(row, reset_);
      return (xw + hr) + (weights_.w_bias(row) + weights_.r_bias(row));
    }
    const Real hr = weights_.hr(row, h);
    const Real product = reset_[j] * (hr + weights_.r_bias(row));
    return (xw + weights_.w_bias(row)) + product;
  }

  const RecurrentLayer<T>& layer_;
  const Activations& activations_;
  bool linear_ = false;
  Real clip_ = 0;
  RecurrentWeights<T> weights_;
  Activation gate_activation_, new_activation_;
  Line<Real> reset_;
};

tensor::Status reference(const tensor::Call& call) noexcept {
  return run_recurrent<GruCell>(call, call.attrs[kActivations], kGruActivations);
}

}  // namespace gru
}  // namespace

constinit const ir::OpDef gru_op{
    .name = "gru",
    .doc =
        "A layer of gated recurrent units, as ONNX GRU: gates in the order z, r, h. `direction` is "
        "forward, reverse or bidirectional; `layout` 1 puts the batch first; `activations` names "
        "two per direction, by default Sigmoid,Tanh, parameters after colons. All results are "
        "computed; `reset` is the last step's reset gate, times the state unless "
        "`linear_before_reset`.",
    .inputs = {{"x", ir::Accept::real},
               {.name = "w", .accept = ir::Accept::real, .same_as = 0},
               {.name = "r", .accept = ir::Accept::real, .same_as = 0},
               {"b", ir::Accept::real, ir::Arity::optional, 0},
               {"sequence_lens", ir::Accept::index, ir::Arity::optional},
               {"initial_h", ir::Accept::real, ir::Arity::optional, 0}},
    .outputs = {"y", "y_h", "reset"},
    .attrs = {{"direction", tensor::AttrKind::text},
              {"hidden_size", tensor::AttrKind::integer},
              {"layout", tensor::AttrKind::integer},
              {"linear_before_reset", tensor::AttrKind::integer},
              {"clip", tensor::AttrKind::real, true},
              {"activations", tensor::AttrKind::text, true}},
    .effects = ir::Effects::may_fail,
    .infer = gru::infer,
    .reference = gru::reference,
    .rows_axis = steps_axis,
    .layer_states = 1,
    .products = products_of_layer,
};

}  // namespace scanloom::ops
