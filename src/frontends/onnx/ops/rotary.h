// The rotation of rotary position embeddings (RoFormer, Su et al., 2021), shared by the operators
// of all domains.
#pragma once

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

/// Cosines and sines of the angles: [batch, positions, 1, half], where the batch may be 1.
struct Rotation {
  ir::ValueId cosine, sine;
};

/// Returns the rows of two tables [positions, half] at `at`, which is [positions] or [batch,
/// positions].
Rotation rotation_at(Composer& c, ir::ValueId cosines, ir::ValueId sines, ir::ValueId at);
/// Rotates the pairs of x, which is [batch, positions, heads, size]. A pair is two neighbours if
/// `interleaved`, otherwise an element of the first half and one of the second.
ir::ValueId rotate(Composer& c, ir::ValueId x, const Rotation& by, bool interleaved);
/// Rotates the first `count` elements of each head, a scalar or, if invalid, all of them.
ir::ValueId rotate_first(Composer& c, ir::ValueId x, const Rotation& by, bool interleaved,
                         ir::ValueId count);

}  // namespace scanloom::onnx
