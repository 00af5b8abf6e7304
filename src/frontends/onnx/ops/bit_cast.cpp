#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

Expected<void> convert_bit_cast(NodeCtx& ctx) {
  Composer c(ctx);
  const ir::ValueId x = c.in(0);
  SCANLOOM_CHECK_OK(ctx.required_integer("to"));
  const DType to = c.dtype_attribute("to", DType::f32);
  // Unlike ONNX's, the IR's operator also reinterprets complex numbers as pairs.
  if (const DType from = c.dtype(x); dtype_file_bits(from) != dtype_file_bits(to))
    return invalid_model("elements of type {} have {} bits, those of type {} have {}",
                         dtype_name(from), dtype_file_bits(from), dtype_name(to),
                         dtype_file_bits(to));
  return c.emit(c.op(ops::bit_cast_op, {x}, {{"to", to}}));
}

}  // namespace scanloom::onnx
