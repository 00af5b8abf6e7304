// Session: the program's view of a model, its runs, its errors, and runs from many threads.
#include <scanloom/session.h>

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/api/models.h"

namespace scanloom::test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Expected<Results> run_sums(const Session& session, std::int64_t steps = 3,
                           const RunOptions& options = {}) {
  return session.run({{"start", view(kStart, {2})}, {"xs", view(kXs, {steps, 2})}}, options);
}

Expected<Results> run_doubling(const Session& session, float value, const RunOptions& options) {
  const float limit = 1000;
  return session.run({{"v0", view(&value, {})}, {"limit", view(&limit, {})}}, options);
}

TEST(Session, TellsTheInterface) {
  const Session session = load(running_sums());
  ASSERT_EQ(session.inputs().size(), 2u);
  EXPECT_EQ(session.inputs()[1].name, "xs");
  EXPECT_EQ(session.inputs()[1].type, "tensor(float)");
  EXPECT_EQ(session.inputs()[1].shape[0].name, "T");
  EXPECT_EQ(session.inputs()[1].shape[0].size, -1);
  EXPECT_EQ(session.inputs()[1].shape[1].size, 2);
  ASSERT_EQ(session.outputs().size(), 2u);
  EXPECT_EQ(session.outputs()[0].name, "last");
  EXPECT_EQ(session.info().graph, "running_sums");
  EXPECT_EQ(session.info().producer, "model_builder");
  EXPECT_THAT(session.info().metadata,
              ElementsAre(std::pair<std::string, std::string>{"licence", "none"}));
}

TEST(Session, RunsInEveryWay) {
  for (const Execution execution : kExecutions) {
    const Session session = load(running_sums(), {.execution = execution});
    for (const std::int64_t steps : {3, 1, 0, 2, 3}) {
      const auto results = run_sums(session, steps);
      ASSERT_TRUE(results) << results.error().message();
      std::vector<float> rows, last{kStart[0], kStart[1]};
      for (std::int64_t i = 0; i < 2 * steps; ++i) {
        last[static_cast<std::size_t>(i % 2)] += kXs[i];
        rows.push_back(last[static_cast<std::size_t>(i % 2)]);
      }
      EXPECT_EQ(floats(results->at("last")), last);
      EXPECT_EQ(floats(results->at("sums")), rows);
      EXPECT_EQ(results->at("sums").shape(), (std::vector<std::int64_t>{steps, 2}));
    }
  }
}

TEST(Session, GivesTheOutputsAskedFor) {
  const Session session = load(running_sums());
  const std::vector<Feed> feeds{{"start", view(kStart, {2})}, {"xs", view(kXs, {1, 2})}};
  const std::vector<std::string> wanted{"sums"};
  const auto results = session.run(feeds, {}, wanted);
  ASSERT_TRUE(results);
  ASSERT_EQ(results->size(), 1u);
  EXPECT_EQ(results->name(0), "sums");
  EXPECT_EQ(results->find("last"), nullptr);
  EXPECT_THROW((void)results->at("last"), Failure);
  const std::vector<std::string> unknown{"sum"};
  EXPECT_THAT(session.run(feeds, {}, unknown).error().message(), HasSubstr("'sum'"));
}

TEST(Session, ReadsStridedFeeds) {
  const Session session = load(running_sums());
  View columns = view(kXs, {3, 2});
  columns.strides = {1, 3};
  const auto results = session.run({{"start", view(kStart, {2})}, {"xs", columns}});
  ASSERT_TRUE(results);
  EXPECT_EQ(floats(results->at("sums")), (std::vector<float>{11, 24, 13, 29, 16, 35}));
}

TEST(Session, ResultsOutliveTheSession) {
  Value sums;
  {
    const Session session = load(running_sums());
    sums = run_sums(session)->at("sums");
    (void)run_sums(session);  // must not write into what was given away
  }
  EXPECT_EQ(floats(sums), (std::vector<float>{11, 22, 14, 26, 19, 32}));
}

TEST(Session, MoreSizesThanItKeepsBindingsFor) {
  const Session session = load(running_sums());
  const std::vector<float> xs(200, 1);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t steps = 0; steps < 100; ++steps) {
      const auto results =
          session.run({{"start", view(kStart, {2})}, {"xs", view(xs.data(), {steps, 2})}});
      ASSERT_TRUE(results);
      EXPECT_EQ(results->at("last").as<float>()[0], 10 + static_cast<float>(steps));
    }
}

struct BadFeeds {
  const char* what;
  std::vector<Feed> feeds;
  std::vector<const char*> message;
};

TEST(Session, RefusesWrongFeeds) {
  const Session session = load(running_sums());
  const double wide[] = {1, 2};
  const Feed start{"start", view(kStart, {2})}, xs{"xs", view(kXs, {3, 2})};
  View without_data = view(kXs, {3, 2});
  without_data.data = nullptr;
  View wrong_strides = view(kXs, {3, 2});
  wrong_strides.strides = {2};
  const std::vector<BadFeeds> cases = {
      {"missing", {start}, {"'xs'"}},
      {"unknown", {start, xs, {"ys", view(kXs, {1})}}, {"'ys'"}},
      {"twice", {start, start, xs}, {"'start'"}},
      {"type", {{"start", view(wide, {2})}, xs}, {"'start'", "double", "float"}},
      {"size", {start, {"xs", view(kXs, {2, 3})}}, {"'xs'", "3", "2"}},
      {"rank", {start, {"xs", view(kXs, {6})}}, {"'xs'", "1", "2"}},
      {"negative", {start, {"xs", view(kXs, {-1, 2})}}, {"'xs'", "-1"}},
      {"no data", {start, {"xs", without_data}}, {"'xs'"}},
      {"strides", {start, {"xs", wrong_strides}}, {"'xs'", "1", "2"}},
  };
  for (const BadFeeds& c : cases) {
    const auto results = session.run(c.feeds);
    ASSERT_FALSE(results) << c.what;
    EXPECT_EQ(results.error().code(), Code::invalid_argument) << c.what;
    for (const char* part : c.message)
      EXPECT_THAT(results.error().message(), HasSubstr(part)) << c.what;
  }
  EXPECT_TRUE(run_sums(session)) << "a failure leaves the session as it was";
}

TEST(Session, LoadingSaysWhatIsWrong) {
  const auto absent = Session::load("no_such_model.onnx");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code(), Code::not_found);
  EXPECT_THAT(absent.error().message(), HasSubstr("no_such_model.onnx"));
  const auto text = Session::load_bytes(as_bytes("this is not a model"));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code(), Code::invalid_model);
  EXPECT_THROW((void)Session::load_bytes({}).value_or_throw(), Failure);
  EXPECT_FALSE(check("no_such_model.onnx").errors.empty());
  const auto unnamed = Session::load("");
  ASSERT_FALSE(unnamed);
  EXPECT_EQ(unnamed.error().code(), Code::not_found) << unnamed.error().message();
  ASSERT_EQ(check("").errors.size(), 1u);
  EXPECT_EQ(check("").errors[0].code(), Code::not_found);
}

TEST(Session, RefusesOptionsThatNoSessionCanHave) {
  SessionOptions options;
  options.threads = -1;
  const auto session = Session::load_bytes(as_bytes(running_sums()), options);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code(), Code::invalid_argument);
  EXPECT_EQ(session.error().message(), "threads is -1, but must be at least 0");
  ASSERT_EQ(check_bytes(as_bytes(running_sums()), options).errors.size(), 1u);
}

TEST(Session, ShowsProgramPlanAndLoops) {
  const Session session = load(running_sums());
  EXPECT_THAT(session.ir(false), HasSubstr("loop"));
  EXPECT_THAT(session.ir(), HasSubstr("add("));
  EXPECT_THAT(session.plan(), HasSubstr("loop"));
  EXPECT_THAT(session.explain(), HasSubstr("'sums'"));
  bool has_loop = false;
  for (const auto& [name, count] : session.operators()) has_loop |= name == "loop" && count == 1;
  EXPECT_TRUE(has_loop);
}

/// Returns how often `part` occurs in `text`.
std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Session, ShowsWhatEachPassDid) {
  const std::string text = load(running_sums()).passes().value_or_throw();
  EXPECT_THAT(text, HasSubstr("// round 1: canonicalise: from "));
  EXPECT_THAT(text, HasSubstr(" nodes, 1 loop, "));
  EXPECT_THAT(text, HasSubstr("  in node 'sums' (Scan-16)\n- %"));
  EXPECT_THAT(text, HasSubstr("canonicalise           changed something "));
  EXPECT_THAT(text, HasSubstr(" ms in passes\n"));
  EXPECT_THAT(text, HasSubstr("// nothing to do for inline_branch, "));
  EXPECT_THAT(text, HasSubstr("interchange_batch"));
}

TEST(Session, ShowsOnlyPassesThatRan) {
  const std::string without =
      load(running_sums(), {.disabled_passes = {"canonicalise"}}).passes().value_or_throw();
  EXPECT_EQ(count_of(without, "canonicalise"), 0u);
  EXPECT_THAT(load(running_sums(), {.optimize = false}).passes().value_or_throw(),
              HasSubstr("no passes"));
}

TEST(Session, ShowsLoopNestsBeforeAndAfterTheirPasses) {
  const std::vector<Feed> feeds = {{"start", view(kStart, {2})}, {"xs", view(kXs, {3, 2})}};
  const Session session = load(running_sums());
  const std::string text = session.nests(feeds).value_or_throw();
  if (!text.starts_with("// no loop nests: ")) {  // as in a build without the loop compiler
    EXPECT_THAT(text, HasSubstr("'sums' (Scan-16): "));
    EXPECT_THAT(text, HasSubstr("\n// before passes\nbody "));
    EXPECT_THAT(text, HasSubstr("\n// after fuse_nests\nbody "));
    EXPECT_THAT(text, HasSubstr("\n// after promote_buffers\nbody "));
    EXPECT_THAT(text, HasSubstr("\n// nothing to do for "));
    EXPECT_EQ(count_of(text, "  swap "), 2u) << "promote_buffers makes the state the code's own";
  }
  EXPECT_THAT(load(running_sums(), {.execution = Execution::stepped}).nests(feeds).value_or_throw(),
              HasSubstr("// no loop nests: "));
  EXPECT_FALSE(session.nests({}));
}

/// How the function of a loop begins in LLVM IR.
constexpr const char* kFunction = "\ndefine i64 @scanloom_";

TEST(Session, ShowsTheCodeOfALoopBeforeAndAfterItIsCompiled) {
  const std::vector<Feed> feeds = {{"start", view(kStart, {2})}, {"xs", view(kXs, {3, 2})}};
  const Session session = load(running_sums());
  const std::string before = session.llvm(feeds).value_or_throw();
  EXPECT_TRUE(before.starts_with("; ")) << before;
  if (before.starts_with("; no code: ")) GTEST_SKIP() << "built without the loop compiler";
  EXPECT_THAT(before, HasSubstr("'sums' (Scan-16): stepped: "));
  EXPECT_EQ(count_of(before, kFunction), 1u) << before;

  const Session compiled = load(running_sums(), {.execution = Execution::compiled});
  const std::string once = compiled.llvm(feeds).value_or_throw();
  EXPECT_THAT(once, HasSubstr("'sums' (Scan-16): compiled "));
  EXPECT_EQ(count_of(once, kFunction), 1u) << once;
  ASSERT_TRUE(compiled.run(feeds));
  EXPECT_EQ(compiled.llvm(feeds).value_or_throw(), once) << "code from the cache is listed, too";
}

TEST(Session, ShowsTheCodeOfALoopThatIsCompiledInTheCourseOfRuns) {
  const Session session = load(doubling());
  const float v0 = 1e-30f, limit = 1e30f;
  const std::vector<Feed> feeds = {{"v0", view(&v0, {})}, {"limit", view(&limit, {})}};
  const std::string before = session.llvm(feeds).value_or_throw();
  if (before.starts_with("; no code: ")) GTEST_SKIP() << "built without the loop compiler";
  EXPECT_EQ(count_of(before, kFunction), 1u) << before;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session.run(feeds));
  EXPECT_EQ(count_of(session.llvm(feeds).value_or_throw(), kFunction), 1u);
}

TEST(Session, ShowsCodeInThreeForms) {
  const Session session = load(doubling(), {.execution = Execution::compiled});
  const float v0 = 1, limit = 100;
  const std::vector<Feed> feeds = {{"v0", view(&v0, {})}, {"limit", view(&limit, {})}};
  const std::string llvm = session.llvm(feeds).value_or_throw();
  if (llvm.starts_with("; no code: ")) GTEST_SKIP() << "built without the loop compiler";
  const std::string unoptimized = session.llvm(feeds, false).value_or_throw();
  EXPECT_EQ(count_of(unoptimized, kFunction), 1u) << unoptimized;
  EXPECT_GT(count_of(unoptimized, " = "), count_of(llvm, " = "));
  const std::string assembly = session.assembly(feeds).value_or_throw();
  EXPECT_TRUE(assembly.starts_with("# ")) << assembly;
  EXPECT_THAT(assembly, HasSubstr("\nscanloom_"));
  EXPECT_EQ(count_of(assembly, "\t"), 0u);
}

TEST(Session, SaysWhyThereIsNoCode) {
  const std::vector<Feed> feeds = {{"start", view(kStart, {2})}, {"xs", view(kXs, {3, 2})}};
  const Session stepped = load(running_sums(), {.execution = Execution::stepped});
  EXPECT_TRUE(stepped.llvm(feeds).value_or_throw().starts_with("; no code: "));
  EXPECT_TRUE(stepped.assembly(feeds).value_or_throw().starts_with("# no code: "));
  EXPECT_FALSE(stepped.llvm({}));
  EXPECT_FALSE(stepped.assembly({}));
}

TEST(Session, ExplainsStrategiesBeforeTheFirstRunWhereAllSizesAreFixed) {
  const std::string unknown = "chosen when the sizes of the inputs are known";
  EXPECT_THAT(load(running_sums()).explain(), HasSubstr(unknown));
  const Session fixed = load(doubling(), {.execution = Execution::stepped});
  const std::string before = fixed.explain();
  EXPECT_THAT(before, HasSubstr("strategy  stepped"));
  EXPECT_THAT(before, HasSubstr("cost      "));
  EXPECT_THAT(before, ::testing::Not(HasSubstr("measured")));
  const float v0 = 1, limit = 100;
  const auto ran = fixed.run({{"v0", view(&v0, {})}, {"limit", view(&limit, {})}});
  ASSERT_TRUE(ran) << ran.error().message();
  EXPECT_THAT(fixed.explain(), HasSubstr("measured"));
  EXPECT_THAT(load(doubling(), {.execution = Execution::interpreted}).explain(),
              HasSubstr("strategy  interpreted: node by node"));
}

TEST(Session, ExplainsWhereStatesLie) {
  const std::string in_turns = "f32[2], double-buffered";
  const std::string in_registers = "f32[2], in registers";
  for (const Execution execution : {Execution::stepped, Execution::compiled}) {
    const Session session = load(running_sums(), {.execution = execution});
    EXPECT_THAT(session.explain(), ::testing::Not(HasSubstr("buffers"))) << "not decided yet";
    const std::vector<float> start(2, 1), xs(20, 1);
    ASSERT_TRUE(
        session.run({{"start", view(start.data(), {2})}, {"xs", view(xs.data(), {10, 2})}}));
    const std::string text = session.explain();
    const bool compiled = text.find("strategy  compiled") != std::string::npos;
    EXPECT_THAT(text, HasSubstr(compiled ? in_registers : in_turns));
  }
}

TEST(Session, ShowsTheProgramBeforePassesWithoutTheFile) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / "scanloom_session_before_passes.onnx";
  std::ofstream(path, std::ios::binary) << running_sums();
  const auto session = Session::load(path.string());
  std::filesystem::remove(path);
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_EQ(session->ir(false), load(running_sums()).ir(false));
  EXPECT_THAT(session->ir(false), HasSubstr("add("));
}

TEST(Session, WarnsOfOptionsThatMeanNothing) {
  std::vector<std::string> heard;
  SessionOptions options;
  options.disabled_passes = {"no_such_pass"};
  options.on_warning = [&](std::string_view text) { heard.emplace_back(text); };
  const auto session = Session::load_bytes(as_bytes(running_sums()), options);
  if (session) {
    EXPECT_EQ(session->warnings(), heard);
    EXPECT_THAT(heard, ElementsAre(HasSubstr("no_such_pass")));
  } else {
    EXPECT_THAT(session.error().message(), HasSubstr("no_such_pass"));
  }
}

TEST(Session, LimitsEndARun) {
  for (const Execution execution : kExecutions) {
    const Session session = load(doubling(), {.execution = execution});
    RunOptions steps;
    steps.max_steps = 1000;
    const auto limited = run_doubling(session, 0, steps);
    ASSERT_FALSE(limited);
    EXPECT_EQ(limited.error().code(), Code::limit_reached);
    EXPECT_THAT(limited.error().message(), HasSubstr("1000"));
    EXPECT_THAT(limited.error().message(), HasSubstr("'double'"));
    RunOptions time;
    time.deadline = 0.02;
    const auto late = run_doubling(session, 0, time);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code(), Code::limit_reached);
    EXPECT_THAT(late.error().message(), HasSubstr("'double'"));
    EXPECT_EQ(floats(run_doubling(session, 3, steps)->at("last")), std::vector<float>{1536});
  }
}

TEST(Session, MemoryBudgetIsKept) {
  const std::vector<float> xs(2'000'000, 1);
  RunOptions options;
  options.max_memory = 1'000'000;
  for (const Execution execution : kExecutions) {
    const Session session = load(running_sums(), {.execution = execution});
    const std::vector<Feed> feeds{{"start", view(kStart, {2})},
                                  {"xs", view(xs.data(), {1'000'000, 2})}};
    const auto results = session.run(feeds, options);
    ASSERT_FALSE(results);
    EXPECT_EQ(results.error().code(), Code::limit_reached);
    EXPECT_THAT(results.error().message(), AnyOf(HasSubstr("the memory budget is 1000000 bytes"),
                                                 HasSubstr("bytes of the memory budget are left")));
    EXPECT_THAT(results.error().message(), HasSubstr("max_memory"));
    EXPECT_TRUE(run_sums(session, 3, options));
  }
}

TEST(Session, ReportsItsSteps) {
  for (const Execution execution : kExecutions) {
    const Session session = load(running_sums(), {.execution = execution});
    EXPECT_EQ(run_sums(session, 3)->report.steps, 3);
    EXPECT_EQ(run_sums(session, 0)->report.steps, 0);
  }
}

TEST(CancelFlag, LooksAtAnother) {
  CancelFlag users;
  CancelFlag first(&users), second(&users);
  first.cancel();
  EXPECT_TRUE(first.cancelled());
  EXPECT_FALSE(second.cancelled());
  EXPECT_FALSE(users.cancelled());
  users.cancel();
  first.reset();
  EXPECT_TRUE(first.cancelled());
  EXPECT_TRUE(second.cancelled());
}

TEST(Session, AnotherThreadCancelsAndHearsOfProgress) {
  for (const Execution execution : kExecutions) {
    const Session session = load(doubling(), {.execution = execution});
    CancelFlag cancel;
    RunOptions options;
    options.cancel = &cancel;
    options.max_steps = std::int64_t{1} << 50;
    std::string heard;
    std::int64_t step = 0;
    options.progress = [&](const Progress& progress) {
      heard = progress.node;
      step = progress.step;
      cancel.cancel();
    };
    const auto results = run_doubling(session, 0, options);
    ASSERT_FALSE(results);
    EXPECT_EQ(results.error().code(), Code::cancelled);
    EXPECT_THAT(heard, HasSubstr("'double'"));
    EXPECT_GT(step, 0);
    cancel.reset();
    options.progress = nullptr;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      cancel.cancel();
    });
    EXPECT_EQ(run_doubling(session, 0, options).error().code(), Code::cancelled);
    other.join();
  }
}

TEST(Session, OneSessionRunsInManyThreadsAtOnce) {
  for (const Execution execution : {Execution::automatic, Execution::stepped}) {
    const Session session = load(running_sums(), {.threads = 2, .execution = execution});
    std::vector<std::thread> threads;
    std::vector<int> wrong(4, 0);
    for (std::size_t t = 0; t < wrong.size(); ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i) {
          const std::int64_t steps = (i + static_cast<int>(t)) % 4;
          const auto results = run_sums(session, steps);
          float last = 10;
          for (std::int64_t k = 0; k < steps; ++k) last += kXs[2 * k];
          wrong[t] += !results || results->at("last").as<float>()[0] != last ? 1 : 0;
          (void)session.explain();
          (void)session.warnings();
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
  }
}

TEST(Session, ProfileNamesNodes) {
  const Session session = load(running_sums(), {.execution = Execution::stepped});
  RunOptions options;
  options.profile = true;
  const auto results = run_sums(session, 3, options);
  ASSERT_TRUE(results);
  EXPECT_EQ(results->report.steps, 3);
  bool add_up = false;
  for (const NodeTime& row : results->report.profile)
    add_up |= row.node.find("add_up") != std::string::npos && row.calls == 3;
  EXPECT_TRUE(add_up);
  EXPECT_THAT(run_sums(session)->report.profile, IsEmpty());
}

}  // namespace
}  // namespace scanloom::test
