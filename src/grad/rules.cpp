#include "grad/rules.h"

#include <map>

namespace scanloom::autodiff {

const tensor::Attr& Pull::attr(std::string_view name) const {
  return node->attrs[static_cast<std::size_t>(node->op->attr_index(name))];
}

void Pull::give(std::size_t i, const Expr& cotangent) {
  if (!wanted[i]) return;
  const Expr& x = in(i);
  if (cotangent.error() != nullptr) {
    result[i] = cotangent;
    return;
  }
  // If no other operand is wider, nothing was broadcast.
  bool repeated = cotangent.rank() != x.rank();
  for (std::size_t j = 0; j < node->inputs.size() && !repeated; ++j) {
    if (j == i || !in(j).defined()) continue;
    const auto sizes = in(j).sizes();
    for (std::size_t axis = 0; axis < sizes.size() && !repeated; ++axis) {
      const std::int64_t own = x.sizes()[axis + static_cast<std::size_t>(x.rank() - in(j).rank())];
      repeated = sizes[axis] != 1 && (own < 0 || own == 1) && !(in(j) == x);
    }
  }
  result[i] = repeated ? sum_to(cotangent, shape(x)) : cotangent;
}

const RuleRow* find_rule(const ir::OpDef& op) {
  static const std::map<const ir::OpDef*, const RuleRow*> rows = [] {
    std::map<const ir::OpDef*, const RuleRow*> all;
    for (const auto& part :
         {elementwise_rules(), reduction_rules(), product_rules(), convolution_rules(),
          matrix_rules(), pool_rules(), recurrent_rules(), fourier_rules(), shape_rules(),
          index_rules(), complex_rules(), remaining_rules()})
      for (const RuleRow& row : part) all.emplace(row.op, &row);
    return all;
  }();
  const auto found = rows.find(&op);
  return found == rows.end() ? nullptr : found->second;
}

}  // namespace scanloom::autodiff
