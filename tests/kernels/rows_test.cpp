#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/scalar_arith.h"
#include "tensor/scalar_eval.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;
using tensor::ScalarProgram;
using tensor::ScalarReg;

/// Writes a RowProgram.
class RowWriter {
 public:
  explicit RowWriter(std::vector<DType> inputs) { rows_.elements.inputs = std::move(inputs); }

  std::int32_t op(ScalarOp op, std::int32_t a, std::int32_t b = -1, std::int32_t c = -1,
                  DType dtype = DType::f32) {
    rows_.folds.emplace_back();
    return rows_.elements.append({.op = op, .dtype = dtype, .args = {a, b, c}});
  }
  std::int32_t number(double value) {
    rows_.folds.emplace_back();
    return rows_.elements.append({.op = ScalarOp::constant,
                                  .dtype = DType::f32,
                                  .bits = tensor::scalar_bits(value, DType::f32)});
  }
  std::int32_t fold(RowFold fold, std::int32_t a, DType dtype = DType::f32) {
    rows_.folds.emplace_back(fold);
    return rows_.elements.append({.op = ScalarOp::add, .dtype = dtype, .args = {a, -1, -1}});
  }
  RowProgram done(std::vector<std::int32_t> results) {
    rows_.elements.results = std::move(results);
    return rows_;
  }

 private:
  RowProgram rows_;
};

/// The number of the element of an operand that broadcasts to index i of `dims`.
std::int64_t broadcast_index(const Shape& dims, const Shape& own, std::int64_t i) {
  std::int64_t number = 0, scale = 1;
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    const int at = axis - dims.rank() + own.rank();
    if (at >= 0) {
      number += own[at] == 1 ? 0 : i % dims[axis] * scale;
      scale *= own[at];
    }
    i /= dims[axis];
  }
  return number;
}

float fold_of(RowFold fold, const std::vector<float>& values) {
  if (fold == RowFold::max || fold == RowFold::min) {
    float found = values[0];
    for (const float value : values)
      found = fold == RowFold::max ? tensor::arith::maximum(found, value)
                                   : tensor::arith::minimum(found, value);
    return found;
  }
  tensor::OrderedSum<float> sum(static_cast<std::int64_t>(values.size()));
  for (const float value : values)
    sum.add(fold == RowFold::sum_square ? value * value
            : fold == RowFold::l1       ? std::abs(value)
                                        : value,
            std::plus());
  return sum.total(std::plus());
}

/// The fold of a row of f32, or the sum of one of i32, which wraps.
std::uint32_t folded_bits(RowFold fold, DType dtype, std::span<const ScalarReg> row) {
  std::vector<float> elements;
  std::uint32_t sum = 0;
  for (const ScalarReg& each : row) {
    const auto bits = static_cast<std::uint32_t>(each.low);
    elements.push_back(std::bit_cast<float>(bits));
    sum += bits;
  }
  return dtype == DType::i32 ? sum : std::bit_cast<std::uint32_t>(fold_of(fold, elements));
}

/// The oracle: all elements of each instruction, one instruction after the other.
std::vector<std::vector<ScalarReg>> evaluate_rows(const RowProgram& rows,
                                                  const std::vector<Buffer*>& inputs) {
  const std::int64_t count = rows.dims.elements();
  std::int64_t size = 1;
  for (int axis = rows.first_reduced; axis < rows.dims.rank(); ++axis) size *= rows.dims[axis];
  std::vector<std::vector<ScalarReg>> registers;
  for (Buffer* const input : inputs) {
    std::vector<ScalarReg> values(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      tensor::load_scalars(input->dtype(),
                           input->element(broadcast_index(rows.dims, input->dims(), i)), 0,
                           &values[static_cast<std::size_t>(i)], 1);
    registers.push_back(std::move(values));
  }
  for (std::size_t k = 0; k < rows.elements.instrs.size(); ++k) {
    ScalarInstr instr = rows.elements.instrs[k];
    std::vector<ScalarReg> values(static_cast<std::size_t>(count));
    if (rows.folds[k]) {
      const std::vector<ScalarReg>& from = registers[static_cast<std::size_t>(instr.args[0])];
      for (std::int64_t row = 0; row < count; row += size) {
        const std::uint32_t result = folded_bits(
            *rows.folds[k], instr.dtype,
            std::span(from).subspan(static_cast<std::size_t>(row), static_cast<std::size_t>(size)));
        for (std::int64_t i = 0; i < size; ++i)
          values[static_cast<std::size_t>(row + i)].low = result;
      }
    } else {
      ScalarProgram one;
      std::vector<const std::vector<ScalarReg>*> args;
      for (std::int32_t& arg : instr.args) {
        if (arg < 0) continue;
        one.inputs.push_back(rows.elements.register_dtype(arg));
        args.push_back(&registers[static_cast<std::size_t>(arg)]);
        arg = static_cast<std::int32_t>(args.size()) - 1;
      }
      one.results = {one.append(instr)};
      for (std::size_t i = 0; i < values.size(); ++i) {
        std::vector<ScalarReg> each(args.size() + 1);
        for (std::size_t a = 0; a < args.size(); ++a) each[a] = (*args[a])[i];
        tensor::eval_scalar(one, each.data());
        values[i] = each.back();
      }
    }
    registers.push_back(std::move(values));
  }
  return registers;
}

std::string check_rows(const RowProgram& rows, const std::vector<Buffer*>& inputs, Isa isa,
                       int threads) {
  const Masked masked(isa);
  const auto expected = evaluate_rows(rows, inputs);
  std::vector<std::unique_ptr<Buffer>> outputs;
  std::vector<Buffer*> pointers;
  for (const std::int32_t result : rows.elements.results) {
    // A value of one element per row depends on folds and per-row operands alone.
    Shape dims = rows.dims;
    if (result < 0) return "no result";
    const bool per_row =
        static_cast<std::size_t>(result) >= rows.elements.inputs.size() &&
        rows.folds[static_cast<std::size_t>(result) - rows.elements.inputs.size()].has_value();
    for (int axis = rows.first_reduced; per_row && axis < dims.rank(); ++axis) dims[axis] = 1;
    outputs.push_back(std::make_unique<Buffer>(rows.elements.register_dtype(result), dims));
    pointers.push_back(outputs.back().get());
  }
  const Use use{.id = KernelId::rows,
                .inputs = inputs,
                .outputs = pointers,
                .program = &rows.elements,
                .rows = &rows};
  if (std::string why = run(use, isa, threads); !why.empty()) return why;
  for (std::size_t r = 0; r < pointers.size(); ++r) {
    Buffer& out = *pointers[r];
    const std::int64_t step = rows.dims.elements() / out.elements();
    for (std::int64_t i = 0; i < out.elements(); ++i) {
      const ScalarReg& wanted = expected[static_cast<std::size_t>(rows.elements.results[r])]
                                        [static_cast<std::size_t>(i * step)];
      if (!same_bits(out.dtype(), out.element(i), reinterpret_cast<const std::byte*>(&wanted)))
        return "result " + std::to_string(r) + " differs at " + std::to_string(i);
    }
    if (!out.untouched_between()) return "bytes between the elements were written to";
  }
  return "";
}

RowProgram softmax() {
  RowWriter w({DType::f32});
  const auto greatest = w.fold(RowFold::max, 0);
  const auto exponentials = w.op(ScalarOp::exp, w.op(ScalarOp::sub, 0, greatest));
  return w.done({w.op(ScalarOp::div, exponentials, w.fold(RowFold::sum, exponentials))});
}

RowProgram log_softmax() {
  RowWriter w({DType::f32});
  const auto shifted = w.op(ScalarOp::sub, 0, w.fold(RowFold::max, 0));
  const auto sum = w.fold(RowFold::sum, w.op(ScalarOp::exp, shifted));
  return w.done({w.op(ScalarOp::sub, shifted, w.op(ScalarOp::log, sum))});
}

/// The sum of products of numbers with themselves; `is_result`: they are results, too.
RowProgram variance(bool is_result) {
  RowWriter w({DType::f32, DType::f32});
  const auto centred = w.op(ScalarOp::sub, 0, w.op(ScalarOp::mul, w.fold(RowFold::sum, 0), 1));
  const auto squares = w.op(ScalarOp::mul, centred, centred);
  const auto sum = w.fold(RowFold::sum, squares);
  return w.done(
      {w.op(ScalarOp::div, centred, w.op(ScalarOp::sqrt, sum)), is_result ? squares : centred});
}

/// Of a sum, with its mean and a scale and shift for each element of a row.
RowProgram layer_normalization() {
  RowWriter w({DType::f32, DType::f32, DType::f32, DType::f32, DType::f32});
  const auto sum = w.op(ScalarOp::add, 0, 1);
  const auto mean = w.fold(RowFold::sum, sum);
  const auto centred = w.op(ScalarOp::sub, sum, w.op(ScalarOp::div, mean, 4));
  const auto squares = w.fold(RowFold::sum_square, centred);
  const auto root = w.op(ScalarOp::sqrt, w.op(ScalarOp::add, squares, w.number(0.1)));
  const auto scaled = w.op(ScalarOp::mul, w.op(ScalarOp::div, centred, root), 2);
  return w.done({w.op(ScalarOp::add, scaled, 3), mean, sum});
}

/// With a weight and a bias per row, or per element of a row. `is_shifted`: the differences to the
/// mean are a result, too.
RowProgram normalization(bool is_shifted) {
  RowWriter w({DType::f32, DType::f32, DType::f32, DType::f32});
  const auto mean = w.op(ScalarOp::mul, w.fold(RowFold::sum, 0), 1);
  const auto centred = w.op(ScalarOp::sub, 0, mean);
  const auto squares = w.fold(RowFold::sum, w.op(ScalarOp::mul, centred, centred));
  const auto root = w.op(ScalarOp::sqrt, w.op(ScalarOp::add, squares, w.number(0.1)));
  const auto scaled = w.op(ScalarOp::mul, centred, w.op(ScalarOp::div, w.number(1), root));
  const auto result = w.op(ScalarOp::add, w.op(ScalarOp::mul, scaled, 2), 3);
  return is_shifted ? w.done({result, centred}) : w.done({result});
}

constexpr std::int64_t kRowSizes[] = {2, 5, 16, 33, 255, 256, 257, 2048, 4097};

void check_all(RowProgram rows, const std::function<std::vector<Shape>(const Shape&)>& operands,
               DType dtype = DType::f32) {
  for (const std::int64_t size : kRowSizes)
    for (const std::int64_t count : {1, 3, 17, 70}) {
      if (size * count > 9000) continue;
      rows.dims = {count, size};
      rows.first_reduced = 1;
      for (const Layout layout : kLayouts) {
        std::vector<std::unique_ptr<Buffer>> buffers;
        std::vector<Buffer*> inputs;
        for (const Shape& dims : operands(rows.dims)) {
          buffers.push_back(std::make_unique<Buffer>(dtype, dims, layout));
          buffers.back()->fill_random(static_cast<unsigned>(buffers.size()));
          inputs.push_back(buffers.back().get());
        }
        for (const Isa isa : available_isas())
          for (const int threads : {1, 7})
            EXPECT_EQ(check_rows(rows, inputs, isa, threads), "")
                << size << " elements, " << count << " rows, layout " << static_cast<int>(layout)
                << ", " << isa_name(isa) << ", " << threads << " threads";
      }
    }
}

TEST(Rows, softmax) {
  check_all(softmax(), [](const Shape& dims) { return std::vector<Shape>{dims}; });
}

TEST(Rows, log_softmax) {
  check_all(log_softmax(), [](const Shape& dims) { return std::vector<Shape>{dims}; });
}

TEST(Rows, squares_that_are_summed) {
  for (const bool is_result : {false, true})
    check_all(variance(is_result),
              [](const Shape& dims) { return std::vector<Shape>{dims, {1, 1}}; });
}

TEST(Rows, layer_normalization) {
  check_all(layer_normalization(), [](const Shape& dims) {
    return std::vector<Shape>{dims, dims, {1, dims[1]}, {dims[1]}, {1, 1}};
  });
}

TEST(Rows, normalization_of_rows) {
  for (const bool is_shifted : {false, true})
    for (const bool per_row : {true, false})
      check_all(normalization(is_shifted), [=](const Shape& dims) {
        const Shape numbers = per_row ? Shape{dims[0], 1} : Shape{1, dims[1]};
        return std::vector<Shape>{dims, {1, 1}, numbers, numbers};
      });
}

// Sums of bytes, which are not widened first, and of i32, also of bytes that are read elsewhere.
TEST(Rows, sums_of_integers) {
  for (const DType dtype : {DType::u8, DType::i8, DType::i32})
    for (const bool is_result : {false, true}) {
      RowWriter w({dtype});
      const auto wide = dtype == DType::i32 ? 0 : w.op(ScalarOp::cast, 0, -1, -1, DType::i32);
      const auto shifted = is_result ? w.op(ScalarOp::add, wide, wide, -1, DType::i32) : wide;
      const auto sum = w.fold(RowFold::sum, wide, DType::i32);
      RowProgram rows = is_result ? w.done({sum, shifted}) : w.done({sum});
      check_all(rows, [](const Shape& dims) { return std::vector<Shape>{dims}; }, dtype);
    }
}

TEST(Rows, greatest_and_least_bytes) {
  for (const DType dtype : {DType::u8, DType::i8})
    for (const int byte : {0, 127, 128, 255}) {
      RowWriter w({dtype});
      RowProgram rows =
          w.done({w.fold(RowFold::sum, w.op(ScalarOp::cast, 0, -1, -1, DType::i32), DType::i32)});
      rows.dims = {2, 40'000};
      rows.first_reduced = 1;
      Buffer x(dtype, rows.dims);
      x.fill(std::vector<std::uint8_t>{static_cast<std::uint8_t>(byte)});
      for (const Isa isa : available_isas()) EXPECT_EQ(check_rows(rows, {&x}, isa, 1), "");
    }
}

// Bytes that are dequantized and quantized again by parameters that are the same for all.
TEST(Rows, bytes_with_scales) {
  for (const DType dtype : {DType::u8, DType::i8}) {
    RowWriter w({dtype, DType::f32, dtype});
    const auto to = [&](DType type, std::int32_t from) {
      return w.op(ScalarOp::cast, from, -1, -1, type);
    };
    const auto centred = w.op(ScalarOp::sub, to(DType::i32, 0), to(DType::i32, 2), -1, DType::i32);
    const auto real = w.op(ScalarOp::mul, to(DType::f32, centred), 1);
    const auto sum = w.fold(RowFold::sum, real);
    const auto below = w.op(ScalarOp::sub, real, sum);
    const auto level = w.op(ScalarOp::round_even, w.op(ScalarOp::div, below, 1));
    RowProgram rows = w.done({sum, to(dtype, w.op(ScalarOp::add, level, to(DType::f32, 2)))});
    for (const std::int64_t size : kRowSizes) {
      rows.dims = {5, size};
      rows.first_reduced = 1;
      Buffer x(dtype, rows.dims), scale(DType::f32, {1, 1}), zero(dtype, {1, 1});
      x.fill_random(1);
      scale.fill<float>({0.3f});
      zero.fill<std::uint8_t>({3});
      for (const Isa isa : available_isas())
        EXPECT_EQ(check_rows(rows, {&x, &scale, &zero}, isa, 1), "")
            << size << " elements, " << isa_name(isa);
    }
  }
}

// Operands with one element per row, in comparisons and choices too.
TEST(Rows, operands_per_row) {
  RowWriter w({DType::f32, DType::f32});
  const auto least = w.fold(RowFold::min, 0), size = w.fold(RowFold::l1, 0);
  const auto below = w.op(ScalarOp::less, 0, 1);
  const auto chosen = w.op(ScalarOp::select, below, least, w.op(ScalarOp::mul, 0, size));
  check_all(w.done({chosen, least}),
            [](const Shape& dims) { return std::vector<Shape>{dims, {dims[0], 1}}; });
}

// NaN and the sign of zero decide. Long rows are summed while their exponentials are computed.
TEST(Rows, special_numbers) {
  RowProgram rows = softmax();
  rows.elements.results.push_back(1);
  rows.first_reduced = 1;
  for (const std::int64_t size : {40, 300}) {
    rows.dims = {9, size};
    Buffer x(DType::f32, rows.dims);
    x.fill_random(1);
    const float inf = std::numeric_limits<float>::infinity();
    for (std::int64_t i = 0; i < size; ++i) {
      x.at<float>(size + i) = -inf;
      x.at<float>(2 * size + i) = i % 2 == 0 ? -0.0f : 0.0f;
      x.at<float>(3 * size + i) = -0.0f;
      x.at<float>(5 * size + i) *= 100;
    }
    x.at<float>(7) = std::nanf("");
    x.at<float>(4 * size + 7) = inf;
    for (const Isa isa : available_isas()) EXPECT_EQ(check_rows(rows, {&x}, isa, 1), "");
  }
}

TEST(Rows, declines_products) {
  RowWriter w({DType::f32});
  RowProgram rows = w.done({w.fold(RowFold::prod, 0)});
  rows.dims = {3, 4};
  rows.first_reduced = 1;
  Buffer x(DType::f32, {3, 4});
  x.fill_random(1);
  EXPECT_EQ(check_rows(rows, {&x}, active_isa(), 1),
            "an instruction is not defined for its element types");
}

}  // namespace
}  // namespace scanloom::kernels::testing
