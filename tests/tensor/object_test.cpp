#include "tensor/object.h"

#include <vector>

#include <gtest/gtest.h>

#include "tensor/object_call.h"

namespace scanloom::tensor {
namespace {

ObjectRef number(float value) { return ObjectRef::of(Tensor::scalar(value)); }

TEST(ObjectTest, SequencesHoldReferences) {
  ObjectRef sequence = ObjectRef::sequence(DType::f32);
  ObjectRef item = number(1);
  sequence->push_back(item);
  sequence->insert(0, number(2));
  EXPECT_FALSE(item.unique());
  ObjectRef copy = sequence;
  copy.make_unique();
  EXPECT_TRUE(sequence.unique() && copy.unique());
  copy->erase(1);
  EXPECT_EQ(copy->items().size(), 1u);
  EXPECT_EQ(sequence->items().size(), 2u);
  const ObjectRef optional = ObjectRef::optional_of(item);
  EXPECT_EQ(optional->kind(), ObjectKind::optional);
  EXPECT_EQ(optional->items().size(), 1u);
}

TEST(ObjectTest, DeepNestsAreDestroyedWithoutRecursion) {
  ObjectRef outer = ObjectRef::sequence(DType::f32);
  for (int i = 0; i < 1000000; ++i) {
    ObjectRef next = ObjectRef::sequence(DType::f32);
    next->push_back(std::move(outer));
    outer = std::move(next);
  }
}

TEST(ObjectTest, TypesAllowValuesByKindElementTypeAndSizes) {
  ObjectRef sequence = ObjectRef::sequence(DType::f32);
  sequence->push_back(ObjectRef::of(*Tensor::zeros(DType::f32, {2, 3})));
  sequence->push_back(ObjectRef::of(*Tensor::zeros(DType::f32, {4, 3})));
  DimTable dims;
  Type type = Type::of(DType::f32, {dims.symbol("n"), 3});
  EXPECT_FALSE(allows(type, sequence));
  EXPECT_TRUE(allows(type, sequence->items()[0]));
  type.wraps = {Wrap::sequence};
  EXPECT_TRUE(allows(type, sequence));
  type.dims[0] = 2;
  EXPECT_FALSE(allows(type, sequence));
  type = Type::unranked(DType::i64);
  type.wraps = {Wrap::sequence};
  EXPECT_FALSE(allows(type, sequence));
  type.dtype = DType::f32;
  type.wraps = {Wrap::optional, Wrap::sequence};
  EXPECT_TRUE(allows(type, ObjectRef::optional_of(sequence)));
  EXPECT_TRUE(allows(type, ObjectRef::optional(DType::f32)));
  EXPECT_FALSE(allows(type, ObjectRef::optional_of(number(1))));
}

TEST(MemoryAccountTest, CountsTensorsAndListsWhileTheyLive) {
  MemoryAccount account(100000);
  {
    ObjectRef sequence = ObjectRef::sequence(DType::f32);
    Tensor tensor = *account.count(*Tensor::zeros(DType::f32, {1000}));
    const std::int64_t with_tensor = account.held();
    EXPECT_GE(with_tensor, 4000);
    sequence->push_back(ObjectRef::of(std::move(tensor)));
    ASSERT_TRUE(account.count(*sequence));
    const std::int64_t with_list = account.held();
    EXPECT_GT(with_list, with_tensor);
    for (int i = 0; i < 1000; ++i) sequence->push_back(sequence->items()[0]);
    ASSERT_TRUE(account.count(*sequence));
    EXPECT_GE(account.held(), with_list + 8000);
    ASSERT_TRUE(account.count(*sequence));  // twice counts once
    EXPECT_LT(account.held(), with_list + 32000);
  }
  EXPECT_EQ(account.held(), 0);
}

TEST(MemoryAccountTest, RefusesListsThatGrowTooLong) {
  MemoryAccount account(4000);
  ObjectRef sequence = ObjectRef::sequence(DType::f32);
  for (int i = 0; i < 1000; ++i) sequence->push_back(number(0));
  const auto counted = account.count(*sequence);
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().code(), Code::limit_reached);
}

TEST(ObjectCallTest, LeavesObjectsOfOthersAlone) {
  MemoryAccount account(100000);
  const ObjectRef shared = number(1);
  std::vector<ObjectRef> inputs = {shared};
  const ObjectCall call{inputs, {}, {}, account};
  const ObjectRef kept = call.take(0).value_or_throw();
  EXPECT_EQ(&*kept, &*shared);
  EXPECT_EQ(account.held(), 0);
}

TEST(ObjectCallTest, CountsObjectsThatItMakes) {
  MemoryAccount account(100000);
  {
    std::vector<ObjectRef> outputs(1);
    const ObjectCall call{{}, outputs, {}, account};
    ASSERT_TRUE(call.give(0, *Tensor::zeros(DType::f32, {10})));
    EXPECT_GE(account.held(), 40 + outputs[0]->own_bytes());
  }
  EXPECT_EQ(account.held(), 0);
}

TEST(MemoryAccountTest, AsksForRoomBeforeItRefuses) {
  MemoryAccount account(1000);
  account.set_elsewhere(900);
  EXPECT_FALSE(account.check(200));
  account.set_make_room([] { return std::int64_t{100}; });
  EXPECT_TRUE(account.check(200));
  EXPECT_FALSE(account.check(901));
}

TEST(MemoryAccountTest, NotesTheLargestSumThatItAllowed) {
  MemoryAccount account(1000);
  account.set_elsewhere(100);
  {
    const auto held = account.hold(200).value_or_throw();
    EXPECT_TRUE(account.check(300));
    EXPECT_EQ(account.peak(), 600);
  }
  EXPECT_TRUE(account.check(400));
  EXPECT_EQ(account.peak(), 600);
  EXPECT_FALSE(account.was_short());
  const Expected<void> refused = account.check_at_least(901);
  ASSERT_FALSE(refused);
  EXPECT_EQ(Error(refused.error()).text(),
            "the run needs at least 901 more bytes, but 900 bytes of the memory budget are left");
  EXPECT_TRUE(account.was_short());
  EXPECT_EQ(account.peak(), 600);
}

TEST(MemoryAccountTest, CountsStorageThatIsLargerThanTheTensor) {
  MemoryAccount account(10000);
  {
    const Tensor kept = account.count(*Tensor::zeros(DType::f32, {10}), 5000).value_or_throw();
    EXPECT_GE(account.held(), 5000);
  }
  EXPECT_EQ(account.held(), 0);
}

TEST(ObjectCallTest, KeepsCopiesOfMemoryThatIsOnlyLent) {
  const float lent[] = {1, 2};
  MemoryAccount account(100000);
  std::vector<ObjectRef> inputs = {ObjectRef::of(Tensor(DType::f32, {2}, nullptr, lent))};
  const ObjectCall call{inputs, {}, {}, account};
  const ObjectRef kept = call.take(0).value_or_throw();
  EXPECT_NE(kept->tensor().data(), lent);
  EXPECT_EQ(kept->tensor().as<float>()[1], 2);
  EXPECT_FALSE(inputs[0]);
}

}  // namespace
}  // namespace scanloom::tensor
