#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> string_split_samples() {
  return {
      {.name = "dots",
       .inputs = {strings({2}, {"abc.com", "a.b.c"})},
       .attrs = {{"delimiter", "."}, {"most", -1}},
       .outputs = {strings({2, 3}, {"abc", "com", "", "a", "b", "c"}), i64({2}, {2, 3})}},
      {.name = "consecutive_delimiters",
       .inputs = {strings({2}, {"o-n-n--x-", "o-n----nx"})},
       .attrs = {{"delimiter", "-"}, {"most", -1}},
       .outputs = {strings({2, 6}, {"o", "n", "n", "", "x", "", "o", "n", "", "", "", "nx"}),
                   i64({2}, {6, 6})}},
      {.name = "white_space",
       .inputs = {strings({2}, {"  hello\t world ! ", " \xe3\x80\x80x\xc2\xa0y\n"})},
       .attrs = {{"delimiter", ""}, {"most", -1}},
       .outputs = {strings({2, 3}, {"hello", "world", "!", "x", "y", ""}), i64({2}, {3, 2})}},
      {.name = "at_most_one",
       .inputs = {strings({2}, {"  1  2   3  ", "4"})},
       .attrs = {{"delimiter", ""}, {"most", 1}},
       .outputs = {strings({2, 2}, {"1", "2   3  ", "4", ""}), i64({2}, {2, 1})}},
      {.name = "at_most_two_at_delimiters",
       .inputs = {strings({}, {"a::b::c::d"})},
       .attrs = {{"delimiter", "::"}, {"most", 2}},
       .outputs = {strings({3}, {"a", "b", "c::d"}), i64({}, {3})}},
      {.name = "no_split_at_all",
       .inputs = {strings({1}, {" a b "})},
       .attrs = {{"delimiter", ""}, {"most", 0}},
       .outputs = {strings({1, 1}, {"a b "}), i64({1}, {1})}},
      {.name = "empty_strings",
       .inputs = {strings({1}, {""})},
       .attrs = {{"delimiter", ""}, {"most", -1}},
       .outputs = {strings({1, 0}, {}), i64({1}, {0})}},
      {.name = "empty_strings_at_delimiters",
       .inputs = {strings({1}, {""})},
       .attrs = {{"delimiter", ","}, {"most", -1}},
       .outputs = {strings({1, 1}, {""}), i64({1}, {1})}},
      {.name = "no_strings",
       .inputs = {strings({0}, {})},
       .attrs = {{"delimiter", ","}, {"most", -1}},
       .outputs = {strings({0, 0}, {}), i64({0}, {})}},
  };
}

}  // namespace scanloom::ops
