// What is known of a model's inputs before it is converted or differentiated: sizes and values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/impl.h"

namespace scanloom {

/// By the names of inputs, as in FromOnnxOptions and ConvertOptions.
struct FixedInputs {
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& sizes;
  const std::vector<std::pair<std::string, View>>& values;

  [[nodiscard]] bool any() const { return !sizes.empty() || !values.empty(); }
};

/// Inputs get the sizes; those with values become constants and are inputs no more. Types are
/// inferred again. Errors: not_found and invalid_argument, naming the input; those of inference.
Expected<void> fix_inputs(Loaded& loaded, const FixedInputs& fixed);

}  // namespace scanloom
