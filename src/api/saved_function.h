// A function as bytes: the text of its module, followed by the elements of shared variables and of
// long constants. Nothing in it is executed; docs/saved-functions.md describes the format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom {

struct SavedFunction {
  struct Variable {
    std::string name;
    std::vector<std::int64_t> sizes;  ///< of its type; -1: open
    tensor::Tensor value;
    std::int64_t update = -1;  ///< the result that is its next value; -1: not updated
  };

  std::string note;  ///< the caller's, not interpreted
  std::int64_t inputs = 0, outputs = 0;
  std::vector<Variable> shared;  ///< arguments after the inputs first, then those that are only
                                 ///< updated
  std::int64_t read = 0;         ///< how many of them are arguments
  ir::Module module;             ///< without passes
};

/// Whether the bytes begin like a saved function.
[[nodiscard]] bool is_saved_function(std::string_view bytes);

[[nodiscard]] std::string to_bytes(const SavedFunction& function);

/// Errors: invalid_model (not a saved function, damaged), unsupported (a newer format).
[[nodiscard]] Expected<SavedFunction> function_of_bytes(std::string_view bytes);

}  // namespace scanloom
