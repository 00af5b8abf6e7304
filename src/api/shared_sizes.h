// Sizes that a model declares equal by giving them one name. Passes and inference rely on that, but
// some published models contradict themselves. Feeds that do are found before the run.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ir/module.h"
#include "tensor/shape.h"

namespace scanloom {

/// An axis of an input.
struct InputAxis {
  std::size_t input = 0;
  int axis = 0;
};

/// Two axes that the model gives the same name.
struct SharedSize {
  std::string name;
  InputAxis first, second;
};

/// Returns the axes of the first `inputs` inputs that repeat a name, each paired with the first
/// axis of that name.
[[nodiscard]] std::vector<SharedSize> shared_sizes(const ir::Module& module, std::size_t inputs);

/// Returns the first pair whose sizes differ, or nullptr. Axes that a shape lacks are ignored.
[[nodiscard]] const SharedSize* find_contradiction(std::span<const SharedSize> shared,
                                                   std::span<const tensor::Shape> shapes);

}  // namespace scanloom
