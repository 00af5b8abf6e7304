// The walk over directions, rows of the batch and steps, shared by the reference kernels of lstm,
// gru and rnn. A Cell computes one step; the state h is kept in Y_h.
#pragma once

#include <algorithm>

#include "base/dot.h"
#include "ops/indices.h"
#include "ops/recurrent/recurrent.h"
#include "tensor/paced_poll.h"
#include "tensor/visit.h"

namespace scanloom::ops {

/// A line of an operand: element i is data[i * step]. Without data all elements are 0.
template <class T>
struct Line {
  T* data = nullptr;
  std::int64_t step = 0;

  [[nodiscard]] auto at(std::int64_t i) const {
    using Real = decltype(tensor::widen(std::remove_const_t<T>{}));
    return data == nullptr ? Real{0} : tensor::widen(data[i * step]);
  }
  [[nodiscard]] T& operator[](std::int64_t i) const { return data[i * step]; }
};

/// Returns a . b from 0, k in order (base/dot.h); the lines may differ in type.
template <class A, class B>
[[nodiscard]] auto dot_of_lines(const Line<A>& a, const Line<B>& b, std::int64_t count) {
  using T = std::remove_const_t<A>;
  if constexpr (std::is_floating_point_v<T> && std::is_same_v<T, std::remove_const_t<B>>) {
    return dot_in_order(a.data, a.step, b.data, b.step, count, T{0});
  } else {
    decltype(a.at(0)) sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum = multiply_add(a.at(i), b.at(i), sum);
    return sum;
  }
}

/// The weights of one direction. Rows of gate g start at row g * hidden.
template <class T>
class RecurrentWeights {
 public:
  RecurrentWeights() = default;
  RecurrentWeights(const tensor::Call& call, std::int64_t d) {
    const tensor::Operand& w = call.in(static_cast<int>(RecurrentInput::w));
    const tensor::Operand& r = call.in(static_cast<int>(RecurrentInput::r));
    w_ = w.data<const T>() + d * w.strides[0];
    r_ = r.data<const T>() + d * r.strides[0];
    w_row_ = w.strides[1];
    w_step_ = w.strides[2];
    r_row_ = r.strides[1];
    r_step_ = r.strides[2];
    input_ = w.dims[2];
    hidden_ = r.dims[2];
    rows_ = w.dims[1];
    bias_ = row_of(call, static_cast<int>(RecurrentInput::b), d);
  }

  /// Returns row d of an optional operand with the axes [directions, count].
  static Line<const T> row_of(const tensor::Call& call, int input, std::int64_t d) {
    if (!call.has(input)) return {};
    const tensor::Operand& operand = call.in(input);
    return {operand.data<const T>() + d * operand.strides[0], operand.strides[1]};
  }

  [[nodiscard]] auto xw(std::int64_t row, const Line<const T>& x) const {
    return dot_of_lines(x, Line<const T>{w_ + row * w_row_, w_step_}, input_);
  }
  /// h has the type of the elements, or the type that is computed in.
  template <class H>
  [[nodiscard]] auto hr(std::int64_t row, const Line<H>& h) const {
    return dot_of_lines(h, Line<const T>{r_ + row * r_row_, r_step_}, hidden_);
  }
  [[nodiscard]] auto w_bias(std::int64_t row) const { return bias_.at(row); }
  [[nodiscard]] auto r_bias(std::int64_t row) const { return bias_.at(rows_ + row); }

 private:
  const T *w_ = nullptr, *r_ = nullptr;
  std::int64_t w_row_ = 0, w_step_ = 0, r_row_ = 0, r_step_ = 0;
  std::int64_t input_ = 0, hidden_ = 0, rows_ = 0;
  Line<const T> bias_;
};

/// The layout of X, Y and the states.
template <class T>
class RecurrentLayer {
 public:
  using Real = decltype(tensor::widen(T{}));

  explicit RecurrentLayer(const tensor::Call& call) : call_(call) {
    batch_first_ = attr(RecurrentAttr::layout).integer() == 1;
    hidden_ = attr(RecurrentAttr::hidden_size).integer();
    const tensor::Operand& x = in(RecurrentInput::x);
    steps_ = x.dims[batch_first_ ? 1 : 0];
    batch_ = x.dims[batch_first_ ? 0 : 1];
    directions_ = in(RecurrentInput::w).dims[0];
  }

  [[nodiscard]] const tensor::Call& call() const { return call_; }
  [[nodiscard]] std::int64_t hidden() const { return hidden_; }

  /// Returns the line of a state with axes [directions, batch, hidden], or with the batch first.
  template <class U>
  [[nodiscard]] Line<U> state_line(const tensor::Operand& state, std::int64_t d,
                                   std::int64_t row) const {
    const std::int64_t offset = batch_first_ ? row * state.strides[0] + d * state.strides[1]
                                             : d * state.strides[0] + row * state.strides[1];
    return {state.data<U>() + offset, state.strides[2]};
  }

  /// Returns the line of an output state, initialized with the initial state or with zeros.
  Line<T> start_state(int output, int initial, std::int64_t d, std::int64_t row) const {
    const Line<T> state = state_line<T>(call_.out(output), d, row);
    Line<const T> from;
    if (call_.has(initial)) from = state_line<const T>(call_.in(initial), d, row);
    for (std::int64_t j = 0; j < hidden_; ++j) state[j] = from.data == nullptr ? T{} : from[j];
    return state;
  }

  /// Calls cell.load(d), cell.start(d, row) and cell.step(x, h, y), which computes y from h. All
  /// units read the old h, so the new one is written to Y first.
  template <class Cell>
  tensor::Status run(Cell& cell) const {
    const bool reverse = attr(RecurrentAttr::direction).text() == "reverse";
    for (std::int64_t d = 0; d < directions_; ++d) {
      cell.load(d);
      for (std::int64_t row = 0; row < batch_; ++row) {
        const std::int64_t length = length_of(row);
        if (length < 0 || length > steps_)
          return call_.fail("sequence length {} is outside the {} steps of X", length, steps_);
        run_row(cell, d, row, length, reverse || d == 1);
      }
    }
    return call_.ok_or_stopped();
  }

 private:
  [[nodiscard]] const tensor::Attr& attr(RecurrentAttr which) const {
    return call_.attrs[static_cast<int>(which)];
  }
  [[nodiscard]] const tensor::Operand& in(RecurrentInput which) const {
    return call_.in(static_cast<int>(which));
  }

  [[nodiscard]] std::int64_t length_of(std::int64_t row) const {
    if (!call_.has(static_cast<int>(RecurrentInput::sequence_lens))) return steps_;
    return listed_index(in(RecurrentInput::sequence_lens), row);
  }

  [[nodiscard]] Line<const T> x_line(std::int64_t step, std::int64_t row) const {
    const tensor::Operand& x = in(RecurrentInput::x);
    const std::int64_t offset = batch_first_ ? row * x.strides[0] + step * x.strides[1]
                                             : step * x.strides[0] + row * x.strides[1];
    return {x.data<const T>() + offset, x.strides[2]};
  }

  [[nodiscard]] Line<T> y_line(std::int64_t step, std::int64_t d, std::int64_t row) const {
    const tensor::Operand& y = call_.out(0);
    const std::int64_t* s = y.strides;
    const std::int64_t offset =
        batch_first_ ? row * s[0] + step * s[1] + d * s[2] : step * s[0] + d * s[1] + row * s[2];
    return {y.data<T>() + offset, s[3]};
  }

  template <class Cell>
  void run_row(Cell& cell, std::int64_t d, std::int64_t row, std::int64_t length,
               bool reverse) const {
    const Line<T> h = start_state(1, static_cast<int>(RecurrentInput::initial_h), d, row);
    cell.start(d, row);
    tensor::PacedPoll poll(call_);
    const std::int64_t work = hidden_ * (hidden_ + call_.in(0).dims[2]);
    for (std::int64_t k = 0; k < length; ++k) {
      if (poll.stops(work)) return;
      const std::int64_t step = reverse ? length - 1 - k : k;
      const Line<T> y = y_line(step, d, row);
      cell.step(x_line(step, row), h, y);
      for (std::int64_t j = 0; j < hidden_; ++j) h[j] = y[j];
    }
    for (std::int64_t step = length; step < steps_; ++step) {
      const Line<T> y = y_line(step, d, row);
      for (std::int64_t j = 0; j < hidden_; ++j) y[j] = T{};
    }
  }

  const tensor::Call& call_;
  bool batch_first_ = false;
  std::int64_t steps_ = 0, batch_ = 0, hidden_ = 0, directions_ = 0;
};

/// Returns the activation of z clamped to [-clip, clip]; a clip of 0 means none.
template <class Real>
[[nodiscard]] Real clipped_activation(const Activation& activation, Real z, Real clip) {
  if (clip > 0) z = std::min(std::max(z, -clip), clip);
  return activate(activation, z);
}

template <class Real>
[[nodiscard]] Real clip_of(const tensor::Attr& attr) {
  return attr.present() ? static_cast<Real>(attr.real()) : Real{0};
}

/// Runs Cell<T>(layer, activations) for the element type of the result; `activations` is the
/// attribute to read them from. Cells of different operators need different names: g++ 12 merges
/// template arguments of the same name, even from unnamed namespaces.
template <template <class> class Cell>
tensor::Status run_recurrent(const tensor::Call& call, const tensor::Attr& activations,
                             std::span<const ActivationKind> usual) {
  const auto directions = static_cast<int>(call.in(static_cast<int>(RecurrentInput::w)).dims[0]);
  const auto read = read_activations(activations, directions, usual);
  if (!read) return call.fail("an activation is unknown");
  return tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_floating_point_v<T> || tensor::SmallFloatType<T>) {
      const RecurrentLayer<T> layer(call);
      Cell<T> cell(layer, *read);
      return layer.run(cell);
    } else {
      return call.fail("elements of this type are not supported");
    }
  });
}

}  // namespace scanloom::ops
