// Objects: sequences, optionals and strings, which are stored outside the arena. A node that
// touches one is a call that may allocate; an object that nothing reads again is handed over, so
// that it can be changed in place.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Whether the node reads or makes an object.
[[nodiscard]] bool touches_objects(const BindContext& ctx, const ir::Node& node);

/// A call on objects. Errors: unsupported (there is no kernel).
Expected<void> bind_object(BindContext& ctx, ir::NodeId id);

/// The carried value of a loop at that port, an object.
BoundCarried bind_carried_object(BindContext& ctx, ir::NodeId loop, std::uint32_t port);

}  // namespace scanloom::plan
