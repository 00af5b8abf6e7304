// Values: slots, operands and controls of a binding that is made by hand.
#include "runtime/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "ir/module.h"
#include "plan/plan.h"

namespace scanloom::runtime {
namespace {

using tensor::Shape;

/// A binding of a constant, a buffer at byte 64 of the arena, a feed and a dynamic tensor.
struct HandMadeBinding {
  HandMadeBinding() {
    binding.plan = plan::make_plan(ir::Module(), {});
    binding.arena_bytes = 128;
    binding.layouts.push_back({{2, 3}, {1, 2}, false});
    binding.slots = {{.kind = plan::SlotInit::Kind::arena, .index = plan::kNone},
                     {.kind = plan::SlotInit::Kind::constant,
                      .constant = reinterpret_cast<const std::byte*>(numbers.data())},
                     {.kind = plan::SlotInit::Kind::arena, .offset = 64, .index = 0},
                     {.kind = plan::SlotInit::Kind::feed},
                     {}};
    binding.dynamic_count = 1;
  }
  [[nodiscard]] static plan::Spot at(plan::SlotId slot, std::int64_t offset = 0) {
    return {.slot = slot, .offset = offset, .layout = 0};
  }
  [[nodiscard]] static plan::Spot dynamic() { return {.slot = 4, .dynamic = 0}; }

  std::array<float, 8> numbers{1, 2, 3, 4, 5, 6, 7, 8};
  plan::Binding binding;
};

TEST(Values, SlotsBeginAtConstantsAndInTheArena) {
  HandMadeBinding made;
  Values values(made.binding, allocate_aligned(128));
  EXPECT_EQ(values.slot(1), reinterpret_cast<std::byte*>(made.numbers.data()));
  EXPECT_EQ(values.slot(2), values.arena.get() + 64);
  EXPECT_EQ(values.slot(3), nullptr);
  EXPECT_EQ(values.address(HandMadeBinding::at(2, 8)), values.arena.get() + 72);
}

TEST(Values, OperandsFollowTheirSlots) {
  HandMadeBinding made;
  Values values(made.binding, allocate_aligned(128));
  const tensor::Operand operand = values.operand(HandMadeBinding::at(1, 4));
  EXPECT_EQ(operand.shape(), (Shape{2, 3}));
  EXPECT_FALSE(operand.contiguous);
  EXPECT_EQ(*operand.data<float>(), 2);
  values.slot(1) += 4;
  EXPECT_EQ(*operand.data<float>(), 3);
  EXPECT_FALSE(values.operand({}).present());
}

TEST(Values, ADynamicTensorHasItsPresentSizes) {
  HandMadeBinding made;
  Values values(made.binding, allocate_aligned(128));
  DynamicTensor& tensor = values.dynamic(HandMadeBinding::dynamic());
  tensor.dims = {4, 2};
  tensor.strides = {2, 1};
  values.slot(4) = reinterpret_cast<std::byte*>(made.numbers.data());
  EXPECT_EQ(values.operand(HandMadeBinding::dynamic()).shape(), (Shape{4, 2}));
  EXPECT_TRUE(values.operand(HandMadeBinding::dynamic()).contiguous);
  const tensor::Tensor lent = values.tensor_at(HandMadeBinding::dynamic()).value_or_throw();
  EXPECT_EQ(lent.data(), made.numbers.data());
  EXPECT_FALSE(values.tensor_at({}).value_or_throw().defined());
}

TEST(Values, AnyByteButZeroIsTrue) {
  HandMadeBinding made;
  Values values(made.binding, allocate_aligned(128));
  for (const int byte : {0, 1, 2, 255}) {
    *values.address(HandMadeBinding::at(2)) = std::byte(byte);
    EXPECT_EQ(values.scalar<bool>(HandMadeBinding::at(2), {}).value_or_throw(), byte != 0);
  }
}

TEST(Values, AControlOfAFewElementsIsAnError) {
  HandMadeBinding made;
  Values values(made.binding, allocate_aligned(128));
  std::int64_t count = 7;
  values.slot(4) = reinterpret_cast<std::byte*>(&count);
  DynamicTensor& tensor = values.dynamic(HandMadeBinding::dynamic());
  tensor.dims = {1, 1};
  EXPECT_EQ(values.scalar<std::int64_t>(HandMadeBinding::dynamic(), {}).value_or_throw(), 7);
  for (const std::int64_t size : {0, 2}) {
    tensor.dims = {size};
    const auto read = values.scalar<std::int64_t>(HandMadeBinding::dynamic(), {});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code(), Code::invalid_argument);
    EXPECT_THAT(read.error().message(), ::testing::HasSubstr("has " + std::to_string(size)));
  }
}

TEST(Values, AWorkersSlotsPointIntoItsOwnArena) {
  HandMadeBinding made;
  Values main(made.binding, allocate_aligned(128)), worker(made.binding, allocate_aligned(128));
  *main.address(HandMadeBinding::at(2)) = std::byte{42};
  main.slot(3) = reinterpret_cast<std::byte*>(made.numbers.data());
  main.slot(4) = main.arena.get() + 100;
  worker.copy_from(main);
  EXPECT_EQ(*worker.address(HandMadeBinding::at(2)), std::byte{42});
  EXPECT_EQ(worker.slot(2), worker.arena.get() + 64);
  EXPECT_EQ(worker.slot(3), main.slot(3));
  EXPECT_EQ(worker.slot(4), worker.arena.get() + 100);
}

}  // namespace
}  // namespace scanloom::runtime
