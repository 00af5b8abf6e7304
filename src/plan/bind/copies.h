// Copies and aliases: how a value gets to where it has to be, or is read from there.
#pragma once

#include "plan/bind/builder.h"

namespace scanloom::plan {

/// Emits a copy. A dynamic source is looked at when the copy runs.
void emit_copy(BindingBuilder& builder, const Location& from, const Location& to, ir::NodeId node);

/// Makes `to` mean `from` from here on. `moved`: the object, or the storage of the dynamic value,
/// is handed over.
void emit_alias(BindingBuilder& builder, const Location& from, const Location& to,
                bool moved = false);

/// Row-major, with sizes that are known: where it is, or a copy that is emitted here.
Location straight(BindingBuilder& builder, const Location& location, const tensor::Shape& dims,
                  ir::NodeId node);

}  // namespace scanloom::plan
