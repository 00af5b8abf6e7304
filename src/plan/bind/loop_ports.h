// What enters a loop and passes from step to step: captured, carried and scanned values. Stacked
// rows are in stacks.h.
#pragma once

#include <optional>
#include <vector>

#include "plan/bind/context.h"
#include "plan/bind/in_place.h"

namespace scanloom::plan {

/// The slices of one scanned port, as far as binding knows them.
struct PortSlices {
  Location from;
  /// Sizes and strides of a slice that a slot moves over; nullopt: an object, or one whose place
  /// only the run knows.
  std::optional<Layout> slice;
  std::int64_t first_bytes = 0, step_bytes = 0;
};

/// Whether a carried value surely enters and leaves a step with the same sizes, where it must.
[[nodiscard]] bool sizes_fit(const BindContext& ctx, const ir::Node& loop, std::uint32_t carried);

/// Makes the captured values arguments of the body.
void bind_captured(BindContext& ctx, ir::NodeId id);

/// The initial states as the loop reads them: those of known size row-major and not dynamic. Those
/// that are updated in place are copied to where the loop may write. Emits copies.
std::vector<Location> straight_states(BindContext& ctx, ir::NodeId id,
                                      const std::optional<InPlaceStates>& in_place);

/// The slices of all scanned ports. Emits nothing. Errors: invalid_argument and invalid_model,
/// where they do not fit the steps.
Expected<std::vector<PortSlices>> slices_of_ports(BindContext& ctx, ir::NodeId id,
                                                  const BoundLoop& loop);

/// Binds the carried values as part of the loop's instruction.
void bind_carried(BindContext& ctx, InstructionScope& instruction, BoundLoop& loop,
                  const std::vector<Location>& initial,
                  const std::optional<InPlaceStates>& in_place);

/// Binds the scanned values as part of the loop's instruction.
void bind_scanned(BindContext& ctx, InstructionScope& instruction, BoundLoop& loop,
                  const std::vector<PortSlices>& slices);

/// Makes what the body yields the next states. Emits copies, aliases and checks of sizes.
void finish_carried(BindContext& ctx, std::uint32_t index, const BoundLoop& loop);

}  // namespace scanloom::plan
