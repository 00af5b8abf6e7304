// Which values of the top region are stored with their channels last: results of convolutions in
// blocks of filters, and of what merges or pools these, if all that reads them takes them so. Then
// no result is transposed, and no input is split into planes. The layout is nothing but strides, so
// a kernel that does not know it still computes the same numbers.
#pragma once

#include <vector>

namespace scanloom::plan {

struct BindContext;

/// Returns the values, by ValueId. Precondition: find_fusion() is done.
[[nodiscard]] std::vector<bool> find_channels_last(const BindContext& ctx);

}  // namespace scanloom::plan
