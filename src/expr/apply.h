// Makes nodes. Operands are checked and result types inferred immediately, so that a misuse is an
// error where it was written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

struct NamedAttr {
  std::string_view name;
  tensor::Attr value;
};

/// Returns the result of one node, which may hold an error. Attributes are given by name. For
/// operators with several results use apply_all.
[[nodiscard]] Expr apply(const ir::OpDef& op, std::vector<Expr> inputs,
                         std::vector<NamedAttr> attrs = {});
[[nodiscard]] std::vector<Expr> apply_all(const ir::OpDef& op, std::vector<Expr> inputs,
                                          std::vector<NamedAttr> attrs, std::size_t outputs);
/// The same, with the attributes in the order of the OpDef.
[[nodiscard]] std::vector<Expr> apply_attrs(const ir::OpDef& op, std::vector<Expr> inputs,
                                            std::vector<tensor::Attr> attrs, std::size_t outputs);

/// Returns the same expression with the words by which run-time errors name its node: what the user
/// wrote, if that consists of several operators.
[[nodiscard]] Expr told_as(Expr made, const std::string& words);
/// Describes an operand for such words: its name in quotes, or what made it.
[[nodiscard]] std::string called(const Expr& x);
/// Makes a node of an operator without attributes that is computed as written, without a stable
/// form (expr/stable.h).
[[nodiscard]] Expr apply_as_written(const ir::OpDef& op, std::vector<Expr> inputs);

/// A vector of i64.
[[nodiscard]] Expr integers(const std::vector<std::int64_t>& values);
/// A scalar i64.
[[nodiscard]] Expr integer(std::int64_t value);

}  // namespace scanloom::expr
