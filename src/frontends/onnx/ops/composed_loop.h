// A loop built by a converter, with its body written as an expression.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

struct ScannedValue {
  ir::ValueId value;
  int axis = 0;  ///< each step takes one slice along this axis, which the slice drops
};

struct ComposedLoop {
  ir::ValueId steps;  ///< an i64 scalar
  std::vector<ir::ValueId> captured, carried;
  std::vector<ScannedValue> scanned;
  std::vector<int> stacked;  ///< the axes along which step results are stacked
  bool backwards = false;    ///< scans from the last slice to the first, and stacks so

  /// The inputs and the results of one step.
  struct Step {
    std::vector<ir::ValueId> captured, carried, scanned;
  };
  struct Yields {
    std::vector<ir::ValueId> carried, stacked;
  };
};

/// Returns the final carried values, then the stacks; empty after an error in `c` or in the body.
/// The body's composer must not make constants: a step captures what it needs.
std::vector<ir::ValueId> make_loop(
    Composer& c, const ComposedLoop& loop, std::string_view name,
    const std::function<ComposedLoop::Yields(Composer&, const ComposedLoop::Step&)>& body);

}  // namespace scanloom::onnx
