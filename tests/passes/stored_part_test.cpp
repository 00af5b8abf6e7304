#include "passes/nodes/stored_part.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "ops/ops.h"

namespace scanloom::passes {
namespace {

using tensor::Shape;
using tensor::Tensor;

constexpr std::int64_t kRows = 4, kColumns = 100, kDepth = 200;  // 320,000 bytes

Tensor list(std::vector<std::int64_t> values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

/// Elements first ... last - 1 of an axis of `whole`.
std::optional<Tensor> slice_of(const Tensor& whole, std::int64_t axis, std::int64_t first,
                               std::int64_t last, std::int64_t step = 1) {
  ir::Node node;
  node.op = &ops::slice_op;
  Shape shape = whole.shape();
  shape[static_cast<int>(axis)] = (last - first + step - 1) / step;
  const std::vector<Tensor> inputs = {whole, list({first}), list({last}), list({axis}),
                                      list({step})};
  return stored_part(node, ir::Type::of(whole.dtype(), shape), inputs);
}

Tensor weights() {
  Tensor whole = *Tensor::zeros(DType::f32, {kRows, kColumns, kDepth});
  auto* const elements = static_cast<float*>(whole.mutable_data());
  for (std::int64_t i = 0; i < whole.elements(); ++i) elements[i] = static_cast<float>(i);
  return whole;
}

TEST(StoredPart, SlicesOfAdjacentElementsShareTheMemory) {
  const Tensor whole = weights();
  const auto part = slice_of(whole, 0, 1, 3);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->shape(), (Shape{2, kColumns, kDepth}));
  EXPECT_EQ(part->data(), whole.as<float>().data() + kColumns * kDepth);
  EXPECT_EQ(part->owner(), whole.owner());
}

TEST(StoredPart, SlicesOfRowsWithinOneIndexShareTheMemory) {
  const Tensor whole = weights().reshaped({1, kRows * kColumns, kDepth});
  const auto part = slice_of(whole, 1, 100, 250);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->data(), whole.as<float>().data() + 100 * kDepth);
}

TEST(StoredPart, OtherSlicesAreCopied) {
  const Tensor whole = weights();
  EXPECT_FALSE(slice_of(whole, 1, 0, 50));    // of each row
  EXPECT_FALSE(slice_of(whole, 0, 0, 4, 2));  // every other one
  EXPECT_FALSE(slice_of(whole, 0, 0, 0));     // none
  const Tensor large = weights().reshaped({8, kRows * kColumns * kDepth / 8});
  EXPECT_FALSE(slice_of(large, 0, 3, 4));  // an eighth would keep all of it
}

TEST(StoredPart, PartsAtUnalignedAddressesStayThere) {
  const Tensor whole = weights();
  std::vector<std::byte> file(whole.bytes() + 1 + 63);
  std::memcpy(file.data() + 1, whole.data(), whole.bytes());
  const Tensor stored =
      Tensor::at_any_address(whole.dtype(), whole.shape(), nullptr, file.data() + 1);
  const auto part = slice_of(stored, 0, 2, 4);
  ASSERT_TRUE(part);
  EXPECT_FALSE(part->is_aligned());
  EXPECT_EQ(part->stored(), file.data() + 1 + 2 * kColumns * kDepth * sizeof(float));
  EXPECT_EQ(part->as<float>()[7], static_cast<float>(2 * kColumns * kDepth + 7));
}

}  // namespace
}  // namespace scanloom::passes
