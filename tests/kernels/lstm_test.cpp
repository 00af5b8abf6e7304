#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/math/math.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

struct LstmCase {
  std::int64_t steps, batch, input, hidden;
  std::string direction = "forward";
  bool batch_first = false, bias = true, initial = true;
  bool lengths = false;  ///< rows end after steps, steps - 1, ... 0 steps, and again

  [[nodiscard]] std::int64_t length(std::int64_t row) const {
    return lengths ? steps - row % (steps + 1) : steps;
  }
  [[nodiscard]] std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

struct Operands {
  Buffer x, w, r, b, h, c, lengths, y, y_h, y_c;

  static Shape state(const LstmCase& k) {
    return k.batch_first ? Shape{k.batch, k.directions(), k.hidden}
                         : Shape{k.directions(), k.batch, k.hidden};
  }
  Operands(const LstmCase& k, Layout layout)
      : x(DType::f32,
          k.batch_first ? Shape{k.batch, k.steps, k.input} : Shape{k.steps, k.batch, k.input},
          layout),
        w(DType::f32, {k.directions(), 4 * k.hidden, k.input}),
        r(DType::f32, {k.directions(), 4 * k.hidden, k.hidden}),
        b(DType::f32, {k.directions(), 8 * k.hidden}),
        h(DType::f32, state(k), layout),
        c(DType::f32, state(k)),
        lengths(DType::i32, {k.batch}),
        y(DType::f32,
          k.batch_first ? Shape{k.batch, k.steps, k.directions(), k.hidden}
                        : Shape{k.steps, k.directions(), k.batch, k.hidden},
          layout),
        y_h(DType::f32, state(k), layout),
        y_c(DType::f32, state(k)) {
    unsigned seed = 1;
    for (Buffer* buffer : {&x, &w, &r, &b, &h, &c}) buffer->fill_random(seed++);
    for (std::int64_t row = 0; row < k.batch; ++row)
      lengths.at<std::int32_t>(row) = static_cast<std::int32_t>(k.length(row));
  }
};

struct Expected {
  std::vector<float> y, h, c;
};

// One row of the batch in one direction, unit by unit.
class Row {
 public:
  Row(const LstmCase& k, Operands& o, Isa isa, std::int64_t d, std::int64_t row)
      : k_(k), o_(o), isa_(isa), d_(d), row_(row) {}

  void run(Expected& to) {
    std::vector<float> h(size(), 0), c(size(), 0);
    for (std::int64_t j = 0; j < k_.hidden && k_.initial; ++j) {
      h[at(j)] = o_.h.at<float>(state(j));
      c[at(j)] = o_.c.at<float>(state(j));
    }
    const bool reverse = k_.direction == "reverse" || d_ == 1;
    const std::int64_t steps = k_.length(row_);
    for (std::int64_t t = steps; t < k_.steps; ++t)
      for (std::int64_t j = 0; j < k_.hidden; ++j) to.y[at(y_number(t, j))] = 0;
    for (std::int64_t s = 0; s < steps; ++s) {
      const std::int64_t t = reverse ? steps - 1 - s : s;
      const std::vector<float> before = h;
      for (std::int64_t j = 0; j < k_.hidden; ++j) {
        const float i = math::sigmoid(gate(0, j, t, before));
        const float o = math::sigmoid(gate(1, j, t, before));
        const float f = math::sigmoid(gate(2, j, t, before));
        const float g = math::tanh(gate(3, j, t, before));
        const float kept = f * c[at(j)], added = i * g;
        c[at(j)] = kept + added;
        h[at(j)] = o * math::tanh(c[at(j)]);
        to.y[at(y_number(t, j))] = h[at(j)];
      }
    }
    for (std::int64_t j = 0; j < k_.hidden; ++j) {
      to.h[at(state(j))] = h[at(j)];
      to.c[at(state(j))] = c[at(j)];
    }
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::size_t size() const { return at(k_.hidden); }
  [[nodiscard]] std::int64_t state(std::int64_t j) const {
    return (k_.batch_first ? row_ * k_.directions() + d_ : d_ * k_.batch + row_) * k_.hidden + j;
  }
  [[nodiscard]] std::int64_t y_number(std::int64_t t, std::int64_t j) const {
    return (k_.batch_first ? (row_ * k_.steps + t) * k_.directions() + d_
                           : (t * k_.directions() + d_) * k_.batch + row_) *
               k_.hidden +
           j;
  }

  float gate(std::int64_t gate, std::int64_t j, std::int64_t t, const std::vector<float>& h) {
    const std::int64_t line = gate * k_.hidden + j, matrix = (d_ * 4 * k_.hidden + line);
    float xw = 0, hr = 0;
    for (std::int64_t i = 0; i < k_.input; ++i) {
      const std::int64_t number =
          (k_.batch_first ? row_ * k_.steps + t : t * k_.batch + row_) * k_.input + i;
      xw = multiply_add(isa_, o_.x.at<float>(number), o_.w.at<float>(matrix * k_.input + i), xw);
    }
    for (std::int64_t i = 0; i < k_.hidden; ++i)
      hr = multiply_add(isa_, h[at(i)], o_.r.at<float>(matrix * k_.hidden + i), hr);
    const std::int64_t biases = d_ * 8 * k_.hidden + line;
    const float bias =
        k_.bias ? o_.b.at<float>(biases) + o_.b.at<float>(biases + 4 * k_.hidden) : 0.0f;
    return (xw + hr) + bias;
  }

  const LstmCase& k_;
  Operands& o_;
  Isa isa_;
  std::int64_t d_, row_;
};

std::vector<Attr> attributes(const LstmCase& k) {
  return {Attr(k.direction), Attr(k.hidden), Attr(k.batch_first), Attr(0), Attr(), Attr()};
}

void expect_lstm(const LstmCase& k, Isa isa, bool constant, int threads, Layout layout) {
  const Masked masked(isa);
  Operands o(k, layout);
  const Use use{
      .id = KernelId::lstm,
      .inputs = {&o.x, &o.w, &o.r, k.bias ? &o.b : nullptr, k.lengths ? &o.lengths : nullptr,
                 k.initial ? &o.h : nullptr, k.initial ? &o.c : nullptr},
      .outputs = {&o.y, &o.y_h, &o.y_c},
      .attrs = attributes(k),
      .constant = {false, constant, constant, constant}};
  ASSERT_EQ(run(use, isa, threads), "");
  Expected expected;
  expected.y.resize(static_cast<std::size_t>(o.y.elements()));
  expected.h.resize(static_cast<std::size_t>(o.y_h.elements()));
  expected.c.resize(static_cast<std::size_t>(o.y_c.elements()));
  for (std::int64_t d = 0; d < k.directions(); ++d)
    for (std::int64_t row = 0; row < k.batch; ++row) Row(k, o, isa, d, row).run(expected);
  EXPECT_EQ(difference(o.y, expected.y), "") << k.hidden << isa_name(isa);
  EXPECT_EQ(difference(o.y_h, expected.h), "");
  EXPECT_EQ(difference(o.y_c, expected.c), "");
}

TEST(Lstm, GivesTheBitsOfTheNaiveLoop) {
  for (const Isa isa : available_isas())
    for (const std::int64_t hidden : {1, 3, 4, 8, 15, 16, 17, 33, 64})
      for (const std::int64_t batch : {1, 2, 3, 5, 6, 7, 17})
        for (const bool constant : {false, true})
          expect_lstm({.steps = 3, .batch = batch, .input = 5, .hidden = hidden}, isa, constant, 1,
                      Layout::contiguous);
}

TEST(Lstm, ManySteps) {
  for (const Isa isa : available_isas())
    for (const std::int64_t steps : {0, 1, 31, 32, 33, 70})
      for (const std::int64_t batch : {1, 3})
        expect_lstm({.steps = steps, .batch = batch, .input = 9, .hidden = 20}, isa, true, 1,
                    Layout::contiguous);
}

// Products with x are pipelined with the previous steps: whole chunks of 16 and a remainder, odd
// numbers of blocks, inputs that are narrower and wider than the state.
TEST(Lstm, PipelinedProducts) {
  for (const Isa isa : available_isas())
    for (const std::int64_t steps : {32, 63})
      for (const std::int64_t hidden : {48, 65, 112})
        for (const std::int64_t input : {1, 30, 64, 300})
          expect_lstm({.steps = steps, .batch = 1, .input = input, .hidden = hidden}, isa, true, 1,
                      Layout::contiguous);
}

TEST(Lstm, PipelinedProductsInAllDirectionsAndLayouts) {
  for (const std::string direction : {"forward", "reverse", "bidirectional"})
    for (const bool batch_first : {false, true})
      for (const Layout layout : kLayouts)
        expect_lstm({.steps = 50,
                     .batch = 1,
                     .input = 20,
                     .hidden = 50,
                     .direction = direction,
                     .batch_first = batch_first},
                    active_isa(), false, 1, layout);
}

TEST(Lstm, ThreadsThatShareUnitsDoNotChangeBits) {
  for (const int threads : {2, 7})
    for (const std::int64_t hidden : {160, 176, 200})
      expect_lstm({.steps = 40, .batch = 1, .input = 70, .hidden = hidden}, active_isa(), true,
                  threads, Layout::contiguous);
}

TEST(Lstm, DirectionsLayoutsAndAbsentOperands) {
  for (const std::string direction : {"forward", "reverse", "bidirectional"})
    for (const bool batch_first : {false, true})
      for (const bool bias : {false, true})
        for (const bool initial : {false, true})
          for (const Layout layout : kLayouts)
            expect_lstm({.steps = 4,
                         .batch = 3,
                         .input = 6,
                         .hidden = 18,
                         .direction = direction,
                         .batch_first = batch_first,
                         .bias = bias,
                         .initial = initial},
                        active_isa(), true, 1, layout);
}

TEST(Lstm, ThreadsDoNotChangeBits) {
  for (const int threads : {1, 2, 7})
    expect_lstm({.steps = 6, .batch = 40, .input = 30, .hidden = 32, .direction = "bidirectional"},
                active_isa(), true, threads, Layout::contiguous);
}

// Tasks of equal or different numbers of rows, and single rows of a batch, whose products are
// pipelined.
TEST(Lstm, ThreadsThatShareTheRowsOfABatch) {
  for (const int threads : {2, 3, 7})
    for (const std::int64_t batch : {2, 3, 4, 15, 33})
      for (const bool lengths : {false, true})
        expect_lstm({.steps = 40, .batch = batch, .input = 20, .hidden = 50, .lengths = lengths},
                    active_isa(), true, threads, Layout::contiguous);
}

// With weights that one core's cache cannot hold, a task keeps at least two rows.
TEST(Lstm, ThreadsThatShareTheRowsOfALargeLayer) {
  for (const std::int64_t batch : {2, 5})
    expect_lstm({.steps = 34, .batch = batch, .input = 20, .hidden = 160}, active_isa(), true, 2,
                Layout::contiguous);
}

TEST(Lstm, RowsOfDifferentLengths) {
  for (const Isa isa : available_isas())
    for (const std::string direction : {"forward", "reverse", "bidirectional"})
      for (const bool batch_first : {false, true})
        for (const std::int64_t batch : {1, 2, 5, 17})
          expect_lstm({.steps = 7,
                       .batch = batch,
                       .input = 6,
                       .hidden = 18,
                       .direction = direction,
                       .batch_first = batch_first,
                       .lengths = true},
                      isa, true, 1, Layout::contiguous);
  for (const Layout layout : kLayouts)
    expect_lstm(
        {.steps = 3, .batch = 3, .input = 4, .hidden = 9, .initial = false, .lengths = true},
        active_isa(), false, 7, layout);
}

TEST(Lstm, LengthsOutsideTheSteps) {
  const LstmCase k{.steps = 2, .batch = 2, .input = 3, .hidden = 4, .lengths = true};
  for (const std::int32_t wrong : {-1, 3}) {
    Operands o(k, Layout::contiguous);
    o.lengths.at<std::int32_t>(1) = wrong;
    const Use use{.id = KernelId::lstm,
                  .inputs = {&o.x, &o.w, &o.r, &o.b, &o.lengths},
                  .outputs = {&o.y, &o.y_h, &o.y_c},
                  .attrs = attributes(k)};
    EXPECT_NE(run(use, active_isa()), "");
  }
}

TEST(Lstm, AnEmptyBatch) {
  expect_lstm({.steps = 3, .batch = 0, .input = 4, .hidden = 5}, active_isa(), true, 1,
              Layout::contiguous);
}

TEST(Lstm, DeclinesRarerForms) {
  const LstmCase k{.steps = 2, .batch = 1, .input = 3, .hidden = 4};
  Operands o(k, Layout::contiguous);
  Buffer lengths(DType::i64, {1}), peepholes(DType::f32, {1, 12});
  Use use{.id = KernelId::lstm,
          .inputs = {&o.x, &o.w, &o.r, &o.b, &lengths},
          .outputs = {&o.y, &o.y_h, &o.y_c},
          .attrs = attributes(k)};
  EXPECT_EQ(run(use, active_isa()), "lengths that are not i32");
  use.inputs = {&o.x, &o.w, &o.r, nullptr, nullptr, nullptr, nullptr, &peepholes};
  EXPECT_EQ(run(use, active_isa()), "peepholes");
  use.inputs = {&o.x, &o.w, &o.r};
  use.attrs[4] = Attr(0.5);
  EXPECT_EQ(run(use, active_isa()), "a clip");
  use.attrs[4] = Attr();
  use.attrs[5] = Attr("Tanh,Tanh,Tanh");
  EXPECT_EQ(run(use, active_isa()), "other activations");
}

}  // namespace
}  // namespace scanloom::kernels::testing
