#include "tests/ops/samples.h"

namespace scanloom::ops {

namespace {

Tensor suppress_boxes_boxes() {
  return f32({2, 6, 4},
             {1.875,  1,      3.125,  2.25,   1.9375, 0.1875, 3.1875, 2.125,  1.1875, 0.75,
              2.1875, 1.5625, 1.625,  0.375,  2.9375, 1.8125, 1.75,   1.0625, 3.6875, 2.4375,
              1.8125, 0.9375, 2.6875, 2.8125, 0.875,  1.5625, 2.125,  3.0625, 1.9375, 0.75,
              3.125,  1.5625, 1.9375, 1.875,  0.9375, 0.875,  0.375,  1.1875, 1.1875, 2.375,
              1.4375, 1.875,  2.5,    2.625,  1.3125, 0.25,   2.125,  2.1875});
}

Tensor suppress_boxes_scores() {
  return f32({2, 2, 6}, {0.53125, 0.1875, 0.40625, 0.1875,  0.46875, 0.03125, 0.125,   0.34375,
                         0.3125,  0.5,    0.4375,  0.15625, 0.59375, 0.09375, 0.25,    0.21875,
                         0.75,    0.5625, 0.28125, 0.65625, 0.625,   0.375,   0.71875, 0.0625});
}

Tensor suppress_boxes_kept() {
  return f32({2, 2, 6}, {0.53125, -kInf,  0.40625, -kInf,   -kInf,   -kInf,   -kInf,   -kInf,
                         0.3125,  0.5,    0.4375,  -kInf,   0.59375, 0.09375, 0.25,    0.21875,
                         0.75,    0.5625, 0.28125, 0.65625, 0.625,   0.375,   0.71875, 0.0625});
}

Tensor suppress_boxes_large() {
  return f32({2, 6, 4},
             {7.5, 4,    12.5,  9,     7.75, 0.75, 12.75, 8.5,  4.75, 3,    8.75,  6.25,
              6.5, 1.5,  11.75, 7.25,  7,    4.25, 14.75, 9.75, 7.25, 3.75, 10.75, 11.25,
              3.5, 6.25, 8.5,   12.25, 7.75, 3,    12.5,  6.25, 7.75, 7.5,  3.75,  3.5,
              1.5, 4.75, 4.75,  9.5,   5.75, 7.5,  10,    10.5, 5.25, 1,    8.5,   8.75});
}

Tensor suppress_boxes_scores_of_image() {
  return f32({1, 2, 6}, {0.53125, 0.1875, 0.40625, 0.1875, 0.46875, 0.03125, 0.125, 0.34375, 0.3125,
                         0.5, 0.4375, 0.15625});
}

Tensor suppress_boxes_kept_of_image() {
  return f32({1, 2, 6}, {0.53125, -kInf, 0.40625, -kInf, -kInf, -kInf, -kInf, -kInf, 0.3125, 0.5,
                         0.4375, -kInf});
}

std::vector<Sample> suppress_boxes_first_part() {
  return {
      {.name = "plain",
       .inputs = {suppress_boxes_boxes(), suppress_boxes_scores(), absent(), f32({}, {0.25})},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .outputs = {suppress_boxes_kept()}},
      {.name = "limits",
       .inputs = {suppress_boxes_boxes(), suppress_boxes_scores(), i64({}, {2}), f32({}, {0.25}),
                  f32({}, {0.25})},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .outputs = {f32({2, 2, 6},
                       {0.53125, -kInf, 0.40625, -kInf,   -kInf,   -kInf, -kInf,   -kInf,
                        -kInf,   0.5,   0.4375,  -kInf,   0.59375, -kInf, -kInf,   -kInf,
                        0.75,    -kInf, -kInf,   0.65625, -kInf,   -kInf, 0.71875, -kInf})}},
      {.name = "candidates",
       .inputs = {suppress_boxes_boxes(), suppress_boxes_scores(), absent(), f32({}, {0.25})},
       .attrs = {{"form", "ordered"},
                 {"candidates", 3},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .outputs = {f32({2, 2, 6},
                       {0.53125, -kInf,  0.40625, -kInf,   -kInf,   -kInf, -kInf,   -kInf,
                        -kInf,   0.5,    0.4375,  -kInf,   0.59375, -kInf, -kInf,   -kInf,
                        0.75,    0.5625, -kInf,   0.65625, 0.625,   -kInf, 0.71875, -kInf})}},
      {.name = "margin",
       .inputs = {suppress_boxes_large(), suppress_boxes_scores(), absent(), f32({}, {0.375})},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 1.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .outputs = {suppress_boxes_kept()}},
  };
}

std::vector<Sample> suppress_boxes_second_part() {
  return {
      {.name = "touching",
       .inputs = {suppress_boxes_large(), suppress_boxes_scores(), absent(), f32({}, {0.0625})},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 1.0},
                 {"touching", 1},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .outputs = {f32({2, 2, 6},
                       {0.53125, -kInf, -kInf, -kInf,   -kInf, -kInf,   -kInf,   -kInf,
                        -kInf,   0.5,   -kInf, -kInf,   -kInf, 0.09375, 0.25,    0.21875,
                        0.75,    -kInf, -kInf, 0.65625, 0.625, 0.375,   0.71875, -kInf})}},
      {.name = "inclusive",
       .inputs = {f32({1, 3, 4}, {0, 0, 2, 2, 0, 1, 2, 2, 9, 9, 10, 10}),
                  f32({1, 1, 3}, {0.75, 0.5, 0.25}), absent(), f32({}, {0.5}), f32({}, {0.25})},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 1},
                 {"eta", 1.0}},
       .outputs = {f32({1, 1, 3}, {0.75, -kInf, 0.25})}},
      {.name = "exclusive",
       .inputs = {f32({1, 3, 4}, {0, 0, 2, 2, 0, 1, 2, 2, 9, 9, 10, 10}),
                  f32({1, 1, 3}, {0.75, 0.5, 0.25}), absent(), f32({}, {0.5}), f32({}, {0.25})},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .outputs = {f32({1, 1, 3}, {0.75, 0.5, -kInf})}},
      {.name = "falling_threshold",
       .inputs = {suppress_boxes_boxes(), suppress_boxes_scores(), absent(), f32({}, {0.75})},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 0.5}},
       .outputs = {f32({2, 2, 6},
                       {0.53125, -kInf,  0.40625, 0.1875,  -kInf,   -kInf,   -kInf,   -kInf,
                        0.3125,  0.5,    0.4375,  -kInf,   0.59375, 0.09375, 0.25,    0.21875,
                        0.75,    0.5625, 0.28125, 0.65625, 0.625,   0.375,   0.71875, 0.0625})}},
  };
}

std::vector<Sample> suppress_boxes_third_part() {
  return {
      {.name = "soft",
       .inputs = {suppress_boxes_boxes(), suppress_boxes_scores(), absent(), f32({}, {0.5}),
                  f32({}, {0.25}), f32({}, {0.5})},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .outputs = {f32(
           {2, 2, 6},
           {0.53125,     -kInf,      0.40366289,  -kInf,   0.348118812, -kInf, -kInf,   -kInf,
            0.298433781, 0.5,        0.412347853, -kInf,   0.560749888, -kInf, -kInf,   -kInf,
            0.75,        0.54058826, 0.263069928, 0.65625, 0.625,       0.375, 0.71875, -kInf})},
       .ulps = 64},
      {.name = "soft_limited",
       .inputs = {suppress_boxes_boxes(), suppress_boxes_scores(), i64({}, {3}), absent(),
                  f32({}, {0.0}), f32({}, {0.125})},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .outputs = {f32(
           {2, 2, 6},
           {0.53125,     -kInf,       0.395999998, -kInf,   0.142589033, -kInf, -kInf,   -kInf,
            0.259921283, 0.5,         0.345239788, -kInf,   0.419264853, -kInf, -kInf,   -kInf,
            0.75,        0.540600419, -kInf,       0.65625, 0.625,       -kInf, 0.71875, -kInf})},
       .ulps = 64},
      {.name = "centers",
       .inputs = {f32({1, 6, 4},
                      {2.5,     1.625,   1.25,   1.25,   2.5625,  1.15625, 1.25,   1.9375,
                       1.6875,  1.15625, 1,      0.8125, 2.28125, 1.09375, 1.3125, 1.4375,
                       2.71875, 1.75,    1.9375, 1.375,  2.25,    1.875,   0.875,  1.875}),
                  suppress_boxes_scores_of_image(), absent(), f32({}, {0.25})},
       .attrs = {{"form", "center"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .outputs = {suppress_boxes_kept_of_image()}},
      {.name = "corners",
       .inputs = {f32({1, 6, 4}, {3.125,  1,      1.875,  2.25,   3.1875, 0.1875, 1.9375, 2.125,
                                  2.1875, 0.75,   1.1875, 1.5625, 2.9375, 0.375,  1.625,  1.8125,
                                  3.6875, 1.0625, 1.75,   2.4375, 2.6875, 0.9375, 1.8125, 2.8125}),
                  suppress_boxes_scores_of_image(), absent(), f32({}, {0.25})},
       .attrs = {{"form", "corners"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .outputs = {suppress_boxes_kept_of_image()}},
  };
}

std::vector<Sample> suppress_boxes_fourth_part() {
  return {
      {.name = "rotated",
       .inputs = {f32({1, 6, 6}, {2.5,     1.625,   1.25,   1.25,   1,           0,
                                  2.5625,  1.15625, 1.25,   1.9375, 0.87758255,  0.47942555,
                                  1.6875,  1.15625, 1,      0.8125, 0.87758255,  0.47942555,
                                  2.28125, 1.09375, 1.3125, 1.4375, 0.540302277, -0.841470957,
                                  2.28125, 1.09375, 1.3125, 1.4375, 0.540302277, -0.841470957,
                                  2.25,    1.875,   0.875,  1.875,  0.968912423, 0.247403964}),
                  suppress_boxes_scores_of_image(), absent(), f32({}, {0.25})},
       .attrs = {{"form", "rotated"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .outputs = {f32({1, 2, 6}, {0.53125, -kInf, 0.40625, -kInf, -kInf, -kInf, -kInf, -kInf,
                                   0.3125, 0.5, -kInf, -kInf})}},
      {.name = "no_boxes",
       .inputs = {f32({1, 0, 4}, {}), f32({1, 2, 0}, {}), absent(), f32({}, {0.5})},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .outputs = {f32({1, 2, 0}, {})}},
      {.name = "unknown_form",
       .inputs = {suppress_boxes_boxes(), suppress_boxes_scores()},
       .attrs = {{"form", "round"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .error = "form is 'round', not corners, ordered, center or rotated"},
      {.name = "numbers_per_box",
       .inputs = {suppress_boxes_boxes(), suppress_boxes_scores()},
       .attrs = {{"form", "rotated"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .error = "boxes has 4 numbers per box, not 6"},
  };
}

std::vector<Sample> suppress_boxes_fifth_part() {
  return {
      {.name = "other_number_of_boxes",
       .inputs = {f32({2, 5, 4}, {1.875,  1,      3.125,  2.25,   1.9375, 0.1875, 3.1875, 2.125,
                                  1.1875, 0.75,   2.1875, 1.5625, 1.625,  0.375,  2.9375, 1.8125,
                                  1.75,   1.0625, 3.6875, 2.4375, 0.875,  1.5625, 2.125,  3.0625,
                                  1.9375, 0.75,   3.125,  1.5625, 1.9375, 1.875,  0.9375, 0.875,
                                  0.375,  1.1875, 1.1875, 2.375,  1.4375, 1.875,  2.5,    2.625}),
                  suppress_boxes_scores()},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"inclusive", 0},
                 {"eta", 1.0}},
       .error = "axis 1 of boxes and axis 2 of scores"},
  };
}

}  // namespace

std::vector<Sample> suppress_boxes_samples() {
  std::vector<Sample> samples;
  for (const auto& part :
       {suppress_boxes_first_part(), suppress_boxes_second_part(), suppress_boxes_third_part(),
        suppress_boxes_fourth_part(), suppress_boxes_fifth_part()})
    samples.insert(samples.end(), part.begin(), part.end());
  return samples;
}

}  // namespace scanloom::ops
