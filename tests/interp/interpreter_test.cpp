#include "interp/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/infer.h"
#include "ir/parse.h"
#include "ir/verify.h"
#include "ops/ops.h"

namespace scanloom::interp {
namespace {

using tensor::Shape;
using tensor::Tensor;
using ::testing::HasSubstr;

ir::Module read(std::string_view text) {
  auto module = ir::parse(text, ops::find_op);
  EXPECT_TRUE(module) << module.error().message();
  if (!module) return {};
  const auto sound = ir::verify(*module);
  EXPECT_TRUE(sound) << sound.error().message();
  return *std::move(module);
}

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, values);
}
Tensor integers(const Shape& shape, const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>(shape, values);
}
Tensor number(std::int64_t value) { return Tensor::scalar(value); }
Tensor flag(bool value) { return Tensor::scalar(value); }

std::vector<Tensor> run(std::string_view text, std::vector<Tensor> feeds,
                        const InterpretOptions& options = {}) {
  auto results = interpret(read(text), feeds, options);
  EXPECT_TRUE(results) << results.error().message();
  return results ? *std::move(results) : std::vector<Tensor>();
}

std::string error_of(std::string_view text, std::vector<Tensor> feeds,
                     const InterpretOptions& options = {}) {
  const auto results = interpret(read(text), feeds, options);
  EXPECT_FALSE(results);
  return results ? "" : results.error().message();
}

#define EXPECT_TENSOR(actual, expected) \
  EXPECT_TRUE(tensor::identical(actual, expected)) << describe(actual)

std::string describe(const Tensor& tensor) {
  std::string text(dtype_name(tensor.dtype()));
  text += tensor.shape().to_string() + ":";
  if (tensor.dtype() == DType::f32)
    for (const float value : tensor.as<float>()) text += " " + std::to_string(value);
  if (tensor.dtype() == DType::i64)
    for (const auto value : tensor.as<std::int64_t>()) text += " " + std::to_string(value);
  return text;
}

constexpr std::string_view kCumulative = R"(module {
  graph(%0 "x": f32[T,2], %1 "h": f32[2]) {
    %2, %3 = loop carried(%1) scanned(%0 axis 0) stacked(axis 0) : f32[2], f32[?0,2] loc("node 'scan'") {
      body(%4: f32[2], %5: f32[2]) {
        %6 = add(%4, %5) : f32[2]
        yield %6, %6
      }
    }
    yield %2 "last", %3 "all"
  } })";

TEST(Interpreter, ScansRows) {
  const auto results =
      run(kCumulative, {floats({3, 2}, {1, 2, 3, 4, 5, 6}), floats({2}, {10, 20})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TENSOR(results[0], floats({2}, {19, 32}));
  EXPECT_TENSOR(results[1], floats({3, 2}, {11, 22, 14, 26, 19, 32}));
}

TEST(Interpreter, NoStepsGiveInitialValuesAndNoRows) {
  const auto results = run(kCumulative, {floats({0, 2}, {}), floats({2}, {10, 20})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TENSOR(results[0], floats({2}, {10, 20}));
  EXPECT_TENSOR(results[1], floats({0, 2}, {}));
}

TEST(Interpreter, SizesOfNoRowsComeFromOperands) {
  constexpr std::string_view text = R"(module {
    graph(%0 "n": i64[], %1 "x": f32[*], %2 "idx": i64[K]) {
      %3, %4 = loop trip(%0) captured(%1, %2) stacked(axis 1, axis 0) : f32[*], i64[*] {
        body(%5: f32[*], %6: i64[K]) {
          %7 = neg(%5) : f32[*]
          %8 = non_zero(%6) : i64[1,?0]
          yield %7, %8
        }
      }
      yield %3 "y", %4 "unknown"
    } })";
  const auto results =
      run(text, {number(-2), floats({3, 2}, {1, 2, 3, 4, 5, 6}), integers({2}, {1, 0})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].shape(), (Shape{3, 0, 2}));
  EXPECT_EQ(results[1].shape().rank(), 3);
  EXPECT_EQ(results[1].shape()[0], 0);
  EXPECT_EQ(results[1].shape()[1], 1);
}

/// Returns the slices of [0, 1, ..., size - 1] that a loop reads through the scanned `port`,
/// stacked.
std::vector<Tensor> windows(std::string_view port, std::int64_t size) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < size; ++i) values.push_back(static_cast<float>(i));
  const bool keep = port.find("keep") != port.npos;
  const std::string type = keep ? "f32[?1]" : "f32[]";
  const std::string text = "module { graph(%0 \"x\": f32[T]) { %1 = loop scanned(%0 axis 0 " +
                           std::string(port) + ") stacked(axis 0" + (keep ? " concat" : "") +
                           ") : f32[?0] { body(%2: " + type + ") { yield %2 } } yield %1 \"y\" } }";
  return run(text, {floats({size}, values)});
}

TEST(Interpreter, Windows) {
  EXPECT_TENSOR(windows("", 3)[0], floats({3}, {0, 1, 2}));
  EXPECT_TENSOR(windows("start 1", 3)[0], floats({2}, {1, 2}));
  EXPECT_TENSOR(windows("start -2", 3)[0], floats({2}, {1, 2}));
  EXPECT_TENSOR(windows("start -1 stride -1", 3)[0], floats({3}, {2, 1, 0}));
  EXPECT_TENSOR(windows("stride 2", 4)[0], floats({2}, {0, 2}));
  EXPECT_TENSOR(windows("start -1 stride -2", 4)[0], floats({2}, {3, 1}));
  EXPECT_TENSOR(windows("part 2 keep", 4)[0], floats({6}, {0, 1, 1, 2, 2, 3}));
  EXPECT_TENSOR(windows("stride 2 part 2 keep", 5)[0], floats({4}, {0, 1, 2, 3}));
  EXPECT_TENSOR(windows("stride 3 part 2 keep", 5)[0], floats({4}, {0, 1, 3, 4}));
  EXPECT_TENSOR(windows("start -1 stride -2 part 2 keep", 5)[0], floats({4}, {3, 4, 1, 2}));
  EXPECT_EQ(windows("part 3 keep", 2)[0].elements(), 0);
  EXPECT_EQ(windows("start -1 stride -1", 0)[0].elements(), 0);
  EXPECT_EQ(windows("start 9223372036854775807", 3)[0].elements(), 0);
  EXPECT_EQ(windows("start -9223372036854775808 stride -9223372036854775808", 3)[0].elements(), 0);
}

TEST(Interpreter, OtherAxesAndReverse) {
  const auto results = run(R"(module {
    graph(%0 "x": f32[2,T]) {
      %1, %2, %3 = loop scanned(%0 axis 1) stacked(axis 1, axis 1 reverse, axis 0 concat reverse) : f32[2,?0], f32[2,?0], f32[?1] {
        body(%4: f32[2]) {
          yield %4, %4, %4
        }
      }
      yield %1 "a", %2 "b", %3 "c"
    } })",
                           {floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TENSOR(results[0], floats({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_TENSOR(results[1], floats({2, 3}, {3, 2, 1, 6, 5, 4}));
  EXPECT_TENSOR(results[2], floats({6}, {3, 6, 2, 5, 1, 4}));
}

TEST(Interpreter, StatesChangeAllAtOnce) {
  const auto results = run(R"(module {
    graph(%0 "n": i64[], %1 "a": i64[], %2 "b": i64[]) {
      %3, %4, %5 = loop trip(%0) carried(%1, %2) stacked(axis 0) : i64[], i64[], i64[?0] {
        body(%6: i64[], %7: i64[]) {
          %8 = add(%6, %7) : i64[]
          yield %7, %8, %6
        }
      }
      yield %3 "a", %4 "b", %5 "fibonacci"
    } })",
                           {number(7), number(0), number(1)});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TENSOR(results[0], number(13));
  EXPECT_TENSOR(results[2], integers({7}, {0, 1, 1, 2, 3, 5, 8}));
}

constexpr std::string_view kUntil = R"(module {
  graph(%0 "n": i64[], %1 "go": boolean[1], %2 "x": i64[]) {
    %3, %4 = loop trip(%0) condition(%1) carried(%2) stacked(axis 0) keep_going : i64[], i64[?0] loc("node 'while'") {
      body(%5: i64[]) {
        %6 = add(%5, %5) : i64[]
        %7 = constant i64[] [100]
        %8 = less(%6, %7) : boolean[]
        yield %8, %6, %6
      }
    }
    yield %3 "last", %4 "all"
  } })";

TEST(Interpreter, TheStepThatEndsALoopCounts) {
  const Tensor go = flag(true).reshaped({1});
  auto results = run(kUntil, {number(50), go, number(20)});
  EXPECT_TENSOR(results[1], integers({3}, {40, 80, 160}));
  results = run(kUntil, {number(2), go, number(20)});
  EXPECT_TENSOR(results[1], integers({2}, {40, 80}));
  results = run(kUntil, {number(50), flag(false).reshaped({1}), number(20)});
  EXPECT_TENSOR(results[0], number(20));
  EXPECT_TENSOR(results[1], integers({0}, {}));
}

TEST(Interpreter, EndlessLoopsMeetTheLimit) {
  const std::vector<Tensor> feeds = {number(std::int64_t{1} << 53), flag(true).reshaped({1}),
                                     number(0)};
  InterpretOptions options;
  options.max_steps = 10;
  EXPECT_THAT(
      error_of(kUntil, feeds, options),
      HasSubstr("node 'while': has taken 10 steps without ending; the limit max_steps is 10"));
}

TEST(Interpreter, TellsOfEveryStepHowFarTheOutermostLoopIs) {
  constexpr std::string_view text = R"(module {
    graph(%0 "n": i64[], %1 "x": f32[]) {
      %2 = loop trip(%0) captured(%0) carried(%1) : f32[] {
        body(%3: i64[], %4: f32[]) {
          %5 = loop trip(%3) carried(%4) : f32[] {
            body(%6: f32[]) {
              %7 = add(%6, %6) : f32[]
              yield %7
            }
          }
          yield %5
        }
      }
      yield %2 "y"
    } })";
  std::vector<std::int64_t> heard;
  InterpretOptions options;
  options.may_go_on = [&](const LoopProgress& progress) -> Expected<void> {
    EXPECT_EQ(progress.steps, 2);
    heard.push_back(progress.step);
    if (heard.size() == 7) return fail(Code::cancelled, "enough");
    return {};
  };
  run(text, {number(2), floats({}, {1})}, options);
  EXPECT_THAT(heard, ::testing::ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(error_of(text, {number(2), floats({}, {1})}, options), HasSubstr("enough"));
}

// Each state of half the size of the next lives until that is made.
TEST(Interpreter, ValuesMeetTheLimitOfMemory) {
  constexpr std::string_view text = R"(module {
    graph(%0 "n": i64[], %1 "x": f32[?0]) {
      %2 = loop trip(%0) carried(%1) : f32[?1] loc("node 'loop'") {
        body(%3: f32[?2]) {
          %4 = concat(%3, %3) {axis = 0} : f32[?3] loc("node 'grow'")
          yield %4
        }
      }
      yield %2 "y"
    } })";
  const Tensor one = floats({1}, {5});
  InterpretOptions options;
  options.max_memory = 100'000;
  EXPECT_EQ(run(text, {number(10), one}, options)[0].elements(), 1024);
  const std::string message = error_of(text, {number(40), one}, options);
  EXPECT_THAT(message, ::testing::StartsWith("node 'grow': the run needs "));
  EXPECT_THAT(message, HasSubstr("bytes of the memory budget are left"));
  EXPECT_THAT(message, HasSubstr("in step 14 of node 'loop'"));
}

// Overwritten values are freed: many steps of the same size need no more memory than two.
TEST(Interpreter, MemoryIsGivenBack) {
  constexpr std::string_view text = R"(module {
    graph(%0 "n": i64[], %1 "x": f32[1000]) {
      %2 = loop trip(%0) carried(%1) : f32[1000] {
        body(%3: f32[1000]) {
          %4 = add(%3, %3) : f32[1000]
          yield %4
        }
      }
      yield %2 "y"
    } })";
  InterpretOptions options;
  options.max_memory = 20'000;
  const Tensor x = floats({1000}, std::vector<float>(1000, 1.0f));
  EXPECT_EQ(run(text, {number(100), x}, options).size(), 1u);
}

TEST(Interpreter, ResultsTooLargeForTheLimitAreNotMade) {
  InterpretOptions options;
  options.max_memory = 1000;
  constexpr std::string_view text = R"(module {
    graph(%0 "n": i64[1]) {
      %1 = constant_of_shape(%0) {value = f32[1] [0]} : f32[?0] loc("node 'fill'")
      yield %1 "y"
    } })";
  EXPECT_THAT(error_of(text, {integers({1}, {std::int64_t{1} << 40})}, options),
              HasSubstr("node 'fill': the run needs 4398046511104 more bytes, but 1000 bytes "
                        "of the memory budget are left"));
}

TEST(Interpreter, ShapesMayGrowInLoops) {
  const auto results = run(R"(module {
    graph(%0 "n": i64[], %1 "x": f32[?0]) {
      %2, %3 = loop trip(%0) carried(%1) stacked(axis 0 concat) : f32[?1], f32[?2] {
        body(%4: f32[?3]) {
          %5 = concat(%4, %4) {axis = 0} : f32[?4]
          yield %5, %5
        }
      }
      yield %2 "y", %3 "rows"
    } })",
                           {number(2), floats({1}, {5})});
  EXPECT_TENSOR(results[0], floats({4}, {5, 5, 5, 5}));
  EXPECT_TENSOR(results[1], floats({6}, {5, 5, 5, 5, 5, 5}));
}

TEST(Interpreter, StackedRowsKeepTheirShape) {
  constexpr std::string_view text = R"(module {
    graph(%0 "n": i64[], %1 "x": f32[?0]) {
      %2, %3 = loop trip(%0) carried(%1) stacked(axis 0) : f32[?1], f32[?2,?3] loc("node 'grow'") {
        body(%4: f32[?4]) {
          %5 = concat(%4, %4) {axis = 0} : f32[?5]
          yield %5, %5
        }
      }
      yield %2 "y", %3 "rows"
    } })";
  EXPECT_THAT(
      error_of(text, {number(2), floats({1}, {5})}),
      HasSubstr("node 'grow': output 'rows' has a row of sizes [4] in step 1, but [2] in step 0"));
}

// Every row is the same scalar: what grows is the list of rows.
TEST(Interpreter, StacksCountWhileTheyGrow) {
  constexpr std::string_view text = R"(module {
    graph(%0 "n": i64[], %1 "x": f32[]) {
      %2 = loop trip(%0) captured(%1) stacked(axis 0) : f32[?0] loc("node 'stack'") {
        body(%3: f32[]) {
          yield %3
        }
      }
      yield %2 "rows"
    } })";
  InterpretOptions options;
  options.max_memory = 1 << 20;
  std::int64_t most = 0;
  options.may_go_on = [&](const LoopProgress& progress) -> Expected<void> {
    most = std::max(most, progress.step);
    return {};
  };
  EXPECT_THAT(error_of(text, {number(200000), floats({}, {1})}, options),
              HasSubstr("bytes of the memory budget are left"));
  EXPECT_LT(most, 20000);
  EXPECT_EQ(run(text, {number(1000), floats({}, {1})}, options)[0].elements(), 1000);
}

class CountsPolls final : public tensor::StopToken {
 public:
  explicit CountsPolls(int last) : last_(last) {}
  [[nodiscard]] int polls() const { return polls_; }

 private:
  bool poll() noexcept override {
    if (++polls_ == last_) set_stopped(true);
    return stopped();
  }

  int last_, polls_ = 0;
};

struct Node {
  std::string_view inputs, call, result;
};

/// Zeros of the types that the module declares.
std::vector<Tensor> zero_feeds(const ir::Module& module) {
  std::vector<Tensor> feeds;
  for (const ir::ValueId arg : module.region(module.top()).args) {
    const tensor::Type& type = module.value(arg).type;
    feeds.push_back(Tensor::zeros(type.dtype, type.shape()).value_or_throw());
  }
  return feeds;
}

TEST(Interpreter, LongNodesPoll) {
  const Node nodes[] = {
      {"%0: f32[2000,100]", "tanh(%0)", "f32[2000,100]"},
      {"%0: f32[80,80], %1: f32[80,80]", R"(contract(%0, %1) {spec = ""})", "f32[80,80]"},
      {"%0: u8[80,80], %1: u8[80,80]", "integer_matmul(%0, %1, _, _)", "i32[80,80]"},
      {"%0: f32[1,8,20,20], %1: f32[8,8,3,3]",
       R"(conv(%0, %1, _) {auto_pad = "explicit", group = 1})", "f32[1,8,18,18]"},
      {"%0: f32[1,64,20,20], %1: f32[64,64,3,3]",
       R"(conv(%0, %1, _) {auto_pad = "explicit", group = 1})", "f32[1,64,18,18]"},
      {"%0: f32[64,1000]", "softmax(%0) {axis = -1}", "f32[64,1000]"},
      {"%0: f32[900,1000]", R"(reduce(%0, _) {kind = "sum", axes = [1], keepdims = 0})",
       "f32[900]"},
      {"%0: f32[200,1000], %1: i64[]", "cumsum(%0, %1) {exclusive = 0, reverse = 0}",
       "f32[200,1000]"},
      {"%0: f32[128,1000], %1: i64[128,1000]", "gather_elements(%0, %1) {axis = 0}",
       "f32[128,1000]"},
      {"%0: f32[128,1000], %1: i64[128,1000], %2: f32[128,1000]",
       R"(scatter_elements(%0, %1, %2) {axis = 0, reduction = "add"})", "f32[128,1000]"},
      {"%0: f32[1,16,80,80], %1: f32[1,80,80,2]",
       R"(grid_sample(%0, %1) {mode = "linear", padding = "zeros", align_corners = 0})",
       "f32[1,16,80,80]"},
      {"%0: f32[90,90]", "lu_factor(%0)", "f32[90,90], i64[90]"},
      {"%0: f32[200,1000]", "argmax(%0) {axis = 1, keepdims = 0, select_last_index = 0}",
       "i64[200]"},
  };
  for (const Node& node : nodes) {
    const std::string text =
        fmt::format("module {{ graph({}) {{ {} = {} : {} yield %9 }} }}", node.inputs,
                    node.result.find("], ") == std::string_view::npos ? "%9" : "%9, %8", node.call,
                    node.result);
    const ir::Module module = read(text);
    const std::vector<Tensor> feeds = zero_feeds(module);
    CountsPolls counts(-1), stops(2);
    InterpretOptions options;
    options.stop = &counts;
    options.why_stopped = [] { return Error(Code::limit_reached, "enough"); };
    ASSERT_TRUE(interpret(module, feeds, options)) << node.call;
    EXPECT_GT(counts.polls(), 2) << node.call;  // one of them after the node
    options.stop = &stops;
    const auto stopped = interpret(module, feeds, options);
    ASSERT_FALSE(stopped) << node.call;
    EXPECT_EQ(stopped.error().code(), Code::limit_reached);
    EXPECT_EQ(stops.polls(), 2) << node.call;
  }
}

TEST(Interpreter, TooFewSlices) {
  constexpr std::string_view text = R"(module {
    graph(%0 "n": i64[], %1 "x": f32[T], %2 "y": f32[S]) {
      loop trip(%0) scanned(%1 axis 0, %2 axis 0) {
        body(%3: f32[], %4: f32[]) {
          yield
        }
      }
      loop scanned(%1 axis 0, %2 axis 0) {
        body(%5: f32[], %6: f32[]) {
          yield
        }
      }
      yield
    } })";
  const Tensor three = floats({3}, {1, 2, 3}), two = floats({2}, {1, 2});
  EXPECT_THAT(error_of(text, {number(3), three, two}),
              HasSubstr("'y' has 2 slices on axis 0, but the trip count is 3"));
  EXPECT_THAT(error_of(text, {number(2), three, two}),
              HasSubstr("'y' has 2 slices on axis 0, but 'x' has 3"));
}

TEST(Interpreter, OneSideOfABranchRuns) {
  constexpr std::string_view text = R"(module {
    graph(%0 "c": boolean[], %1 "a": i64[2], %2 "i": i64[]) {
      %3 = branch(%0, %1, %2) : i64[] loc("node 'if'") {
        then(%4: i64[2], %5: i64[]) {
          %6 = gather(%4, %5) {axis = 0} : i64[] loc("node 'pick'")
          yield %6
        }
        else(%7: i64[2], %8: i64[]) {
          yield %8
        }
      }
      yield %3 "y"
    } })";
  EXPECT_TENSOR(run(text, {flag(true), integers({2}, {7, 8}), number(1)})[0], number(8));
  EXPECT_TENSOR(run(text, {flag(false), integers({2}, {7, 8}), number(5)})[0], number(5));
  EXPECT_THAT(error_of(text, {flag(true), integers({2}, {7, 8}), number(5)}),
              HasSubstr("node 'pick'"));
}

TEST(Interpreter, ErrorsSayInWhichStep) {
  constexpr std::string_view text = R"(module {
    graph(%0 "n": i64[], %1 "x": i64[2], %2 "i": i64[]) {
      %3 = loop trip(%0) captured(%1) carried(%2) : i64[] loc("node 'outer'") {
        body(%4: i64[2], %5: i64[]) {
          %6 = constant i64[] [3]
          %7 = loop trip(%6) captured(%4) carried(%5) : i64[] loc("node 'inner'") {
            body(%8: i64[2], %9: i64[]) {
              %10 = gather(%8, %9) {axis = 0} : i64[] loc("node 'pick'")
              %11 = add(%9, %10) : i64[]
              yield %11
            }
          }
          yield %7
        }
      }
      yield %3 "y"
    } })";
  const std::string message = error_of(text, {number(3), integers({2}, {1, 2}), number(0)});
  EXPECT_THAT(message, ::testing::StartsWith("node 'pick': "));
  EXPECT_THAT(message, ::testing::EndsWith("\n  note: in step 2 of node 'inner'"
                                           "\n  note: in step 0 of node 'outer'"));
}

TEST(Interpreter, Feeds) {
  EXPECT_THAT(error_of(kCumulative, {}), HasSubstr("the module has 2 inputs, but 0 are fed"));
  EXPECT_THAT(error_of(kCumulative, {integers({1, 2}, {1, 2}), floats({2}, {1, 2})}),
              HasSubstr("input 0 ('x') is fed i64[1,2], but must be f32[T,2]"));
  EXPECT_THAT(error_of(kCumulative, {floats({1, 3}, {1, 2, 3}), floats({2}, {1, 2})}),
              HasSubstr("input 0 ('x') is fed f32[1,3], but must be f32[T,2]"));
  EXPECT_THAT(error_of("module { graph(%0: f32[N], %1: f32[N]) { yield } }",
                       {floats({1}, {1}), floats({2}, {1, 2})}),
              HasSubstr("input 1 (%1) is fed f32[2], but must be f32[N]"));
  EXPECT_THAT(error_of("module { graph(%0: sequence(f32[N])) { yield } }", {floats({1}, {1})}),
              HasSubstr("input 0 (%0) is fed f32[1], but must be sequence(f32[N])"));
}

constexpr std::string_view kGrowing = R"(module {
  graph(%0 "n": i64[], %1 "x": f32[2]) {
    %2 = sequence_empty() {dtype = f32} : sequence(f32[*])
    %3 = loop trip(%0) captured(%1) carried(%2) : sequence(f32[*]) loc("node 'grow'") {
      body(%4: f32[2], %5: sequence(f32[*])) {
        %6 = sequence_insert(%5, %4, _) : sequence(f32[*])
        %7 = constant i64[] [2]
        %8 = sequence_at(%6, %7) : f32[*] loc("node 'at'")
        yield %6
      }
    }
    yield %3 "s"
  } })";

TEST(Interpreter, Sequences) {
  const std::string message = error_of(kGrowing, {number(3), floats({2}, {1, 2})});
  EXPECT_THAT(message, ::testing::StartsWith("node 'at': position 2 is outside [-1, 1)"));
  EXPECT_THAT(message, ::testing::EndsWith("\n  note: in step 0 of node 'grow'"));
  std::string text(kGrowing);
  text.replace(text.find("[2]\n        %8"), 3, "[0]");
  EXPECT_THAT(error_of(text, {number(3), floats({2}, {1, 2})}),
              HasSubstr("output 0 is a sequence of 3 items of f32, not a tensor"));
  const std::vector<tensor::ObjectRef> feeds = {tensor::ObjectRef::of(number(3)),
                                                tensor::ObjectRef::of(floats({2}, {1, 2}))};
  const auto results = interpret_objects(read(text), feeds, {});
  ASSERT_TRUE(results) << results.error().message();
  ASSERT_EQ((*results)[0]->items().size(), 3u);
  EXPECT_TENSOR((*results)[0]->items()[2]->tensor(), floats({2}, {1, 2}));
}

TEST(Interpreter, ResultsMustFitTheirTypes) {
  EXPECT_THAT(error_of(R"(module { graph(%0 "x": f32[N]) {
                 %1 = neg(%0) : f32[3]
                 yield %1 "y" } })",
                       {floats({2}, {1, 2})}),
              HasSubstr("neg of 'x': result 0 is f32[2], its type says f32[3]"));
}

TEST(Interpreter, Strings) {
  const Tensor words = *Tensor::of_strings({2}, std::vector<std::string>{"zero", "one"});
  const auto results = run(R"(module {
    graph(%0 "x": string[T]) {
      %1 = loop scanned(%0 axis 0 start -1 stride -1) stacked(axis 0) : string[?0] {
        body(%2: string[]) {
          %3 = identity(%2) : string[]
          yield %3
        }
      }
      yield %1 "y"
    } })",
                           {words});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TENSOR(results[0], *Tensor::of_strings({2}, std::vector<std::string>{"one", "zero"}));
}

TEST(Interpreter, DeepNesting) {
  constexpr int kDepth = 1000;
  std::string text = "module { graph(%0: i64[], %1: i64[]) { %2 = ";
  int next = 3;
  for (int i = 0; i < kDepth; ++i) {
    const int n = i == 0 ? 0 : next - 2, x = i == 0 ? 1 : next - 1;
    text += "loop trip(%" + std::to_string(n) + ") captured(%" + std::to_string(n) + ") carried(%" +
            std::to_string(x) + ") : i64[] { body(%" + std::to_string(next) + ": i64[], %" +
            std::to_string(next + 1) + ": i64[]) { %" + std::to_string(100000 + i) + " = ";
    next += 2;
  }
  text += "add(%" + std::to_string(next - 1) + ", %" + std::to_string(next - 2) + ") : i64[]";
  for (int i = kDepth - 1; i >= 0; --i) text += " yield %" + std::to_string(100000 + i) + " } }";
  text += " yield %2 \"y\" } }";
  EXPECT_TENSOR(run(text, {number(1), number(4)})[0], number(5));
}

}  // namespace
}  // namespace scanloom::interp
