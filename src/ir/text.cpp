#include "ir/text.h"

#include "ir/op_def.h"

namespace scanloom::ir::text {

std::string_view region_label(const OpDef* op, std::size_t index) {
  if (op == &loop_op) return "body";
  if (op == &branch_op) return index == 0 ? "then" : "else";
  return "region";
}

std::string described_node(std::string_view op) {
  const bool vowel =
      !op.empty() && std::string_view("aeiou").find(op.front()) != std::string_view::npos;
  return (vowel ? "an " : "a ") + std::string(op) + " node";
}

}  // namespace scanloom::ir::text
