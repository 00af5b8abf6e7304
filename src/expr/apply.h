// Making nodes: operands are checked and result types inferred at once, so that a misuse is an
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

/// The result of one node; attributes by name. Of several results see apply_all. Errors are held
/// by the result.
[[nodiscard]] Expr apply(const ir::OpDef& op, std::vector<Expr> inputs,
                         std::vector<NamedAttr> attrs = {});
[[nodiscard]] std::vector<Expr> apply_all(const ir::OpDef& op, std::vector<Expr> inputs,
                                          std::vector<NamedAttr> attrs, std::size_t outputs);
/// The same with the attributes in the order of the OpDef.
[[nodiscard]] std::vector<Expr> apply_attrs(const ir::OpDef& op, std::vector<Expr> inputs,
                                            std::vector<tensor::Attr> attrs, std::size_t outputs);

/// The same expression, whose node errors of a run call by these words: what the user has written,
/// where that is made of several operators.
[[nodiscard]] Expr told_as(Expr made, const std::string& words);
/// An operand in such words: its name in quotes, or what has made it.
[[nodiscard]] std::string called(const Expr& x);
/// A node of an operator without attributes that is computed as it stands (expr/stable.h).
[[nodiscard]] Expr apply_as_written(const ir::OpDef& op, std::vector<Expr> inputs);

/// A vector of i64.
[[nodiscard]] Expr integers(const std::vector<std::int64_t>& values);
/// A scalar i64.
[[nodiscard]] Expr integer(std::int64_t value);

}  // namespace scanloom::expr
