// Modules in text form, bound to the sizes that they fix, for tests of reports.
#pragma once

#include <memory>
#include <string>

#include "ir/module.h"
#include "plan/binding.h"

namespace scanloom::report::test {

/// Adds up the rows of "xs", [steps, 2]: a loop of one node, and a node after it.
std::string sums_text(std::int64_t steps);

/// Throws std::runtime_error for text that is no module.
ir::Module module_of(const std::string& text);

/// Binds the module without a loop compiler, so that its loops are stepped everywhere.
std::shared_ptr<const plan::Binding> bound(const std::string& text);

}  // namespace scanloom::report::test
