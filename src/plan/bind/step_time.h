// About how long calls and steps take, from which follows whether machine code pays, and what is
// charged where it runs.
#pragma once

#include <cstdint>

#include "plan/binding.h"

namespace scanloom::plan {

/// Estimates the time of a call by its elements and multiplications.
[[nodiscard]] double call_nanoseconds(const Binding& binding, const BoundCall& call);
/// The same, for operators that take far longer than the elements of their operands say as well.
[[nodiscard]] double max_nanoseconds(const Binding& binding, const BoundCall& call);
/// The calls in instructions [first, last), each once.
[[nodiscard]] double nanoseconds_of(const Binding& binding, std::uint32_t first,
                                    std::uint32_t last);
/// The calls from that instruction on that are not charged where they run, outside of the loops and
/// branches that follow it.
[[nodiscard]] double uncharged_nanoseconds(const Binding& binding, std::uint32_t first);
/// A step of a loop that is stepped.
[[nodiscard]] double step_nanoseconds(const Binding& binding, const BoundLoop& loop);
/// The same, every loop inside with its own number of steps, as far as they are known.
[[nodiscard]] double whole_step_nanoseconds(const Binding& binding, const BoundLoop& loop);

}  // namespace scanloom::plan
