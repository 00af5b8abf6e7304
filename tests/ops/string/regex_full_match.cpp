#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> regex_full_match_samples() {
  return {
      {.name = "whole_string",
       .inputs = {strings({3}, {"www.google.com", "www.bbc.co.uk", "xwww.a.com"})},
       .attrs = {{"pattern", R"(www\.[\w.-]+\.\bcom\b)"}},
       .outputs = {booleans({3}, {true, false, false})}},
      {.name = "alternatives",
       .inputs = {strings({2}, {"account@gmail.com", "account@hotmail.com"})},
       .attrs = {{"pattern", R"((\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$))"}},
       .outputs = {booleans({2}, {true, false})}},
      {.name = "letters_of_several_bytes",
       .inputs = {strings({3}, {"\xc3\xa4", "ab", "\xff"})},
       .attrs = {{"pattern", "."}},
       .outputs = {booleans({3}, {true, false, false})}},
      {.name = "exponential_elsewhere",
       .inputs = {strings({1},
                          {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"})},
       .attrs = {{"pattern", "(a*)*(a*)*c"}},
       .outputs = {booleans({1}, {false})}},
      {.name = "nothing",
       .inputs = {strings({2, 0}, {})},
       .attrs = {{"pattern", "a"}},
       .outputs = {booleans({2, 0}, {})}},
      {.name = "no_pattern",
       .inputs = {strings({1}, {"a"})},
       .attrs = {{"pattern", "(a"}},
       .error = "the pattern '(a' is not an RE2 expression"},
      {.name = "repeated_too_often",
       .inputs = {strings({1}, {"a"})},
       .attrs = {{"pattern", "((a{100}){100}){100}"}},
       .error = "is not an RE2 expression"},
  };
}

}  // namespace scanloom::ops
