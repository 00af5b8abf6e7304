// Convolutions of single channels whose channels come last: windows along a line have tiles of
// their own, in lines of every width up to two tiles.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/conv_blocks.h"
#include "ops/ops.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

struct Window {
  std::int64_t size = 3, stride = 1, dilation = 1, width = 1;  ///< width: positions of a line
  std::int64_t rows = 3;                                       ///< of the kernel
};

/// Compares with the reference, to the bit.
template <class T>
void expect_windows(const Window& window, std::int64_t channels) {
  const auto [size, stride, dilation, width, rows] = window;
  const std::int64_t pad = size / 2 * dilation, columns = (width - 1) * stride + 1;
  Buffer x(dtype_of<T>, {1, channels, 5, columns}, Layout::channels_last);
  Buffer w(dtype_of<T>, {channels, 1, rows, size}), bias(dtype_of<T>, {channels});
  const Shape shape{1, channels, 5, width};
  Buffer y(dtype_of<T>, shape, Layout::channels_last), reference(dtype_of<T>, shape);
  unsigned seed = 1;
  for (Buffer* const buffer : {&x, &w, &bias}) buffer->fill_random(seed++);
  const Use use{.id = KernelId::conv,
                .inputs = {&x, &w, &bias},
                .outputs = {&y},
                .attrs = {Attr(), Attr(Ints{1, dilation}), Attr(channels),
                          Attr(Ints{rows / 2, pad, rows / 2, pad}), Attr(Ints{1, stride})},
                .constant = {false, true, true}};
  for (const Isa isa : available_isas()) {
    // SSE 4.2 keeps no channels last.
    if (!conv_block_fns<T>(isa).broadcasts) continue;
    EXPECT_EQ(difference_from_reference<T>(ops::conv_op, use, reference, isa), "")
        << "width " << width << ", size " << size << ", stride " << stride << ", dilation "
        << dilation << ", channels " << channels << ", " << isa_name(isa);
  }
}

TEST(ConvWindows, LinesOfEveryWidth) {
  for (const std::int64_t size : {3, 5})
    for (const std::int64_t stride : {1, 2})
      for (std::int64_t width = 1; width <= 29; ++width) {
        expect_windows<float>({.size = size, .stride = stride, .width = width}, 56);
        expect_windows<double>({.size = size, .stride = stride, .width = width}, 24);
      }
}

TEST(ConvWindows, OtherSizesStridesAndDilations) {
  for (const std::int64_t size : {1, 3, 5, 7})
    for (const std::int64_t stride : {1, 2, 3, 4})
      for (const std::int64_t dilation : {1, 2, 3})
        expect_windows<float>({.size = size, .stride = stride, .dilation = dilation, .width = 17},
                              32 + 16 * size);
}

// Blocks of taps that end within a row of the kernel.
TEST(ConvWindows, ManyRowsOfTheKernel) {
  for (const std::int64_t stride : {1, 2})
    for (const auto& [rows, size] : {std::pair{61, 5}, {87, 3}, {103, 5}}) {
      const Window window{.size = size, .stride = stride, .width = 9, .rows = rows};
      expect_windows<float>(window, 32);
      expect_windows<double>(window, 24);
    }
}

// Where a part of the result meets only some taps of a line, which are then a section of its own.
TEST(ConvWindows, TapsOfALineThatAreLeftOut) {
  if (!conv_block_fns<float>(active_isa()).broadcasts)
    GTEST_SKIP() << "SSE 4.2 keeps no channels last";
  Buffer x(DType::f32, {1, 32, 29}, Layout::channels_last), w(DType::f32, {32, 1, 3});
  Buffer bias(DType::f32, {32}), y(DType::f32, {1, 32, 28}, Layout::channels_last);
  Buffer reference(DType::f32, {1, 32, 28});
  unsigned seed = 1;
  for (Buffer* const buffer : {&x, &w, &bias}) buffer->fill_random(seed++);
  Use use{.id = KernelId::conv,
          .inputs = {&x, &w, &bias},
          .outputs = {&reference},
          .attrs = {Attr(), Attr(), Attr(std::int64_t{32}), Attr(Ints{28, 0}), Attr(Ints{2})},
          .constant = {false, true, true}};
  ASSERT_EQ(run_reference(ops::conv_op, use), "");
  std::vector<float> expected;
  for (std::int64_t i = 0; i < reference.elements(); ++i)
    expected.push_back(reference.at<float>(i));
  use.outputs = {&y};
  ASSERT_EQ(run(use, active_isa()), "");
  EXPECT_EQ(difference(y, expected), "");
}

}  // namespace
}  // namespace scanloom::kernels::testing
