// Forms of quantisation.
#include "exporters/onnx/forms.h"
#include "tensor/half.h"

namespace scanloom::exporters::onnx::forms {
namespace {

using tensor::is_half;

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

void dequantize_linear(NodeEmitter& node) {
  node.need_opset(opset_of(node.dtype()));
  if (is_half(node.dtype(kScale))) node.need_opset(19);
  if (node.dtype(kScale) == DType::f64) return node.refuse("with scales of f64");
  node.finish("DequantizeLinear", node.attributes());
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
