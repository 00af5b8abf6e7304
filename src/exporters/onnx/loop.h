// Writes a loop of the module to ONNX. It becomes a Scan, which runs faster, if every step takes
// one element of whole axes and nothing ends it early; otherwise a Loop.
#pragma once

#include "exporters/onnx/emitter.h"

namespace scanloom::exporters::onnx {

void write_loop(NodeEmitter& emitter);

}  // namespace scanloom::exporters::onnx
