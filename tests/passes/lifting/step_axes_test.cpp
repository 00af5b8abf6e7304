// The axis of the steps of a sequence outside of loops: if it is tracked through a node, pieces of
// the sequence must give the pieces of the results.
#include "passes/lifting/step_axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interp/interpreter.h"
#include "ir/parse.h"
#include "ir/verify.h"
#include "ops/ops.h"
#include "passes/run.h"
#include "tensor/strided_copy.h"
#include "tests/support/case_file.h"

namespace scanloom::passes {
namespace {

using scanloom::testing::Case;
using scanloom::testing::read_cases;
using tensor::Shape;
using tensor::Tensor;
using Kind = StepFlow::Kind;

constexpr std::int64_t kSteps = 7;

/// Elements [first, first + count) along an axis.
Tensor part_of(const Tensor& whole, int axis, std::int64_t first, std::int64_t count) {
  Shape shape = whole.shape();
  shape[axis] = count;
  Tensor part = *Tensor::zeros(whole.dtype(), shape);
  const Shape from = tensor::contiguous_strides(whole.shape());
  const Shape to = tensor::contiguous_strides(shape);
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(whole.dtype()));
  tensor::copy_strided(whole.dtype(), shape.dims(),
                       static_cast<const std::byte*>(whole.data()) + first * from[axis] * bytes,
                       from.data(), static_cast<std::byte*>(part.mutable_data()), to.data());
  return part;
}

/// Small numbers; integers are indices that fit an axis of two elements.
std::vector<Tensor> feeds_with_steps(const ir::Module& module) {
  std::vector<Tensor> feeds;
  for (const ir::ValueId arg : module.region(module.top()).args) {
    const ir::Type& type = module.value(arg).type;
    Shape shape;
    for (const ir::Dim dim : type.dims) shape.push_back(dim.is_constant() ? dim.value() : kSteps);
    Tensor feed = *Tensor::zeros(type.dtype, shape);
    for (std::int64_t i = 0; i < feed.elements(); ++i) {
      const std::int64_t number = i * 37 % 11;
      if (type.dtype == DType::f32)
        static_cast<float*>(feed.mutable_data())[i] = 0.25f * static_cast<float>(number) - 1;
      if (type.dtype == DType::i64) static_cast<std::int64_t*>(feed.mutable_data())[i] = number % 2;
      if (type.dtype == DType::u8)
        static_cast<std::uint8_t*>(feed.mutable_data())[i] = static_cast<std::uint8_t>(number);
    }
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

/// The results of a piece are those of the whole, at its steps; what has no steps stays.
void check_piece(const ir::Module& module, const StepAxes& axes, std::int64_t first,
                 std::int64_t count) {
  const std::vector<Tensor> feeds = feeds_with_steps(module);
  const auto whole = interp::interpret(module, feeds);
  ASSERT_TRUE(whole) << whole.error().message();
  std::vector<Tensor> pieces;
  const ir::Region& top = module.region(module.top());
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const StepFlow flow = axes.flows[top.args[i].index];
    pieces.push_back(flow.kind == Kind::along ? part_of(feeds[i], flow.axis, first, count)
                                              : feeds[i]);
  }
  const auto results = interp::interpret(module, pieces);
  ASSERT_TRUE(results) << results.error().message();
  for (std::size_t i = 0; i < results->size(); ++i) {
    const StepFlow flow = axes.flows[top.yields[i].index];
    Tensor wanted = (*whole)[i];
    if (flow.kind == Kind::along) {
      const std::int64_t each = wanted.shape()[flow.axis] / kSteps;
      wanted = part_of(wanted, flow.axis, first * each, count * each);
    }
    EXPECT_TRUE(identical((*results)[i], wanted)) << "output " << i << ", steps from " << first;
  }
}

TEST(StepAxes, PiecesAreThoseOfTheWhole) {
  int followed = 0, refused = 0;
  for (const Case& c : read_cases("passes/step_axes.ir")) {
    SCOPED_TRACE(c.name);
    auto module = ir::parse(c.parts[0], ops::find_op);
    ASSERT_TRUE(module) << module.error().message();
    const auto sound = ir::verify(*module);
    ASSERT_TRUE(sound) << sound.error().message();
    const auto axes = follow_steps(*module, module->dims.symbol("T"));
    if (!c.error.empty()) {
      ASSERT_FALSE(axes);
      EXPECT_EQ(axes.error().code(), Code::unsupported);
      EXPECT_THAT(axes.error().message(), ::testing::HasSubstr(c.error));
      ++refused;
      continue;
    }
    ASSERT_TRUE(axes) << axes.error().message();
    for (const auto& [first, count] : {std::pair(0, 3), {3, 1}, {4, 3}, {2, 0}})
      check_piece(*module, *axes, first, count);
    ++followed;
  }
  EXPECT_GT(followed, 20);
  EXPECT_GT(refused, 20);
}

// Streams run what the passes have made of a model: steps that joined a batch must be found again.
TEST(StepAxes, LiftedConvolutionsAreFollowed) {
  for (const std::string batch : {"1", "3", "N"}) {
    SCOPED_TRACE(batch);
    auto module = ir::parse(fmt::format(R"(module {{
  graph(%0 "x": f32[T,{0},2,6], %1 "h0": f32[{0},4,4], %2 "w": f32[4,2,3]) {{
    %3, %4 = loop captured(%2) carried(%1) scanned(%0 axis 0) stacked(axis 0) : f32[{0},4,4], f32[T,{0},4,4] {{
      body(%5: f32[4,2,3], %6: f32[{0},4,4], %7: f32[{0},2,6]) {{
        %8 = conv(%7, %5) {{group = 1}} : f32[{0},4,4]
        %9 = add(%6, %8) : f32[{0},4,4]
        yield %9, %9
      }}
    }}
    yield %3 "h", %4 "y"
  }}
}})",
                                        batch),
                            ops::find_op);
    ASSERT_TRUE(module) << module.error().message();
    ASSERT_TRUE(run(*module));
    const auto& nodes = module->region(module->top()).nodes;
    EXPECT_TRUE(std::ranges::any_of(
        nodes, [&](ir::NodeId id) { return module->node(id).op == &ops::conv_op; }));
    const auto axes = follow_steps(*module, module->dims.symbol("T"));
    ASSERT_TRUE(axes) << axes.error().message();
    EXPECT_EQ(axes->sites.size(), 1U);
  }
}

}  // namespace
}  // namespace scanloom::passes
