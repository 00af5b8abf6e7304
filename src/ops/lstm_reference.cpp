#include <algorithm>
#include <cmath>

#include "base/dot.h"
#include "ops/indices.h"
#include "ops/lstm.h"
#include "ops/lstm_activations.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {

using tensor::Call;
using tensor::Operand;

/// A line of an operand: element i at data[i * step]. No data: all elements are 0.
template <class T>
struct Line {
  T* data = nullptr;
  std::int64_t step = 0;

  [[nodiscard]] auto at(std::int64_t i) const {
    using Real = decltype(tensor::widen(T{}));
    return data == nullptr ? Real{0} : tensor::widen(data[i * step]);
  }
  /// The line from element i on.
  [[nodiscard]] Line from(std::int64_t i) const {
    return data == nullptr ? *this : Line{data + i * step, step};
  }
};

template <class T>
auto dot(const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, std::int64_t count) {
  if constexpr (std::is_floating_point_v<T>) {
    return dot_in_order(a, a_step, b, b_step, count, T{0});
  } else {
    float sum = 0;
    for (std::int64_t i = 0; i < count; ++i)
      sum = multiply_add(tensor::widen(a[i * a_step]), tensor::widen(b[i * b_step]), sum);
    return sum;
  }
}

/// The weights of one direction. Rows of gate g start at row g * hidden, in the order i, o, f, c.
template <class T>
struct Weights {
  const T *w = nullptr, *r = nullptr;
  std::int64_t w_row = 0, w_step = 0, r_row = 0, r_step = 0;
  Line<const T> bias, peephole;
};

enum Gate : std::int64_t { kInputGate = 0, kOutputGate = 1, kForgetGate = 2, kCellGate = 3 };

template <class T>
class Layer {
 public:
  using Real = decltype(tensor::widen(T{}));

  explicit Layer(const Call& call) : call_(call) {
    batch_first_ = attr(LstmAttr::layout).integer() == 1;
    coupled_ = attr(LstmAttr::input_forget).integer() != 0;
    if (attr(LstmAttr::clip).present()) clip_ = static_cast<Real>(attr(LstmAttr::clip).real());
    hidden_ = attr(LstmAttr::hidden_size).integer();
    const Operand& x = in(LstmInput::x);
    steps_ = x.dims[batch_first_ ? 1 : 0];
    batch_ = x.dims[batch_first_ ? 0 : 1];
    input_ = x.dims[2];
    directions_ = in(LstmInput::w).dims[0];
  }

  tensor::Status run(const Activations& activations) {
    const bool reverse = attr(LstmAttr::direction).text() == "reverse";
    for (std::int64_t d = 0; d < directions_; ++d) {
      load_weights(d);
      std::copy_n(activations.begin() + 3 * d, 3, activations_.begin());
      for (std::int64_t row = 0; row < batch_; ++row) {
        const std::int64_t length = length_of(row);
        if (length < 0 || length > steps_)
          return call_.fail("sequence length {} is outside the {} steps of X", length, steps_);
        run_row(d, row, length, reverse || d == 1);
      }
    }
    return tensor::Status::ok;
  }

 private:
  [[nodiscard]] const tensor::Attr& attr(LstmAttr which) const {
    return call_.attrs[static_cast<int>(which)];
  }
  [[nodiscard]] const Operand& in(LstmInput which) const {
    return call_.in(static_cast<int>(which));
  }
  [[nodiscard]] bool has(LstmInput which) const { return call_.has(static_cast<int>(which)); }

  [[nodiscard]] std::int64_t length_of(std::int64_t row) const {
    return has(LstmInput::sequence_lens) ? listed_index(in(LstmInput::sequence_lens), row) : steps_;
  }

  /// Row d of an optional operand with the axes [directions, count].
  [[nodiscard]] Line<const T> row_of(LstmInput which, std::int64_t d) const {
    if (!has(which)) return {};
    const Operand& operand = in(which);
    return {operand.data<const T>() + d * operand.strides[0], operand.strides[1]};
  }

  void load_weights(std::int64_t d) {
    const Operand &w = in(LstmInput::w), &r = in(LstmInput::r);
    weights_ = {w.data<const T>() + d * w.strides[0],
                r.data<const T>() + d * r.strides[0],
                w.strides[1],
                w.strides[2],
                r.strides[1],
                r.strides[2],
                row_of(LstmInput::b, d),
                row_of(LstmInput::p, d)};
  }

  /// The line of a state: axes [directions, batch, hidden], or the batch first.
  template <class U>
  [[nodiscard]] Line<U> state_line(const Operand& state, std::int64_t d, std::int64_t row) const {
    const std::int64_t offset = batch_first_ ? row * state.strides[0] + d * state.strides[1]
                                             : d * state.strides[0] + row * state.strides[1];
    return {state.data<U>() + offset, state.strides[2]};
  }

  Line<T> start_state(LstmOutput output, LstmInput initial, std::int64_t d, std::int64_t row) {
    const Line<T> state = state_line<T>(call_.out(static_cast<int>(output)), d, row);
    Line<const T> from;
    if (has(initial)) from = state_line<const T>(in(initial), d, row);
    for (std::int64_t j = 0; j < hidden_; ++j)
      state.data[j * state.step] = from.data == nullptr ? T{} : from.data[j * from.step];
    return state;
  }

  [[nodiscard]] Line<const T> x_line(std::int64_t step, std::int64_t row) const {
    const Operand& x = in(LstmInput::x);
    const std::int64_t offset = batch_first_ ? row * x.strides[0] + step * x.strides[1]
                                             : step * x.strides[0] + row * x.strides[1];
    return {x.data<const T>() + offset, x.strides[2]};
  }

  [[nodiscard]] Line<T> y_line(std::int64_t step, std::int64_t d, std::int64_t row) const {
    const Operand& y = call_.out(static_cast<int>(LstmOutput::y));
    const std::int64_t* s = y.strides;
    const std::int64_t offset =
        batch_first_ ? row * s[0] + step * s[1] + d * s[2] : step * s[0] + d * s[1] + row * s[2];
    return {y.data<T>() + offset, s[3]};
  }

  // The states live in Y_h and Y_c. All units read the old h, so the new one is made in Y first.
  void run_row(std::int64_t d, std::int64_t row, std::int64_t length, bool reverse) {
    const Line<T> h = start_state(LstmOutput::y_h, LstmInput::initial_h, d, row);
    const Line<T> c = start_state(LstmOutput::y_c, LstmInput::initial_c, d, row);
    for (std::int64_t k = 0; k < length; ++k) {
      const std::int64_t step = reverse ? length - 1 - k : k;
      const Line<T> y = y_line(step, d, row);
      run_step(x_line(step, row), h, c, y);
      for (std::int64_t j = 0; j < hidden_; ++j) h.data[j * h.step] = y.data[j * y.step];
    }
    for (std::int64_t step = length; step < steps_; ++step) {
      const Line<T> y = y_line(step, d, row);
      for (std::int64_t j = 0; j < hidden_; ++j) y.data[j * y.step] = T{};
    }
  }

  void run_step(const Line<const T>& x, const Line<T>& h, const Line<T>& c, const Line<T>& y) {
    for (std::int64_t j = 0; j < hidden_; ++j) {
      const Real before = c.at(j);
      const Real i = gate(kInputGate, peeped(sum(kInputGate, j, x, h), 0, j, before));
      const Real f =
          coupled_ ? 1 - i : gate(kForgetGate, peeped(sum(kForgetGate, j, x, h), 2, j, before));
      const Real g = gate(kCellGate, sum(kCellGate, j, x, h));
      const Real kept = f * before, added = i * g;
      const Real cell = kept + added;
      const Real o = gate(kOutputGate, peeped(sum(kOutputGate, j, x, h), 1, j, cell));
      c.data[j * c.step] = tensor::narrow<T>(cell);
      y.data[j * y.step] = tensor::narrow<T>(o * activate(activations_[2], cell));
    }
  }

  [[nodiscard]] Real sum(Gate gate, std::int64_t j, const Line<const T>& x,
                         const Line<T>& h) const {
    const std::int64_t row = gate * hidden_ + j;
    const Real xw = dot(x.data, x.step, weights_.w + row * weights_.w_row, weights_.w_step, input_);
    const Real hr =
        dot<T>(h.data, h.step, weights_.r + row * weights_.r_row, weights_.r_step, hidden_);
    const Real bias = weights_.bias.at(row) + weights_.bias.from(4 * hidden_).at(row);
    return (xw + hr) + bias;
  }

  /// P has the rows i, o, f.
  [[nodiscard]] Real peeped(Real z, std::int64_t p_row, std::int64_t j, Real cell) const {
    if (weights_.peephole.data == nullptr) return z;
    return z + weights_.peephole.at(p_row * hidden_ + j) * cell;
  }

  [[nodiscard]] Real gate(Gate gate, Real z) const {
    if (clip_ > 0) z = std::min(std::max(z, -clip_), clip_);
    return activate(activations_[gate == kCellGate ? 1 : 0], z);
  }

  const Call& call_;
  bool batch_first_ = false, coupled_ = false;
  Real clip_ = 0;
  std::int64_t steps_ = 0, batch_ = 0, input_ = 0, hidden_ = 0, directions_ = 0;
  Weights<T> weights_;
  std::array<Activation, 3> activations_{};
};

}  // namespace

tensor::Status run_lstm(const Call& call) noexcept {
  const auto directions = static_cast<int>(call.in(static_cast<int>(LstmInput::w)).dims[0]);
  const auto activations =
      read_activations(call.attrs[static_cast<int>(LstmAttr::activations)], directions);
  if (!activations) return call.fail("there are activations that do not exist");
  return tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_floating_point_v<T> || tensor::SmallFloatType<T>)
      return Layer<T>(call).run(*activations);
    else
      return call.fail("elements of this type cannot be computed with");
  });
}

}  // namespace scanloom::ops
