// Estimates how long calls and steps take. The estimates decide whether machine code pays and what
// is charged at run time.
#pragma once

#include <cstdint>

#include "plan/binding.h"

namespace scanloom::plan {

/// Returns the estimate for a call, from its elements and multiplications.
[[nodiscard]] double call_nanoseconds(const Binding& binding, const BoundCall& call);
/// Same as call_nanoseconds, also right for operators that take far longer than the elements of
/// their operands suggest.
[[nodiscard]] double max_nanoseconds(const Binding& binding, const BoundCall& call);
/// Returns the estimate for the calls in instructions [first, last), each counted once.
[[nodiscard]] double nanoseconds_of(const Binding& binding, std::uint32_t first,
                                    std::uint32_t last);
/// Returns the estimate for the calls from instruction `first` on that do not charge themselves.
/// Excludes calls inside later loops and branches.
[[nodiscard]] double uncharged_nanoseconds(const Binding& binding, std::uint32_t first);
/// Returns the estimate for one step of a stepped loop.
[[nodiscard]] double step_nanoseconds(const Binding& binding, const BoundLoop& loop);
/// Same as step_nanoseconds, without what takes as long in machine code: products of bytes are
/// calls of the same kernel there.
[[nodiscard]] double compilable_nanoseconds(const Binding& binding, const BoundLoop& loop);
/// Same as step_nanoseconds, but each inner loop counts with its trip count, as far as known.
[[nodiscard]] double whole_step_nanoseconds(const Binding& binding, const BoundLoop& loop);

}  // namespace scanloom::plan
