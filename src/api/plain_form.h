// The plain form of a module: as written, without duplicates and with constants folded, before the
// passes that optimise for speed. Other formats can express it, and its loops are the user's.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom {

/// Whether sequences that a loop appends to become stacked rows: for formats without sequences.
enum class Sequences : bool { stay, become_stacks };

/// Whether branches with a known condition are replaced by the region taken.
enum class KnownBranches : bool { stay, go };

/// `disabled`: further passes to skip.
Expected<void> to_plain_form(ir::Module& module, const std::vector<std::string>& disabled = {},
                             Sequences sequences = Sequences::stay,
                             KnownBranches branches = KnownBranches::stay);

/// The names of the passes to disable so that operators take their plainest forms, which have
/// gradients, while loops stay as written.
std::vector<std::string> passes_beyond_gradients();

}  // namespace scanloom
