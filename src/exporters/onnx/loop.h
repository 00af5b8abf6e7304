// A loop of the module as ONNX: a Scan where every step takes one element of whole axes and nothing
// ends it early, since that runs faster; a Loop otherwise.
#pragma once

#include "exporters/onnx/emitter.h"

namespace scanloom::exporters::onnx {

void write_loop(NodeEmitter& emitter);

}  // namespace scanloom::exporters::onnx
