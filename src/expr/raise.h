// From a module of the IR to expressions: the way back of lower.
#pragma once

#include <vector>

#include "expr/node.h"
#include "ir/module.h"

namespace scanloom::expr {

struct Raised {
  std::vector<Expr> inputs;  ///< placeholders, named as the arguments of the module are
  std::vector<Expr> outputs;
};

/// The expressions that a module computes. Sizes that only a run knows are open, also where the
/// module relates them. Error: unsupported, a value that is no tensor or of an unknown number of
/// axes, by the name of its node.
[[nodiscard]] Expected<Raised> raise(const ir::Module& module);

}  // namespace scanloom::expr
