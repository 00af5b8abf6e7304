// Forms of element-wise operators.
#include <algorithm>

#include "exporters/onnx/forms.h"

namespace scanloom::exporters::onnx::forms {
namespace {

bool is_signed(DType dtype) { return dtype_kind(dtype) == DTypeKind::signed_int; }

DType unsigned_of(DType dtype) {
  switch (dtype_bytes(dtype)) {
    case 1:
      return DType::u8;
    case 2:
      return DType::u16;
    case 4:
      return DType::u32;
    default:
      return DType::u64;
  }
}

/// Whether all shift amounts are known and less than the width.
bool is_below_width(const NodeEmitter& node) {
  const tensor::Tensor* const known = node.known(1);
  const auto amounts = known == nullptr ? std::nullopt : tensor::to_integers(*known);
  const int width = dtype_file_bits(node.dtype());
  return amounts && std::ranges::all_of(
                        *amounts, [&](std::int64_t each) { return each >= 0 && each < width; });
}

/// Returns `shifted`, with 0 where the amount is at least the width.
std::string without_far(NodeEmitter& node, const std::string& shifted, const std::string& amount) {
  const DType bits = unsigned_of(node.dtype());
  const std::string width = node.number(dtype_file_bits(node.dtype()), bits);
  const std::string fits = node.op("Less", {amount, width});
  return node.op("Mul", {shifted, node.cast(fits, bits)});
}

std::string shift(NodeEmitter& node, const std::string& x, const char* direction) {
  const DType dtype = node.dtype(), bits = unsigned_of(dtype);
  const bool casts = bits != dtype;
  const std::string amount = casts ? node.cast(node.in(1), bits) : node.in(1);
  const std::string shifted = node.op("BitShift", {casts ? node.cast(x, bits) : x, amount},
                                      {attribute("direction", std::string(direction))});
  // A shift by the width or more leaves 0; ONNX does not define it.
  const std::string kept = is_below_width(node) ? shifted : without_far(node, shifted, amount);
  return casts ? node.cast(kept, dtype) : kept;
}

}  // namespace

void bit_cast(NodeEmitter& node) {
  constexpr int kFirst = 26;
  if (dtype_file_bits(node.dtype()) != dtype_file_bits(node.out_type().dtype))
    return node.refuse(
        "between complex numbers and their parts: make the real and the imaginary part inputs and "
        "outputs of their own");
  node.need_opset(kFirst);
  node.finish("BitCast", {node.attribute_as("to", "to")});
}

void cast(NodeEmitter& node) { node.finish("Cast", {node.attribute_as("to", "to")}); }

/// ONNX requires scalar limits; others are broadcast with Max and Min.
void clip(NodeEmitter& node) {
  const auto is_scalar = [&](std::size_t i) {
    return !node.has(i) || (node.in_type(i).ranked && node.in_type(i).rank() == 0);
  };
  if (is_scalar(1) && is_scalar(2)) return node.finish("Clip");
  std::string now = node.in(0);
  if (node.has(1)) now = node.op("Max", {now, node.in(1)});
  if (node.has(2)) now = node.op("Min", {now, node.in(2)});
  node.emit("Identity", {now}, node.outputs());
}

/// tanh(x / 2) (exp(x) + 1), which is accurate near 0.
void expm1(NodeEmitter& node) {
  const DType dtype = node.dtype();
  const std::string half = node.op("Mul", {node.in(0), node.number(0.5, dtype)});
  const std::string above = node.op("Add", {node.op("Exp", {node.in(0)}), node.number(1, dtype)});
  node.emit("Mul", {node.op("Tanh", {half}), above}, node.outputs());
}

/// log(u) x / (u - 1) with u = 1 + x, whose rounding errors cancel. Returns x where u is 1, and
/// log(u) where both may be infinite.
void log1p(NodeEmitter& node) {
  const std::string &x = node.in(0), one = node.number(1, node.dtype());
  const std::string above = node.op("Add", {x, one}), far = node.op("Log", {above});
  const std::string ratio = node.op("Div", {x, node.op("Sub", {above, one})});
  const std::string near =
      node.op("Where", {node.op("Equal", {above, one}), x, node.op("Mul", {far, ratio})});
  node.emit("Where", {node.op("Less", {x, one}), near, far}, node.outputs());
}

/// ONNX's Mod of floats only offers the sign of the dividend, so b is added where the signs differ.
/// A zero gets the sign of b.
void mod(NodeEmitter& node) {
  const DType dtype = node.dtype();
  if (!is_floating_point(dtype) || node.attr("fmod").integer() != 0)
    return node.finish("Mod", node.attributes());
  const std::string &a = node.in(0), &b = node.in(1), zero = node.number(0, dtype);
  const std::string rest = node.op("Mod", {a, b}, {attribute("fmod", std::int64_t{1})});
  const std::string differs =
      node.op("Xor", {node.op("Less", {rest, zero}), node.op("Less", {b, zero})});
  const std::string mended = node.op("Where", {differs, node.op("Add", {rest, b}), rest});
  const std::string signed_zero = node.op("Mul", {node.op("Sign", {b}), zero});
  node.emit("Where", {node.op("Equal", {rest, zero}), signed_zero, mended}, node.outputs());
}

/// Unsigned numbers are negated by wrapping, as other integers are.
void neg(NodeEmitter& node) {
  if (is_floating_point(node.dtype()) || is_signed(node.dtype())) return node.finish("Neg");
  node.emit("Sub", {node.number(0, node.dtype()), node.in(0)}, node.outputs());
}

void relu(NodeEmitter& node) {
  const bool is_unsigned = is_integer(node.dtype()) && !is_signed(node.dtype());
  node.finish(is_unsigned ? "Identity" : "Relu");
}

void shift_left(NodeEmitter& node) {
  node.emit("Identity", {shift(node, node.in(0), "LEFT")}, node.outputs());
}

/// An arithmetic shift: for negative numbers, shifts the complement and complements the result.
void shift_right(NodeEmitter& node) {
  if (!is_signed(node.dtype()))
    return node.emit("Identity", {shift(node, node.in(0), "RIGHT")}, node.outputs());
  const std::string& x = node.in(0);
  const std::string negative = node.op("Less", {x, node.number(0, node.dtype())});
  const std::string positive = node.op("Where", {negative, node.op("BitwiseNot", {x}), x});
  const std::string shifted = shift(node, positive, "RIGHT");
  node.emit("Where", {negative, node.op("BitwiseNot", {shifted}), shifted}, node.outputs());
}

}  // namespace scanloom::exporters::onnx::forms
