// Forms of quantisation.
#include "exporters/onnx/forms.h"
#include "opmath/block_quantization.h"
#include "tensor/half.h"

namespace scanloom::exporters::onnx::forms {
namespace {

using tensor::is_half;
using tensor::block_quantization::BlockFormat;

constexpr std::size_t kScale = 1, kZero = 2;

/// Returns the first opset in which quantised elements can have that type.
int opset_of(DType quantised) {
  switch (quantised) {
    case DType::i16:
    case DType::u16:
      return 21;
    case DType::i8:
    case DType::u8:
    case DType::i32:
      return 18;
    default:
      return 19;  // the opset of a narrow type follows from the type itself
  }
}

}  // namespace

// Bytes are shifted and masked, one number per byte; a block is then an axis of its own.
void dequantize_blocks(NodeEmitter& node) {
  const BlockFormat format = BlockFormat::of(node.node().attrs);
  if (!node.in_type(0).ranked) return node.refuse("of an unknown number of axes");
  const int rank = node.in_type(0).rank();
  // Zeros stand for the sizes of the operand.
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(rank) - 1, 0), flat = blocks;
  blocks.insert(blocks.end(), {format.blocks(), format.block});
  flat.push_back(format.blocks() * format.block);
  const std::string last = node.list({-1});
  std::vector<std::uint8_t> shifts;
  for (std::int64_t shift = 0; shift < 8; shift += format.bits)
    shifts.push_back(static_cast<std::uint8_t>(shift));
  const std::string by = node.constant(tensor::Tensor::of<std::uint8_t>(
      {static_cast<std::int64_t>(shifts.size())}, std::span<const std::uint8_t>(shifts)));
  const double mask = static_cast<double>((std::int64_t{1} << format.bits) - 1);
  std::string y = node.op("BitShift", {node.op("Unsqueeze", {node.in(0), last}), by},
                          {attribute("direction", std::string("RIGHT"))});
  y = node.op("BitwiseAnd", {y, node.number(mask, DType::u8)});
  y = node.op("Reshape", {node.cast(y, DType::f32), node.list(blocks)});
  const std::string zero = node.has(kZero)
                               ? node.op("Unsqueeze", {node.dtype(kZero) == DType::f32
                                                           ? node.in(kZero)
                                                           : node.cast(node.in(kZero), DType::f32),
                                                       last})
                               : node.number(static_cast<double>(format.middle()), DType::f32);
  y = node.op("Mul", {node.op("Sub", {y, zero}), node.op("Unsqueeze", {node.in(kScale), last})});
  y = node.op("Reshape", {y, node.list(flat)});
  node.emit("Slice", {y, node.list({0}), node.list({format.size}), last}, node.outputs());
}

void dequantize_linear(NodeEmitter& node) {
  node.need_opset(opset_of(node.dtype()));
  if (is_half(node.dtype(kScale))) node.need_opset(19);
  if (node.dtype(kScale) == DType::f64) return node.refuse("with scales of f64");
  node.finish("DequantizeLinear", node.attributes());
}

// Zero points of MatMulInteger and the scale of QuantizeLinear, which is 1, are operands of their
// own.
void integer_matmul(NodeEmitter& node) {
  enum : std::size_t { kA, kB, kAZero, kBZero, kFactor, kBias, kYZero };
  const auto given = [&](std::size_t i) { return node.has(i) ? node.in(i) : std::string(); };
  const Names operands{node.in(kA), node.in(kB), given(kAZero), given(kBZero)};
  node.need_opset(10);
  const bool adds_integers = node.has(kBias) && node.dtype(kBias) == DType::i32;
  if (!node.has(kFactor) && !adds_integers)
    return node.emit("MatMulInteger", operands, node.outputs());
  std::string y = node.op("MatMulInteger", operands);
  if (!node.has(kFactor)) return node.emit("Add", {y, node.in(kBias)}, node.outputs());
  if (adds_integers) y = node.op("Add", {y, node.in(kBias)});
  y = node.cast(y, DType::f32);
  const bool has_bias = node.has(kBias) && !adds_integers, is_quantised = node.has(kYZero);
  if (!has_bias && !is_quantised) return node.emit("Mul", {y, node.in(kFactor)}, node.outputs());
  y = node.op("Mul", {y, node.in(kFactor)});
  if (has_bias && !is_quantised) return node.emit("Add", {y, node.in(kBias)}, node.outputs());
  if (has_bias) y = node.op("Add", {y, node.in(kBias)});
  node.emit("QuantizeLinear", {y, node.number(1, DType::f32), node.scalar(node.in(kYZero))},
            node.outputs());
}

void quantize_linear(NodeEmitter& node) {
  node.need_opset(opset_of(node.out_type().dtype));
  if (is_half(node.dtype())) node.need_opset(19);
  if (node.dtype() == DType::f64 || node.dtype(kScale) == DType::f64) return node.refuse("of f64");
  const bool mixes = node.dtype() != node.dtype(kScale) && node.dtype() != DType::i32;
  if (mixes) node.need_opset(23);
  if (!node.has(kZero) && node.out_type().dtype != DType::u8)
    return node.refuse("to " + std::string(dtype_name(node.out_type().dtype)) +
                       " without a zero point");
  node.finish("QuantizeLinear", node.attributes());
}

}  // namespace scanloom::exporters::onnx::forms
