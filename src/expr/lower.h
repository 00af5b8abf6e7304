// From expressions to a module of the IR.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "expr/node.h"
#include "ir/module.h"

namespace scanloom::expr {

struct Lowered {
  ir::Module module;
  /// Arguments of the graph behind the inputs: shared variables, in the order of their making.
  std::vector<Expr> shared;
};

/// The name itself, or one made of it that no other has; those are in `used`.
[[nodiscard]] std::string distinct(const std::string& name, std::set<std::string>& used);

/// The module of a function: its arguments are `inputs` and the shared variables that the outputs
/// read, its yields the outputs. Results are called by `output_names`, or, where that has no entry
/// or an empty one, by the expression. Errors: what an output holds; a placeholder that is no
/// input.
[[nodiscard]] Expected<Lowered> lower(std::span<const Expr> inputs, std::span<const Expr> outputs,
                                      const std::string& name,
                                      std::span<const std::string> output_names = {});

}  // namespace scanloom::expr
