// What front-ends compose of the operator dft.
#pragma once

#include <string>

#include "ops/composer.h"

namespace scanloom::ops {

inline constexpr double kPi = 3.14159265358979323846;

/// A transform along one axis. The inverse is divided by the length.
struct Transform {
  ir::ValueId length = {};  ///< i64 scalar; invalid: what the sizes say (see dft)
  bool inverse = false, onesided = false;
};

/// Returns the size of the one-sided spectrum of a signal of `length`.
ir::ValueId half_up(Composer& c, ir::ValueId length);

/// Transforms x along `axis`. The last axis of x holds the parts. f16 and bf16 are computed in f32.
ir::ValueId transform_axis(Composer& c, ir::ValueId x, int axis, const Transform& t);

/// How a signal is cut into frames: `count` of them, each of `length` elements and `step` after the
/// one before it.
struct Frames {
  ir::ValueId count, length, step;                  ///< i64 scalars
  std::int64_t known_length = -1, known_step = -1;  ///< -1: only the run knows it
};

/// Returns a scalar that only the run knows, with an error if it is below 1; `what` it is.
ir::ValueId checked_positive(Composer& c, ir::ValueId value, const std::string& what);
/// Checks the length of a transform that only the run knows, before memory is taken for it.
void check_fourier_length(Composer& c, ir::ValueId length);
/// Returns how many whole frames so many samples have.
ir::ValueId count_frames(Composer& c, ir::ValueId samples, const Frames& frames);
/// Returns the positions of all frames, [frame, position in it].
ir::ValueId frame_positions(Composer& c, ir::ValueId count, ir::ValueId length, ir::ValueId step);

/// Returns the frames of a signal [batch, time, ...] as [batch, frame, position, ...].
ir::ValueId cut_into_frames(Composer& c, ir::ValueId signal, int rank, const Frames& frames);

}  // namespace scanloom::ops
