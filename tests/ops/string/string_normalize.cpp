#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> string_normalize_samples() {
  return {
      {.name = "stopwords_in_any_case",
       .inputs = {strings({1, 3}, {"Monday", "tuesday", "MONDAY"})},
       .attrs = {{"change", "none"}, {"sensitive", 0}, {"stopwords", strings({1}, {"monday"})}},
       .outputs = {strings({1, 1}, {"tuesday"})}},
      {.name = "stopwords_as_they_are",
       .inputs = {strings({3}, {"Monday", "tuesday", "monday"})},
       .attrs = {{"change", "upper"}, {"sensitive", 1}, {"stopwords", strings({1}, {"monday"})}},
       .outputs = {strings({2}, {"MONDAY", "TUESDAY"})}},
      {.name = "nothing_left",
       .inputs = {strings({2}, {"a", "a"})},
       .attrs = {{"change", "lower"}, {"sensitive", 1}, {"stopwords", strings({1}, {"a"})}},
       .outputs = {strings({1}, {""})}},
      {.name = "other_alphabets",
       .inputs = {strings({4}, {"\xc3\x84\xc3\x96", "\xd0\x9f\xd0\xa0", "\xce\xa9", "\xff"})},
       .attrs = {{"change", "lower"}, {"sensitive", 1}},
       .outputs = {strings({4}, {"\xc3\xa4\xc3\xb6", "\xd0\xbf\xd1\x80", "\xcf\x89", "\xff"})}},
      {.name = "upper_of_neighbouring_pairs",
       .inputs = {strings({2}, {"\xc4\x81\xc5\xbe", "\xc3\x9f"})},
       .attrs = {{"change", "upper"}, {"sensitive", 1}},
       .outputs = {strings({2}, {"\xc4\x80\xc5\xbd", "\xc3\x9f"})}},
      {.name = "two_rows",
       .inputs = {strings({2, 1}, {"a", "b"})},
       .attrs = {{"change", "none"}, {"sensitive", 1}},
       .error = "x is string[2,1], but must have one axis"},
      {.name = "strange_change",
       .inputs = {strings({1}, {"a"})},
       .attrs = {{"change", "title"}, {"sensitive", 1}},
       .error = "the change of case is 'title'"},
  };
}

}  // namespace scanloom::ops
