#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tensor/scalar_arith.h"
#include "tensor/scalar_eval.h"
#include "tensor/small_float.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;
using tensor::ScalarProgram;
using tensor::ScalarReg;

constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16,   DType::f8e4m3fn,
                             DType::i64, DType::i32, DType::i16, DType::i8,     DType::i4,
                             DType::u64, DType::u32, DType::u8,  DType::boolean};
constexpr std::int64_t kLengths[] = {0,  1,  2,  3,  4,  5,   7,   8,   9,
                                     15, 16, 17, 31, 33, 255, 256, 257, 1000};

// Numbers that break careless code, then random ones.
void fill_special(Buffer& buffer, unsigned seed) {
  buffer.fill_random(seed);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> special = {0,   -0.0, 1,     -1,    kInf,  -kInf,  kNan, 0.5,  -0.5,
                                       1.5, 2.5,  1e-40, 1e30,  -1e30, 3e38,   88,   -104, 700,
                                       2,   -3,   20.5,  -20.5, 8192,  1e-310, 63,   64,   255};
  for (std::int64_t i = 0; i < buffer.elements(); ++i) {
    const auto pick = static_cast<std::size_t>(i) * (seed % 2 == 0 ? 7 : 11) + seed;
    if (pick % 2 == 0) continue;
    const std::uint64_t bits = tensor::scalar_bits(special[pick % special.size()], buffer.dtype());
    std::memcpy(buffer.element(i), &bits, dtype_bytes(buffer.dtype()));
  }
}

// The oracle: element by element, with numpy's broadcasting.
std::vector<ScalarReg> evaluate_pointwise(const ScalarProgram& program,
                                          const std::vector<Buffer*>& inputs, const Shape& result,
                                          std::size_t which) {
  std::vector<ScalarReg> values;
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    std::vector<ScalarReg> registers(program.inputs.size() + program.instrs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      std::int64_t number = 0, rest = i, scale = 1;
      const Shape& dims = inputs[k]->dims();
      for (int axis = result.rank() - 1; axis >= 0; --axis) {
        const int own = axis - result.rank() + dims.rank();
        if (own >= 0) {
          number += dims[own] == 1 ? 0 : rest % result[axis] * scale;
          scale *= dims[own];
        }
        rest /= result[axis];
      }
      tensor::load_scalars(inputs[k]->dtype(), inputs[k]->element(number), 0, &registers[k], 1);
    }
    tensor::eval_scalar(program, registers.data());
    values.push_back(registers[static_cast<std::size_t>(program.results[which])]);
  }
  return values;
}

std::string check_pointwise(const ScalarProgram& program, const std::vector<Buffer*>& inputs,
                            const std::vector<Buffer*>& outputs, Isa isa, int threads = 1,
                            std::vector<bool> constant = {}) {
  const Masked masked(isa);
  std::vector<std::vector<ScalarReg>> expected;
  for (std::size_t r = 0; r < outputs.size(); ++r)
    expected.push_back(evaluate_pointwise(program, inputs, outputs[0]->dims(), r));
  const Use use{.id = KernelId::pointwise,
                .inputs = inputs,
                .outputs = outputs,
                .program = &program,
                .constant = std::move(constant)};
  if (std::string why = run(use, isa, threads); !why.empty()) return why;
  for (std::size_t r = 0; r < outputs.size(); ++r) {
    Buffer& out = *outputs[r];
    for (std::int64_t i = 0; i < out.elements(); ++i) {
      std::byte wanted[16];
      tensor::store_scalars(out.dtype(), &expected[r][static_cast<std::size_t>(i)], wanted, 0, 1);
      if (!same_bits(out.dtype(), out.element(i), wanted))
        return "result " + std::to_string(r) + ", element " + std::to_string(i) + " of " +
               std::to_string(out.elements());
    }
    if (!out.untouched_between()) return "bytes between the elements were written to";
  }
  return "";
}

ScalarProgram one(ScalarOp op, DType dtype) {
  ScalarProgram program;
  ScalarInstr instr{.op = op, .dtype = dtype};
  const int arguments = tensor::scalar_op_arguments(op);
  for (int i = 0; i < arguments; ++i) {
    program.inputs.push_back(op == ScalarOp::select && i == 0 ? DType::boolean : dtype);
    instr.args[i] = i;
  }
  if (op == ScalarOp::exp_nonpositive)  // of -|x|
    for (const ScalarOp made : {ScalarOp::abs, ScalarOp::neg})
      instr.args[0] = program.append({.op = made, .dtype = dtype, .args = {instr.args[0], -1, -1}});
  program.results = {program.append(instr)};
  return program;
}

TEST(Pointwise, EveryInstructionOfEveryTypeGivesTheOraclesBits) {
  int tried = 0;
  for (int o = static_cast<int>(ScalarOp::add); o < static_cast<int>(ScalarOp::cast); ++o)
    for (const DType dtype : kDTypes) {
      const auto op = static_cast<ScalarOp>(o);
      const ScalarProgram program = one(op, dtype);
      if (!tensor::supports(program)) continue;
      // Shifts of types narrower than a byte are left to the reference kernel.
      const bool shifts = op == ScalarOp::shift_left || op == ScalarOp::shift_right;
      if (shifts && dtype == DType::i4) continue;
      for (const Isa isa : available_isas())
        for (const std::int64_t length : {std::int64_t{1}, std::int64_t{5}, std::int64_t{300}}) {
          std::vector<std::unique_ptr<Buffer>> owned;
          std::vector<Buffer*> inputs;
          for (const DType input : program.inputs) {
            owned.push_back(std::make_unique<Buffer>(input, Shape{length}));
            fill_special(*owned.back(), static_cast<unsigned>(owned.size() + 3));
            inputs.push_back(owned.back().get());
          }
          Buffer out(program.register_dtype(program.results[0]), {length});
          EXPECT_EQ(check_pointwise(program, inputs, {&out}, isa), "")
              << tensor::scalar_op_name(op) << " " << dtype_name(dtype) << " " << isa_name(isa);
          ++tried;
        }
    }
  EXPECT_GT(tried, 1000);
}

TEST(Pointwise, EveryCastGivesTheOraclesBits) {
  for (const DType from : kDTypes)
    for (const DType to : kDTypes) {
      if (from == to) continue;
      ScalarProgram program;
      program.inputs = {from};
      program.results = {program.append({.op = ScalarOp::cast, .dtype = to, .args = {0, -1, -1}})};
      Buffer x(from, {200}), y(to, {200});
      fill_special(x, 5);
      for (const Isa isa : available_isas())
        EXPECT_EQ(check_pointwise(program, {&x}, {&y}, isa), "")
            << dtype_name(from) << " to " << dtype_name(to) << " " << isa_name(isa);
    }
}

template <class From, class To>
std::vector<To> cast_on(Isa isa, const std::vector<From>& values) {
  ScalarProgram program;
  program.inputs = {dtype_of<From>};
  program.results = {
      program.append({.op = ScalarOp::cast, .dtype = dtype_of<To>, .args = {0, -1, -1}})};
  const auto count = static_cast<std::int64_t>(values.size());
  Buffer x(dtype_of<From>, {count}), y(dtype_of<To>, {count});
  x.fill(values);
  EXPECT_EQ(
      run({.id = KernelId::pointwise, .inputs = {&x}, .outputs = {&y}, .program = &program}, isa),
      "");
  std::vector<To> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(y.at<To>(i));
  return result;
}

// Compares all values, including the payloads of NaNs. From f32: every f16 or bf16 value, the
// values around the middle to the next one, and numbers out of range.
template <class Half>
void expect_all_f16() {
  std::vector<Half> f16s;
  std::vector<float> floats;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    f16s.push_back(Half::from_bits(static_cast<std::uint16_t>(bits)));
    const auto wide = std::bit_cast<std::uint32_t>(f16s.back().to_float());
    for (const std::uint32_t more : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u})
      floats.push_back(std::bit_cast<float>(wide + more));
    floats.push_back(std::bit_cast<float>(bits * 0x10001u));
  }
  for (const Isa isa : available_isas()) {
    const std::vector<float> wide = cast_on<Half, float>(isa, f16s);
    const std::vector<Half> narrow = cast_on<float, Half>(isa, floats);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < f16s.size(); ++i)
      wrong +=
          std::bit_cast<std::uint32_t>(wide[i]) != std::bit_cast<std::uint32_t>(f16s[i].to_float());
    for (std::size_t i = 0; i < floats.size(); ++i) wrong += narrow[i] != Half::from(floats[i]);
    EXPECT_EQ(wrong, 0U) << isa_name(isa);
  }
}

TEST(Pointwise, EveryHalfIsConvertedToTheBit) {
  expect_all_f16<tensor::Half>();
  expect_all_f16<tensor::BFloat16>();
}

TEST(Pointwise, CastsOfFloatsToIntegersSaturate) {
  const std::vector<float> floats = {
      0.0f,          -0.0f,          0.9f,           -0.9f, 127.5f,   128.0f,    -128.9f,
      255.9f,        256.0f,         -1.0f,          NAN,   INFINITY, -INFINITY, 2147483520.0f,
      2147483648.0f, -2147483648.0f, -2147483904.0f, 3e38f, 1e-40f};
  for (const Isa isa : available_isas()) {
    const auto i8 = cast_on<float, std::int8_t>(isa, floats);
    const auto u8 = cast_on<float, std::uint8_t>(isa, floats);
    const auto i32 = cast_on<float, std::int32_t>(isa, floats);
    for (std::size_t i = 0; i < floats.size(); ++i) {
      EXPECT_EQ(i8[i], tensor::arith::cast<std::int8_t>(floats[i])) << floats[i] << isa_name(isa);
      EXPECT_EQ(u8[i], tensor::arith::cast<std::uint8_t>(floats[i])) << floats[i] << isa_name(isa);
      EXPECT_EQ(i32[i], tensor::arith::cast<std::int32_t>(floats[i])) << floats[i] << isa_name(isa);
    }
  }
}

class StopsAtOnce final : public tensor::StopToken {
  bool poll() noexcept override {
    set_stopped(true);
    return true;
  }
};

// Programs of one and of several instructions, over short and long rows, and over one element per
// row.
TEST(Pointwise, StopsBetweenParts) {
  ScalarProgram several = one(ScalarOp::sub, DType::f32);
  several.results = {
      several.append({.op = ScalarOp::neg, .dtype = DType::f32, .args = {2, -1, -1}})};
  for (const ScalarProgram& program : {one(ScalarOp::sub, DType::f32), several})
    for (const std::int64_t row : {std::int64_t{13}, std::int64_t{200}})
      for (const Shape& other :
           {Shape{1, row}, Shape{1'000'000 / row, 1}, Shape{1'000'000 / row, row}}) {
        Buffer x(DType::f32, {1'000'000 / row, row}), m(DType::f32, other), y(DType::f32, x.dims());
        StopsAtOnce stop;
        const Use use{.id = KernelId::pointwise,
                      .inputs = {&x, &m},
                      .outputs = {&y},
                      .program = &program,
                      .stop = &stop};
        EXPECT_EQ(run(use, active_isa()), "stopped") << row;
      }
}

TEST(Pointwise, AnyLength) {
  for (const Isa isa : available_isas())
    for (const std::int64_t length : kLengths)
      for (const ScalarOp op : {ScalarOp::add, ScalarOp::tanh})
        for (const DType dtype : {DType::f32, DType::f64}) {
          const ScalarProgram program = one(op, dtype);
          Buffer a(dtype, {length}), b(dtype, {length}), out(dtype, {length});
          a.fill_random(1);
          b.fill_random(2);
          std::vector<Buffer*> inputs{&a, &b};
          inputs.resize(program.inputs.size());
          EXPECT_EQ(check_pointwise(program, inputs, {&out}, isa), "") << length << isa_name(isa);
        }
}

// y = tanh(a * b + 0.5) < a ? a : -b: constants, registers read twice, booleans.
ScalarProgram chain() {
  ScalarProgram p;
  p.inputs = {DType::f32, DType::f32};
  const auto half = p.append({.op = ScalarOp::constant, .dtype = DType::f32, .bits = 0x3f000000});
  const auto product = p.append({.op = ScalarOp::mul, .dtype = DType::f32, .args = {0, 1, -1}});
  const auto sum =
      p.append({.op = ScalarOp::add, .dtype = DType::f32, .args = {product, half, -1}});
  const auto bent = p.append({.op = ScalarOp::tanh, .dtype = DType::f32, .args = {sum, -1, -1}});
  const auto below = p.append({.op = ScalarOp::less, .dtype = DType::f32, .args = {bent, 0, -1}});
  const auto negative = p.append({.op = ScalarOp::neg, .dtype = DType::f32, .args = {1, -1, -1}});
  p.results = {
      p.append({.op = ScalarOp::select, .dtype = DType::f32, .args = {below, 0, negative}})};
  return p;
}

TEST(Pointwise, ChainsOverBroadcastAndStridedOperands) {
  struct Shapes {
    Shape a, b, out;
  };
  const std::vector<Shapes> cases = {
      {{}, {}, {}},
      {{1}, {7}, {7}},
      {{300}, {}, {300}},
      {{}, {300}, {300}},
      {{5, 70}, {70}, {5, 70}},
      {{5, 1}, {5, 70}, {5, 70}},
      {{40, 3}, {40, 1}, {40, 3}},
      {{2, 3, 4}, {3, 1}, {2, 3, 4}},
      {{2, 1, 4, 1}, {3, 1, 5}, {2, 3, 4, 5}},
      {{1, 130}, {129, 1}, {129, 130}},
      {{0, 3}, {3}, {0, 3}},
      {{2, 600}, {2, 600}, {2, 600}},
  };
  const ScalarProgram program = chain(), add = one(ScalarOp::add, DType::f32);
  for (const Isa isa : available_isas())
    for (const Shapes& shapes : cases)
      for (const Layout in : kLayouts)
        for (const Layout to : kLayouts) {
          Buffer a(DType::f32, shapes.a, in), b(DType::f32, shapes.b),
              out(DType::f32, shapes.out, to);
          a.fill_random(1);
          b.fill_random(2);
          EXPECT_EQ(check_pointwise(program, {&a, &b}, {&out}, isa), "") << shapes.out.to_string();
          Buffer sum(DType::f32, shapes.out, to);
          EXPECT_EQ(check_pointwise(add, {&a, &b}, {&sum}, isa), "") << shapes.out.to_string();
        }
}

// Also numbers of which there is one per row, which are not the same for all rows.
TEST(Pointwise, ConstantOperands) {
  const ScalarProgram program = chain(), add = one(ScalarOp::add, DType::f32);
  const std::vector<std::pair<Shape, Shape>> cases = {
      {{}, {}}, {{300}, {}}, {{1, 1}, {5, 70}}, {{5, 600}, {5, 1}}, {{3, 1, 1}, {2, 3, 40, 9}}};
  for (const Isa isa : available_isas())
    for (const auto& [first, second] : cases)
      for (const bool is_first_constant : {false, true})
        for (const bool is_second_constant : {false, true}) {
          Buffer a(DType::f32, first), b(DType::f32, second);
          a.fill_random(1);
          b.fill_random(2);
          Buffer out(DType::f32, first.elements() > second.elements() ? first : second);
          for (const ScalarProgram* const each : {&program, &add})
            EXPECT_EQ(check_pointwise(*each, {&a, &b}, {&out}, isa, 1,
                                      {is_first_constant, is_second_constant}),
                      "")
                << first.to_string() << second.to_string();
        }
}

TEST(Pointwise, SingleOperandsOnEitherSide) {
  for (const Isa isa : available_isas())
    for (const bool first : {true, false})
      for (const std::int64_t length : {1, 20, 700}) {
        ScalarProgram program;
        program.inputs = {DType::f64};
        const auto two = program.append(
            {.op = ScalarOp::constant, .dtype = DType::f64, .bits = 0x4000000000000000});
        ScalarInstr instr{.op = ScalarOp::sub, .dtype = DType::f64, .args = {0, two, -1}};
        if (first) std::swap(instr.args[0], instr.args[1]);
        program.results = {program.append(instr)};
        Buffer x(DType::f64, {length}), y(DType::f64, {length});
        x.fill_random(3);
        EXPECT_EQ(check_pointwise(program, {&x}, {&y}, isa), "");
      }
}

/// Writes programs of one dtype that read one or two operands.
class ProgramWriter {
 public:
  ProgramWriter(DType dtype, int inputs) : dtype_(dtype) {
    program_.inputs.assign(static_cast<std::size_t>(inputs), dtype);
  }
  std::int32_t number(double value) {
    return program_.append(
        {.op = ScalarOp::constant, .dtype = dtype_, .bits = tensor::scalar_bits(value, dtype_)});
  }
  std::int32_t op(ScalarOp op, std::int32_t a, std::int32_t b = -1, std::int32_t c = -1) {
    return program_.append({.op = op, .dtype = dtype_, .args = {a, b, c}});
  }
  ScalarProgram done(std::int32_t result) {
    program_.results = {result};
    return program_;
  }

 private:
  DType dtype_;
  ScalarProgram program_;
};

/// Over two operands of special numbers, alone and one of them a single element.
void check_on_every_isa(const ScalarProgram& program, const std::string& what) {
  const DType dtype = program.inputs[0];
  for (const Isa isa : available_isas())
    for (const std::int64_t length : {1, 2, 7, 29, 300})
      for (const bool single : {false, true}) {
        Buffer x(dtype, {length}), y(dtype, {single ? 1 : length}), out(dtype, {length});
        fill_special(x, 5);
        fill_special(y, 8);
        std::vector<Buffer*> inputs{&x, &y};
        inputs.resize(program.inputs.size());
        EXPECT_EQ(check_pointwise(program, inputs, {&out}, isa), "")
            << what << " " << dtype_name(dtype) << " " << isa_name(isa) << " " << length;
      }
}

// Two instructions that one function computes.
TEST(Pointwise, PairsOfInstructionsGiveTheOraclesBits) {
  const ScalarOp pairs[][2] = {{ScalarOp::mul, ScalarOp::add},     {ScalarOp::add, ScalarOp::mul},
                               {ScalarOp::mul, ScalarOp::mul},     {ScalarOp::sub, ScalarOp::mul},
                               {ScalarOp::sub, ScalarOp::div},     {ScalarOp::mul, ScalarOp::erf},
                               {ScalarOp::mul, ScalarOp::sigmoid}, {ScalarOp::mul, ScalarOp::tanh}};
  for (const DType dtype : {DType::f32, DType::f64, DType::f16})
    for (const auto& [first, second] : pairs)
      for (const bool b_is_number : {true, false})
        for (const bool c_is_number : {true, false}) {
          ProgramWriter w(dtype, 2);
          const auto made = w.op(first, 0, b_is_number ? w.number(0.7) : 1);
          const bool two = tensor::scalar_op_arguments(second) == 2;
          const auto last =
              two ? w.op(second, made, c_is_number ? w.number(-1.3) : 1) : w.op(second, made);
          check_on_every_isa(w.done(last), std::string(tensor::scalar_op_name(first)) + " " +
                                               tensor::scalar_op_name(second));
        }
}

// y / (|x| + b), as in softsign, the sum alone, and one that is read twice.
TEST(Pointwise, QuotientsBySizesGiveTheOraclesBits) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16}) {
    const auto check = [&](auto&& result) {
      ProgramWriter w(dtype, 2);
      const auto sum = w.op(ScalarOp::add, w.number(0.3), w.op(ScalarOp::abs, 0));
      check_on_every_isa(w.done(result(w, sum)), "");
    };
    check([](ProgramWriter& w, std::int32_t sum) { return w.op(ScalarOp::div, 0, sum); });
    check([](ProgramWriter& w, std::int32_t sum) { return w.op(ScalarOp::div, 1, sum); });
    check([](ProgramWriter& w, std::int32_t sum) { return w.op(ScalarOp::div, sum, 1); });
    check([](ProgramWriter&, std::int32_t sum) { return sum; });
    check([](ProgramWriter& w, std::int32_t sum) {
      return w.op(ScalarOp::mul, w.op(ScalarOp::div, 0, sum), sum);
    });
  }
}

TEST(Pointwise, TwoBoundsGiveTheOraclesBits) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {DType::f32, DType::f64})
    for (const bool lower_first : {true, false})
      for (const double lower : {0.0, -0.0, -1.0, 2.0, -kInf, kNan})
        for (const double upper : {0.0, -0.0, 1.0, 6.0, kInf, kNan}) {
          ProgramWriter w(dtype, 1);
          const ScalarOp first = lower_first ? ScalarOp::max : ScalarOp::min;
          const ScalarOp second = lower_first ? ScalarOp::min : ScalarOp::max;
          const auto bounded = w.op(first, w.number(lower_first ? lower : upper), 0);
          const auto last = w.op(second, bounded, w.number(lower_first ? upper : lower));
          check_on_every_isa(w.done(last), std::to_string(lower) + " to " + std::to_string(upper));
        }
}

// compare(x, y) ? x : z and so on.
TEST(Pointwise, ChoicesOfWhatIsComparedGiveTheOraclesBits) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32})
    for (const ScalarOp comparison : {ScalarOp::less, ScalarOp::less_equal, ScalarOp::equal})
      for (const double bound : {0.0, 1.5})
        for (int form = 0; form < 16; ++form) {
          ProgramWriter w(dtype, 2);
          const auto limit = (form & 1) != 0 ? w.number(bound) : 1;
          const auto other = (form & 2) != 0 ? w.number(-7) : w.op(ScalarOp::mul, 0, 1);
          const auto holds =
              (form & 4) != 0 ? w.op(comparison, limit, 0) : w.op(comparison, 0, limit);
          const auto last = (form & 8) != 0 ? w.op(ScalarOp::select, holds, 0, other)
                                            : w.op(ScalarOp::select, holds, other, 0);
          check_on_every_isa(w.done(last), tensor::scalar_op_name(comparison));
        }
}

/// Q(D(a) + D(b)) or Q(D(a) D(b)): of bytes with a scale and a zero point each, as the result is.
/// With `number`, b is a number already.
ScalarProgram quantized_pair(DType dtype, bool has_zeros, ScalarOp pair, bool number) {
  ScalarProgram program;
  program.inputs = {
      dtype, number ? DType::f32 : dtype, DType::f32, DType::f32, DType::f32, dtype, dtype, dtype};
  const auto op = [&](ScalarOp kind, DType of, std::int32_t a, std::int32_t b = -1) {
    return program.append({.op = kind, .dtype = of, .args = {a, b, -1}});
  };
  const auto real = [&](std::int32_t x) {
    std::int32_t whole = op(ScalarOp::cast, DType::i32, x);
    if (has_zeros)
      whole = op(ScalarOp::sub, DType::i32, whole, op(ScalarOp::cast, DType::i32, x + 5));
    return op(ScalarOp::mul, DType::f32, op(ScalarOp::cast, DType::f32, whole), x + 2);
  };
  const auto a = real(0);
  const auto b = number ? 1 : real(1);
  const auto both = op(pair, DType::f32, number && has_zeros ? b : a, number && has_zeros ? a : b);
  std::int32_t whole = op(ScalarOp::round_even, DType::f32, op(ScalarOp::div, DType::f32, both, 4));
  if (has_zeros) whole = op(ScalarOp::add, DType::f32, whole, op(ScalarOp::cast, DType::f32, 7));
  program.results = {op(ScalarOp::cast, dtype, whole)};
  return program;
}

void check_quantized_pair(DType dtype, bool has_zeros, bool is_constant, ScalarOp pair, bool number,
                          const std::vector<float>& scale, const Shape& a_dims,
                          const Shape& b_dims) {
  Buffer a(dtype, a_dims), b(number ? DType::f32 : dtype, b_dims), y(dtype, a_dims);
  a.fill_random(1);
  if (number)
    fill_special(b, 2);
  else
    b.fill_random(2);
  std::vector<std::unique_ptr<Buffer>> parameters;
  std::vector<Buffer*> inputs = {&a, &b};
  for (std::size_t i = 0; i < 6; ++i) {
    parameters.push_back(std::make_unique<Buffer>(i < 3 ? DType::f32 : dtype, Shape{}));
    inputs.push_back(parameters.back().get());
    if (i < 3) inputs.back()->at<float>(0) = scale[i];
    if (i >= 3)
      inputs.back()->at<std::uint8_t>(0) = has_zeros ? static_cast<std::uint8_t>(50 * i) : 0;
  }
  std::vector<bool> constant(8, is_constant);
  constant[0] = constant[1] = false;
  const ScalarProgram program = quantized_pair(dtype, has_zeros, pair, number);
  for (const Isa isa : available_isas())
    ASSERT_EQ(check_pointwise(program, inputs, {&y}, isa, 1, constant), "")
        << dtype_name(dtype) << ", scales " << scale[0] << ", " << scale[1] << ", " << scale[2]
        << ", " << isa_name(isa) << ", " << b_dims.to_string();
}

TEST(Pointwise, QuantizedPairsGiveTheOraclesBits) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> scales = {
      {0.5f, 0.25f, 1}, {0.013f, 0.021f, 0.017f}, {1e38f, 3e38f, 1e36f}, {kInf, 1, 1},
      {-0.1f, 0.1f, 0}, {1, 1, std::nanf("")},    {0.3f, 0.7f, -1e-3f},  {1, 2, kInf}};
  for (const DType dtype : {DType::u8, DType::i8})
    for (const bool has_zeros : {false, true})
      for (const bool is_constant : {false, true})
        for (const ScalarOp pair : {ScalarOp::add, ScalarOp::mul})
          for (const bool number : {false, true})
            for (const std::vector<float>& scale : scales) {
              for (const std::int64_t size : {1, 15, 16, 33, 64, 1001})
                check_quantized_pair(dtype, has_zeros, is_constant, pair, number, scale, {2, size},
                                     {2, size});
              // One per row, per column, or for all.
              for (const Shape& other : {Shape{3, 1}, Shape{1, 77}, Shape{}})
                check_quantized_pair(dtype, has_zeros, is_constant, pair, number, scale, {3, 77},
                                     other);
            }
}

// Values in between that are read twice stay.
TEST(Pointwise, ValuesThatAreReadTwiceAreNotJoined) {
  ProgramWriter w(DType::f32, 2);
  const auto product = w.op(ScalarOp::mul, 0, 1);
  const auto sum = w.op(ScalarOp::add, product, w.number(2));
  check_on_every_isa(w.done(w.op(ScalarOp::add, w.op(ScalarOp::mul, sum, product), sum)), "");
}

TEST(Pointwise, ConstantsAloneAreFoldedAndFill) {
  ScalarProgram program;
  program.inputs = {DType::f32};
  const auto one_half =
      program.append({.op = ScalarOp::constant, .dtype = DType::f32, .bits = 0x3f000000});
  const auto log =
      program.append({.op = ScalarOp::log, .dtype = DType::f32, .args = {one_half, -1, -1}});
  program.results = {log};
  Buffer x(DType::f32, {3, 100}), y(DType::f32, {3, 100});
  x.fill_random(1);
  EXPECT_EQ(check_pointwise(program, {&x}, {&y}, active_isa()), "");
}

TEST(Pointwise, SeveralResultsAlsoOfUnchangedInputs) {
  ScalarProgram program;
  program.inputs = {DType::f32, DType::i32};
  const auto twice = program.append({.op = ScalarOp::add, .dtype = DType::f32, .args = {0, 0, -1}});
  const auto count = program.append({.op = ScalarOp::add, .dtype = DType::i32, .args = {1, 1, -1}});
  const auto four =
      program.append({.op = ScalarOp::add, .dtype = DType::f32, .args = {twice, twice, -1}});
  program.results = {twice, count, four, 0};
  Buffer x(DType::f32, {3, 300}), n(DType::i32, {300});
  Buffer a(DType::f32, {3, 300}), b(DType::i32, {3, 300}), c(DType::f32, {3, 300}, Layout::gapped),
      d(DType::f32, {3, 300});
  x.fill_random(1);
  n.fill_random(2);
  for (const Isa isa : available_isas())
    EXPECT_EQ(check_pointwise(program, {&x, &n}, {&a, &b, &c, &d}, isa), "");
}

TEST(Pointwise, AResultMayTakeAnInputsPlace) {
  const ScalarProgram program = chain();
  for (const std::int64_t length : {5, 256, 900}) {
    Buffer a(DType::f32, {length}), b(DType::f32, {length});
    a.fill_random(1);
    b.fill_random(2);
    EXPECT_EQ(check_pointwise(program, {&a, &b}, {&a}, active_isa()), "");
  }
}

TEST(Pointwise, ThreadsDoNotChangeBits) {
  const ScalarProgram program = one(ScalarOp::exp, DType::f32);
  Buffer x(DType::f32, {200'000}), y(DType::f32, {200'000});
  x.fill_random(4);
  for (const int threads : {1, 2, 7})
    EXPECT_EQ(check_pointwise(program, {&x}, {&y}, active_isa(), threads), "");
}

TEST(Pointwise, BooleansMayBeAnyByte) {
  const ScalarProgram program = one(ScalarOp::logical_and, DType::boolean);
  Buffer a(DType::boolean, {4}), b(DType::boolean, {4}), out(DType::boolean, {4});
  a.fill<std::uint8_t>({2, 0, 255, 1});
  b.fill<std::uint8_t>({4, 1, 128, 0});
  ASSERT_EQ(
      run({.id = KernelId::pointwise, .inputs = {&a, &b}, .outputs = {&out}, .program = &program},
          active_isa()),
      "");
  const std::uint8_t expected[] = {1, 0, 1, 0};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out.at<std::uint8_t>(i), expected[i]);
}

TEST(Pointwise, DeclinesWhatItCannotDo) {
  const ScalarProgram equal = one(ScalarOp::equal, DType::string);
  Buffer a(DType::string, {2}), out(DType::boolean, {2});
  EXPECT_EQ(
      run({.id = KernelId::pointwise, .inputs = {&a, &a}, .outputs = {&out}, .program = &equal},
          active_isa()),
      "elements wider than 8 bytes");
  Buffer x(DType::f32, {2}), y(DType::f32, {2});
  EXPECT_EQ(run({.id = KernelId::pointwise, .inputs = {&x}, .outputs = {&y}}, active_isa()),
            "not a pointwise operator");
}

}  // namespace
}  // namespace scanloom::kernels::testing
