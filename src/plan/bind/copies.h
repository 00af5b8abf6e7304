// Copies and aliases, which bring a value to the location where it is needed.
#pragma once

#include "plan/bind/builder.h"

namespace scanloom::plan {

/// Emits a copy. The sizes of a dynamic source are read when the copy runs.
void emit_copy(BindingBuilder& builder, const Location& from, const Location& to, ir::NodeId node);

/// Makes `to` refer to `from` from here on. `moved`: the object, or the storage of the dynamic
/// value, is moved.
void emit_alias(BindingBuilder& builder, const Location& from, const Location& to,
                bool moved = false);

/// Returns a row-major location of known sizes: `location` itself if it is one, or a copy that is
/// emitted here.
Location straight(BindingBuilder& builder, const Location& location, const tensor::Shape& dims,
                  ir::NodeId node);

}  // namespace scanloom::plan
