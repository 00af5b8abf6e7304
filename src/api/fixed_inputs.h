// Sizes and values of a model's inputs that are known before it is converted or differentiated.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/impl.h"

namespace scanloom {

/// By name of input, as in FromOnnxOptions and ConvertOptions.
struct FixedInputs {
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& sizes;
  const std::vector<std::pair<std::string, View>>& values;

  [[nodiscard]] bool any() const { return !sizes.empty() || !values.empty(); }
};

/// Sets the sizes of inputs, and turns inputs with values into constants. Infers the types again.
/// Errors: not_found and invalid_argument, naming the input; those of inference.
Expected<void> fix_inputs(Loaded& loaded, const FixedInputs& fixed);

}  // namespace scanloom
