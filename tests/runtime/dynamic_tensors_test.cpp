// DynamicTensors: memory of tensors whose sizes only the run knows, when it is shared, reused and
// freed.
#include "runtime/dynamic_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/runtime/bound_parts.h"

namespace scanloom::runtime {
namespace {

using tensor::Shape;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two dynamic tensors, a static one of 2 x 3 with columns one after the other, and a moving slot.
struct HandMadeTensors {
  HandMadeTensors() {
    plan::Binding binding;
    binding.plan = plan::make_plan(ir::Module(), {});
    binding.layouts.push_back({{2, 3}, {1, 2}, false});
    binding.slots.resize(5);
    binding.dynamic_count = 2;
    parts = std::make_unique<BoundParts>(std::make_shared<plan::Binding>(std::move(binding)), 4096);
    parts->tensors.begin_run(1);
    std::iota(numbers.begin(), numbers.end(), 1.0f);
    parts->values.slot(kStatic.slot) = reinterpret_cast<std::byte*>(numbers.data());
  }
  [[nodiscard]] std::vector<float> elements(const plan::Spot& spot) const {
    const tensor::Tensor read = parts->values.tensor_at(spot).value_or_throw();
    const auto* const data = static_cast<const float*>(read.data());
    return {data, data + read.elements()};
  }
  Expected<void> reserve(const plan::Spot& spot, const Shape& dims, std::int64_t wish = 0) const {
    return parts->tensors.reserve(spot, dims, {}, wish);
  }

  static constexpr plan::Spot kFirst{.slot = 1, .dynamic = 0}, kSecond{.slot = 2, .dynamic = 1},
      kStatic{.slot = 3, .layout = 0}, kMoving{.slot = 4, .layout = 0};
  std::vector<float> numbers = std::vector<float>(6);
  std::unique_ptr<BoundParts> parts;
};

TEST(DynamicTensors, MemoryIsReusedWhileItSuffices) {
  const HandMadeTensors made;
  ASSERT_TRUE(made.reserve(HandMadeTensors::kFirst, {8, 4}));
  const std::byte* const first = made.parts->values.slot(1);
  ASSERT_TRUE(made.reserve(HandMadeTensors::kFirst, {4, 8}));
  ASSERT_TRUE(made.reserve(HandMadeTensors::kFirst, {1}));
  EXPECT_EQ(made.parts->values.slot(1), first);
  EXPECT_EQ(made.parts->memory.budget().used, 128);
}

TEST(DynamicTensors, MemoryGrowsGeometricallyAsFarAsTheBudgetAllows) {
  const HandMadeTensors made;
  ASSERT_TRUE(made.reserve(HandMadeTensors::kFirst, {100}));
  ASSERT_TRUE(made.reserve(HandMadeTensors::kFirst, {101}));
  EXPECT_EQ(made.parts->memory.budget().used, 800);
  ASSERT_TRUE(
      made.reserve(HandMadeTensors::kFirst, {1000}));  // 1600 bytes would be too few, 8000 too many
  EXPECT_EQ(made.parts->memory.budget().used, 4000);
  EXPECT_EQ(made.parts->memory.data_bytes(), 4000);
}

TEST(DynamicTensors, AWishIsGrantedWhereItFits) {
  const HandMadeTensors made;
  ASSERT_TRUE(made.reserve(HandMadeTensors::kFirst, {2}, 1024));
  EXPECT_EQ(made.parts->memory.budget().used, 1024);
  ASSERT_TRUE(made.reserve(HandMadeTensors::kSecond, {2}, 1 << 20));
  EXPECT_EQ(made.parts->memory.budget().used, 1024 + 64);
}

TEST(DynamicTensors, BeyondTheBudgetKeptMemoryIsFreedFirst) {
  const HandMadeTensors made;
  const Expected<void> reserved = made.reserve(HandMadeTensors::kFirst, {1025});
  ASSERT_FALSE(reserved);
  EXPECT_EQ(reserved.error().code(), Code::limit_reached);
  EXPECT_THAT(reserved.error().message(),
              AllOf(HasSubstr("4100 more bytes for a value of sizes [1025]"),
                    HasSubstr("4096 bytes are left")));
  EXPECT_GT(made.parts->releases, 0);
}

TEST(DynamicTensors, ACopyIsSharedUntilOneOfThemIsWritten) {
  const HandMadeTensors made;
  ASSERT_TRUE(made.reserve(HandMadeTensors::kFirst, {100}));
  ASSERT_TRUE(made.parts->tensors.assign(HandMadeTensors::kFirst, HandMadeTensors::kSecond, {}));
  EXPECT_EQ(made.parts->values.slot(1), made.parts->values.slot(2));
  EXPECT_EQ(made.parts->memory.budget().used, 400);
  ASSERT_TRUE(made.reserve(HandMadeTensors::kSecond, {100}));
  EXPECT_NE(made.parts->values.slot(1), made.parts->values.slot(2));
}

TEST(DynamicTensors, AMovedValueLeavesItsOldMemoryForTheNext) {
  const HandMadeTensors made;
  ASSERT_TRUE(made.reserve(HandMadeTensors::kFirst, {100}));
  ASSERT_TRUE(made.reserve(HandMadeTensors::kSecond, {100}));
  std::byte* const first = made.parts->values.slot(1);
  std::byte* const second = made.parts->values.slot(2);
  ASSERT_TRUE(
      made.parts->tensors.assign(HandMadeTensors::kFirst, HandMadeTensors::kSecond, {}, true));
  EXPECT_EQ(made.parts->values.slot(2), first);
  ASSERT_TRUE(made.reserve(HandMadeTensors::kFirst, {100}));
  EXPECT_EQ(made.parts->values.slot(1), second);
}

TEST(DynamicTensors, AStaticValueIsCopiedInRowMajorOrder) {
  const HandMadeTensors made;
  ASSERT_TRUE(made.parts->tensors.assign(HandMadeTensors::kStatic, HandMadeTensors::kFirst, {}));
  EXPECT_THAT(made.elements(HandMadeTensors::kFirst), ElementsAre(1, 3, 5, 2, 4, 6));
  ASSERT_TRUE(made.parts->tensors.assign(HandMadeTensors::kStatic, HandMadeTensors::kMoving, {}));
  EXPECT_EQ(made.parts->values.slot(4), made.parts->values.slot(3));
}

TEST(DynamicTensors, SlicesOfAnyAxisAreViews) {
  const HandMadeTensors made;
  ASSERT_TRUE(made.parts->tensors.assign(HandMadeTensors::kStatic, HandMadeTensors::kFirst, {}));
  plan::BoundScanned port{.outer = HandMadeTensors::kFirst, .argument = HandMadeTensors::kSecond};
  port.slices = {.axis = 1, .start = -1, .stride = -1};
  made.parts->tensors.set_slice(port, 0);
  EXPECT_THAT(made.elements(HandMadeTensors::kSecond), ElementsAre(5, 6));
  made.parts->tensors.set_slice(port, 2);
  EXPECT_THAT(made.elements(HandMadeTensors::kSecond), ElementsAre(1, 2));
  port.slices = {.axis = 1, .start = 1, .part = 2, .squeeze = false};
  made.parts->tensors.set_slice(port, 0);
  EXPECT_EQ(made.parts->values.dynamic(HandMadeTensors::kSecond).dims, (Shape{2, 2}));
}

TEST(DynamicTensors, TheFirstSliceMakesSlicesContiguous) {
  const HandMadeTensors made;
  DynamicTensor& value = made.parts->values.dynamic(HandMadeTensors::kFirst);
  value.dims = {2, 3};
  value.strides = {1, 2};
  made.parts->values.slot(1) = reinterpret_cast<std::byte*>(made.parts->values.slot(3));
  plan::BoundScanned port{.outer = HandMadeTensors::kFirst, .argument = HandMadeTensors::kMoving};
  port.slices = {.start = -1, .stride = -1};
  port.step_bytes = -12;
  std::byte* const first = made.parts->tensors.first_slice(port, {}).value_or_throw();
  EXPECT_EQ(*reinterpret_cast<float*>(first), 2);
  EXPECT_EQ(*reinterpret_cast<float*>(first + port.step_bytes), 1);
  EXPECT_THAT(made.elements(HandMadeTensors::kFirst), ElementsAre(1, 3, 5, 2, 4, 6));
}

TEST(DynamicTensors, OnlyWhatThisRunHasNotWrittenIsFreed) {
  const HandMadeTensors made;
  ASSERT_TRUE(made.reserve(HandMadeTensors::kFirst, {100}));
  ASSERT_TRUE(made.reserve(HandMadeTensors::kSecond, {100}));
  made.parts->tensors.begin_run(2);
  ASSERT_TRUE(made.reserve(HandMadeTensors::kSecond, {50}));
  made.parts->tensors.release_unwritten();
  EXPECT_EQ(made.parts->values.dynamic(HandMadeTensors::kFirst).storage, nullptr);
  EXPECT_EQ(made.parts->memory.budget().used, 400);
  made.parts->tensors.release_all();
  EXPECT_EQ(made.parts->memory.budget().used, 0);
}

}  // namespace
}  // namespace scanloom::runtime
