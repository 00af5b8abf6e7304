#include "ir/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/infer_again.h"
#include "tests/ir/local_ops.h"
#include "tests/ir/loop_maker.h"

namespace scanloom::ir {
namespace {

using local::BranchMaker;
using local::LoopMaker;
using ::testing::HasSubstr;

class InferTest : public ::testing::Test {
 protected:
  ValueId argument(DType dtype, std::vector<Dim> dims) {
    return m.add_argument(m.top(), Type::of(dtype, std::move(dims)));
  }
  ValueId op(const OpDef& op, std::vector<ValueId> inputs) {
    return LoopMaker::append(m, m.top(), op, std::move(inputs));
  }
  ValueId constant(Tensor value) { return Builder(m, m.top()).constant(std::move(value)); }

  /// Infers with the module's own argument types; the error's text, or "".
  std::string run(bool evaluate = false) {
    std::vector<Type> types;
    for (const ValueId id : m.region(m.top()).args) types.push_back(m.value(id).type);
    auto inferred = infer(m, types, m.dims, {.evaluate = evaluate});
    if (!inferred) return inferred.error().text();
    result = *std::move(inferred);
    return "";
  }
  std::string type(ValueId id) { return to_string(result.types[id.index], m.dims); }
  std::vector<std::int64_t> numbers(ValueId id) {
    const auto& known = result.known[id.index];
    if (known == nullptr || !known->tensor) return {};
    return to_integers(*known->tensor).value_or(std::vector<std::int64_t>{});
  }

  Module m;
  Inference result;
};

TEST_F(InferTest, SizesFlowAsExpressions) {
  const ValueId x = argument(DType::f32, {m.dims.symbol("T"), 4});
  const ValueId sizes = op(local::sizes_op, {x});
  const ValueId y = op(local::resize_op, {x, op(local::plus_op, {sizes, sizes})});
  EXPECT_EQ(run(), "");
  EXPECT_EQ(type(sizes), "i64[2]");
  EXPECT_EQ(type(y), "f32[2*T,8]");
  EXPECT_TRUE(numbers(sizes).empty());
}

TEST_F(InferTest, NumbersTakeThePlaceOfSymbolsAndBecomeTensors) {
  const ValueId x = argument(DType::f32, {m.dims.symbol("T"), 4});
  const ValueId sizes = op(local::sizes_op, {x});
  const ValueId y = op(local::resize_op, {x, sizes});
  const Type bound[] = {Type::of(DType::f32, {3, 4})};
  DimTable dims;
  const auto inferred = infer(m, bound, dims, {.evaluate = true});
  ASSERT_TRUE(inferred);
  EXPECT_EQ(to_string(inferred->types[y.index], dims), "f32[3,4]");
  EXPECT_EQ(to_integers(*inferred->known[sizes.index]->tensor), (std::vector<std::int64_t>{3, 4}));
}

TEST_F(InferTest, ConstantsAreSharedNotCopied) {
  const Tensor value = Tensor::scalar(2.0f);
  const ValueId c = constant(value);
  EXPECT_EQ(run(), "");
  EXPECT_EQ(type(c), "f32[]");
  EXPECT_EQ(result.known[c.index]->tensor->data(), value.data());
}

TEST_F(InferTest, EvaluatesPureNodesOfKnownInputs) {
  const ValueId sum =
      op(local::plus_op, {constant(Tensor::scalar(2.0f)),
                          constant(Tensor::of<float>({3}, std::vector{1.f, 2.f, 3.f}))});
  EXPECT_EQ(run(false), "");
  EXPECT_EQ(result.known[sum.index], nullptr);
  EXPECT_EQ(run(true), "");
  ASSERT_NE(result.known[sum.index], nullptr);
  EXPECT_EQ(result.known[sum.index]->tensor->as<float>()[2], 5.0f);
}

TEST_F(InferTest, FaultsOfCertainNodesAreErrors) {
  m.add_location({{"node 'guard' (Check)"}});
  op(local::check_op, {constant(Tensor::scalar(std::int64_t{-5}))});
  m.node(m.region(m.top()).nodes.back()).location = LocationId(0u);
  EXPECT_EQ(run(false), "");
  EXPECT_EQ(run(true), "node 'guard' (Check): value -5 is less than 0");
}

TEST_F(InferTest, WhatMayFailIsOnlyKnownOnceItRan) {
  const ValueId checked = op(local::check_op, {constant(Tensor::scalar(std::int64_t{5}))});
  EXPECT_EQ(run(false), "");
  EXPECT_FALSE(result.known[checked.index]->tensor);
  EXPECT_EQ(result.known[checked.index]->integers, std::vector<Dim>{5});
  EXPECT_EQ(run(true), "");
  EXPECT_EQ(numbers(checked), std::vector<std::int64_t>{5});
}

TEST_F(InferTest, IntegersOfNodesThatMustRunStillServeAsSizes) {
  const ValueId x = argument(DType::f32, {5, m.dims.symbol("T")});
  const ValueId sizes = op(local::check_op, {op(local::sizes_op, {x})});
  const ValueId y = op(local::resize_op, {x, sizes});
  EXPECT_EQ(run(true), "");
  EXPECT_EQ(type(y), "f32[5,T]");
  EXPECT_TRUE(numbers(sizes).empty());
}

TEST_F(InferTest, ErrorsNameTheNode) {
  m.add_location({{"node 'sum' (Add-14)"}});
  op(local::plus_op, {argument(DType::f32, {2}), argument(DType::f32, {3})});
  m.node(m.region(m.top()).nodes.back()).location = LocationId(0u);
  EXPECT_THAT(run(), HasSubstr("node 'sum' (Add-14): f32[2] and f32[3] do not broadcast"));
}

TEST_F(InferTest, WrongNumberOfArgumentTypesIsAnError) {
  argument(DType::f32, {2});
  const auto inferred = infer(m, {}, m.dims);
  ASSERT_FALSE(inferred);
  EXPECT_EQ(inferred.error().code(), Code::internal);
}

TEST_F(InferTest, JoinKeepsWhatAgrees) {
  const Type a = Type::of(DType::f32, {2, m.dims.symbol("T")});
  EXPECT_EQ(join(a, a, m.dims), a);
  EXPECT_EQ(to_string(join(a, Type::of(DType::f32, {3, m.dims.symbol("T")}), m.dims), m.dims),
            "f32[?0,T]");
  EXPECT_EQ(to_string(join(a, Type::of(DType::f32, {2}), m.dims), m.dims), "f32[*]");
}

TEST_F(InferTest, UnknownConditionsJoinBothSides) {
  const ValueId condition = argument(DType::boolean, {});
  const ValueId x = argument(DType::f32, {2, 3});
  BranchMaker branch(m, m.top(), condition, {x}, 2);
  branch.close(
      0, {branch.arg(0, 0), branch.op(0, local::join_op, {branch.arg(0, 0), branch.arg(0, 0)})});
  branch.close(1, {branch.arg(1, 0), branch.op(1, local::same_op, {branch.arg(1, 0)})});
  EXPECT_EQ(run(), "");
  EXPECT_EQ(type(branch.out(0)), "f32[2,3]");
  EXPECT_EQ(type(branch.out(1)), "f32[?0,3]");
  EXPECT_EQ(result.taken_branch[branch.node().index], -1);
  EXPECT_TRUE(result.varying_sizes);
}

TEST_F(InferTest, KnownConditionsTakeOneSide) {
  const ValueId two = constant(Tensor::scalar(std::int64_t{2}));
  const ValueId one = constant(Tensor::scalar(std::int64_t{1}));
  const ValueId x = argument(DType::f32, {3});
  BranchMaker branch(m, m.top(), op(local::before_op, {two, one}), {x, two}, 2);
  branch.close(0, {branch.op(0, local::drop_op, {branch.arg(0, 0)}), branch.arg(0, 1)});
  branch.close(1, {branch.arg(1, 0), branch.arg(1, 1)});
  EXPECT_EQ(run(true), "");
  EXPECT_EQ(result.taken_branch[branch.node().index], 1);
  EXPECT_EQ(type(branch.out(0)), "f32[3]");
  EXPECT_EQ(numbers(branch.out(1)), std::vector<std::int64_t>{2});
  EXPECT_FALSE(result.visited[branch.side(0).index]);
  EXPECT_TRUE(result.visited[branch.side(1).index]);
}

TEST_F(InferTest, AgainGivesWhatAFirstInferenceGives) {
  const ValueId x = argument(DType::f32, {m.dims.symbol("T"), 4});
  const ValueId y = argument(DType::f32, {m.dims.symbol("U"), 4});
  const ValueId kept = op(local::sizes_op, {x});
  op(local::resize_op, {x, kept});
  const ValueId sizes = op(local::sizes_op, {y});
  op(local::resize_op, {y, op(local::plus_op, {sizes, sizes})});
  op(local::resize_op,
     {x, op(local::plus_op, {kept, constant(Tensor::of<std::int64_t>({2}, {{1, 2}}))})});
  op(local::same_op, {op(local::filter_op, {y})});
  const auto run_for = [&](std::int64_t t, std::int64_t u, Inference* before) {
    const Type bound[] = {Type::of(DType::f32, {t, 4}), Type::of(DType::f32, {u, 4})};
    DimTable dims;
    return infer_again(m, bound, dims, {.evaluate = true}, before);
  };
  const auto first = run_for(3, 5, nullptr);
  ASSERT_TRUE(first);
  for (const auto& [t, u] : {std::pair(3, 5), {3, 6}, {4, 5}, {4, 1}, {1, 0}}) {
    Inference before = *first;
    const auto again = run_for(t, u, &before), fresh = run_for(t, u, nullptr);
    ASSERT_TRUE(again);
    ASSERT_TRUE(fresh);
    for (std::uint32_t i = 0; i < m.value_count(); ++i) {
      EXPECT_EQ(again->types[i].is_static(), fresh->types[i].is_static()) << i;
      if (fresh->types[i].is_static()) {
        EXPECT_EQ(again->types[i], fresh->types[i]) << i;
      }
      ASSERT_EQ(again->known[i] == nullptr, fresh->known[i] == nullptr) << i;
      result = *again;
      const std::vector<std::int64_t> found = numbers(ValueId(i));
      result = *fresh;
      EXPECT_EQ(found, numbers(ValueId(i))) << i;
    }
    EXPECT_EQ(again->known[kept.index] == first->known[kept.index], t == 3);
  }
}

TEST_F(InferTest, WhatMayNeverRunIsNoError) {
  const ValueId x = argument(DType::f32, {3});
  BranchMaker branch(m, m.top(), argument(DType::boolean, {}), {x}, 1);
  branch.close(0, {branch.op(0, local::drop_op, {branch.arg(0, 0)})});
  branch.close(1, {branch.arg(1, 0)});
  EXPECT_EQ(run(), "");
  EXPECT_EQ(type(branch.out(0)), "f32[*]");
}

TEST_F(InferTest, FaultsThatMayNeverHappenAreLeftToTheRun) {
  BranchMaker branch(m, m.top(), argument(DType::boolean, {}),
                     {constant(Tensor::scalar(std::int64_t{-5}))}, 1);
  branch.close(0, {branch.op(0, local::check_op, {branch.arg(0, 0)})});
  branch.close(1, {branch.arg(1, 0)});
  EXPECT_EQ(run(true), "");
}

TEST_F(InferTest, SidesOfDifferentKindsAreAnError) {
  const ValueId x = argument(DType::f32, {3});
  const ValueId n = argument(DType::i64, {});
  BranchMaker branch(m, m.top(), argument(DType::boolean, {}), {x, n}, 1);
  branch.close(0, {branch.arg(0, 0)});
  branch.close(1, {branch.arg(1, 1)});
  EXPECT_THAT(run(), HasSubstr("result 0 is f32[3] in one branch and i64[] in the other"));
}

TEST_F(InferTest, TypesAreWrittenBackAndDeclaredOnesKept) {
  const ValueId x = argument(DType::f32, {3});
  const ValueId some = op(local::filter_op, {x});
  const ValueId same = op(local::same_op, {some});
  m.value(some).type = Type::of(DType::f32, {m.dims.symbol("K")});
  ASSERT_TRUE(infer_types(m));
  EXPECT_EQ(to_string(m.value(some).type, m.dims), "f32[K]");
  EXPECT_TRUE(m.value(same).type.ranked);
}

}  // namespace
}  // namespace scanloom::ir
