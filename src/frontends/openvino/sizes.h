// Values that are a size of another value: ShapeOf, and what IRs put around it.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/module.h"

namespace scanloom::openvino {

/// Axis `axis` of the value.
struct SizeOf {
  ir::ValueId value;
  std::int64_t axis = 0;
};

/// Which size every element of the value is, as far as its makers tell.
std::optional<SizeOf> size_of(const ir::Module& module, ir::ValueId value);

}  // namespace scanloom::openvino
