// Splits the module of a function from its updates of shared variables: next values that are the
// current value with parts overwritten are replaced by what is written (api/part_updates.h).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "api/part_updates.h"
#include "ir/module.h"

namespace scanloom {

/// The results of a module that are next values of variables, from `first` on; for each, the
/// argument that is the variable's current value, if any.
struct UpdateSites {
  std::size_t first = 0;
  std::vector<std::optional<std::size_t>> arguments;
};

struct SplitUpdates {
  ir::Module module;
  std::vector<SharedUpdate> updates;  ///< by site
};

/// Rewrites the module: for each next value that is the argument with parts overwritten, also in
/// regions of branches, it yields only what is written and the conditions of the branches. Next
/// values that are also read elsewhere stay whole. Errors: out_of_memory.
Expected<SplitUpdates> split_updates(ir::Module module, const UpdateSites& sites);

}  // namespace scanloom
