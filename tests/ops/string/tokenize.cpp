#include "tests/ops/samples.h"

namespace scanloom::ops {
namespace {

std::vector<ir::NamedAttr> tokenize_attrs(const char* expression, int between, int least,
                                          int marks) {
  return {{"expression", expression},
          {"between", between},
          {"least", least},
          {"pad", "#"},
          {"marks", marks}};
}

}  // namespace

std::vector<Sample> tokenize_samples() {
  return {
      {.name = "words",
       .inputs = {strings({2}, {"to be, or", "  not "})},
       .attrs = tokenize_attrs("[a-z]+", 0, 1, 0),
       .outputs = {strings({2, 3}, {"to", "be", "or", "not", "#", "#"})}},
      {.name = "characters",
       .inputs = {strings({1, 2}, {"a\xc3\xa9", "b"})},
       .attrs = tokenize_attrs("(?s:.)", 0, 1, 0),
       .outputs = {strings({1, 2, 2}, {"a", "\xc3\xa9", "b", "#"})}},
      {.name = "between_separators_of_two_characters_or_more",
       .inputs = {strings({1}, {"ab;c;def"})},
       .attrs = tokenize_attrs(";", 1, 2, 0),
       .outputs = {strings({1, 2}, {"ab", "def"})}},
      {.name = "marks",
       .inputs = {strings({2}, {"a b", "c"})},
       .attrs = tokenize_attrs(" ", 1, 1, 1),
       .outputs = {strings({2, 4}, {"\x02", "a", "b", "\x03", "\x02", "c", "#", "\x03"})}},
      {.name = "an_expression_that_matches_nothing",
       .inputs = {strings({1}, {"ab"})},
       .attrs = tokenize_attrs("x*", 0, 1, 1),
       .outputs = {strings({1, 0}, {})}},
      {.name = "no_expression",
       .inputs = {strings({1}, {"ab"})},
       .attrs = tokenize_attrs("(", 0, 1, 0),
       .error = "the expression '(' is not an RE2 expression"},
  };
}

}  // namespace scanloom::ops
