#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"
#include "ops/vision/image_plugin.h"

namespace scanloom::onnx {

Expected<void> convert_image_decoder(NodeCtx& ctx) {
  SCANLOOM_TRY(const ir::ValueId file, ctx.in(0));
  SCANLOOM_TRY(const std::string pixels, ctx.text("pixel_format", "RGB"));
  // Said when the model is loaded, rather than when it first runs.
  SCANLOOM_CHECK_OK(ops::image_decoders());
  return ctx.emit(ops::image_decode_op, {file}, {{"pixel_format", pixels}});
}

}  // namespace scanloom::onnx
