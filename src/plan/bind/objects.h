// Binds nodes on objects: sequences, optionals and strings, which are stored outside the arena.
// Such a node is a call that may allocate. An object that nothing reads again is moved into the
// call, which can then change it in place.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Whether the node reads or produces an object.
[[nodiscard]] bool touches_objects(const BindContext& ctx, const ir::Node& node);

/// Binds a call on objects. Errors: unsupported (no kernel).
Expected<void> bind_object(BindContext& ctx, ir::NodeId id);

/// Binds the carried object at that port of the loop.
BoundCarried bind_carried_object(BindContext& ctx, ir::NodeId loop, std::uint32_t port);

}  // namespace scanloom::plan
