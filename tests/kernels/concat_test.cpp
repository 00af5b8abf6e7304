#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

TEST(Concat, PutsInputsBehindEachOtherOnAnyAxis) {
  for (const DType dtype : {DType::u8, DType::f32, DType::i64})
    for (int axis = -3; axis < 3; ++axis)
      for (const Layout in : kLayouts)
        for (const Layout to : kLayouts) {
          const int along = axis < 0 ? axis + 3 : axis;
          Shape total{2, 3, 4};
          total[along] = 0;
          std::vector<std::unique_ptr<Buffer>> owned;
          std::vector<Buffer*> inputs;
          for (const std::int64_t size : {2, 0, 5}) {
            Shape dims{2, 3, 4};
            dims[along] = size;
            total[along] += size;
            owned.push_back(std::make_unique<Buffer>(dtype, dims, in));
            owned.back()->fill_random(static_cast<unsigned>(size));
            inputs.push_back(owned.back().get());
          }
          Buffer y(dtype, total, to);
          ASSERT_EQ(run({.id = KernelId::concat,
                         .inputs = inputs,
                         .outputs = {&y},
                         .attrs = {Attr(axis)}},
                        active_isa()),
                    "");
          std::int64_t inner = 1;
          for (int i = along + 1; i < 3; ++i) inner *= total[i];
          for (std::int64_t i = 0; i < y.elements(); ++i) {
            const std::int64_t at = i / inner % total[along];
            Buffer& from = *inputs[at < 2 ? 0 : 2];
            const std::int64_t own = at < 2 ? at : at - 2;
            const std::int64_t number =
                (i / inner / total[along] * from.dims()[along] + own) * inner + i % inner;
            ASSERT_TRUE(same_bits(dtype, y.element(i), from.element(number))) << i;
          }
          EXPECT_TRUE(y.untouched_between());
        }
}

// Parts of all sizes, each of which is shared or is one task.
TEST(Concat, LargeOnesOnSeveralThreads) {
  for (const Layout layout : kLayouts) {
    std::vector<std::unique_ptr<Buffer>> owned;
    std::vector<Buffer*> inputs;
    std::int64_t total = 0;
    for (const std::int64_t size : {1, 0, 700, 3, 50}) {
      owned.push_back(std::make_unique<Buffer>(DType::f32, Shape{size, 127}, layout));
      owned.back()->fill_random(static_cast<unsigned>(size));
      inputs.push_back(owned.back().get());
      total += size;
    }
    Buffer y(DType::f32, {total, 127});
    ASSERT_EQ(run({.id = KernelId::concat, .inputs = inputs, .outputs = {&y}, .attrs = {Attr(0)}},
                  active_isa(), 7),
              "");
    std::int64_t at = 0;
    for (Buffer* const input : inputs)
      for (std::int64_t i = 0; i < input->elements(); ++i, ++at)
        ASSERT_TRUE(same_bits(DType::f32, y.element(at), input->element(i))) << at;
    EXPECT_TRUE(y.untouched_between());
  }
}

}  // namespace
}  // namespace scanloom::kernels::testing
