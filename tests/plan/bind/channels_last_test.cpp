#include "plan/bind/channels_last.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/parse.h"
#include "kernels/conv_blocks.h"
#include "ops/ops.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

using tensor::Shape;

/// "%id = constant f32[...] [...]", with small numbers.
std::string constant(int id, const Shape& shape) {
  std::string text = "    %" + std::to_string(id) + " = constant f32" + shape.to_string() + " [";
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string((i * 7) % 5 - 2) + ".0";
  return text + "]\n";
}

/// The kernels of the calls that the graph becomes, in order, each with "/last" if the call stores
/// its result with the channels last.
std::string calls_of(const std::string& graph, const Shape& feed) {
  const Expected<ir::Module> module = ir::parse("module \"m\" {\n" + graph + "}\n", ops::find_op);
  if (!module) return module.error().message();
  const auto bound = plan::bind(make_plan(*module, {}), std::vector<Shape>{feed});
  if (!bound) return bound.error().message();
  const Binding& binding = **bound;
  std::string names;
  for (const BoundCall& call : binding.calls) {
    const Spot& result = binding.operands[call.first_operand + call.inputs];
    const Layout& layout = binding.layouts[static_cast<std::size_t>(result.layout)];
    names += (names.empty() ? "" : " ") + std::string(call.kernel.name()) +
             (layout.contiguous ? "" : "/last");
  }
  return names;
}

const std::string kHead =
    "  graph(%0 \"x\": f32[1,16,9,9]) {\n" + constant(1, {32, 16, 3, 3}) +
    constant(2, {32, 32, 1, 1}) + constant(3, {32}) + constant(4, {1, 32, 1, 1}) +
    "    %5 = conv(%0, %1, %3) {group = 1, pads = [1, 1, 1, 1]} : f32[1,32,9,9]\n"
    "    %6 = relu(%5) : f32[1,32,9,9]\n"
    "    %7 = conv(%6, %2) {group = 1} : f32[1,32,9,9]\n"
    "    %8 = mul(%7, %4) : f32[1,32,9,9]\n"
    "    %9 = add(%8, %6) : f32[1,32,9,9]\n"
    "    %10 = relu(%9) : f32[1,32,9,9]\n";

std::string with(const std::string& rest) {
  return calls_of(kHead + rest + "  }\n", {1, 16, 9, 9});
}

/// Without broadcasting loads, blocks of filters are slower than other ways.
bool is_worth_it() { return kernels::conv_block_fns<float>(active_isa()).broadcasts; }

TEST(ChannelsLast, ResultsBetweenConvolutionsAndResiduals) {
  if (!is_worth_it()) GTEST_SKIP() << "blocks of filters are slow with this instruction set";
  EXPECT_EQ(with("    %11 = conv(%10, %2) {group = 1} : f32[1,32,9,9]\n"
                 "    yield %11 \"y\"\n"),
            "conv/last conv/last conv");
}

TEST(ChannelsLast, PoolsAndConcatenationsKeepThem) {
  if (!is_worth_it()) GTEST_SKIP() << "blocks of filters are slow with this instruction set";
  EXPECT_EQ(
      with("    %11, %12 = max_pool(%10) {auto_pad = \"explicit\", ceil_mode = 0, kernel = [2, 2], "
           "strides = [2, 2], storage_order = 0} : f32[1,32,4,4], i64[1,32,4,4]\n"
           "    %13 = conv(%11, %2) {group = 1} : f32[1,32,4,4]\n"
           "    %14 = concat(%11, %13) {axis = 1} : f32[1,64,4,4]\n" +
           constant(15, {32, 64, 1, 1}) +
           "    %16 = conv(%14, %15) {group = 1} : f32[1,32,4,4]\n"
           "    yield %16 \"y\"\n"),
      "conv/last conv/last pool/last conv/last concat/last conv");
}

// Filters with a channel each keep the layout of what they read.
TEST(ChannelsLast, SingleChannelsKeepThem) {
  if (!is_worth_it()) GTEST_SKIP() << "blocks of filters are slow with this instruction set";
  const std::string single =
      constant(20, {32, 1, 3, 3}) +
      "    %21 = conv(%10, %20) {group = 32, pads = [1, 1, 1, 1]} : f32[1,32,9,9]\n";
  EXPECT_EQ(with(single + "    %22 = conv(%21, %2) {group = 1} : f32[1,32,9,9]\n"
                          "    yield %22 \"y\"\n"),
            "conv/last conv/last conv/last conv");
  EXPECT_EQ(with(single + "    yield %21 \"y\"\n"), "conv conv conv");
}

// The result of the second convolution is one of the graph, so its residual is not stored so
// either.
TEST(ChannelsLast, ResultsOfTheGraphAndTheirResidualsAreRowMajor) {
  EXPECT_EQ(with("    yield %10 \"y\"\n"), "conv conv");
}

TEST(ChannelsLast, AReaderThatTakesOnlyRowsPreventsThem) {
  EXPECT_EQ(with("    %11 = conv(%10, %2) {group = 1} : f32[1,32,9,9]\n"
                 "    %12 = reduce(%6) {kind = \"sum\", axes = [0, 2], keepdims = 1} : "
                 "f32[1,32,1,9]\n"
                 "    yield %11 \"y\", %12 \"sum\"\n"),
            "conv conv conv reduce");
}

TEST(ChannelsLast, ReductionsOfAllPositionsTakeThem) {
  if (!is_worth_it()) GTEST_SKIP() << "blocks of filters are slow with this instruction set";
  EXPECT_EQ(with("    %11 = reduce(%10) {kind = \"mean\", axes = [-1, 2], keepdims = 0} : "
                 "f32[1,32]\n"
                 "    %12 = reduce(%6) {kind = \"max\", axes = [2, 3], keepdims = 1} : "
                 "f32[1,32,1,1]\n"
                 "    yield %11 \"mean\", %12 \"max\"\n"),
            "conv/last conv/last reduce reduce");
}

// Each pool could keep the layout if only the next one did.
TEST(ChannelsLast, ALongChainIsGivenUpQuickly) {
  std::string graph;
  const int last = 20'010;
  for (int id = 10; id < last; id += 2)
    graph += "    %" + std::to_string(id + 1) + ", %" + std::to_string(id + 2) + " = max_pool(%" +
             std::to_string(id == 10 ? 10 : id - 1) +
             ") {auto_pad = \"explicit\", ceil_mode = 0, kernel = [1, 1], storage_order = 0} : "
             "f32[1,32,9,9], i64[1,32,9,9]\n";
  graph += "    yield %" + std::to_string(last - 1) + " \"y\"\n";
  const std::string calls = with(graph);
  EXPECT_TRUE(calls.starts_with("conv conv pool pool")) << calls.substr(0, 200);
}

}  // namespace
}  // namespace scanloom::plan
