// The plain form of a module: what was written, once and with constants folded, before the passes
// that are about speed. Other formats have forms for it, and its loops are those that users know.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom {

/// `disabled`: passes to leave out, too.
Expected<void> to_plain_form(ir::Module& module, const std::vector<std::string>& disabled = {});

}  // namespace scanloom
