// Carried values of loops that are counters: each step adds the same number. Passes ask before
// sizes are known, binding when they are.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/infer.h"
#include "ir/module.h"

namespace scanloom::ops {

/// Returns what each step adds to a carried value; nullopt where it is no counter: one i64. With
/// `inference`, numbers that the sizes of the inputs decide count too, not only constants.
std::optional<std::int64_t> increment_of(const ir::Module& module, ir::NodeId loop,
                                         std::uint32_t carried,
                                         const ir::Inference* inference = nullptr);

}  // namespace scanloom::ops
