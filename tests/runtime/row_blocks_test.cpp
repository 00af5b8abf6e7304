// RowBlocks: which rows a block holds, in either direction, and where the steps read them.
#include "runtime/row_blocks.h"

#include <gtest/gtest.h>

#include <numeric>

#include "runtime/run_state.h"
#include "tests/runtime/bound_parts.h"

namespace scanloom::runtime {
namespace {

constexpr std::int64_t kRows = 100'000;

/// A loop over the negated rows of xs, which are made in three blocks.
std::string over_rows(const std::string& walk) {
  return R"(module {
    graph(%0 "s": f32[2], %1 "xs": f32[T,2]) {
      %2 = neg(%1) : f32[T,2]
      %3 = loop carried(%0) scanned(%2 )" +
         walk + R"() : f32[2] {
        body(%4: f32[2], %5: f32[2]) {
          %6 = reduce(%5) {axes = [0], keepdims = 1, kind = "sum"} : f32[1]
          %7 = add(%4, %6) : f32[2]
          yield %7
        }
      }
      yield %3 "last"
    }
  })";
}

class Blocks : public ::testing::TestWithParam<bool> {
 protected:
  Blocks() {
    std::iota(xs_.begin(), xs_.end(), 0.0f);
    for (std::size_t i = 0; i < state_.values.slots.size(); ++i)
      if (const plan::SlotInit& init = binding_->slots[i]; init.kind == plan::SlotInit::Kind::feed)
        state_.values.slots[i] = reinterpret_cast<std::byte*>(init.index == 0 ? s_ : xs_.data());
    state_.memory.begin_run(1 << 30, 0).value_or_throw();
    state_.progress.begin_run(nullptr);
    EXPECT_TRUE(state_.control.enter(0, limits_).value_or_throw());
  }
  /// Makes the block of the present step, and returns the first element of its slice.
  float make() {
    Watch watch(limits_);
    state_.blocks.make(0, watch).value_or_throw();
    const plan::Spot& slice = binding_->loops[0].scanned[0].argument;
    return *reinterpret_cast<const float*>(state_.values.address(slice));
  }
  [[nodiscard]] float row_of(std::int64_t step) const {
    return -xs_[static_cast<std::size_t>(2 * (GetParam() ? kRows - 1 - step : step))];
  }

  float s_[2] = {0, 0};
  std::vector<float> xs_ = std::vector<float>(2 * kRows);
  std::shared_ptr<const plan::Binding> binding_ =
      bind_text(over_rows(GetParam() ? "axis 0 start -1 stride -1" : "axis 0"), {{2}, {kRows, 2}});
  RunState state_{binding_, allocate_aligned(binding_->arena_bytes + binding_->scratch_bytes), 1};
  const Limits limits_;
};

// All blocks are equally long, so the first one is used only for the steps that remain.
TEST_P(Blocks, BeginAtThePresentStep) {
  const plan::BoundBlocks& blocks = binding_->loops[0].blocks;
  ASSERT_GT(blocks.steps, 0);
  ASSERT_LT(blocks.steps, kRows / 2);
  LoopState& loop = state_.loops[0];
  EXPECT_EQ(loop.block_end, 0);
  std::int64_t blocks_made = 0;
  for (; loop.step < kRows; loop.step = loop.block_end, ++blocks_made) {
    EXPECT_EQ(make(), row_of(loop.step));
    EXPECT_EQ(loop.block_first, loop.step);
    EXPECT_EQ((kRows - loop.block_end) % blocks.steps, 0);
  }
  EXPECT_EQ(loop.block_end, kRows);
  EXPECT_EQ(blocks_made, (kRows + blocks.steps - 1) / blocks.steps);
}

INSTANTIATE_TEST_SUITE_P(Directions, Blocks, ::testing::Bool());

}  // namespace
}  // namespace scanloom::runtime
