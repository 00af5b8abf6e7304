#include "tests/ops/samples.h"

namespace scanloom::ops {

namespace {

Tensor roi_align_rotated_image() {
  return f32(
      {2, 2, 5, 6},
      {-9,  -17, -16, 7,   -4,  16,  -19, -14, -15, 16,  -2, -20, 11,  18,  12,  4,   -20, -10,
       16,  -14, 6,   -3,  13,  -3,  6,   0,   8,   0,   18, -17, -11, -11, -10, -15, -20, 12,
       11,  -14, -17, 6,   -14, -17, -14, 6,   19,  -3,  5,  0,   -20, 9,   -18, -8,  -9,  7,
       -18, 16,  8,   9,   -12, 3,   -7,  7,   7,   15,  5,  -19, -13, 19,  11,  -2,  -5,  15,
       -15, -18, 8,   -9,  4,   2,   6,   2,   10,  17,  3,  -8,  -19, -11, 7,   5,   -4,  -14,
       18,  16,  7,   -11, -1,  -20, -8,  5,   19,  -11, -2, 16,  17,  -16, 11,  0,   1,   4,
       19,  -1,  0,   -18, -9,  0,   -13, -15, 0,   -19, 19, 16});
}

Tensor roi_align_rotated_regions() {
  return f32({4, 6}, {2.5, 2, 3, 2, 0.87758255, 0.47942555, 3, 3, 2, 4, -0.416146845, -0.909297407,
                      1,   1, 1, 1, 1,          0,          5, 4, 6, 6, 0.540302277,  0.841470957});
}

std::vector<Sample> roi_align_rotated_first_part() {
  return {
      {.name = "fixed_samples",
       .inputs = {roi_align_rotated_image(), roi_align_rotated_regions(), i64({4}, {0, 1, 1, 0})},
       .attrs = {{"height", 2}, {"width", 2}, {"sampling_ratio", 2}, {"spatial_scale", 1.0}},
       .outputs = {f32(
           {4, 2, 2, 2},
           {-1.75374234,  -2.96195483, 7.53979063,  5.84116411,  -4.82775259, -8.88838387,
            7.20365143,   1.96797609,  1.10655844,  7.72028732,  4.76225805,  -1.40847015,
            -4.79357147,  -7.68381166, 5.30472231,  -3.10996532, -3.875,      5.375,
            -4.625,       9.125,       11.9375,     12.8125,     0.8125,      5.4375,
            4.47079039,   -4.03134346, -1.85141957, -1.70943224, 1.31718826,  -7.34781265,
            -0.277963102, 1.47587657})},
       .ulps = 2048},
      {.name = "samples_by_size",
       .inputs = {roi_align_rotated_image(), roi_align_rotated_regions(), i64({4}, {0, 1, 1, 0})},
       .attrs = {{"height", 1}, {"width", 3}, {"sampling_ratio", 0}, {"spatial_scale", 1.0}},
       .outputs = {f32(
           {4, 2, 1, 3},
           {4.48447227,  -2.01619959,  5.13730526,  1.39791465, -1.06451941,  -2.92124748,
            2.98407817,  2.76261306,   3.42346907,  2.47091198, -5.49961758,  -4.53694344,
            -6.16666603, 1.5,          9.16666603,  5.91666651, 7.75,         9.58333206,
            1.44571829,  -0.580528915, -3.35614681, 2.99119735, -0.986426115, -3.7948277})},
       .ulps = 2048},
      {.name = "scaled",
       .inputs = {roi_align_rotated_image(), roi_align_rotated_regions(), i64({4}, {0, 1, 1, 0})},
       .attrs = {{"height", 2}, {"width", 2}, {"sampling_ratio", 2}, {"spatial_scale", 0.5}},
       .outputs = {f32(
           {4, 2, 2, 2},
           {-14.3173161,  -15.9631901, -15.2343311, -15.372817,  -4.13101006,  -10.9295425,
            -3.57536554,  -12.7403965, 13.3420801,  5.87875652,  5.6227212,    -0.335604429,
            12.333683,    2.98032665,  7.78731823,  -1.26318657, -7,           -5.25,
            -7.75,        -5.71875,    18,          17.75,       14.75,        14.734375,
            3.71260023,   -13.6660137, 5.54496956,  5.47873545,  -0.820528507, -12.7478542,
            -0.409430027, -1.34481537})},
       .ulps = 2048},
      {.name = "no_image",
       .inputs = {roi_align_rotated_image(), roi_align_rotated_regions(), i64({4}, {0, 1, 2, 0})},
       .attrs = {{"height", 2}, {"width", 2}, {"sampling_ratio", 2}, {"spatial_scale", 1.0}},
       .error = "batch index 2 is outside the 2 images of x"},
  };
}

std::vector<Sample> roi_align_rotated_second_part() {
  return {
      {.name = "numbers",
       .inputs = {roi_align_rotated_image(),
                  f32({4, 5}, {2.5, 2, 3, 2, 0.87758255, 3, 3, 2, 4, -0.416146845,
                               1,   1, 1, 1, 1,          5, 4, 6, 6, 0.540302277}),
                  i64({4}, {0, 1, 1, 0})},
       .attrs = {{"height", 2}, {"width", 2}, {"sampling_ratio", 2}, {"spatial_scale", 1.0}},
       .error = "rois has 5 numbers per region, not 6"},
      {.name = "ratio",
       .inputs = {roi_align_rotated_image(), roi_align_rotated_regions(), i64({4}, {0, 1, 1, 0})},
       .attrs = {{"height", 2}, {"width", 2}, {"sampling_ratio", -1}, {"spatial_scale", 1.0}},
       .error = "sampling_ratio is -1, outside [0, 4096]"},
      {.name = "too_large",
       .inputs = {roi_align_rotated_image(),
                  f32({4, 6}, {2, 2, 1e+09, 2, 1, 0, 2, 2, 1e+09, 2, 1, 0,
                               2, 2, 1e+09, 2, 1, 0, 2, 2, 1e+09, 2, 1, 0}),
                  i64({4}, {0, 1, 1, 0})},
       .attrs = {{"height", 2}, {"width", 2}, {"sampling_ratio", 0}, {"spatial_scale", 1.0}},
       .error = "region 0 needs more than 4096 samples per cell"},
  };
}

}  // namespace

std::vector<Sample> roi_align_rotated_samples() {
  std::vector<Sample> samples;
  for (const auto& part : {roi_align_rotated_first_part(), roi_align_rotated_second_part()})
    samples.insert(samples.end(), part.begin(), part.end());
  return samples;
}

}  // namespace scanloom::ops
