#include "ops/pointwise.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/infer_ctx.h"
#include "ops/ops.h"
#include "tests/ops/samples.h"

namespace scanloom::ops {
namespace {

using ir::Known;
using tensor::Attr;
using tensor::Dim;
using tensor::DimTable;
using tensor::ScalarOp;
using tensor::ScalarProgram;
using tensor::Type;

ScalarProgram program_of(const ir::OpDef& op, std::vector<std::optional<DType>> inputs,
                         std::vector<Attr> attrs = {}) {
  return pointwise_program(op, inputs, attrs);
}

TEST(PointwiseTest, ProgramHasTheDtypesOfTheInputs) {
  const ScalarProgram program = program_of(add_op, {DType::i32, DType::i32});
  EXPECT_EQ(program.inputs, (std::vector{DType::i32, DType::i32}));
  ASSERT_EQ(program.instrs.size(), 1u);
  EXPECT_EQ(program.instrs[0].op, ScalarOp::add);
  EXPECT_EQ(program.instrs[0].dtype, DType::i32);
  EXPECT_EQ(program.results, (std::vector<std::int32_t>{2}));
}

TEST(PointwiseTest, AbsentInputsTakeNoRegister) {
  const ScalarProgram program = program_of(clip_op, {DType::f32, std::nullopt, DType::f32});
  EXPECT_EQ(program.inputs.size(), 2u);
  ASSERT_EQ(program.instrs.size(), 1u);
  EXPECT_EQ(program.instrs[0].op, ScalarOp::min);
  EXPECT_EQ(program.instrs[0].args[1], 1);
}

TEST(PointwiseTest, ComparisonsGiveBooleansAndCastsTheirAttribute) {
  const ScalarProgram less = program_of(less_op, {DType::f64, DType::f64});
  EXPECT_EQ(less.register_dtype(less.results[0]), DType::boolean);
  const ScalarProgram cast = program_of(cast_op, {DType::f64}, {Attr(DType::u8)});
  EXPECT_EQ(cast.register_dtype(cast.results[0]), DType::u8);
}

TEST(PointwiseTest, PowersAreComputedInATypeThatHoldsTheExponent) {
  EXPECT_EQ(program_of(pow_op, {DType::f32, DType::f32}).instrs.size(), 1u);
  for (const auto& [base, exponent, common] : {std::tuple(DType::f32, DType::i64, DType::f64),
                                               std::tuple(DType::f32, DType::i8, DType::f32),
                                               std::tuple(DType::f32, DType::f16, DType::f32),
                                               std::tuple(DType::i8, DType::i64, DType::i64),
                                               std::tuple(DType::i32, DType::u64, DType::u64),
                                               std::tuple(DType::i32, DType::f32, DType::f64),
                                               std::tuple(DType::f64, DType::i32, DType::f64),
                                               std::tuple(DType::f16, DType::f32, DType::f64)}) {
    const ScalarProgram program = program_of(pow_op, {base, exponent});
    bool found = false;
    for (const tensor::ScalarInstr& instr : program.instrs)
      found |= instr.op == ScalarOp::pow && instr.dtype == common;
    EXPECT_TRUE(found) << dtype_name(base) << " " << dtype_name(exponent);
    EXPECT_EQ(program.register_dtype(program.results[0]), base);
  }
}

/// Infers `op` over integers whose elements are known as dims.
class DimsTest : public testing::Test {
 protected:
  struct Operand {
    Type type;
    Known known;
  };
  static Operand vector(std::vector<Dim> elements, DType dtype = DType::i64) {
    const auto count = static_cast<std::int64_t>(elements.size());
    return {Type::of(dtype, {Dim(count)}), {.tensor = std::nullopt, .integers = elements}};
  }
  static Operand scalar(Dim element) {
    return {Type::scalar(DType::i64), {.tensor = std::nullopt, .integers = {{element}}}};
  }

  /// "T+1,4", or "unknown".
  std::string infer(const ir::OpDef& op, const std::vector<Operand>& operands,
                    std::vector<Attr> attrs = {}) {
    std::vector<const Type*> types;
    std::vector<const Known*> known;
    for (const Operand& operand : operands) {
      types.push_back(&operand.type);
      known.push_back(&operand.known);
    }
    ir::InferCtx ctx(types, known, attrs, 1, dims);
    const auto inferred = op.infer(ctx);
    EXPECT_TRUE(inferred);
    if (!inferred) return inferred.error().message();
    if (!ctx.output_integers()[0]) return "unknown";
    std::string text;
    for (const Dim dim : *ctx.output_integers()[0])
      text += fmt::format("{}{}", text.empty() ? "" : ",", dims.to_string(dim));
    return text;
  }

  DimTable dims;
  Dim t = dims.symbol("T"), n = dims.symbol("N");
};

TEST_F(DimsTest, SumsProductsAndDifferencesOfSizesAreFollowed) {
  EXPECT_EQ(infer(add_op, {vector({t, 4}), vector({1, 2})}), "T+1,6");
  EXPECT_EQ(infer(sub_op, {vector({t, 4}), scalar(1)}), "T-1,3");
  EXPECT_EQ(infer(mul_op, {scalar(t), scalar(n)}), dims.to_string(dims.mul(t, n)));
  EXPECT_EQ(infer(max_op, {vector({3, 9}), scalar(5)}), "5,9");
  EXPECT_EQ(infer(min_op, {vector({3, 9}), scalar(5)}), "3,5");
}

TEST_F(DimsTest, DivisionIsFollowedWhereItRoundsAsSizesDo) {
  EXPECT_EQ(infer(div_op, {vector({t, -7}), scalar(2)}),
            fmt::format("{},-3", dims.to_string(dims.floor_div(t, 2))));
  EXPECT_EQ(infer(div_op, {scalar(dims.sub(t, 5)), scalar(2)}), "unknown");
  EXPECT_EQ(infer(div_op, {scalar(t), scalar(0)}), "unknown");
  EXPECT_EQ(infer(div_op, {scalar(t), scalar(n)}), "unknown");
}

TEST_F(DimsTest, CastsBetweenSizesAreFollowed) {
  EXPECT_EQ(infer(cast_op, {vector({t, 4}, DType::i32)}, {Attr(DType::i64)}), "T,4");
  EXPECT_EQ(infer(cast_op, {vector({4, -4})}, {Attr(DType::i32)}), "4,-4");
  EXPECT_EQ(infer(cast_op, {vector({std::int64_t{1} << 40})}, {Attr(DType::i32)}), "unknown");
  EXPECT_EQ(infer(cast_op, {vector({t, 4})}, {Attr(DType::f32)}), "unknown");
}

TEST_F(DimsTest, IdentityPassesSizesOn) { EXPECT_EQ(infer(identity_op, {vector({t, 4})}), "T,4"); }

TEST_F(DimsTest, WhatIsNoSizeIsNotFollowed) {
  EXPECT_EQ(infer(neg_op, {scalar(t)}), "unknown");
  EXPECT_EQ(infer(add_op, {{Type::scalar(DType::i64), {}}, scalar(t)}), "unknown");
}

TEST(PointwiseInferTest, BroadcastsSymbols) {
  DimTable dims;
  const Dim t = dims.symbol("T");
  const Type a = Type::of(DType::f32, {t, Dim(1), Dim(4)}),
             b = Type::of(DType::f32, {Dim(3), Dim(4)});
  const std::vector<const Type*> types{&a, &b};
  const std::vector<const Known*> known(2);
  ir::InferCtx ctx(types, known, {}, 1, dims);
  ASSERT_TRUE(less_op.infer(ctx));
  EXPECT_EQ(to_string(ctx.outputs()[0], dims), "boolean[T,3,4]");
}

TEST(PointwiseInferTest, RefusesWhatIsNoTensorAndWhatIsTooLarge) {
  DimTable dims;
  Type sequence = Type::of(DType::f32, {Dim(2)});
  sequence.wraps = {tensor::Wrap::sequence};
  std::vector<const Type*> types{&sequence};
  const std::vector<const Known*> known(2);
  ir::InferCtx of_sequence(types, known, {}, 1, dims);
  const auto refused = abs_op.infer(of_sequence);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid_model);
  EXPECT_EQ(refused.error().text(), "input 0 is not a tensor");

  const Type column = Type::of(DType::f32, {Dim(1 << 30), Dim(1)});
  const Type row = Type::of(DType::f32, {Dim(1 << 30)});
  types = {&column, &row};
  ir::InferCtx of_giants(types, known, {}, 1, dims);
  const auto too_large = add_op.infer(of_giants);
  ASSERT_FALSE(too_large);
  EXPECT_NE(too_large.error().text().find("more than 2^40 elements"), std::string::npos);
}

TEST(PointwiseInferTest, UnsupportedElementTypesAreNamed) {
  DimTable dims;
  const Type text = Type::of(DType::string, {Dim(2)});
  const std::vector<const Type*> types{&text};
  const std::vector<const Known*> known(1);
  ir::InferCtx ctx(types, known, {}, 1, dims);
  const auto refused = exp_op.infer(ctx);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_EQ(refused.error().text(), "not defined from element types string to string");
}

TEST(PointwiseReferenceTest, RowsLongerThanAColumnAreWhole) {
  const Tensor x = counted(DType::i32, {3, 1000}), y = i32({3, 1}, {1, 10, 100});
  Tensor z = Tensor::zeros(DType::i32, {3, 1000}).value_or_throw();
  std::byte* slots[] = {const_cast<std::byte*>(static_cast<const std::byte*>(x.data())),
                        const_cast<std::byte*>(static_cast<const std::byte*>(y.data())),
                        static_cast<std::byte*>(z.mutable_data())};
  const tensor::Shape row{1000, 1}, column{1, 1};
  const auto operand = [&](int i, const Tensor& tensor, const tensor::Shape& strides) {
    return tensor::Operand{.slot = &slots[i],
                           .dims = tensor.shape().data(),
                           .strides = strides.data(),
                           .rank = 2,
                           .dtype = DType::i32};
  };
  const tensor::Operand inputs[] = {operand(0, x, row), operand(1, y, column)};
  const tensor::Operand output = operand(2, z, row);
  tensor::Fault fault;
  tensor::Call call;
  call.inputs = inputs;
  call.outputs = &output;
  call.input_count = 2;
  call.output_count = 1;
  call.fault = &fault;
  ASSERT_EQ(mul_op.reference(call), tensor::Status::ok);
  for (std::size_t i = 0; i < 3000; ++i)
    ASSERT_EQ(z.as<std::int32_t>()[i],
              static_cast<std::int32_t>(i) * y.as<std::int32_t>()[i / 1000]);
}

}  // namespace
}  // namespace scanloom::ops
