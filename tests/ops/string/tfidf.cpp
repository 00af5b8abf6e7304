#include "tests/ops/samples.h"

namespace scanloom::ops {
namespace {

using Integers = std::vector<std::int64_t>;

/// Attributes with the pool of ONNX's own tests: 2, 3, 5, 4 and the pairs 5 6, 7 8, 6 7.
std::vector<ir::NamedAttr> pooled(const char* mode, std::int64_t least, std::int64_t most,
                                  std::int64_t skips, std::vector<double> weights = {},
                                  Integers starts = {0, 4},
                                  Integers columns = {0, 1, 2, 3, 4, 5, 6}) {
  return {{"pool", i64({10}, {2, 3, 5, 4, 5, 6, 7, 8, 6, 7})},
          {"starts", std::move(starts)},
          {"columns", std::move(columns)},
          {"weights", std::move(weights)},
          {"least", least},
          {"most", most},
          {"skips", skips},
          {"mode", mode}};
}

Tensor words() { return i32({12}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8}); }

}  // namespace

std::vector<Sample> tfidf_samples() {
  return {
      {.name = "bigrams",
       .inputs = {words()},
       .attrs = pooled("TF", 2, 2, 0),
       .outputs = {f32({7}, {0, 0, 0, 0, 1, 1, 1})}},
      {.name = "bigrams_with_skips",
       .inputs = {words()},
       .attrs = pooled("TF", 2, 2, 5),
       .outputs = {f32({7}, {0, 0, 0, 0, 1, 3, 1})}},
      {.name = "single_elements_too",
       .inputs = {words()},
       .attrs = pooled("TF", 1, 2, 5),
       .outputs = {f32({7}, {0, 3, 1, 0, 1, 3, 1})}},
      {.name = "rows",
       .inputs = {i64({2, 6}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8})},
       .attrs = pooled("TF", 1, 2, 5),
       .outputs = {f32({2, 7}, {0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1})}},
      {.name = "weights",
       .inputs = {words()},
       .attrs = pooled("TFIDF", 1, 2, 5, {1, 2, 3, 4, 5, 6, 7}),
       .outputs = {f32({7}, {0, 6, 3, 0, 5, 18, 7})}},
      {.name = "weights_alone",
       .inputs = {words()},
       .attrs = pooled("IDF", 1, 2, 5, {1, 2, 3, 4, 5, 6, 7}),
       .outputs = {f32({7}, {0, 2, 3, 0, 5, 6, 7})}},
      {.name = "strings",
       .inputs = {strings({3}, {"a", "b", "a"})},
       .attrs = {{"pool", strings({2}, {"b", "a"})},
                 {"starts", Integers{0}},
                 {"columns", Integers{2, 0}},
                 {"weights", std::vector<double>{}},
                 {"least", 1},
                 {"most", 1},
                 {"skips", 0},
                 {"mode", "TF"}},
       .outputs = {f32({3}, {2, 0, 1})}},
      {.name = "huge_skips",
       .inputs = {i64({2}, {5, 6})},
       .attrs = pooled("TF", 2, 2, std::numeric_limits<std::int64_t>::max()),
       .outputs = {f32({7}, {0, 0, 0, 0, 1, 0, 0})}},
      {.name = "columns_too_few",
       .inputs = {i64({2}, {5, 6})},
       .attrs = pooled("TF", 1, 2, 0, {}, {0, 4}, {0, 1}),
       .error = "the pool holds 7 grams, but 2 columns are named"},
      {.name = "no_whole_grams",
       .inputs = {i64({2}, {5, 6})},
       .attrs = pooled("TF", 1, 2, 0, {}, {0, 5}),
       .error = "5 elements of the pool are not a multiple of grams of 2"},
      {.name = "grams_too_long",
       .inputs = {i64({2}, {5, 6})},
       .attrs = pooled("TF", 1, 3, 0),
       .error = "grams have 1 to 3 elements, but the pool has grams of 1 to 2"},
  };
}

}  // namespace scanloom::ops
