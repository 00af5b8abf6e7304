// Counts every heap allocation of the test process, so that a test can show that steps make none.
#pragma once

#include <cstdint>

namespace scanloom::runtime::testing {

std::int64_t allocations();

}  // namespace scanloom::runtime::testing
