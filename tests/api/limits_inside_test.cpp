// Limits of runs in nested loops, with compiled and with per-step outer bodies.
#include <gmock/gmock.h>

#include <chrono>
#include <limits>
#include <thread>

#include "tests/api/models.h"

namespace scanloom::test {
namespace {

using namespace onnx::test;
using ::testing::HasSubstr;

/// "last": v0 f32[3]; the i-th of 4 steps, in a branch, takes counts[i] steps of a loop.
std::string counting_inside() {
  GraphBytes innermost;
  innermost.inputs = {value_info("j", kInt64, {}), value_info("on", kBool, {}),
                      value_info("u", kFloat, {3})};
  innermost.outputs = {value_info("on_too"), value_info("s")};
  innermost.nodes = {NodeBytes("Identity", {"on"}, {"on_too"}),
                     NodeBytes("ReduceMean", {"u"}, {"mean"}).integer("keepdims", 1),
                     NodeBytes("Sub", {"u", "mean"}, {"s"})};
  GraphBytes yes, no;
  yes.outputs = {value_info("a")};
  yes.nodes = {
      NodeBytes("Loop", {"count", "", "v"}, {"a"}).name("inner").graph("body", innermost.bytes())};
  no.outputs = {value_info("b")};
  no.nodes = {NodeBytes("Neg", {"v"}, {"b"})};
  GraphBytes outer;
  outer.inputs = {value_info("v", kFloat, {3}), value_info("count", kInt64, {})};
  outer.outputs = {value_info("w")};
  outer.nodes = {NodeBytes("Cast", {"count"}, {"some"}).integer("to", kBool),
                 NodeBytes("If", {"some"}, {"w"})
                     .graph("then_branch", yes.bytes())
                     .graph("else_branch", no.bytes())};
  ModelBytes model;
  model.graph.inputs = {value_info("v0", kFloat, {3}), value_info("counts", kInt64, {4})};
  model.graph.outputs = {value_info("last")};
  model.graph.nodes = {NodeBytes("Scan", {"v0", "counts"}, {"last"})
                           .name("outer")
                           .integer("num_scan_inputs", 1)
                           .graph("body", outer.bytes())};
  return model.bytes();
}

Expected<Results> run_inside(const Session& session, const std::int64_t (&counts)[4],
                             const RunOptions& options = {}) {
  static constexpr float kV[] = {1, 2, 3};
  return session.run({{"v0", view(kV, {3})}, {"counts", view(counts, {4})}}, options);
}

TEST(Limits, HoldInLoopsInsideOfACompiledBody) {
  const std::int64_t counts[] = {0, 2, std::int64_t{1} << 40, 1};
  for (const Execution execution : {Execution::stepped, Execution::compiled}) {
    const Session session = load(counting_inside(), {.execution = execution});
    RunOptions options;
    options.max_steps = 1000;
    const auto limited = run_inside(session, counts, options);
    ASSERT_FALSE(limited);
    EXPECT_EQ(limited.error().code(), Code::limit_reached);
    EXPECT_THAT(limited.error().message(), HasSubstr("'inner'"));
    EXPECT_THAT(limited.error().message(), HasSubstr("step limit of 1000"));
    EXPECT_THAT(limited.error().message(), HasSubstr("step 2"));
    options.max_steps = -1;
    CancelFlag token;
    options.cancel = &token;
    std::chrono::steady_clock::time_point asked;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      asked = std::chrono::steady_clock::now();
      token.cancel();
    });
    const auto cancelled = run_inside(session, counts, options);
    const auto ended = std::chrono::steady_clock::now();
    other.join();
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code(), Code::cancelled);
    EXPECT_THAT(cancelled.error().message(), HasSubstr("'inner'"));
    EXPECT_THAT(cancelled.error().message(), HasSubstr("step 2"));
    // A few milliseconds, where no other program wants the processors.
    EXPECT_LT(ended - asked, std::chrono::seconds(1));
  }
}

TEST(Limits, CountTheStepsOfLoopsInsideOfACompiledBody) {
  const std::int64_t counts[] = {3, -7, 5, std::numeric_limits<std::int64_t>::min()};
  for (const Execution execution : {Execution::stepped, Execution::compiled}) {
    const Session session = load(counting_inside(), {.execution = execution});
    RunOptions options;
    options.max_steps = 5;
    const auto results = run_inside(session, counts, options);
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(results->report.steps, 4 + 3 + 5);
    options.max_steps = 4;
    const auto limited = run_inside(session, counts, options);
    ASSERT_FALSE(limited);
    EXPECT_THAT(limited.error().message(), HasSubstr("step limit of 4"));
  }
}

TEST(Limits, OfLoopsWithoutEndHoldInsideOfACompiledBody) {
  // A count of 2^53 or more means a loop without end.
  const std::int64_t counts[] = {1, 1, std::numeric_limits<std::int64_t>::max(), 1};
  for (const Execution execution : {Execution::stepped, Execution::compiled}) {
    RunOptions options;
    options.deadline = 0.1;
    const auto results =
        run_inside(load(counting_inside(), {.execution = execution}), counts, options);
    ASSERT_FALSE(results);
    EXPECT_EQ(results.error().code(), Code::limit_reached);
    EXPECT_THAT(results.error().message(), HasSubstr("deadline of 0.1 s"));
  }
}

/// "last": m0 f32[64,64]; the i-th of 2 steps takes cheap[i] steps over a number, then expensive[i]
/// steps, each of which multiplies m by itself.
std::string cheap_and_dear() {
  GraphBytes add, multiply, outer;
  add.inputs = {value_info("j", kInt64, {}), value_info("on", kBool, {}), value_info("u")};
  add.outputs = {value_info("on_too"), value_info("s")};
  add.nodes = {NodeBytes("Identity", {"on"}, {"on_too"}),
               NodeBytes("ReduceSum", {"u"}, {"s"}).integer("keepdims", 1)};
  multiply.inputs = {value_info("j2", kInt64, {}), value_info("on2", kBool, {}), value_info("t")};
  multiply.outputs = {value_info("on2_too"), value_info("p")};
  multiply.nodes = {NodeBytes("Identity", {"on2"}, {"on2_too"}),
                    NodeBytes("MatMul", {"t", "t"}, {"p"})};
  outer.inputs = {value_info("m"), value_info("few", kInt64, {}), value_info("many", kInt64, {})};
  outer.outputs = {value_info("next")};
  outer.nodes = {
      NodeBytes("ReduceMean", {"m"}, {"mean"}).integer("keepdims", 1),
      NodeBytes("Loop", {"few", "", "mean"}, {"a"}).name("cheap").graph("body", add.bytes()),
      NodeBytes("Add", {"m", "a"}, {"b"}),
      NodeBytes("Loop", {"many", "", "b"}, {"next"})
          .name("expensive")
          .graph("body", multiply.bytes())};
  ModelBytes model;
  model.graph.inputs = {value_info("m0", kFloat, {64, 64}), value_info("cheap", kInt64, {2}),
                        value_info("expensive", kInt64, {2})};
  model.graph.outputs = {value_info("last")};
  model.graph.nodes = {NodeBytes("Scan", {"m0", "cheap", "expensive"}, {"last"})
                           .name("outer")
                           .integer("num_scan_inputs", 2)
                           .graph("body", outer.bytes())};
  return model.bytes();
}

TEST(Limits, HoldInACompiledBodyWhoseLoopsInsideTakeStepsOfManyLengths) {
  const std::int64_t cheap[] = {1, 1 << 21}, expensive[] = {1, std::int64_t{1} << 40};
  const std::vector<float> m(std::size_t{64} * 64, 0);
  const Session session = load(cheap_and_dear(), {.execution = Execution::compiled});
  RunOptions options;
  options.deadline = 1;
  const auto begun = std::chrono::steady_clock::now();
  const auto results = session.run({{"m0", view(m.data(), {64, 64})},
                                    {"cheap", view(cheap, {2})},
                                    {"expensive", view(expensive, {2})}},
                                   options);
  const auto taken = std::chrono::steady_clock::now() - begun;
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code(), Code::limit_reached);
  EXPECT_THAT(results.error().message(), HasSubstr("'expensive'"));
  EXPECT_LT(taken, std::chrono::seconds(3));
}

}  // namespace
}  // namespace scanloom::test
