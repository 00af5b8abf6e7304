// Binds the values that enter a loop or pass from step to step: captured, carried and scanned
// values. Stacked rows are in stacks.h.
#pragma once

#include <optional>
#include <vector>

#include "plan/bind/context.h"
#include "plan/bind/in_place.h"

namespace scanloom::plan {

/// How steps walk over the slices of a tensor of known sizes.
struct SliceWalk {
  Layout slice;
  std::int64_t first_bytes = 0, step_bytes = 0;
};

/// `in_blocks`: the tensor holds one block of rows.
[[nodiscard]] SliceWalk walk_over(const Layout& whole, const ir::ScannedPort& port,
                                  const BoundBlocks& blocks, bool in_blocks, DType dtype);

/// The slices of one scanned port, as far as binding knows them.
struct PortSlices {
  Location from;
  /// Sizes and strides of a slice that is read through a moving slot; nullopt for an object, or a
  /// slice whose address only the run knows.
  std::optional<Layout> slice;
  std::int64_t first_bytes = 0, step_bytes = 0;
};

/// Returns the number of steps as far as the sizes of the inputs determine it; -1: they do not.
[[nodiscard]] std::int64_t known_trip_count(const BindContext& ctx, ir::NodeId loop);

/// Whether a carried value is known to enter and leave a step with the same sizes, if required.
[[nodiscard]] bool sizes_fit(const BindContext& ctx, const ir::Node& loop, std::uint32_t carried);

/// Binds the captured values to the body's arguments.
void bind_captured(BindContext& ctx, ir::NodeId id);

/// Returns the initial states as the loop reads them. States of known size are row-major and
/// static; those updated in place are copied to memory that the loop may write. Emits copies.
std::vector<Location> straight_states(BindContext& ctx, ir::NodeId id,
                                      const std::optional<InPlaceStates>& in_place);

/// Returns the slices of all scanned ports. Emits nothing. Errors: invalid_argument and
/// invalid_model, if the number of slices does not match the steps.
Expected<std::vector<PortSlices>> slices_of_ports(BindContext& ctx, ir::NodeId id,
                                                  const BoundLoop& loop);

/// Binds the carried values as part of the loop's instruction.
void bind_carried(BindContext& ctx, InstructionScope& instruction, BoundLoop& loop,
                  const std::vector<Location>& initial,
                  const std::optional<InPlaceStates>& in_place);

/// Binds the scanned values as part of the loop's instruction.
void bind_scanned(BindContext& ctx, InstructionScope& instruction, BoundLoop& loop,
                  const std::vector<PortSlices>& slices);

/// Makes the body's yields the next states. Emits copies, aliases and size checks.
void finish_carried(BindContext& ctx, std::uint32_t index, const BoundLoop& loop);

}  // namespace scanloom::plan
