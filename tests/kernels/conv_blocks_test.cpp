// Blocks of filters of a convolution: how filters are divided into blocks, and sums of blocks of
// every number of vectors.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "kernels/conv_blocks.h"
#include "kernels/conv_blocks_run.h"
#include "ops/ops.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

// Tasks that share filters begin where blocks do, and read weights that were packed for all
// filters.
TEST(ConvBlocks, PartsOfFiltersHaveTheBlocksOfAllFilters) {
  for (const Isa isa : available_isas()) {
    const ConvBlockFns<float>& fns = conv_block_fns<float>(isa);
    const auto blocks_of = [&](std::int64_t vectors, std::int64_t first, std::int64_t filters) {
      std::vector<std::pair<std::int64_t, std::int64_t>> blocks;
      for_each_filter_block(fns, vectors, filters, LastBlock::idles, [&](const FilterBlock& block) {
        EXPECT_LE(block.vectors, fns.vectors);
        EXPECT_TRUE(block.vectors > 1 || filters <= fns.lanes);
        blocks.emplace_back(first + block.first, block.filters);
      });
      return blocks;
    };
    for (const std::int64_t vectors : {fns.usual, fns.wide})
      for (std::int64_t filters = 1; filters <= 20 * fns.lanes; filters += 3) {
        const std::int64_t width = vectors * fns.lanes;
        for (std::int64_t first = width; first + width <= filters; first += width) {
          auto parts = blocks_of(vectors, 0, first);
          std::ranges::copy(blocks_of(vectors, first, filters - first), std::back_inserter(parts));
          EXPECT_EQ(parts, blocks_of(vectors, 0, filters))
              << isa_name(isa) << " " << vectors << " " << first << " " << filters;
        }
      }
  }
}

struct Layer {
  std::int64_t channels = 0, filters = 0, rows = 0, columns = 0;
  Ints kernel = {1, 1};
};

/// Compares with the reference, to the bit, on every instruction set.
template <class T>
void expect_sums(const Layer& layer, Layout layout) {
  const Shape shape{1, layer.filters, layer.rows, layer.columns};
  Buffer x(dtype_of<T>, {1, layer.channels, layer.rows, layer.columns}, layout);
  Buffer w(dtype_of<T>, {layer.filters, layer.channels, layer.kernel[0], layer.kernel[1]});
  Buffer bias(dtype_of<T>, {layer.filters}), y(dtype_of<T>, shape, layout);
  Buffer reference(dtype_of<T>, shape);
  unsigned seed = 1;
  for (Buffer* const buffer : {&x, &w, &bias}) buffer->fill_random(seed++);
  const std::int64_t top = layer.kernel[0] / 2, left = layer.kernel[1] / 2;
  const Use use{
      .id = KernelId::conv,
      .inputs = {&x, &w, &bias},
      .outputs = {&y},
      .attrs = {Attr(), Attr(), Attr(std::int64_t{1}), Attr(Ints{top, left, top, left}), Attr()},
      .constant = {false, true, true}};
  for (const Isa isa : available_isas()) {
    // SSE 4.2 keeps no channels last.
    if (layout == Layout::channels_last && !conv_block_fns<T>(isa).broadcasts) continue;
    EXPECT_EQ(difference_from_reference<T>(ops::conv_op, use, reference, isa), "")
        << layer.channels << " channels, " << layer.filters << " filters, " << layer.columns
        << " columns, " << isa_name(isa);
  }
}

// Of AVX-512, 2 to 13 vectors: blocks of 2, 3 and 4, and those of other instruction sets.
TEST(ConvBlocks, FiltersOfEveryNumberOfVectors) {
  for (const Layout layout : {Layout::contiguous, Layout::channels_last})
    for (std::int64_t filters = 32; filters <= 208; filters += 16) {
      expect_sums<float>({.channels = 100, .filters = filters, .rows = 1, .columns = 53}, layout);
      expect_sums<double>({.channels = 100, .filters = filters / 2, .rows = 1, .columns = 53},
                          layout);
    }
}

TEST(ConvBlocks, FiltersThatFillNoVectors) {
  for (const Layout layout : {Layout::contiguous, Layout::channels_last})
    for (std::int64_t filters = 60; filters <= 75; ++filters)
      expect_sums<float>({.channels = 97, .filters = filters, .rows = 2, .columns = 31}, layout);
}

TEST(ConvBlocks, LinesOfEveryWidth) {
  for (const Layout layout : {Layout::contiguous, Layout::channels_last})
    for (std::int64_t columns = 1; columns <= 31; ++columns) {
      expect_sums<float>({.channels = 48, .filters = 64, .rows = 3, .columns = columns}, layout);
      // Lines that cannot be merged.
      expect_sums<float>(
          {.channels = 48, .filters = 64, .rows = 3, .columns = columns, .kernel = {1, 3}}, layout);
    }
}

// Several blocks of taps, whose sums are resumed.
TEST(ConvBlocks, ManyTaps) {
  for (const Layout layout : {Layout::contiguous, Layout::channels_last})
    for (const std::int64_t channels : {256, 257, 600})
      for (const std::int64_t columns : {12, 260})
        expect_sums<float>({.channels = channels, .filters = 96, .rows = 1, .columns = columns},
                           layout);
}

// As the activation divides where it can multiply and add in one step (simd/conv_finish.inc).
TEST(ConvBlocks, SixthsAreQuotients) {
  constexpr float kSixth = 1.0F / 6.0F;
  std::int64_t different = 0;
  for (std::uint32_t mantissa = 0; mantissa < 1U << 23; ++mantissa) {
    const float x = std::bit_cast<float>(0x3f800000U | mantissa), quotient = x * kSixth;
    const float remainder = std::fma(-6.0F, quotient, x);
    different += std::fma(remainder, kSixth, quotient) != x / 6.0F ? 1 : 0;
  }
  EXPECT_EQ(different, 0);
}

}  // namespace
}  // namespace scanloom::kernels::testing
