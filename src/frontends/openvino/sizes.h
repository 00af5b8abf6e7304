// Recognises values that are sizes of other values: ShapeOf, and the layers that IRs put around it.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/module.h"

namespace scanloom::openvino {

/// The size of axis `axis` of the value.
struct SizeOf {
  ir::ValueId value;
  std::int64_t axis = 0;
};

/// Returns which size every element of the value equals, as far as its producers show.
std::optional<SizeOf> size_of(const ir::Module& module, ir::ValueId value);

}  // namespace scanloom::openvino
