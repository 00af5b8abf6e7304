// Sizes that a model declares to be equal by giving them one name: passes and inference rely on
// that, but published models contradict themselves. Feeds that do are found before the run.
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

/// Returns the axes of the first `inputs` inputs that repeat a name, each with the first one of
/// that name.
[[nodiscard]] std::vector<SharedSize> shared_sizes(const ir::Module& module, std::size_t inputs);

/// Returns the first pair whose sizes differ; nullptr where there is none. Axes that a shape lacks
/// count as equal to any.
[[nodiscard]] const SharedSize* find_contradiction(std::span<const SharedSize> shared,
                                                   std::span<const tensor::Shape> shapes);

}  // namespace scanloom
