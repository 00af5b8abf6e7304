// The names of sizes as the model gives them. The text form of the IR quotes those that are not
// identifiers.
#pragma once

#include <string>

#include "tensor/dim.h"

namespace scanloom::tensor {

/// Returns the name of a symbol, without the quotes and escapes of DimTable::to_string(); empty for
/// any other size.
[[nodiscard]] std::string symbol_name(const DimTable& dims, Dim dim);

}  // namespace scanloom::tensor
