// StackedRows: rows that grow or are gathered one by one, without the loop that makes them.
#include "runtime/stacked_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/bound_parts.h"

namespace scanloom::runtime {
namespace {

using tensor::Shape;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> elements_at(BoundParts& parts, const plan::Spot& spot) {
  const tensor::Tensor read = parts.values.tensor_at(spot).value_or_throw();
  const auto* const data = static_cast<const float*>(read.data());
  return {data, data + read.elements()};
}

/// The open stack of kWalk, whose rows have two elements.
struct Open {
  explicit Open(std::int64_t max_memory = 1 << 20)
      : parts(bind_text(kWalk, {{}, {2}, {1000, 2}}), max_memory),
        port(parts.binding->loops[0].stacked[0]),
        state(parts.loops[0]) {}

  /// Enters the loop for at most `trip` steps, of which the run knows beforehand if `counted`.
  Expected<void> begin(std::int64_t trip, bool counted) {
    state.step = 0;
    state.trip = trip;
    state.shown = counted ? trip : -1;
    return parts.rows.begin(0);
  }
  /// Writes the row [step, -step], and makes room for the next.
  Expected<void> step() {
    auto* const row = reinterpret_cast<float*>(parts.values.slot(port.row.slot));
    row[0] = static_cast<float>(state.step);
    row[1] = -row[0];
    parts.values.slot(port.row.slot) += port.step_bytes;
    if (++state.step == state.room && state.step < state.trip) return parts.rows.grow(0);
    return {};
  }

  BoundParts parts;
  const plan::BoundStacked& port;
  LoopState& state;
};

TEST(StackedRows, AKnownNumberOfRowsIsReservedAtOnce) {
  Open stack;
  ASSERT_TRUE(stack.port.open);
  ASSERT_TRUE(stack.begin(100, true));
  EXPECT_EQ(stack.state.room, 100);
  EXPECT_EQ(stack.parts.memory.budget().used, 800);
}

TEST(StackedRows, OpenRowsKeepTheirElementsWhileTheyGrow) {
  Open stack;
  ASSERT_TRUE(stack.begin(1'000'000, false));
  EXPECT_EQ(stack.state.room, 16);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(stack.step());
  EXPECT_EQ(stack.state.room, 64);
  ASSERT_TRUE(stack.parts.rows.finish(stack.port, 50, {}));
  EXPECT_EQ(stack.parts.values.dynamic(stack.port.result).dims, (Shape{50, 2}));
  const std::vector<float> rows = elements_at(stack.parts, stack.port.result);
  for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(rows[2 * i + 1], -static_cast<float>(i));
}

TEST(StackedRows, TheNextRunReusesTheMemory) {
  Open stack;
  ASSERT_TRUE(stack.begin(100, true));
  ASSERT_TRUE(stack.begin(50, true));
  EXPECT_EQ(stack.state.room, 50);
  EXPECT_EQ(stack.parts.memory.budget().used, 800);
}

TEST(StackedRows, RowsThatCannotFitAreAnErrorBeforeTheFirstStep) {
  Open stack(40'000);
  const std::int64_t left = stack.parts.memory.left();
  const Expected<void> begun = stack.begin(left / 8 + 1, true);
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code(), Code::limit_reached);
  EXPECT_THAT(begun.error().message(), AllOf(HasSubstr("'walk'"), HasSubstr("the rows of")));
  EXPECT_GT(stack.parts.releases, 0);
  EXPECT_TRUE(stack.begin(left / 8, true));
}

TEST(StackedRows, RowsOfUnknownNumberTakeWhatIsLeftAndThenFail) {
  Open stack(40'000);
  ASSERT_TRUE(stack.begin(1'000'000, false));
  Expected<void> stepped;
  while (stepped && stack.state.step < 10'000) stepped = stack.step();
  ASSERT_FALSE(stepped);
  EXPECT_EQ(stepped.error().code(), Code::limit_reached);
  EXPECT_GT(stack.state.step, 1000);
}

/// Rows of sizes that only data decide, along an axis of the result, read from memory of the test.
struct Gathered {
  Gathered(std::int64_t axis, bool reverse, bool insert) {
    // That of kWalk, with another stack.
    plan::Binding binding = *bind_text(kWalk, {{}, {2}, {1000, 2}});
    plan::BoundStacked& stack = binding.loops[0].stacked[0];
    stack = {.row = {.slot = static_cast<plan::SlotId>(binding.slots.size()),
                     .dynamic = binding.dynamic_count},
             .result = stack.result,
             .axis = axis,
             .reverse = reverse,
             .insert = insert};
    binding.slots.emplace_back();
    ++binding.dynamic_count;
    parts = std::make_unique<BoundParts>(std::make_shared<plan::Binding>(std::move(binding)));
    parts->loops[0].trip = 1000;
  }
  [[nodiscard]] const plan::BoundStacked& port() const {
    return parts->binding->loops[0].stacked[0];
  }

  Expected<void> append(const Shape& dims, std::vector<float> elements) const {
    DynamicTensor& row = parts->values.dynamic(port().row);
    row.dims = dims;
    row.strides = tensor::contiguous_strides(dims);
    parts->values.slot(port().row.slot) = reinterpret_cast<std::byte*>(elements.data());
    Expected<void> appended = parts->rows.append(port(), 0);
    ++parts->loops[0].step;
    return appended;
  }
  /// Appends [10, 11], [20, 21] ... and returns the elements of the result.
  [[nodiscard]] std::vector<float> result_of(int steps, const Shape& row) const {
    for (int i = 1; i <= steps; ++i)
      EXPECT_TRUE(append(row, {static_cast<float>(10 * i), static_cast<float>(10 * i + 1)}));
    EXPECT_TRUE(parts->rows.finish(port(), steps, {}));
    return elements_at(*parts, port().result);
  }

  std::unique_ptr<BoundParts> parts;
};

TEST(StackedRows, GatheredRowsLieAlongAnyAxisInEitherDirection) {
  EXPECT_THAT(Gathered(0, false, true).result_of(3, {2}), ElementsAre(10, 11, 20, 21, 30, 31));
  EXPECT_THAT(Gathered(0, true, true).result_of(3, {2}), ElementsAre(30, 31, 20, 21, 10, 11));
  EXPECT_THAT(Gathered(1, false, true).result_of(3, {2}), ElementsAre(10, 20, 30, 11, 21, 31));
  EXPECT_THAT(Gathered(1, true, true).result_of(3, {2}), ElementsAre(30, 20, 10, 31, 21, 11));
  EXPECT_THAT(Gathered(1, false, false).result_of(2, {2, 1}), ElementsAre(10, 20, 11, 21));
}

TEST(StackedRows, GatheredRowsKeepTheirElementsWhileTheyGrow) {
  const std::vector<float> rows = Gathered(0, false, true).result_of(40, {2});
  ASSERT_EQ(rows.size(), 80u);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(rows[2 * i], static_cast<float>(10 * (i + 1)));
}

TEST(StackedRows, ARowOfOtherSizesNamesTheLoopAndBothSizes) {
  const Gathered stack(0, false, true);
  ASSERT_TRUE(stack.append({2}, {1, 2}));
  const Expected<void> appended = stack.append({3}, {1, 2, 3});
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code(), Code::invalid_argument);
  EXPECT_THAT(appended.error().message(),
              AllOf(HasSubstr("'walk'"), HasSubstr("[2]"), HasSubstr("[3]")));
}

TEST(StackedRows, RowsThatLeaveNoAxisAreAnError) {
  const Gathered stack(2, false, true);
  const Expected<void> appended = stack.append({2}, {1, 2});
  ASSERT_FALSE(appended);
  EXPECT_THAT(appended.error().message(), HasSubstr("which leaves no axis 2"));
}

TEST(StackedRows, KeptRowsAreJoinedInTheOrderOfTheirSteps) {
  Gathered stack(0, false, false);
  const auto keep = [&](const Shape& dims, std::vector<float> elements) {
    DynamicTensor& row = stack.parts->values.dynamic(stack.port().row);
    row.dims = dims;
    row.strides = tensor::contiguous_strides(dims);
    stack.parts->values.slot(stack.port().row.slot) = reinterpret_cast<std::byte*>(elements.data());
    return stack.parts->rows.keep(0, 0);
  };
  ASSERT_TRUE(keep({1}, {1}));
  StackedRows::Kept first = stack.parts->rows.take_kept(0);
  ASSERT_TRUE(keep({2}, {2, 3}));
  StackedRows::Kept second = stack.parts->rows.take_kept(0);
  stack.parts->rows.append_kept(0, std::move(first));
  stack.parts->rows.append_kept(0, std::move(second));
  ASSERT_TRUE(stack.parts->rows.join(0, 0));
  EXPECT_THAT(elements_at(*stack.parts, stack.port().result), ElementsAre(1, 2, 3));
  EXPECT_TRUE(stack.parts->rows.take_kept(0)[0].empty());
}

}  // namespace
}  // namespace scanloom::runtime
