// A loop that a converter makes by itself, its body written as an expression.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

struct ScannedValue {
  ir::ValueId value;
  int axis = 0;  ///< from which each step takes one slice, without that axis
};

struct ComposedLoop {
  ir::ValueId steps;  ///< an i64 scalar
  std::vector<ir::ValueId> captured, carried;
  std::vector<ScannedValue> scanned;
  std::vector<int> stacked;  ///< the axes along which rows are stacked

  /// What one step sees, and what it gives.
  struct Step {
    std::vector<ir::ValueId> captured, carried, scanned;
  };
  struct Yields {
    std::vector<ir::ValueId> carried, stacked;
  };
};

/// The final carried values, then the stacks; after an error in `c` or in the body nothing. The
/// body's composer makes no constants: what a step needs is captured.
std::vector<ir::ValueId> make_loop(
    Composer& c, const ComposedLoop& loop, std::string_view name,
    const std::function<ComposedLoop::Yields(Composer&, const ComposedLoop::Step&)>& body);

}  // namespace scanloom::onnx
