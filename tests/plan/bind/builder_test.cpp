#include "plan/bind/builder.h"

#include <gtest/gtest.h>

#include "ir/parse.h"
#include "ops/ops.h"
#include "plan/bind/copies.h"

namespace scanloom::plan {
namespace {

using tensor::Shape;

class Builder : public testing::Test {
 protected:
  static std::shared_ptr<const Plan> plan() {
    Expected<ir::Module> module = ir::parse(R"(module "empty" {
  graph(%0 "x": f32[4]) {
    yield %0 "y"
  }
}
)",
                                            ops::find_op);
    return make_plan(module.value_or_throw(), {});
  }

  [[nodiscard]] std::int64_t offset(const Location& location) const {
    return builder.binding().slots[static_cast<std::size_t>(location.spot.slot)].offset;
  }
  Location buffer() { return builder.new_buffer(DType::f32, Shape{16}); }
  void emit(const std::vector<Location>& inputs, const std::vector<Location>& outputs) {
    InstructionScope instruction(builder, Op::call, 0);
    instruction.operands(inputs, outputs);
  }

  BindingBuilder builder{plan(), std::vector<Shape>{{4}}};
};

TEST_F(Builder, TheEndOfAScopeAppendsItsInstruction) {
  {
    const InstructionScope instruction(builder, Op::alias, 3);
    EXPECT_EQ(builder.next(), 0u);
  }
  ASSERT_EQ(builder.next(), 1u);
  EXPECT_EQ(builder.binding().code[0].op, Op::alias);
  EXPECT_EQ(builder.binding().code[0].index, 3u);
}

TEST_F(Builder, WhatOneInstructionReadsAndWritesSharesNoMemory) {
  const Location a = buffer();
  emit({}, {a});
  const Location b = buffer();
  emit({a}, {b});
  const Location c = buffer();
  emit({b}, {c});
  ASSERT_TRUE(builder.place_buffers());
  EXPECT_NE(offset(a), offset(b));
  EXPECT_NE(offset(b), offset(c));
  EXPECT_EQ(offset(a), offset(c));  // which is made after the last read of a
  EXPECT_EQ(builder.binding().arena_bytes, 128);
}

TEST_F(Builder, StepsDoNotOverwriteWhatTheNextStepReads) {
  const Location outside = buffer();
  emit({}, {outside});
  builder.emit(Op::loop_begin, 0);
  builder.open_loop({});
  EXPECT_EQ(builder.loop_depth(), 1);
  const Location first = buffer();
  emit({outside}, {first});
  const Location second = buffer();
  emit({first}, {second});
  builder.emit(Op::loop_end, 0);
  builder.close_loop();
  EXPECT_EQ(builder.loop_depth(), 0);
  const Location after = buffer();
  emit({}, {after});
  ASSERT_TRUE(builder.place_buffers());
  EXPECT_NE(offset(outside), offset(second));
  EXPECT_EQ(builder.binding().arena_bytes, 192);
}

TEST_F(Builder, BlockCodeIsTakenOutOfTheList) {
  const Location a = buffer();
  builder.begin_block_code();
  emit({}, {a});
  const BlockCode block = builder.end_block_code();
  EXPECT_EQ(builder.next(), 0u);
  EXPECT_EQ(block.code.size(), 1u);
  EXPECT_EQ(block.buffers, a.buffers);
  builder.append(block);
  ASSERT_EQ(builder.next(), 2u);
  EXPECT_EQ(builder.binding().code[1].op, Op::end);
}

TEST_F(Builder, ReadsThroughASlotThatMovesTouchTheBuffersBehindIt) {
  const Location whole = buffer();
  Location slice = whole;
  slice.spot.slot = builder.new_slot();
  slice.spot.buffer = kNone;
  EXPECT_TRUE(builder.buffers_of(slice.spot).empty());
  emit({slice}, {});
  EXPECT_EQ(builder.buffers_of(slice.spot), whole.buffers);
}

TEST_F(Builder, OnlyStridedOperandsAreCopied) {
  const Location plain = buffer();
  EXPECT_EQ(straight(builder, plain, Shape{16}, {}).spot.slot, plain.spot.slot);
  Location strided = plain;
  strided.spot.layout = builder.add_layout(Shape{4, 4}, Shape{1, 4});
  const Location copy = straight(builder, strided, Shape{4, 4}, {});
  EXPECT_NE(copy.spot.slot, strided.spot.slot);
  EXPECT_TRUE(builder.layout(copy.spot).contiguous);
  ASSERT_EQ(builder.binding().calls.size(), 1u);
  EXPECT_TRUE(builder.binding().calls[0].is_copy);
}

TEST(CallKernel, IsNamedByWhatRuns) {
  EXPECT_STREQ(CallKernel::nothing().name(), "nothing");
  EXPECT_STREQ(CallKernel::reference().name(), "reference");
  EXPECT_STREQ(CallKernel(kernels::KernelId::contract).name(), "contract");
  EXPECT_FALSE(CallKernel(kernels::KernelId::contract) == CallKernel::reference());
}

}  // namespace
}  // namespace scanloom::plan
