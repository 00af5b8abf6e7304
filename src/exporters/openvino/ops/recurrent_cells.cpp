// Operations are in the order of src/ops/recurrent/lstm.cpp, gru.cpp and rnn.cpp, so an
// implementation that keeps the order gives bit-identical results.
#include "exporters/openvino/ops/recurrent_cells.h"

#include <array>
#include <cstring>

#include "exporters/openvino/iterator.h"

namespace scanloom::exporters::openvino {

using ops::Activation;
using ops::ActivationKind;
using tensor::Dim;
using tensor::Tensor;
using tensor::Type;

namespace {

constexpr std::size_t kReset = 2;  // index among the results of gru

/// Builds element-wise formulas in one type.
class Formula {
 public:
  Formula(NodeWriter& out, DType dtype) : out_(out), dtype_(dtype) {}

  [[nodiscard]] DType dtype() const { return dtype_; }
  Output number(double value) { return out_.scalar(value, dtype_); }
  Output add(Output a, Output b) { return out_.binary("Add", a, b, dtype_); }
  Output sub(Output a, Output b) { return out_.binary("Subtract", a, b, dtype_); }
  Output mul(Output a, Output b) { return out_.binary("Multiply", a, b, dtype_); }
  Output of(std::string_view layer, int opset, Output x, Data data = {}) {
    return out_.layer(layer, opset, {x}, dtype_, std::move(data));
  }
  /// Multiplies `rows` by the transposed weight.
  Output product(Output rows, Output weight) {
    return out_.layer("MatMul", 1, {rows, weight}, dtype_,
                      {{"transpose_a", "false"}, {"transpose_b", "true"}});
  }
  Output part(Output x, std::int64_t axis, std::int64_t first, std::int64_t last) {
    return out_.slice(x, axis, out_.list({first}), out_.list({last}), 1, dtype_);
  }
  Output where(Output condition, Output a, Output b) {
    return out_.layer("Select", 1, {condition, a, b}, dtype_);
  }
  Output clipped(Output x, double limit) {
    if (!(limit > 0)) return x;
    return of("Clamp", 1, x, {{"min", real_text(-limit)}, {"max", real_text(limit)}});
  }
  Output activated(const Activation& activation, Output x);

 private:
  Output below(Output x, double limit) {
    return out_.binary("Less", x, number(limit), DType::boolean);
  }

  NodeWriter& out_;
  DType dtype_;
};

Output Formula::activated(const Activation& activation, Output x) {
  const double alpha = activation.alpha, beta = activation.beta;
  switch (activation.kind) {
    case ActivationKind::sigmoid:
      return of("Sigmoid", 1, x);
    case ActivationKind::tanh:
      return of("Tanh", 1, x);
    case ActivationKind::relu:
      return of("ReLU", 1, x);
    case ActivationKind::elu:
      return where(below(x, 0), mul(number(alpha), sub(of("Exp", 1, x), number(1))), x);
    case ActivationKind::hard_sigmoid:
      return out_.layer("HardSigmoid", 1, {x, number(alpha), number(beta)}, dtype_);
    case ActivationKind::leaky_relu:
      return where(below(x, 0), mul(number(alpha), x), x);
    case ActivationKind::softplus:
      return of("SoftPlus", 4, x);
    case ActivationKind::softsign:
      return out_.binary("Divide", x, add(number(1), of("Abs", 1, x)), dtype_);
    case ActivationKind::affine:
      return add(mul(number(alpha), x), number(beta));
    case ActivationKind::scaled_tanh:
      return mul(number(alpha), of("Tanh", 1, mul(number(beta), x)));
    case ActivationKind::thresholded_relu: {
      const Output is_small = out_.binary("LessEqual", x, number(alpha), DType::boolean);
      return where(is_small, number(0), x);
    }
  }
  return x;
}

/// The inputs of a step, all [batch, size] or [size], in the type used for computing.
struct Step {
  Output x = {}, h = {}, c = {}, w = {}, r = {}, w_bias = {}, r_bias = {}, peepholes = {};
};

/// The results of a step.
struct Made {
  Output h = {}, c = {}, reset = {};
};

/// Writes the cells of one direction.
class CellWriter {
 public:
  CellWriter(NodeWriter& out, Formula formula, std::span<const Activation> activations)
      : out_(out),
        f_(formula),
        activations_(activations),
        hidden_(out.integer("hidden_size")),
        clip_(out.attr("clip").present() ? out.attr("clip").real() : 0) {}

  Made rnn(const Step& step) { return {.h = act(0, sums(step))}; }

  Made lstm(const Step& step) {
    enum : std::int64_t { kIn, kOut, kForget, kNew };
    const Output z = sums(step);
    const Output i = act(0, peeped(step, gate(z, kIn), 0, step.c));
    const Output f = out_.flag("input_forget") ? f_.sub(f_.number(1), i)
                                               : act(0, peeped(step, gate(z, kForget), 2, step.c));
    const Output g = act(1, gate(z, kNew));
    const Output c = f_.add(f_.mul(f, step.c), f_.mul(i, g));
    const Output o = act(0, peeped(step, gate(z, kOut), 1, c));
    return {.h = f_.mul(o, f_.activated(activations_[2], c)), .c = c};
  }

  Made gru(const Step& step) {
    const std::int64_t gates = 2 * hidden_, all = 3 * hidden_;
    const bool is_linear = out_.flag("linear_before_reset");
    const Output xw = f_.product(step.x, step.w);
    const auto of_new = [&](Output rows) { return f_.part(rows, 0, gates, all); };
    const auto of_gates = [&](Output rows) { return f_.part(rows, 0, 0, gates); };
    const Output products = f_.add(f_.part(xw, 1, 0, gates), f_.product(step.h, of_gates(step.r)));
    const Output both =
        act(0, f_.add(products, f_.add(of_gates(step.w_bias), of_gates(step.r_bias))));
    const Output z = gate(both, 0), r = gate(both, 1);
    const Output content = f_.part(xw, 1, gates, all);
    Output reset = r, sum;
    if (is_linear) {
      const Output hr = f_.add(f_.product(step.h, of_new(step.r)), of_new(step.r_bias));
      sum = f_.add(f_.add(content, of_new(step.w_bias)), f_.mul(r, hr));
    } else {
      reset = f_.mul(r, step.h);
      sum = f_.add(f_.add(content, f_.product(reset, of_new(step.r))),
                   f_.add(of_new(step.w_bias), of_new(step.r_bias)));
    }
    const Output n = act(1, sum);
    const Output h = f_.add(f_.mul(f_.sub(f_.number(1), z), n), f_.mul(z, step.h));
    return {.h = h, .reset = reset};
  }

 private:
  Output act(std::size_t i, Output z) {
    return f_.activated(activations_[i], f_.clipped(z, clip_));
  }
  Output gate(Output z, std::int64_t i) { return f_.part(z, 1, i * hidden_, (i + 1) * hidden_); }
  /// (x . W + h . R) + (Wb + Rb) for all gates.
  Output sums(const Step& step) {
    const Output products = f_.add(f_.product(step.x, step.w), f_.product(step.h, step.r));
    return f_.add(products, f_.add(step.w_bias, step.r_bias));
  }
  Output peeped(const Step& step, Output z, std::int64_t i, Output c) {
    if (!step.peepholes.valid()) return z;
    return f_.add(z, f_.mul(f_.part(step.peepholes, 0, i * hidden_, (i + 1) * hidden_), c));
  }

  NodeWriter& out_;
  Formula f_;
  std::span<const Activation> activations_;
  std::int64_t hidden_;
  double clip_;
};

/// Writes one layer, one direction after another.
class LayerWriter {
 public:
  LayerWriter(NodeWriter& out, Cell cell, const ops::Activations& activations)
      : out_(out),
        cell_(cell),
        activations_(activations),
        dtype_(out.dtype()),
        real_(dtype_ == DType::f64 ? DType::f64 : DType::f32),
        hidden_(out.integer("hidden_size")),
        batch_first_(out.integer("layout") == 1) {}

  void write() {
    if (!out_.type(kX).ranked) return out_.refuse("x has an unknown number of axes");
    x_type_ = out_.type(kX);
    x_ = out_.in(kX);
    if (batch_first_) {
      std::swap(x_type_.dims[0], x_type_.dims[1]);
      x_ = out_.transpose(x_, {1, 0, 2}, dtype_);
    }
    if (out_.has(kLengths)) mask_ = mask();
    const std::string& direction = out_.text("direction");
    const std::size_t count = direction == "bidirectional" ? 2 : 1;
    std::vector<std::vector<Output>> made(out_.node().outputs.size());
    for (std::size_t d = 0; d < count; ++d) {
      const std::vector<Output> one = run(d, direction == "reverse" || d == 1);
      for (std::size_t i = 0; i < made.size(); ++i) made[i].push_back(one[i]);
    }
    const Output rows = joined(made[0], 1, dtype_);
    out_.set(0, batch_first_ ? out_.transpose(rows, {2, 0, 1, 3}, dtype_) : rows);
    for (std::size_t i = 1; i < made.size(); ++i) {
      const bool is_reset = cell_ == Cell::gru && i == kReset;
      if (is_reset && !has_reset())
        out_.set_unread(i);
      else
        out_.set(i, joined(made[i], batch_first_ ? 1 : 0, is_reset ? real_ : dtype_));
    }
  }

 private:
  [[nodiscard]] bool has_reset() const {
    return cell_ == Cell::gru && out_.node().outputs.size() > kReset && out_.is_read(kReset);
  }
  [[nodiscard]] Type state_type(DType dtype) const {
    return Type::of(dtype, {x_type_.dims[1], Dim(hidden_)});
  }
  Output widened(NodeWriter& at, Output x) const {
    return dtype_ == real_ ? x : at.convert(x, real_);
  }
  Output narrowed(NodeWriter& at, Output x) const {
    return dtype_ == real_ ? x : at.convert(x, dtype_);
  }

  Output joined(const std::vector<Output>& values, std::int64_t axis, DType dtype) {
    std::vector<Output> parts;
    for (const Output value : values) parts.push_back(out_.unsqueeze(value, {axis}, dtype));
    return parts.size() == 1 ? parts[0] : out_.concat(std::move(parts), axis, dtype);
  }

  /// [steps, batch, 1]: whether a step is within the row's length.
  Output mask() {
    const Output steps =
        out_.layer("Range", 4, {out_.number(0), out_.size_of(x_, 0), out_.number(1)}, DType::i64,
                   {{"output_type", "i64"}});
    const Output lengths = out_.dtype(kLengths) == DType::i64
                               ? out_.in(kLengths)
                               : out_.convert(out_.in(kLengths), DType::i64);
    return out_.binary("Less", out_.unsqueeze(steps, {1, 2}, DType::i64),
                       out_.unsqueeze(lengths, {1}, DType::i64), DType::boolean);
  }

  Output initial_state(std::size_t i, std::size_t d, DType dtype) {
    if (out_.has(i))
      return out_.gather(out_.in(i), out_.number(static_cast<std::int64_t>(d)),
                         batch_first_ ? 1 : 0, dtype);
    const Output batch = out_.size_of(x_, 1, true);
    const Output sizes = out_.concat({batch, out_.list({hidden_})}, 0, DType::i64);
    return out_.broadcast(out_.scalar(0, dtype), sizes, dtype);
  }

  /// Returns row d of input i, inside the body.
  Output weight(Iterator& iterator, std::size_t i, std::size_t d) {
    NodeWriter& body = iterator.body();
    if (const Tensor* const known = out_.constant_in(i))
      if (const Expected<Tensor> row = row_of(*known, d)) return widened(body, body.constant(*row));
    Type type = out_.type(i);
    if (type.ranked) type.dims.erase(type.dims.begin());
    const Output row =
        out_.gather(out_.in(i), out_.number(static_cast<std::int64_t>(d)), 0, dtype_);
    return widened(body, iterator.capture(row, type));
  }

  static Expected<Tensor> row_of(const Tensor& all, std::size_t d) {
    tensor::Shape sizes = all.shape();
    sizes.erase(0);
    SCANLOOM_TRY(Tensor row, Tensor::zeros(all.dtype(), sizes));
    const std::size_t bytes = row.bytes();
    if (bytes > 0)
      std::memcpy(row.mutable_data(), static_cast<const std::byte*>(all.data()) + d * bytes, bytes);
    return row;
  }

  /// Returns the inputs that are the same in all steps.
  Step weights(Iterator& iterator, Formula& formula, std::size_t d) {
    Step step{.w = weight(iterator, kW, d), .r = weight(iterator, kR, d)};
    const std::int64_t rows = hidden_ * (cell_ == Cell::lstm ? 4 : cell_ == Cell::gru ? 3 : 1);
    if (out_.has(kB)) {
      const Output both = weight(iterator, kB, d);
      step.w_bias = formula.part(both, 0, 0, rows);
      step.r_bias = formula.part(both, 0, rows, 2 * rows);
    } else {
      NodeWriter& body = iterator.body();
      step.w_bias = step.r_bias =
          body.broadcast(formula.number(0), body.list({rows}), formula.dtype());
    }
    if (cell_ == Cell::lstm && out_.has(kPeepholes))
      step.peepholes = weight(iterator, kPeepholes, d);
    return step;
  }

  Made cells(CellWriter& writer, const Step& step) const {
    switch (cell_) {
      case Cell::rnn:
        return writer.rnn(step);
      case Cell::gru:
        return writer.gru(step);
      case Cell::lstm:
        return writer.lstm(step);
    }
    return {};
  }

  /// Returns for each result all states, [steps, batch, hidden], and the last ones.
  std::vector<Output> run(std::size_t d, bool backwards) {
    Iterator iterator(out_);
    NodeWriter& body = iterator.body();
    Formula formula(body, real_);
    const Window window{0, 1, backwards};
    const Output x = iterator.slice(x_, x_type_, window);
    const Output h = iterator.carry(initial_state(kInitialH, d, dtype_), state_type(dtype_));
    Output c, reset, is_inside;
    if (cell_ == Cell::lstm)
      c = iterator.carry(initial_state(kInitialC, d, dtype_), state_type(dtype_));
    if (has_reset()) reset = iterator.carry(initial_state(kNoInput, d, real_), state_type(real_));
    if (mask_.valid()) {
      const Type type = Type::of(DType::boolean, {x_type_.dims[0], x_type_.dims[1], Dim(1)});
      is_inside = body.squeeze(iterator.slice(mask_, type, window), {0}, DType::boolean);
    }
    Step step = weights(iterator, formula, d);
    step.x = body.squeeze(widened(body, x), {0}, real_);
    step.h = widened(body, h);
    if (c.valid()) step.c = widened(body, c);
    const std::size_t per_direction = cell_ == Cell::lstm ? 3 : cell_ == Cell::gru ? 2 : 1;
    CellWriter writer(out_, formula, std::span(activations_).subspan(d * per_direction));
    const Made made = cells(writer, step);

    // After its last step a row keeps its states and outputs zeros.
    const auto kept = [&](Output value, Output before) {
      return is_inside.valid() ? formula.where(is_inside, value, before) : value;
    };
    const Output next_h = kept(made.h, step.h);
    std::size_t state = 0;
    iterator.next(state++, narrowed(body, next_h));
    if (c.valid()) iterator.next(state++, narrowed(body, kept(made.c, step.c)));
    if (reset.valid()) iterator.next(state++, kept(made.reset, reset));
    const Output row = narrowed(body, kept(made.h, formula.number(0)));
    iterator.stack(body.unsqueeze(row, {0}, dtype_), dtype_, window);
    std::vector<Output> results = iterator.finish();
    results.insert(results.begin(), results.back());
    results.resize(out_.node().outputs.size());
    return results;
  }

  static constexpr std::size_t kNoInput = 99;

  NodeWriter& out_;
  Cell cell_;
  const ops::Activations& activations_;
  DType dtype_, real_;
  std::int64_t hidden_;
  bool batch_first_;
  Type x_type_;
  Output x_, mask_;
};

}  // namespace

void write_cells(NodeWriter& out, Cell cell, const ops::Activations& activations) {
  LayerWriter(out, cell, activations).write();
}

}  // namespace scanloom::exporters::openvino
