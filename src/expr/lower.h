// Lowers expressions to a module of the IR.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "expr/node.h"
#include "ir/module.h"

namespace scanloom::expr {

struct Lowered {
  ir::Module module;
  /// The arguments of the graph after the inputs: shared variables, in the order of their creation.
  std::vector<Expr> shared;
};

/// Returns the name, or a variant of it that is not in `used`, and adds it there.
[[nodiscard]] std::string distinct(const std::string& name, std::set<std::string>& used);

/// Returns the module of a function. Its arguments are `inputs` and the shared variables that the
/// outputs read; its yields are the outputs. Results are named by `output_names`, or by the
/// expression if that has no entry or an empty one. Errors: any that an output holds; a placeholder
/// that is not an input.
[[nodiscard]] Expected<Lowered> lower(std::span<const Expr> inputs, std::span<const Expr> outputs,
                                      const std::string& name,
                                      std::span<const std::string> output_names = {});

}  // namespace scanloom::expr
