// Turns a module of the IR into expressions: the opposite of lower.
#pragma once

#include <vector>

#include "expr/node.h"
#include "ir/module.h"

namespace scanloom::expr {

struct Raised {
  std::vector<Expr> inputs;  ///< placeholders, named like the arguments of the module
  std::vector<Expr> outputs;
};

/// Returns the expressions that a module computes. Sizes that are known only at run time are open,
/// even if the module relates them. Error: unsupported, a value that is not a tensor or has an
/// unknown rank, named by its node.
[[nodiscard]] Expected<Raised> raise(const ir::Module& module);

}  // namespace scanloom::expr
