#include "ops/recurrent/lstm.h"
#include "ops/recurrent/recurrent_layer.h"

namespace scanloom::ops {
namespace {

enum Gate : std::int64_t { kInputGate = 0, kOutputGate = 1, kForgetGate = 2, kCellGate = 3 };

template <class T>
class LstmCell {
 public:
  using Real = typename RecurrentLayer<T>::Real;

  LstmCell(const RecurrentLayer<T>& layer, const Activations& activations)
      : layer_(layer), all_activations_(activations) {
    coupled_ = attr(LstmAttr::input_forget).integer() != 0;
    clip_ = clip_of<Real>(attr(LstmAttr::clip));
  }

  void load(std::int64_t d) {
    weights_ = RecurrentWeights<T>(layer_.call(), d);
    peephole_ = weights_.row_of(layer_.call(), static_cast<int>(LstmInput::p), d);
    std::copy_n(all_activations_.begin() + 3 * d, 3, activations_.begin());
  }

  // The cell's state is kept in Y_c.
  void start(std::int64_t d, std::int64_t row) {
    c_ = layer_.start_state(static_cast<int>(LstmOutput::y_c),
                            static_cast<int>(LstmInput::initial_c), d, row);
  }

  void step(const Line<const T>& x, const Line<T>& h, const Line<T>& y) {
    for (std::int64_t j = 0; j < layer_.hidden(); ++j) {
      const Real before = c_.at(j);
      const Real i = gate(kInputGate, peeped(sum(kInputGate, j, x, h), 0, j, before));
      const Real f =
          coupled_ ? 1 - i : gate(kForgetGate, peeped(sum(kForgetGate, j, x, h), 2, j, before));
      const Real g = gate(kCellGate, sum(kCellGate, j, x, h));
      const Real kept = f * before, added = i * g;
      const Real cell = kept + added;
      const Real o = gate(kOutputGate, peeped(sum(kOutputGate, j, x, h), 1, j, cell));
      c_[j] = tensor::narrow<T>(cell);
      y[j] = tensor::narrow<T>(o * activate(activations_[2], cell));
    }
  }

 private:
  [[nodiscard]] const tensor::Attr& attr(LstmAttr which) const {
    return layer_.call().attrs[static_cast<int>(which)];
  }

  [[nodiscard]] Real sum(Gate gate, std::int64_t j, const Line<const T>& x,
                         const Line<T>& h) const {
    const std::int64_t row = gate * layer_.hidden() + j;
    const Real xw = weights_.xw(row, x), hr = weights_.hr(row, h);
    const Real bias = weights_.w_bias(row) + weights_.r_bias(row);
    return (xw + hr) + bias;
  }

  /// P has the rows i, o, f.
  [[nodiscard]] Real peeped(Real z, std::int64_t p_row, std::int64_t j, Real cell) const {
    if (peephole_.data == nullptr) return z;
    return z + peephole_.at(p_row * layer_.hidden() + j) * cell;
  }

  [[nodiscard]] Real gate(Gate gate, Real z) const {
    return clipped_activation(activations_[gate == kCellGate ? 1 : 0], z, clip_);
  }

  const RecurrentLayer<T>& layer_;
  const Activations& all_activations_;
  bool coupled_ = false;
  Real clip_ = 0;
  RecurrentWeights<T> weights_;
  Line<const T> peephole_;
  Line<T> c_;
  std::array<Activation, 3> activations_{};
};

}  // namespace

tensor::Status run_lstm(const tensor::Call& call) noexcept {
  return run_recurrent<LstmCell>(call, call.attrs[static_cast<int>(LstmAttr::activations)],
                                 kLstmActivations);
}

}  // namespace scanloom::ops
