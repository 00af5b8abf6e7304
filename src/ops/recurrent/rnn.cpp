// A step of the simple recurrent layer: for every unit
//   h' = f((x . W[row] + h . R[row]) + (Wb + Rb))
// Both products start from 0, k in order (base/dot.h); with a clip, the sum is clamped to [-clip,
// clip]. f16 and bf16 are computed in f32, with the state rounded once per step. A row's steps end
// with its sequence length: later rows of Y are 0, and Y_h holds the last valid state (the initial
// one for length 0). Backwards, only the valid prefix is reversed.
#include "ops/ops.h"
#include "ops/recurrent/recurrent_layer.h"

namespace scanloom::ops {
namespace {
namespace rnn {

constexpr int kClip = 3;
constexpr int kActivations = 4;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_TRY(const RecurrentSizes sizes, recurrent_sizes(ctx, 1));
  SCANLOOM_CHECK_OK(read_activations(ctx.attr(kActivations),
                                     static_cast<int>(sizes.directions.value()), kRnnActivations));
  return set_recurrent_results(ctx, sizes);
}

template <class T>
class RnnCell {
 public:
  using Real = typename RecurrentLayer<T>::Real;

  RnnCell(const RecurrentLayer<T>& layer, const Activations& activations)
      : layer_(layer), activations_(activations), clip_(clip_of<Real>(layer.call().attrs[kClip])) {}

  void load(std::int64_t d) {
    weights_ = RecurrentWeights<T>(layer_.call(), d);
    activation_ = activations_[static_cast<std::size_t>(d)];
  }
  void start(std::int64_t, std::int64_t) {}

  void step(const Line<const T>& x, const Line<T>& h, const Line<T>& y) const {
    for (std::int64_t j = 0; j < layer_.hidden(); ++j) {
      const Real xw = weights_.xw(j, x), hr = weights_.hr(j, h);
      const Real bias = weights_.w_bias(j) + weights_.r_bias(j);
      y[j] = tensor::narrow<T>(clipped_activation(activation_, (xw + hr) + bias, clip_));
    }
  }

 private:
  const RecurrentLayer<T>& layer_;
  const Activations& activations_;
  Real clip_ = 0;
  RecurrentWeights<T> weights_;
  Activation activation_;
};

tensor::Status reference(const tensor::Call& call) noexcept {
  return run_recurrent<RnnCell>(call, call.attrs[kActivations], kRnnActivations);
}

}  // namespace rnn
}  // namespace

constinit const ir::OpDef rnn_op{
    .name = "rnn",
    .doc =
        "A simple recurrent layer, as ONNX RNN. `direction` is forward, reverse or bidirectional; "
        "`layout` 1 puts the batch first; `activations` names one per direction, by default Tanh, "
        "parameters after colons. Both results are computed.",
    .inputs = {{"x", ir::Accept::real},
               {.name = "w", .accept = ir::Accept::real, .same_as = 0},
               {.name = "r", .accept = ir::Accept::real, .same_as = 0},
               {"b", ir::Accept::real, ir::Arity::optional, 0},
               {"sequence_lens", ir::Accept::index, ir::Arity::optional},
               {"initial_h", ir::Accept::real, ir::Arity::optional, 0}},
    .outputs = {"y", "y_h"},
    .attrs = {{"direction", tensor::AttrKind::text},
              {"hidden_size", tensor::AttrKind::integer},
              {"layout", tensor::AttrKind::integer},
              {"clip", tensor::AttrKind::real, true},
              {"activations", tensor::AttrKind::text, true}},
    .effects = ir::Effects::may_fail,
    .infer = rnn::infer,
    .reference = rnn::reference,
    .rows_axis = steps_axis,
    .layer_states = 1,
    .products = products_of_layer,
};

}  // namespace scanloom::ops
