#include "ir/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ir/local_ops.h"

namespace scanloom::ir {
namespace {

using ::testing::HasSubstr;

class BuilderTest : public ::testing::Test {
 protected:
  ValueId argument(DType dtype, std::vector<Dim> dims) {
    return m.add_argument(m.top(), Type::of(dtype, std::move(dims)));
  }
  std::string error(const OpDef& op, std::vector<ValueId> inputs,
                    std::vector<NamedAttr> attrs = {}) {
    const auto node = build.node(op, std::move(inputs), std::move(attrs));
    return node ? std::string("no error") : node.error().text();
  }
  Module m;
  Builder build{m, m.top()};
};

TEST_F(BuilderTest, InfersWhileBuilding) {
  const ValueId x = argument(DType::f32, {m.dims.symbol("T"), 3});
  const auto y = build.op(local::plus_op, {x, build.constant(Tensor::scalar(1.0f))});
  ASSERT_TRUE(y);
  EXPECT_EQ(to_string(m.value(*y).type, m.dims), "f32[T,3]");
}

TEST_F(BuilderTest, FollowsSizes) {
  const ValueId x = argument(DType::f32, {m.dims.symbol("T"), 3});
  const auto sizes = build.op(local::sizes_op, {x});
  const auto one = build.constant(Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{1, 0}));
  const auto more = build.op(local::plus_op, {*sizes, one});
  const auto y = build.op(local::resize_op, {x, *more});
  ASSERT_TRUE(y);
  EXPECT_EQ(to_string(m.value(*y).type, m.dims), "f32[T+1,3]");
}

TEST_F(BuilderTest, ErrorsNameLocationAndOperand) {
  const ValueId x = argument(DType::f32, {2});
  const ValueId n = argument(DType::i64, {2});
  EXPECT_THAT(error(local::plus_op, {x}),
              HasSubstr("a plus node: operand 1 'b' of plus is missing"));
  EXPECT_THAT(error(local::plus_op, {x, ValueId{}}), HasSubstr("operand 1 'b' of plus is missing"));
  EXPECT_THAT(error(local::plus_op, {x, x, x}), HasSubstr("takes 2 operands, but 3 are given"));
  EXPECT_THAT(error(local::plus_op, {x, n}), HasSubstr("is i64, but operand 0 is f32"));
  EXPECT_THAT(error(local::resize_op, {x, x}),
              HasSubstr("must be an i64 or i32 tensor, not f32[2]"));
  EXPECT_THAT(error(local::same_op, {x}, {{"text", Attr("a")}}),
              HasSubstr("has no attribute 'text'"));
  EXPECT_THAT(error(local::same_op, {x}, {{"label", Attr(1)}}),
              HasSubstr("must be a string, not an integer"));
  build.set_location(m.add_location({{"node 'sum' (Add-14)"}}));
  EXPECT_THAT(error(local::plus_op, {x, argument(DType::f32, {3})}),
              HasSubstr("node 'sum' (Add-14): f32[2] and f32[3] do not broadcast: sizes 2 and 3"));
}

TEST_F(BuilderTest, SizesThatDoNotFitWaitWhereANodeMayNeverRun) {
  const RegionId side = m.add_region(NodeId{});
  const ValueId x = m.add_argument(side, Type::of(DType::f32, {3}));
  Builder inside(m, side);
  const auto dropped = inside.op(local::drop_op, {x});
  ASSERT_TRUE(dropped);
  EXPECT_EQ(to_string(m.value(*dropped).type, m.dims), "f32[*]");
  EXPECT_FALSE(inside.op(local::plus_op, {x}));
}

TEST_F(BuilderTest, ImpossibleResultsAreRefused) {
  const ValueId x = argument(DType::f32, {2});
  const auto sizes = [&](std::vector<std::int64_t> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return build.constant(Tensor::of<std::int64_t>({count}, values));
  };
  EXPECT_THAT(error(local::resize_op, {x, sizes({-2})}), HasSubstr("has a size of -2"));
  EXPECT_THAT(error(local::resize_op, {x, sizes({1 << 30, 1 << 30})}), HasSubstr("2^40"));
  EXPECT_THAT(error(local::resize_op, {x, sizes(std::vector<std::int64_t>(17, 1))}),
              HasSubstr("17 axes"));
}

}  // namespace
}  // namespace scanloom::ir
