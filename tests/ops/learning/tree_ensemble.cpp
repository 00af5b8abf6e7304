#include "tests/ops/samples.h"

namespace scanloom::ops {
namespace {

/// Two trees over two features; leaf 4 has weights for both targets, leaf 5 has none.
std::vector<ir::NamedAttr> two_trees(DType real, const char* aggregate) {
  return {{"roots", std::vector<std::int64_t>{0, 2}},
          {"features", i32({3}, {0, 1, 1})},
          {"thresholds", floats(real, {3}, {0.5, -1, 0})},
          {"missing_true", booleans({3}, {false, true, false})},
          {"when_true", i32({3}, {1, -2, -4})},
          {"when_false", i32({3}, {-1, -3, -5})},
          {"leaf_starts", i32({7}, {0, 1, 2, 3, 4, 6, 6})},
          {"leaf_targets", i32({6}, {0, 1, 0, 1, 0, 1})},
          {"leaf_weights", floats(real, {6}, {1, 2, 4, 8, 16, 32})},
          {"targets", 2},
          {"aggregate", aggregate}};
}

/// One node over feature 0, and a tree that is a leaf.
std::vector<ir::NamedAttr> one_target() {
  return {{"roots", std::vector<std::int64_t>{0, -3}},
          {"features", i32({1}, {0})},
          {"thresholds", f32({1}, {0})},
          {"missing_true", booleans({1}, {false})},
          {"when_true", i32({1}, {-1})},
          {"when_false", i32({1}, {-2})},
          {"leaf_starts", i32({4}, {0, 1, 2, 3})},
          {"leaf_targets", i32({3}, {0, 0, 0})},
          {"leaf_weights", f32({3}, {1, 2, 0.5})},
          {"targets", 1},
          {"aggregate", "sum"}};
}

std::vector<ir::NamedAttr> changed(std::size_t at, tensor::Attr value) {
  std::vector<ir::NamedAttr> attrs = two_trees(DType::f32, "sum");
  attrs[at].value = std::move(value);
  return attrs;
}

}  // namespace

std::vector<Sample> tree_ensemble_samples() {
  const std::vector<ir::NamedAttr> sum = two_trees(DType::f32, "sum");
  const Tensor x = f32({4, 2}, {0, 0, 0, -2, 1, 2, kNan, kNan});
  return {
      // Leaves: (2, 3), (1, 3), (0, 4), (0, 4).
      {.name = "sum",
       .inputs = {x},
       .attrs = sum,
       .outputs = {f32({4, 2}, {4, 8, 0, 10, 17, 32, 17, 32})}},
      {.name = "min",
       .inputs = {f64({2, 2}, {0, 0, 1, 2})},
       .attrs = two_trees(DType::f64, "min"),
       .outputs = {f64({2, 2}, {4, 8, 1, 32})}},
      {.name = "max",
       .inputs = {f64({2, 2}, {0, -2, 1, 2})},
       .attrs = two_trees(DType::f64, "max"),
       .outputs = {f64({2, 2}, {0, 8, 16, 32})}},
      {.name = "one_target",
       .inputs = {f32({3, 1}, {-1, 0, 1})},
       .attrs = one_target(),
       .outputs = {f32({3, 1}, {1.5, 1.5, 2.5})}},
      {.name = "no_rows", .inputs = {f32({0, 2}, {})}, .attrs = sum, .outputs = {f32({0, 2}, {})}},
      {.name = "a_feature_too_many",
       .inputs = {f32({1, 1}, {0})},
       .attrs = sum,
       .error = "tests feature 1, but x has 1"},
      {.name = "one_axis",
       .inputs = {f32({2}, {0, 0})},
       .attrs = sum,
       .error = "x has 1 axis, but must have 2"},
      {.name = "a_cycle",
       .inputs = {x},
       .attrs = changed(4, i32({3}, {1, 0, -4})),
       .error = "node 1 leads to 0"},
      {.name = "a_leaf_too_many",
       .inputs = {x},
       .attrs = changed(5, i32({3}, {-1, -3, -8})),
       .error = "node 2 leads to -8, but there are 6 leaves"},
      {.name = "a_target_too_many",
       .inputs = {x},
       .attrs = changed(7, i32({6}, {0, 1, 0, 1, 0, 2})),
       .error = "a weight for target 2, but there are 2"},
      {.name = "leaves_that_overlap",
       .inputs = {x},
       .attrs = changed(6, i32({7}, {0, 1, 0, 3, 4, 6, 6})),
       .error = "leaf_starts has 0 after 1"},
      {.name = "thresholds_of_another_type",
       .inputs = {x},
       .attrs = changed(2, f64({3}, {0, 0, 0})),
       .error = "thresholds is f64[3], but must be f32[3]"},
  };
}

}  // namespace scanloom::ops
