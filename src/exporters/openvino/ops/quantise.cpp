// quantize_linear and dequantize_linear, computed in f32 like the operators.
#include "exporters/openvino/ops/forms.h"
#include "exporters/openvino/ops/spatial.h"
#include "opmath/block_quantization.h"

namespace scanloom::exporters::openvino {

namespace {

constexpr std::size_t kScale = 1, kZero = 2;

Output as_f32(NodeWriter& out, std::size_t i) {
  return out.dtype(i) == DType::f32 ? out.in(i) : out.convert(out.in(i), DType::f32);
}

/// Reshapes a scale or zero point with one axis to match `axis` of x. Invalid if the ranks are
/// unknown.
Output along_axis(NodeWriter& out, Output value, std::size_t i, DType dtype) {
  const tensor::Type &given = out.type(i), &x = out.type(0);
  if (!given.ranked || !x.ranked) return {};
  if (given.rank() != 1) return value;
  NodeWriter::Ints sizes(static_cast<std::size_t>(x.rank()), 1);
  const std::int64_t axis = out.integer("axis");
  const bool is_single = given.dims[0].is_constant() && given.dims[0].value() == 1;
  if (!sizes.empty() && !is_single)
    sizes[static_cast<std::size_t>(axis < 0 ? axis + x.rank() : axis)] = -1;
  return out.reshape(value, out.list(sizes), dtype);
}

}  // namespace

void write_quantize_linear(NodeWriter& out) {
  const DType f32 = DType::f32, to = out.result_type().dtype;
  const Output scale = along_axis(out, as_f32(out, kScale), kScale, f32);
  const Output zero =
      out.has(kZero) ? along_axis(out, as_f32(out, kZero), kZero, f32) : out.scalar(0, f32);
  if (!scale.valid() || !zero.valid())
    return out.refuse("its scale and zero point have an unknown number of axes");
  const Output scaled = out.binary("Divide", as_f32(out, 0), scale, f32);
  if (is_floating_point(to)) return out.set(out.convert(scaled, to));
  if (dtype_file_bits(to) > 32) return out.refuse("results of 64 bits have no form in an IR");
  if (dtype_file_bits(to) <= 16) return out.set(quantised(out, scaled, zero, to));
  // Only f64 represents 32-bit sums exactly.
  const DType f64 = DType::f64;
  const Output wide = out.has(kZero) ? along_axis(out, out.convert(out.in(kZero), f64), kZero, f64)
                                     : out.scalar(0, f64);
  out.set(quantised(out, out.convert(scaled, f64), wide, to, f64));
}

// Exact sums in i32, then operation by operation in f32.
void write_integer_matmul(NodeWriter& out) {
  enum : std::size_t { kA, kB, kAZero, kBZero, kFactor, kBias, kYZero };
  const DType i32 = DType::i32, f32 = DType::f32;
  const auto single = [&](std::size_t i, DType dtype) {
    return out.reshape(out.convert(out.in(i), dtype), out.list({}), dtype);
  };
  Output a = out.convert(out.in(kA), i32), b = out.convert(out.in(kB), i32);
  if (out.has(kAZero)) a = out.binary("Subtract", a, single(kAZero, i32), i32);
  if (out.has(kBZero)) b = out.binary("Subtract", b, out.convert(out.in(kBZero), i32), i32);
  const bool adds_integers = out.has(kBias) && out.dtype(kBias) == i32;
  Output sum =
      out.layer("MatMul", 1, {a, b}, i32, {{"transpose_a", "false"}, {"transpose_b", "false"}});
  if (adds_integers) sum = out.binary("Add", sum, out.in(kBias), i32);
  if (!out.has(kFactor)) return out.set(sum);
  Output real = out.binary("Multiply", out.convert(sum, f32), out.in(kFactor), f32);
  if (out.has(kBias) && !adds_integers) real = out.binary("Add", real, out.in(kBias), f32);
  if (!out.has(kYZero)) return out.set(real);
  out.set(quantised(out, real, single(kYZero, f32), out.result_type().dtype));
}

// Numbers are quotients and remainders of the bytes, which f32 divides exactly by powers of 2; a
// block is then an axis of its own.
void write_dequantize_blocks(NodeWriter& out) {
  const DType f32 = DType::f32;
  const auto format = tensor::block_quantization::BlockFormat::of(out.node().attrs);
  if (!out.type(0).ranked) return out.refuse("its number of axes is not known");
  const auto rank = static_cast<std::size_t>(out.type(0).rank());
  // Zeros stand for the sizes of the operand.
  NodeWriter::Ints blocks(rank - 1, 0), flat = blocks;
  blocks.insert(blocks.end(), {format.blocks(), format.block});
  flat.push_back(format.blocks() * format.block);
  const std::int64_t range = std::int64_t{1} << format.bits;
  std::vector<Output> numbers;
  Output rest = out.unsqueeze(out.convert(out.in(0), f32), {-1}, f32);
  for (std::int64_t shift = 0; shift < 8; shift += format.bits) {
    const Output divisor = out.scalar(static_cast<double>(range), f32);
    const Output quotient = out.layer("Floor", 1, {out.binary("Divide", rest, divisor, f32)}, f32);
    numbers.push_back(
        out.binary("Subtract", rest, out.binary("Multiply", quotient, divisor, f32), f32));
    rest = quotient;
  }
  Output y = out.reshape(out.concat(numbers, -1, f32), out.list(blocks), f32, true);
  const Output zero = out.has(kZero) ? out.unsqueeze(as_f32(out, kZero), {-1}, f32)
                                     : out.scalar(static_cast<double>(format.middle()), f32);
  y = out.binary("Subtract", y, zero, f32);
  y = out.binary("Multiply", y, out.unsqueeze(out.in(kScale), {-1}, f32), f32);
  y = out.reshape(y, out.list(flat), f32, true);
  out.set(out.slice(y, -1, out.list({0}), out.list({format.size}), 1, f32));
}

/// Differences of integers are exact: in f32 for up to 16 bits, otherwise in i64.
void write_dequantize_linear(NodeWriter& out) {
  const DType f32 = DType::f32, result = out.result_type().dtype, given = out.dtype();
  const bool is_wide = !is_floating_point(given) && dtype_file_bits(given) > 16;
  const DType middle = is_wide && out.has(kZero) ? DType::i64 : f32;
  Output x = out.convert(out.in(0), middle);
  if (out.has(kZero)) {
    const Output zero = along_axis(out, out.convert(out.in(kZero), middle), kZero, middle);
    if (!zero.valid()) return out.refuse("its zero point has an unknown number of axes");
    x = out.binary("Subtract", x, zero, middle);
  }
  if (middle != f32) x = out.convert(x, f32);
  const Output scale = along_axis(out, as_f32(out, kScale), kScale, f32);
  if (!scale.valid()) return out.refuse("its scale has an unknown number of axes");
  const Output scaled = out.binary("Multiply", x, scale, f32);
  out.set(result == f32 ? scaled : out.convert(scaled, result));
}

}  // namespace scanloom::exporters::openvino
