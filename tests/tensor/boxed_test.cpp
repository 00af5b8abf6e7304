#include "tensor/boxed.h"

#include <vector>

#include <gtest/gtest.h>

namespace scanloom::tensor {
namespace {

TEST(BoxedTest, AppendingIsInPlaceWhileUnique) {
  BoxRef box = BoxRef::of(*Tensor::zeros(DType::i64, {0, 2}));
  std::size_t moves = 0;
  const std::byte* last = nullptr;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const std::int64_t row[] = {i, -i};
    ASSERT_TRUE(box.unique());
    ASSERT_TRUE(box->append(row, 1));
    moves += box->data() != last;
    last = box->data();
  }
  EXPECT_LT(moves, 30u);
  EXPECT_EQ(box->shape(), Shape({1000, 2}));
  const Tensor tensor = box->tensor();
  EXPECT_EQ(tensor.as<std::int64_t>()[1999], -999);
}

TEST(BoxedTest, TensorsHandedOutAreNotWrittenTo) {
  BoxRef box = BoxRef::of(*Tensor::zeros(DType::i64, {0}));
  const std::int64_t one = 1, two = 2;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(box->append(&one, 1));
  const Tensor before = box->tensor();
  ASSERT_TRUE(box->append(&two, 1));
  EXPECT_NE(box->data(), before.data());
  EXPECT_EQ(before.shape(), Shape({3}));
  ASSERT_TRUE(box->resize({4}));
  EXPECT_EQ(before.as<std::int64_t>()[0], 1);
}

TEST(BoxedTest, SharedTensorsSeparateOnWriting) {
  BoxRef a = BoxRef::of(Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{7}));
  BoxRef b = a;
  EXPECT_FALSE(a.unique());
  ASSERT_TRUE(b.make_unique());
  EXPECT_TRUE(a.unique() && b.unique());
  const std::int64_t eight = 8;
  ASSERT_TRUE(b->append(&eight, 1));
  EXPECT_EQ(a->tensor().as<std::int64_t>().size(), 1u);
  EXPECT_EQ(b->tensor().as<std::int64_t>()[1], 8);
}

TEST(BoxedTest, SequencesHoldReferences) {
  BoxRef sequence = BoxRef::sequence(DType::f32);
  BoxRef item = BoxRef::of(Tensor::scalar(1.0f));
  sequence->push_back(item);
  sequence->insert(0, BoxRef::of(Tensor::scalar(2.0f)));
  EXPECT_FALSE(item.unique());
  BoxRef copy = sequence;
  ASSERT_TRUE(copy.make_unique());
  copy->erase(1);
  EXPECT_EQ(copy->items().size(), 1u);
  EXPECT_EQ(sequence->items().size(), 2u);
  const BoxRef optional = BoxRef::optional_of(item);
  EXPECT_EQ(optional->kind(), BoxKind::optional);
  EXPECT_EQ(optional->items().size(), 1u);
  optional->clear();
  EXPECT_TRUE(optional->items().empty());
}

TEST(BoxedTest, DeepNestsAreDestroyedWithoutRecursion) {
  BoxRef outer = BoxRef::sequence(DType::f32);
  for (int i = 0; i < 1000000; ++i) {
    BoxRef next = BoxRef::sequence(DType::f32);
    next->push_back(std::move(outer));
    outer = std::move(next);
  }
}

TEST(BoxedTest, ImpossibleShapesAreErrors) {
  BoxRef box = BoxRef::of(*Tensor::zeros(DType::i64, {1}));
  EXPECT_FALSE(box->resize({-1}));
  EXPECT_FALSE(box->append(nullptr, std::int64_t{1} << 62));
  EXPECT_EQ(box->shape(), Shape({1}));
}

}  // namespace
}  // namespace scanloom::tensor
