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

}  // namespace
}  // namespace scanloom::kernels::testing
