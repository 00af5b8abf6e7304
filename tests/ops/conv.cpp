#include "tests/ops/samples.h"

namespace scanloom::ops {
namespace {

std::vector<Sample> windows() {
  return {
      {.name = "line",
       .inputs = {f32({1, 2, 5}, {3, 1, 0, -2, -2, -4, -4, -4, -3, 3}),
                  f32({2, 2, 3}, {0, 0, 2, 4, -4, -3, 3, 4, -2, -2, 3, -1}), f32({2}, {1, -2})},
       .outputs = {f32({1, 2, 3}, {13, 6, -16, 11, 4, -10})}},
      {.name = "image",
       .inputs = {f32({1, 1, 3, 3}, {3, 1, 0, -2, -2, -4, -4, -4, -3}),
                  f32({1, 1, 2, 2}, {0, 0, 2, 4})},
       .outputs = {f32({1, 1, 2, 2}, {-12, -20, -24, -20})}},
      {.name = "padded_and_strided",
       .inputs = {f32({1, 1, 4, 4}, {3, 1, 0, -2, -2, -4, -4, -4, -3, 3, 1, 4, 0, 1, 4, 2}),
                  f32({1, 1, 3, 3}, {0, 0, 2, 4, -4, -3, 3, 4, -2})},
       .attrs = {{"pads", std::vector<std::int64_t>{1, 0, 1, 2}},
                 {"strides", std::vector<std::int64_t>{2, 1}}},
       .outputs = {f32({1, 1, 2, 4}, {-6, -10, -20, -20, -39, 3, 8, 22})}},
      {.name = "dilated",
       .inputs = {f32({1, 1, 6}, {3, 1, 0, -2, -2, -4}), f32({1, 1, 2}, {0, 0})},
       .attrs = {{"dilations", std::vector<std::int64_t>{3}}},
       .outputs = {f32({1, 1, 3}, {0, 0, 0})}},
      {.name = "groups",
       .inputs = {f32({1, 4, 3}, {3, 1, 0, -2, -2, -4, -4, -4, -3, 3, 1, 4}),
                  f32({4, 2, 2}, {0, 0, 2, 4, -4, -3, 3, 4, -2, -2, 3, -1, -2, 3, -2, -1}),
                  f32({4}, {1, 2, 3, 4})},
       .attrs = {{"group", 2}},
       .outputs = {f32({1, 4, 2}, {-11, -19, -27, -24, 27, 16, -7, -3})}},
      {.name = "depthwise",
       .inputs = {f32({2, 2, 3}, {3, 1, 0, -2, -2, -4, -4, -4, -3, 3, 1, 4}),
                  f32({2, 1, 2}, {0, 0, 2, 4})},
       .attrs = {{"group", 2}},
       .outputs = {f32({2, 2, 2}, {0, 0, -12, -20, 0, 0, 10, 18})}},
      {.name = "same_upper",
       .inputs = {f32({1, 1, 4}, {3, 1, 0, -2}), f32({1, 1, 2}, {0, 0})},
       .attrs = {{"auto_pad", "same_upper"}, {"strides", std::vector<std::int64_t>{2}}},
       .outputs = {f32({1, 1, 2}, {0, 0})}},
      {.name = "same_upper_odd",
       .inputs = {f32({1, 1, 5}, {3, 1, 0, -2, -2}), f32({1, 1, 4}, {0, 0, 2, 4})},
       .attrs = {{"auto_pad", "same_upper"}},
       .outputs = {f32({1, 1, 5}, {2, -8, -12, -4, 0})}},
      {.name = "same_lower_odd",
       .inputs = {f32({1, 1, 5}, {3, 1, 0, -2, -2}), f32({1, 1, 4}, {0, 0, 2, 4})},
       .attrs = {{"auto_pad", "same_lower"}},
       .outputs = {f32({1, 1, 5}, {10, 2, -8, -12, -4})}},
      {.name = "valid",
       .inputs = {f32({1, 1, 5}, {3, 1, 0, -2, -2}), f32({1, 1, 3}, {0, 0, 2})},
       .attrs = {{"auto_pad", "valid"}, {"strides", std::vector<std::int64_t>{2}}},
       .outputs = {f32({1, 1, 2}, {0, -4})}},
      {.name = "volume",
       .inputs = {f32({1, 1, 2, 2, 2}, {3, 1, 0, -2, -2, -4, -4, -4}),
                  f32({1, 1, 2, 1, 2}, {0, 0, 2, 4})},
       .outputs = {f32({1, 1, 1, 2, 1}, {-20, -24})}},
      {.name = "doubles",
       .inputs = {f64({1, 1, 3}, {3, 1, 0}), f64({1, 1, 2}, {0, 0})},
       .outputs = {f64({1, 1, 2}, {0, 0})}},
      {.name = "half_is_summed_in_f32",
       .inputs = {reals(DType::f16, {1, 1, 3}, {2048, 1, 1}),
                  reals(DType::f16, {1, 1, 3}, {1, 1, 1})},
       .outputs = {reals(DType::f16, {1, 1, 1}, {2050})}},
      {.name = "padding_takes_part",
       .inputs = {f32({1, 1, 2}, {1, 1}), f32({1, 1, 2}, {kInf, 1})},
       .attrs = {{"pads", std::vector<std::int64_t>{1, 0}}},
       .outputs = {f32({1, 1, 2}, {kNan, kInf})}},
      {.name = "no_batch",
       .inputs = {f32({0, 1, 3}, {}), f32({1, 1, 2}, {3, 1})},
       .outputs = {f32({0, 1, 2}, {})}},
      {.name = "no_channels",
       .inputs = {f32({1, 0, 3}, {}), f32({1, 0, 2}, {}), f32({1}, {5})},
       .outputs = {f32({1, 1, 2}, {5, 5})}},
      {.name = "no_place",
       .inputs = {f32({1, 1, 2}, {3, 1}), f32({1, 1, 3}, {3, 1, 0})},
       .outputs = {f32({1, 1, 0}, {})}},
      {.name = "no_steps",
       .inputs = {f32({1, 1, 0}, {}), f32({1, 1, 3}, {3, 1, 0})},
       .attrs = {{"pads", std::vector<std::int64_t>{1, 1}}},
       .outputs = {f32({1, 1, 0}, {})}},
  };
}

std::vector<Sample> errors() {
  return {
      {.name = "kernel_too_long",
       .inputs = {f32({1, 1, 2}, {3, 1}), f32({1, 1, 4}, {3, 1, 0, -2})},
       .error = "a kernel over 4 elements does not fit the 2 of spatial axis 0"},
      {.name = "channels_differ",
       .inputs = {f32({1, 3, 4}, {3, 1, 0, -2, -2, -4, -4, -4, -3, 3, 1, 4}),
                  f32({2, 2, 2}, {3, 1, 0, -2, -2, -4, -4, -4})},
       .error = "x has 3 channels, w takes 2 in each of 1 groups"},
      {.name = "filters_do_not_divide",
       .inputs = {f32({1, 4, 4}, {3, 1, 0, -2, -2, -4, -4, -4, -3, 3, 1, 4, 0, 1, 4, 2}),
                  f32({3, 2, 2}, {3, 1, 0, -2, -2, -4, -4, -4, -3, 3, 1, 4})},
       .attrs = {{"group", 2}},
       .error = "3 filters cannot be divided into 2 groups"},
      {.name = "stride_of_zero",
       .inputs = {f32({1, 1, 4}, {3, 1, 0, -2}), f32({1, 1, 2}, {3, 1})},
       .attrs = {{"strides", std::vector<std::int64_t>{0}}},
       .error = "strides has the number 0"},
      {.name = "ranks_differ",
       .inputs = {f32({1, 1, 4}, {3, 1, 0, -2}), f32({1, 1, 2, 2}, {3, 1, 0, -2})},
       .error = "x has 3 axes and w has 4"},
      {.name = "wrong_pads",
       .inputs = {f32({1, 1, 4}, {3, 1, 0, -2}), f32({1, 1, 2}, {3, 1})},
       .attrs = {{"pads", std::vector<std::int64_t>{1}}},
       .error = "pads has 1 numbers, not 2"},
      {.name = "wrong_bias",
       .inputs = {f32({1, 1, 4}, {3, 1, 0, -2}), f32({1, 1, 2}, {3, 1}), f32({2}, {1, 2})},
       .error = "input 2 has 2 elements for 1 filters"},
      {.name = "unknown_auto_pad",
       .inputs = {f32({1, 1, 4}, {3, 1, 0, -2}), f32({1, 1, 2}, {3, 1})},
       .attrs = {{"auto_pad", "same"}},
       .error = "auto_pad is 'same'"},
  };
}

}  // namespace

std::vector<Sample> conv_samples() {
  std::vector<Sample> samples;
  for (const auto& part : {windows(), errors()})
    samples.insert(samples.end(), part.begin(), part.end());
  return samples;
}

}  // namespace scanloom::ops
