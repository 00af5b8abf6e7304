#include "tests/ops/samples.h"

namespace scanloom::ops {

namespace {

std::vector<Sample> scatter_elements_first_part() {
  return {
      {.name = "rows",
       .inputs = {f32({3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}), i64({2, 3}, {1, 0, 2, 0, 2, 1}),
                  f32({2, 3}, {1.5, 1.25, 1, 2, 2.5, 2.25})},
       .attrs = {{"axis", 0}, {"reduction", "none"}},
       .outputs = {f32({3, 3}, {2, 1.25, 2, 1.5, 4, 2.25, 6, 2.5, 1})}},
      {.name = "columns_negative",
       .inputs = {f32({3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}), i64({3, 1}, {-1, -3, 1}),
                  f32({3, 1}, {7, 8, 9})},
       .attrs = {{"axis", -1}, {"reduction", "none"}},
       .outputs = {f32({3, 3}, {0, 1, 7, 8, 4, 5, 6, 9, 8})}},
      {.name = "repeated_none",
       .inputs = {f32({1, 3}, {4, 2, 3}), i64({1, 4}, {1, 1, 1, -1}), f32({1, 4}, {5, 1, 6, -3})},
       .attrs = {{"axis", 1}, {"reduction", "none"}},
       .outputs = {f32({1, 3}, {4, 6, -3})}},
      {.name = "repeated_add",
       .inputs = {f32({1, 3}, {4, 2, 3}), i64({1, 4}, {1, 1, 1, -1}), f32({1, 4}, {5, 1, 6, -3})},
       .attrs = {{"axis", 1}, {"reduction", "add"}},
       .outputs = {f32({1, 3}, {4, 14, 0})}},
      {.name = "repeated_mul",
       .inputs = {f32({1, 3}, {4, 2, 3}), i64({1, 4}, {1, 1, 1, -1}), f32({1, 4}, {5, 1, 6, -3})},
       .attrs = {{"axis", 1}, {"reduction", "mul"}},
       .outputs = {f32({1, 3}, {4, 60, -9})}},
      {.name = "repeated_max",
       .inputs = {f32({1, 3}, {4, 2, 3}), i64({1, 4}, {1, 1, 1, -1}), f32({1, 4}, {5, 1, 6, -3})},
       .attrs = {{"axis", 1}, {"reduction", "max"}},
       .outputs = {f32({1, 3}, {4, 6, 3})}},
      {.name = "repeated_min",
       .inputs = {f32({1, 3}, {4, 2, 3}), i64({1, 4}, {1, 1, 1, -1}), f32({1, 4}, {5, 1, 6, -3})},
       .attrs = {{"axis", 1}, {"reduction", "min"}},
       .outputs = {f32({1, 3}, {4, 1, -3})}},
      {.name = "int32_indices",
       .inputs = {i64({3}, {1, 2, 3}), i32({2}, {2, 0}), i64({2}, {9, 8})},
       .attrs = {{"axis", 0}, {"reduction", "add"}},
       .outputs = {i64({3}, {9, 2, 12})}},
      {.name = "integers_wrap",
       .inputs = {u8({2}, {250, 3}), i64({2}, {0, 1}), u8({2}, {10, 100})},
       .attrs = {{"axis", 0}, {"reduction", "mul"}},
       .outputs = {u8({2}, {196, 44})}},
      {.name = "signed_min_max",
       .inputs = {integers(DType::i8, {2}, {-5, 3}), i64({3}, {0, 0, 1}),
                  integers(DType::i8, {3}, {-7, 2, 9})},
       .attrs = {{"axis", 0}, {"reduction", "min"}},
       .outputs = {integers(DType::i8, {2}, {-7, 3})}},
      {.name = "half_rounds_each_time",
       .inputs = {floats(DType::f16, {1}, {2048}), i64({2}, {0, 0}),
                  floats(DType::f16, {2}, {1, 1})},
       .attrs = {{"axis", 0}, {"reduction", "add"}},
       .outputs = {floats(DType::f16, {1}, {2048})}},
      {.name = "booleans",
       .inputs = {booleans({3}, {true, false, true}), i64({3}, {0, 1, 2}),
                  booleans({3}, {false, true, false})},
       .attrs = {{"axis", 0}, {"reduction", "max"}},
       .outputs = {booleans({3}, {true, true, true})}},
      {.name = "not_a_number",
       .inputs = {f32({2}, {1, 2}), i64({2}, {0, 1}), f32({2}, {kNan, 1})},
       .attrs = {{"axis", 0}, {"reduction", "max"}},
       .outputs = {f32({2}, {kNan, 2})}},
      {.name = "words",
       .inputs = {strings({3}, {"a", "b", "c"}), i64({1}, {2}), strings({1}, {"z"})},
       .attrs = {{"axis", 0}, {"reduction", "none"}},
       .outputs = {strings({3}, {"a", "b", "z"})}},
      {.name = "nothing",
       .inputs = {f32({1, 3}, {4, 2, 3}), i64({0, 3}, {}), f32({0, 3}, {})},
       .attrs = {{"axis", 0}, {"reduction", "none"}},
       .outputs = {f32({1, 3}, {4, 2, 3})}},
      {.name = "index_outside",
       .inputs = {f32({1, 3}, {4, 2, 3}), i64({1, 1}, {3}), f32({1, 1}, {1})},
       .attrs = {{"axis", 1}, {"reduction", "none"}},
       .error = "index 3 is outside an axis of 3 elements"},
      {.name = "index_below",
       .inputs = {f32({1, 3}, {4, 2, 3}), i64({1, 1}, {-4}), f32({1, 1}, {1})},
       .attrs = {{"axis", 1}, {"reduction", "add"}},
       .error = "index -4 is outside an axis of 3 elements"},
      {.name = "unlike_updates",
       .inputs = {f32({1, 3}, {4, 2, 3}), i64({1, 2}, {0, 1}), f32({1, 1}, {1})},
       .attrs = {{"axis", 1}, {"reduction", "none"}},
       .error = "axis 1 of indices and updates has sizes 2 and 1"},
      {.name = "indices_too_wide",
       .inputs = {f32({3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}), i64({1, 4}, {0, 0, 0, 0}),
                  f32({1, 4}, {0, 0, 0, 0})},
       .attrs = {{"axis", 0}, {"reduction", "none"}},
       .error = "indices has size 4 on axis 1, but data has 3"},
      {.name = "unknown_reduction",
       .inputs = {f32({1, 3}, {4, 2, 3}), i64({1, 1}, {0}), f32({1, 1}, {1})},
       .attrs = {{"axis", 1}, {"reduction", "mean"}},
       .error = "reduction is 'mean'"},
  };
}

std::vector<Sample> scatter_elements_second_part() {
  return {
      {.name = "words_cannot_be_added",
       .inputs = {strings({1}, {"a"}), i64({1}, {0}), strings({1}, {"z"})},
       .attrs = {{"axis", 0}, {"reduction", "add"}},
       .error = "reduction 'add' does not take elements of type string"},
      {.name = "axis_outside",
       .inputs = {f32({1, 3}, {4, 2, 3}), i64({1, 1}, {0}), f32({1, 1}, {1})},
       .attrs = {{"axis", 2}, {"reduction", "none"}},
       .error = "axis 2 is outside [-2, 2)"},
  };
}

}  // namespace

std::vector<Sample> scatter_elements_samples() {
  std::vector<Sample> samples;
  for (const auto& part : {scatter_elements_first_part(), scatter_elements_second_part()})
    samples.insert(samples.end(), part.begin(), part.end());
  return samples;
}

}  // namespace scanloom::ops
