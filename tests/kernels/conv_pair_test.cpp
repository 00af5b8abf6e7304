// Two convolutions in one call. tests/differential/conv_pairs_test.cpp has whole chains of them.
#include "kernels/conv_pair.h"

#include <gtest/gtest.h>

#include "kernels/conv_blocks.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

/// A convolution of one position and one of single channels over images of 20 by 19.
template <class T>
class Pair {
 public:
  Pair() {
    unsigned seed = 1;
    for (Buffer* each : {&x, &first_weights, &first_bias, &second_weights, &second_bias})
      each->fill_random(seed++);
  }

  [[nodiscard]] Use use() {
    pair.between = between.operand();
    pair.attrs = second_attrs;
    return {.id = KernelId::conv_pair,
            .inputs = {&x, &first_weights, &first_bias, nullptr, &second_weights, &second_bias},
            .outputs = {&y},
            .attrs = first_attrs,
            .constant = {false, true, true, false, true, true},
            .pair = &pair};
  }
  /// The results of one convolution after the other.
  std::vector<T> expected(Isa isa) {
    EXPECT_EQ(run({.id = KernelId::conv,
                   .inputs = {&x, &first_weights, &first_bias},
                   .outputs = {&between},
                   .attrs = first_attrs,
                   .constant = {false, true, true}},
                  isa),
              "");
    Buffer result(dtype_of<T>, y.dims());
    EXPECT_EQ(run({.id = KernelId::conv,
                   .inputs = {&between, &second_weights, &second_bias},
                   .outputs = {&result},
                   .attrs = second_attrs,
                   .constant = {false, true, true}},
                  isa),
              "");
    std::vector<T> values;
    for (std::int64_t i = 0; i < result.elements(); ++i) values.push_back(result.at<T>(i));
    return values;
  }

  Buffer x{dtype_of<T>, {2, 7, 20, 19}}, first_weights{dtype_of<T>, {32, 7, 1, 1}},
      first_bias{dtype_of<T>, {32}}, second_weights{dtype_of<T>, {32, 1, 3, 3}},
      second_bias{dtype_of<T>, {32}};
  Buffer between{dtype_of<T>, {2, 32, 20, 19}, Layout::channels_last};
  Buffer y{dtype_of<T>, {2, 32, 10, 19}, Layout::channels_last};
  std::vector<Attr> first_attrs{Attr(), Attr(), Attr(std::int64_t{1}), Attr(), Attr()};
  std::vector<Attr> second_attrs{Attr(), Attr(), Attr(std::int64_t{32}), Attr(Ints{0, 1, 1, 1}),
                                 Attr(Ints{2, 1})};
  ConvPair pair{.second = 3, .between = {}, .attrs = {}};
};

template <class T>
void expect_bits_of_both() {
  for (const Isa isa : available_isas()) {
    if (!conv_block_fns<T>(isa).broadcasts) continue;
    Pair<T> both;
    const std::vector<T> expected = both.expected(isa);
    for (const int threads : {1, 3}) {
      ASSERT_EQ(run(both.use(), isa, threads), "");
      EXPECT_EQ(difference(both.y, expected), "") << isa_name(isa) << ", threads " << threads;
    }
  }
}

TEST(ConvPair, GivesTheBitsOfBothConvolutions) {
  expect_bits_of_both<float>();
  expect_bits_of_both<double>();
}

TEST(ConvPair, DeclinesWhatIsNoPair) {
  if (!conv_block_fns<float>(active_isa()).broadcasts)
    GTEST_SKIP() << "blocks of filters are slow with this instruction set";
  Pair<float> both;
  const auto answer = [&](const Use& use) { return run(use, active_isa()); };
  ASSERT_EQ(answer(both.use()), "");
  Use alone = both.use();
  alone.pair = nullptr;
  EXPECT_EQ(answer(alone), "not two convolutions");
  Use strided = both.use();
  strided.attrs[4] = Attr(Ints{2, 2});
  EXPECT_NE(answer(strided), "");
  Use not_constant = both.use();
  not_constant.constant[4] = false;
  EXPECT_NE(answer(not_constant), "");
  Buffer rows(DType::f32, both.y.dims());
  Use row_major = both.use();
  row_major.outputs = {&rows};
  EXPECT_EQ(answer(row_major), "channels that are not last");
}

}  // namespace
}  // namespace scanloom::kernels::testing
