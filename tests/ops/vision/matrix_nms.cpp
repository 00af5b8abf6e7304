#include "tests/ops/samples.h"

namespace scanloom::ops {

namespace {

Tensor matrix_nms_boxes() {
  return f32({2, 6, 4},
             {1.875,  1,      3.125,  2.25,   1.9375, 0.1875, 3.1875, 2.125,  1.1875, 0.75,
              2.1875, 1.5625, 1.625,  0.375,  2.9375, 1.8125, 1.75,   1.0625, 3.6875, 2.4375,
              1.8125, 0.9375, 2.6875, 2.8125, 0.875,  1.5625, 2.125,  3.0625, 1.9375, 0.75,
              3.125,  1.5625, 1.9375, 1.875,  0.9375, 0.875,  0.375,  1.1875, 1.1875, 2.375,
              1.4375, 1.875,  2.5,    2.625,  1.3125, 0.25,   2.125,  2.1875});
}

Tensor matrix_nms_scores() {
  return f32({2, 2, 6}, {0.53125, 0.1875, 0.40625, 0.1875,  0.46875, 0.03125, 0.125,   0.34375,
                         0.3125,  0.5,    0.4375,  0.15625, 0.59375, 0.09375, 0.25,    0.21875,
                         0.75,    0.5625, 0.28125, 0.65625, 0.625,   0.375,   0.71875, 0.0625});
}

std::vector<Sample> matrix_nms_first_part() {
  return {
      {.name = "linear",
       .inputs = {matrix_nms_boxes(), matrix_nms_scores()},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"score_threshold", 0.125}},
       .outputs = {f32({2, 2, 6}, {0.53125,     0.0929203629, 0.37377888,  0.124905586, 0.215010673,
                                   -kInf,       -kInf,        0.171641156, 0.248802274, 0.5,
                                   0.331043243, 0.112933159,  0.451766312, -kInf,       0.25,
                                   0.21875,     0.75,         0.506453812, 0.213994563, 0.65625,
                                   0.625,       0.375,        0.71875,     -kInf})},
       .ulps = 64},
      {.name = "gaussian",
       .inputs = {matrix_nms_boxes(), matrix_nms_scores()},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"score_threshold", 0.125},
                 {"sigma", 2.0}},
       .outputs = {f32(
           {2, 2, 6}, {0.53125,     0.11271812,  0.401092261, 0.150037423, 0.260873437, -kInf,
                       -kInf,       0.208211243, 0.287582248, 0.5,         0.388641745, 0.130181387,
                       0.529583931, -kInf,       0.25,        0.21875,     0.75,        0.55144155,
                       0.250855535, 0.65625,     0.625,       0.375,       0.71875,     -kInf})},
       .ulps = 64},
      {.name = "candidates",
       .inputs = {matrix_nms_boxes(), matrix_nms_scores()},
       .attrs = {{"form", "ordered"},
                 {"candidates", 3},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"score_threshold", 0.125}},
       .outputs = {f32(
           {2, 2, 6},
           {0.53125, -kInf,       0.37377888,  -kInf,   0.215010673, -kInf, -kInf,   0.171641156,
            -kInf,   0.5,         0.331043243, -kInf,   0.451766312, -kInf, -kInf,   -kInf,
            0.75,    0.506453812, -kInf,       0.65625, 0.625,       -kInf, 0.71875, -kInf})},
       .ulps = 64},
      {.name = "margin",
       .inputs = {f32({2, 6, 4},
                      {7.5, 4,    12.5,  9,     7.75, 0.75, 12.75, 8.5,  4.75, 3,    8.75,  6.25,
                       6.5, 1.5,  11.75, 7.25,  7,    4.25, 14.75, 9.75, 7.25, 3.75, 10.75, 11.25,
                       3.5, 6.25, 8.5,   12.25, 7.75, 3,    12.5,  6.25, 7.75, 7.5,  3.75,  3.5,
                       1.5, 4.75, 4.75,  9.5,   5.75, 7.5,  10,    10.5, 5.25, 1,    8.5,   8.75}),
                  matrix_nms_scores()},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 1.0},
                 {"touching", 1},
                 {"score_threshold", 0.125}},
       .outputs = {f32({2, 2, 6}, {0.53125,     0.0832417533, 0.346761584, 0.112625845, 0.191715747,
                                   -kInf,       -kInf,        0.153365374, 0.225519523, 0.5,
                                   0.305207461, 0.103679903,  0.408203125, -kInf,       0.25,
                                   0.21875,     0.75,         0.467101127, 0.193359375, 0.65625,
                                   0.625,       0.375,        0.71875,     -kInf})},
       .ulps = 64},
  };
}

std::vector<Sample> matrix_nms_second_part() {
  return {
      {.name = "no_boxes",
       .inputs = {f32({1, 0, 4}, {}), f32({1, 2, 0}, {})},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"score_threshold", 0.125}},
       .outputs = {f32({1, 2, 0}, {})},
       .ulps = 64},
      {.name = "unknown_form",
       .inputs = {matrix_nms_boxes(), matrix_nms_scores()},
       .attrs = {{"form", "round"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"score_threshold", 0.125}},
       .error = "form is 'round'"},
      {.name = "axes",
       .inputs = {f32({6, 4}, {1.875,  1,      3.125,  2.25,   1.9375, 0.1875, 3.1875, 2.125,
                               1.1875, 0.75,   2.1875, 1.5625, 1.625,  0.375,  2.9375, 1.8125,
                               1.75,   1.0625, 3.6875, 2.4375, 1.8125, 0.9375, 2.6875, 2.8125}),
                  matrix_nms_scores()},
       .attrs = {{"form", "ordered"},
                 {"candidates", -1},
                 {"margin", 0.0},
                 {"touching", 0},
                 {"score_threshold", 0.125}},
       .error = "boxes has 2 axes, not 3"},
  };
}

}  // namespace

std::vector<Sample> matrix_nms_samples() {
  std::vector<Sample> samples;
  for (const auto& part : {matrix_nms_first_part(), matrix_nms_second_part()})
    samples.insert(samples.end(), part.begin(), part.end());
  return samples;
}

}  // namespace scanloom::ops
