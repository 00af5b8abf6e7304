// Names that passes had before. Options that give one keep working: a pass that is renamed adds a
// row, and none is ever removed.
#pragma once

#include <string_view>

namespace scanloom::passes {

struct FormerName {
  std::string_view former, current;
};

inline constexpr FormerName kFormerNames[] = {
    {"fewer_steps", "trim_trip_count"},         {"inline_short_loop", "unroll_short_loop"},
    {"merge_loops", "fuse_sibling_loops"},      {"spell_out", "decompose_reductions"},
    {"spell_softmax", "decompose_softmax"},     {"split_states", "scalarize_states"},
    {"turn_captured", "pretranspose_captured"}, {"widen_halves", "widen_f16"},
};

/// The name that the pass has today; the same name where no pass was called so.
constexpr std::string_view current_name(std::string_view name) {
  for (const FormerName& row : kFormerNames)
    if (row.former == name) return row.current;
  return name;
}

}  // namespace scanloom::passes
