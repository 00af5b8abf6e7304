// Shape inference with symbols: sizes that are computed from Shape reach the operators that use
// them.
#include "ops/sizes.h"

#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/ops.h"

namespace scanloom::ops {
namespace {

using ir::Known;
using tensor::Attr;
using tensor::Dim;
using tensor::DimTable;
using tensor::Type;

/// One operand: its type and, of integers, its elements.
struct Value {
  Type type;
  Known known;
};

class SizesTest : public testing::Test {
 protected:
  Dim symbol(const char* name) { return dims_.symbol(name); }
  Value real(std::vector<Dim> sizes) { return {Type::of(DType::f32, std::move(sizes)), {}}; }
  Value list(std::vector<Dim> elements) {
    return {Type::of(DType::i64, {static_cast<std::int64_t>(elements.size())}),
            {std::nullopt, std::move(elements)}};
  }
  Value scalar(Dim element) {
    return {Type::scalar(DType::i64), {std::nullopt, std::vector<Dim>{element}}};
  }
  Value unknown_list(std::int64_t count) { return {Type::of(DType::i64, {count}), {}}; }

  Expected<std::vector<Value>> infer(const ir::OpDef& op, std::vector<Value> inputs,
                                     std::vector<Attr> attrs = {}, std::size_t outputs = 1) {
    std::vector<const Type*> types;
    std::vector<const Known*> known;
    for (const Value& input : inputs) {
      types.push_back(&input.type);
      known.push_back(&input.known);
    }
    ir::InferCtx ctx(types, known, attrs, outputs, dims_);
    SCANLOOM_CHECK_OK(op.infer(ctx));
    std::vector<Value> results;
    for (std::size_t i = 0; i < outputs; ++i)
      results.push_back({ctx.outputs()[i], {std::nullopt, ctx.output_integers()[i]}});
    return results;
  }
  Value result(const ir::OpDef& op, std::vector<Value> inputs, std::vector<Attr> attrs = {}) {
    auto results = infer(op, std::move(inputs), std::move(attrs));
    EXPECT_TRUE(results) << results.error().text();
    return results ? results->front() : Value();
  }
  std::string type(const Value& value) { return to_string(value.type, dims_); }
  std::string type(const ir::OpDef& op, std::vector<Value> inputs, std::vector<Attr> attrs = {}) {
    return type(result(op, std::move(inputs), std::move(attrs)));
  }
  std::string elements(const Value& value) {
    if (!value.known.integers) return "?";
    std::string text;
    for (const Dim element : *value.known.integers) text += dims_.to_string(element) + " ";
    return text;
  }

  DimTable dims_;
};

using Numbers = std::vector<std::int64_t>;

TEST_F(SizesTest, ShapeReachesReshape) {
  const Value x = real({symbol("T"), symbol("B"), 8});
  const Value shape = result(shape_op, {x}, {0, Attr()});
  EXPECT_EQ(elements(shape), "T B 8 ");
  const Value steps = result(gather_op, {shape, scalar(0)}, {0});
  const Value row = result(unsqueeze_op, {steps}, {Numbers{0}});
  const Value wanted = result(concat_op, {row, list({-1})}, {0});
  EXPECT_EQ(elements(wanted), "T -1 ");
  EXPECT_EQ(type(reshape_op, {x, wanted}, {0}), "f32[T,8*B]");
}

TEST_F(SizesTest, SliceSqueezeAndReshapeFollowElements) {
  const Value sizes = list({symbol("T"), 3, symbol("B")});
  const Value cut = result(slice_op, {sizes, list({-1}), list({9})});
  EXPECT_EQ(elements(cut), "B ");
  EXPECT_EQ(elements(result(squeeze_op, {cut}, {Attr()})), "B ");
  EXPECT_EQ(elements(result(reshape_op, {cut, list({})}, {0})), "B ");
  EXPECT_EQ(elements(result(slice_op, {sizes, list({-1}), list({-9}), list({0}), list({-1})})),
            "B 3 T ");
  const auto parts = infer(split_op, {sizes, list({1, 2})}, {0}, 2);
  ASSERT_TRUE(parts);
  EXPECT_EQ(elements((*parts)[1]), "3 B ");
}

TEST_F(SizesTest, ElementsAreCountedAndMultiplied) {
  const Value x = real({symbol("T"), 4});
  EXPECT_EQ(elements(result(size_op, {x})), "4*T ");
  EXPECT_EQ(elements(result(dim_op, {x}, {-2})), "T ");
  EXPECT_EQ(elements(result(reduce_op, {list({symbol("T"), 4})}, {"prod", Attr(), 0})), "4*T ");
  EXPECT_EQ(elements(result(reduce_op, {list({-2})}, {"sum", Attr(), 0})), "-2 ");
  for (const char* const kind : {"l1", "l2", "sum_square", "log_sum"})
    EXPECT_EQ(elements(result(reduce_op, {list({-2})}, {kind, Attr(), 0})), "?") << kind;
}

TEST_F(SizesTest, RepeatedElementsAreFollowed) {
  const Value ones =
      result(constant_of_shape_op, {list({2})}, {tensor::Tensor::scalar<std::int64_t>(1)});
  EXPECT_EQ(elements(ones), "1 1 ");
  EXPECT_EQ(elements(result(expand_op, {scalar(symbol("T")), list({3})})), "T T T ");
  EXPECT_EQ(
      type(constant_of_shape_op, {list({symbol("B"), 5})}, {tensor::Tensor::scalar<float>(0)}),
      "f32[B,5]");
}

TEST_F(SizesTest, SlicesOfSymbols) {
  const Value x = real({symbol("T")});
  const std::int64_t end = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(type(slice_op, {x, list({0}), list({end})}), "f32[T]");
  EXPECT_EQ(type(slice_op, {x, list({0}), list({std::numeric_limits<std::int32_t>::max()})}),
            "f32[T]");
  EXPECT_EQ(type(slice_op, {x, list({0}), list({symbol("T")})}), "f32[T]");
  EXPECT_EQ(type(slice_op, {x, list({0}), list({-1})}), "f32[max(0,T-1)]");
  EXPECT_EQ(type(slice_op, {x, list({0}), list({end}), list({0}), list({2})}),
            "f32[floor_div(T+1,2)]");
  EXPECT_EQ(type(slice_op, {x, list({-1}), list({-end}), list({0}), list({-1})}), "f32[T]");
  EXPECT_EQ(type(slice_op, {real({7}), unknown_list(1), list({3})}), "f32[?0]");
}

TEST_F(SizesTest, ReshapeDividesSymbols) {
  const Value x = real({symbol("T"), symbol("B"), 12});
  EXPECT_EQ(type(reshape_op, {x, list({0, -1, 6})}, {0}), "f32[T,2*B,6]");
  EXPECT_EQ(type(reshape_op, {x, list({-1})}, {0}), "f32[12*B*T]");
  EXPECT_EQ(type(reshape_op, {x, unknown_list(2)}, {0}), "f32[?0,?1]");
}

TEST_F(SizesTest, SizesOfConcatSplitAndPad) {
  const Dim steps = symbol("T");
  EXPECT_EQ(type(concat_op, {real({steps, 2}), real({3, symbol("B")})}, {0}), "f32[T+3,2]");
  EXPECT_EQ(type(pad_op, {real({steps}), list({2, 1})}, {"constant"}), "f32[T+3]");
  EXPECT_EQ(type(tile_op, {real({steps}), list({3})}), "f32[3*T]");
  const auto parts = infer(split_op, {real({dims_.mul(2, steps)})}, {0}, 2);
  ASSERT_TRUE(parts);
  EXPECT_EQ(type((*parts)[1]), "f32[T]");
}

TEST_F(SizesTest, ProductsAndConvolutions) {
  const Dim batch = symbol("B"), steps = symbol("T");
  EXPECT_EQ(type(contract_op, {real({batch, steps, 8}), real({8, 3})}, {""}), "f32[B,T,3]");
  EXPECT_EQ(type(contract_op, {real({batch, 8}), real({symbol("K"), 3})}, {""}), "f32[B,3]");
  const std::vector<Attr> strided = {Attr(), Attr(), Attr(), Numbers{1, 1}, Numbers{2}};
  EXPECT_EQ(type(conv_op, {real({batch, 1, steps}), real({4, 1, 3})}, strided),
            "f32[B,4,floor_div(T-1,2)+1]");
  const std::vector<Attr> same = {"same_upper", Attr(), Attr(), Attr(), Numbers{2}};
  EXPECT_EQ(type(conv_op, {real({batch, 1, steps}), real({4, 1, 3})}, same),
            "f32[B,4,floor_div(T+1,2)]");
}

TEST_F(SizesTest, RangesOfSymbols) {
  const Dim steps = symbol("T");
  EXPECT_EQ(type(range_op, {scalar(0), scalar(steps), scalar(1)}), "i64[T]");
  EXPECT_EQ(type(range_op, {scalar(0), scalar(steps), scalar(2)}), "i64[floor_div(T+1,2)]");
}

TEST_F(SizesTest, RemaindersAndWholeQuotientsAreFollowed) {
  const Dim any = dims_.fresh(), steps = symbol("T");
  EXPECT_EQ(elements(result(mod_op, {scalar(steps), scalar(4)}, {1})), "T-4*floor_div(T,4) ");
  EXPECT_EQ(elements(result(mod_op, {scalar(any), scalar(4)}, {0})), "?0-4*floor_div(?0,4) ");
  EXPECT_EQ(elements(result(mod_op, {scalar(any), scalar(4)}, {1})), "?");
  EXPECT_EQ(elements(result(mod_op, {scalar(any), scalar(-4)}, {0})), "?");
  const Value rest = result(mod_op, {scalar(any), scalar(4)}, {0});
  const Value whole = result(sub_op, {scalar(any), rest});
  EXPECT_EQ(elements(result(div_op, {whole, scalar(4)})), "floor_div(?0,4) ");
  EXPECT_EQ(elements(result(div_op, {scalar(any), scalar(4)})), "?");
}

TEST_F(SizesTest, CheckEqualPassesOnTheSizeThatIsKnown) {
  EXPECT_EQ(elements(result(check_equal_op, {scalar(symbol("T")), scalar(7)}, {"{} {}"})), "7 ");
  EXPECT_EQ(elements(result(check_equal_op, {scalar(symbol("T")), scalar(symbol("S"))}, {"{} {}"})),
            "T ");
}

TEST_F(SizesTest, TooManyAxesAreRefused) {
  const std::vector<Dim> many(16, Dim(1));
  const auto wide = infer(unsqueeze_op, {real(many)}, {Numbers{0}});
  ASSERT_FALSE(wide);
  EXPECT_THAT(wide.error().text(), testing::HasSubstr("17 axes, more than 16"));
  const auto gathered = infer(gather_op, {real(many), list({0, 0})}, {0});
  EXPECT_TRUE(gathered);
}

TEST_F(SizesTest, PoolsAndTransposedConvolutionsFollowSymbols) {
  const Value x = real({symbol("B"), 3, symbol("H"), 8});
  const std::vector<Attr> pool = {Attr(),        0, Attr(), Numbers{2, 2}, Numbers{1, 0, 1, 0},
                                  Numbers{2, 2}, 0};
  EXPECT_EQ(type(average_pool_op, {x}, pool), "f32[B,3,floor_div(H,2)+1,4]");
  const std::vector<Attr> same = {"same_upper", 0, Attr(), Numbers{3, 3}, Attr(), Numbers{2, 2}, 0};
  EXPECT_EQ(type(average_pool_op, {x}, same), "f32[B,3,floor_div(H+1,2),4]");
  const std::vector<Attr> transposed = {Attr(), Attr(), Attr(),       Attr(),
                                        Attr(), Attr(), Numbers{2, 2}};
  EXPECT_EQ(type(conv_transpose_op, {x, real({3, 5, 2, 2})}, transposed), "f32[B,5,2*H,16]");
}

TEST_F(SizesTest, ListsOfSizesReachTheOperatorsThatTakeThem) {
  const Value x = real({symbol("B"), 4, symbol("L")});
  const Value wide = {Type::scalar(DType::f64), {}};
  const std::vector<Attr> linear = {2, "linear", "half_pixel", -0.75, 0, 0, 0.0};
  const Value twice = scalar(dims_.mul(symbol("L"), 2));
  EXPECT_EQ(type(resample_op, {x, twice, wide}, linear), "f32[B,4,2*L]");
  EXPECT_EQ(type(col2im_op, {x, list({5, 6}), list({1, 2})}, {Attr(), Attr(), Attr()}),
            "f32[B,2,5,6]");
  EXPECT_EQ(type(affine_grid_op, {real({2, 2, 3}), list({2, 1, symbol("H"), 4})}, {0}),
            "f32[2,H,4,2]");
}

}  // namespace
}  // namespace scanloom::ops
