// The plain form of a module: what was written, once and with constants folded, before the passes
// that are about speed. Other formats have forms for it, and its loops are those that users know.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom {

/// Whether sequences that a loop grows become the rows that it stacks: for formats without
/// sequences.
enum class Sequences : bool { stay, become_stacks };

/// Whether branches whose side is known give way to it.
enum class KnownBranches : bool { stay, go };

/// `disabled`: passes to leave out, too.
Expected<void> to_plain_form(ir::Module& module, const std::vector<std::string>& disabled = {},
                             Sequences sequences = Sequences::stay,
                             KnownBranches branches = KnownBranches::stay);

}  // namespace scanloom
