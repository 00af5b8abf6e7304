// Declares the converters listed in list.inc. There is one file per operator or family.
#pragma once

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

#define SCANLOOM_ONNX_OP(name, domain, convert, ...) Expected<void> convert_##convert(NodeCtx& ctx);
#include "frontends/onnx/list.inc"
#undef SCANLOOM_ONNX_OP

}  // namespace scanloom::onnx
