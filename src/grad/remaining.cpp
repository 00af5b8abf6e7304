// Operators without a gradient that is worth having here, and why.
#include "grad/rules.h"
#include "ops/ops.h"

namespace scanloom::autodiff {

std::span<const RuleRow> remaining_rules() {
  static const RuleRow rows[] = {
      {.op = &ops::draw_op, .rule = nullptr, .constant = true},
      {.op = &ops::random_op, .rule = nullptr, .constant = true},
      {.op = &ops::quantize_linear_op, .rule = nullptr, .reason = "its steps are flat"},
      {.op = &ops::range_op, .rule = nullptr, .reason = "its length depends on its operands"},
  };
  return rows;
}

}  // namespace scanloom::autodiff
