// Random numbers for operators of ONNX.
#pragma once

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

/// Returns random numbers of a `kind` of ops::random_op with the given shape, in f32 or f64,
/// whichever can represent `dtype`. A node with a seed depends only on that; one without depends on
/// its position in the model and on ReadOptions::seed.
ir::ValueId draw(Composer& c, const char* kind, ir::ValueId shape, DType dtype);

}  // namespace scanloom::onnx
