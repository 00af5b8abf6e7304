// Every operator has a gradient rule, or states why it has none.
#include "grad/rules.h"

#include <set>

#include <gtest/gtest.h>

#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

/// Operators whose results are never floating point, so that no gradient is expected of them.
const std::set<std::string_view>& without_real_results() {
  static const std::set<std::string_view> names{
      // Integers and booleans.
      "argmax", "argmin", "bit_and", "bit_not", "bit_or", "bit_xor", "check_equal", "equal",
      "image_decode", "is_inf", "is_nan", "less", "less_equal", "logical_and", "logical_not",
      "logical_or", "logical_xor", "non_max_suppression", "non_zero", "optional_has_element",
      "regex_full_match", "sequence_length", "shift_left", "shift_right",
      // Texts.
      "string_concat", "string_format", "string_normalize", "string_pack", "string_parse",
      "string_split", "string_unpack", "tokenize",
      // Maps, sequences and optionals, and their items: expressions are tensors.
      "map_gather", "map_values", "zip_map", "optional", "optional_empty", "optional_get_element",
      "sequence_at", "sequence_concat", "sequence_construct", "sequence_empty", "sequence_erase",
      "sequence_insert", "sequence_split"};
  return names;
}

TEST(Rules, ThereIsOneOfEveryOperatorOrAReason) {
  for (const ir::OpDef* op : ops::all_ops()) {
    const RuleRow* row = find_rule(*op);
    if (without_real_results().contains(op->name)) {
      EXPECT_EQ(row, nullptr) << op->name;
      continue;
    }
    ASSERT_NE(row, nullptr) << op->name;
    const int told = (row->rule != nullptr) + row->constant + !row->reason.empty();
    EXPECT_EQ(told, 1) << op->name;
  }
}

}  // namespace
}  // namespace scanloom::autodiff
