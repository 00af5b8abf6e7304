// Saving and loading functions; files that are damaged or are not saved functions.
#include <scanloom/function.h>
#include <scanloom/grad.h>
#include <scanloom/scan.h>
#include <scanloom/scanloom.h>
#include <scanloom/session.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/api/models.h"

namespace scanloom {
namespace {

class SavedFunctions : public ::testing::Test {
 protected:
  SavedFunctions() : path_(::testing::TempDir() + "scanloom_saved_" + std::to_string(::getpid())) {}
  ~SavedFunctions() override { std::filesystem::remove(path_); }

  [[nodiscard]] std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  const std::string path_;
};

/// Counts its calls, reads a weight of many elements, and differentiates a loop.
Function counting_function() {
  const std::vector<double> weights(100, 0.5);
  const Shared count("count", std::int64_t{0}), weight("w", view(weights.data(), {100}));
  const Expr x = input("x", DType::f64, {-1}), many = constant(view(weights.data(), {100}));
  const Expr h = scan({.sequences = {x}, .initial = {number(1, DType::f64)}, .name = "chain"},
                      [](const StepInputs& step) { return step.state(0) * step[0]; });
  const Expr cost = h[-1] + sum(weight.variable() * many);
  return Function::compile({x}, {cost, grad(cost, x), count.variable()},
                           {.updates = {{count, count.variable() + 1}}})
      .value_or_throw();
}

/// Rewrites a saved function in format 1, which earlier versions wrote without a checksum.
std::string of_format_1(std::string bytes) {
  bytes.resize(bytes.rfind("checksum "));
  bytes.replace(bytes.find("format 3"), 8, "format 1");
  return bytes;
}

std::vector<double> elements(const Value& value) {
  const auto all = value.as<double>();
  return {all.begin(), all.end()};
}

TEST_F(SavedFunctions, GiveTheSameAndGoOnCounting) {
  const Function made = counting_function();
  const std::vector<double> xs{2, 3, 5};
  (void)made({view(xs.data(), {3})}).value_or_throw();
  made.save(path_, "a note\nof two lines").value_or_throw();
  std::string note;
  const Function loaded = Function::load(path_, {}, &note).value_or_throw();
  EXPECT_EQ(note, "a note\nof two lines");
  const auto expected = made({view(xs.data(), {3})}).value_or_throw();
  for (int call = 1; call < 4; ++call) {
    const auto found = loaded({view(xs.data(), {3})}).value_or_throw();
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(elements(found[0]), elements(expected[0]));
    EXPECT_EQ(elements(found[1]), elements(expected[1]));
    EXPECT_EQ(found[2].as<std::int64_t>()[0], call);
  }
  ASSERT_EQ(loaded.inputs().size(), 1u);
  EXPECT_EQ(loaded.inputs()[0].name, "x");
  EXPECT_EQ(loaded.output_count(), 3u);
  for (const Shared& variable : loaded.shared()) {
    if (variable.variable().name() != "count") continue;
    EXPECT_EQ(variable.value().as<std::int64_t>()[0], 4);
  }
}

TEST_F(SavedFunctions, SaySoWhereTheyAreNone) {
  EXPECT_EQ(Function::load(path_).error().code(), Code::not_found);
  write("something else");
  EXPECT_THAT(
      Function::load(path_).error().message(),
      testing::HasSubstr("is not a saved function: it does not begin with 'scanloom function'"));
  write("\x08\x07\x12\x07pytorch");
  const auto model = Function::load(path_);
  EXPECT_EQ(model.error().code(), Code::invalid_model);
  const std::string name = "'" + std::filesystem::path(path_).filename().string() + "'";
  EXPECT_THAT(model.error().message(),
              testing::StartsWith(name + " is an ONNX model, not a saved function"));
  EXPECT_THAT(model.error().message(), testing::HasSubstr("Session::load"));
  write("");
  EXPECT_THAT(Function::load(path_).error().message(), testing::HasSubstr("is empty"));
}

TEST_F(SavedFunctions, OfANewerFormatAreRefused) {
  counting_function().save(path_).value_or_throw();
  std::string newer = bytes();
  newer.replace(newer.find("format 3"), 8, "format 4");
  write(newer);
  const auto loaded = Function::load(path_);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code(), Code::unsupported);
  EXPECT_THAT(loaded.error().message(), testing::HasSubstr("format 4"));
  EXPECT_THAT(loaded.error().message(), testing::HasSubstr("formats up to 3"));
}

TEST_F(SavedFunctions, ThatAreCutOffAreErrors) {
  counting_function().save(path_).value_or_throw();
  const std::string whole = bytes();
  for (std::size_t size = 0; size < whole.size(); size += 1 + size / 50) {
    write(whole.substr(0, size));
    EXPECT_FALSE(Function::load(path_)) << size;
  }
}

TEST_F(SavedFunctions, TellOfEveryByteThatIsAnother) {
  counting_function().save(path_).value_or_throw();
  const std::string whole = bytes();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    write(damaged);
    EXPECT_FALSE(Function::load(path_)) << at;
  }
  // In the elements of a weight nothing else would be wrong.
  std::string damaged = whole;
  damaged[damaged.size() - 100] ^= 1;
  write(damaged);
  EXPECT_THAT(Function::load(path_).error().message(), testing::HasSubstr("its checksum is"));
}

TEST_F(SavedFunctions, OfTheFormatWithoutAChecksumAreRead) {
  counting_function().save(path_).value_or_throw();
  write(of_format_1(bytes()));
  EXPECT_TRUE(Function::load(path_));
}

TEST_F(SavedFunctions, ThatAreDamagedDoNoHarm) {
  counting_function().save(path_).value_or_throw();
  const std::string whole = bytes();
  std::mt19937 random(11);
  const std::vector<double> xs{2, 3, 5};
  for (int turn = 0; turn < 500; ++turn) {
    std::string damaged = turn % 2 == 0 ? whole : of_format_1(whole);
    for (int i = 0; i < 3; ++i)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    write(damaged);
    const auto loaded = Function::load(path_);
    if (loaded)
      (void)loaded->call(std::vector{view(xs.data(), {3})},
                         {.max_steps = 100, .max_memory = 1 << 24});
  }
}

TEST_F(SavedFunctions, KeepTheSizesOfTypes) {
  const double values[] = {1, 2, 3};
  const Shared read("read", view(values, {1, 3}), {0}), only_set("set", view(values, {3, 1}), {1});
  const Function f =
      Function::compile({}, {read + constant({1.0, 1.0, 1.0})}, {.updates = {{only_set, only_set}}})
          .value_or_throw();
  f.save(path_).value_or_throw();
  const Function loaded = Function::load(path_).value_or_throw();
  const auto sizes = [](const Shared& shared) {
    const auto all = shared.variable().sizes();
    return std::vector(all.begin(), all.end());
  };
  for (Shared shared : loaded.shared()) {
    const bool is_read = shared.variable().name() == "read";
    EXPECT_THAT(sizes(shared),
                testing::ElementsAreArray(is_read ? std::vector<std::int64_t>{1, -1}
                                                  : std::vector<std::int64_t>{-1, 1}));
    EXPECT_FALSE(shared.set(
        view(values, is_read ? std::vector<std::int64_t>{3, 1} : std::vector<std::int64_t>{1, 3})));
  }
}

/// y = w x + count, "w" stays; "count" goes on by one, "last" is set to x and never read.
Function with_shared_variables() {
  const double weight = 3, none[] = {0};
  const Shared w("w", weight), count("count", std::int64_t{7}), last("last", view(none, {0}));
  const Expr x = input("x", DType::f64, {-1});
  const Expr y = w * x + cast(count, DType::f64);
  return Function::compile({x}, {y}, {.updates = {{count, count + 1}, {last, x}}}).value_or_throw();
}

TEST_F(SavedFunctions, RunInSessionsAsInACall) {
  const double xs[] = {2, 3, 5};
  for (const bool optimize : {true, false})
    for (const Execution execution : test::kExecutions) {
      const Function f = with_shared_variables();
      (void)f({view(xs, {1})}).value_or_throw();
      f.save(path_).value_or_throw();
      const Session session =
          Session::load(path_, {.execution = execution, .optimize = optimize}).value_or_throw();
      ASSERT_EQ(session.inputs().size(), 1u);
      EXPECT_EQ(session.inputs()[0].name, "x");
      ASSERT_EQ(session.outputs().size(), 1u);
      EXPECT_EQ(session.info().producer, "scanloom");
      std::vector<std::string> states;
      for (const ValueInfo& state : session.states()) states.push_back(state.name);
      EXPECT_THAT(states, testing::ElementsAre("count", "last"));
      // Runs begin with what was saved; what the file says stays.
      for (int run = 0; run < 2; ++run) {
        const auto results = session.run({{"x", view(xs, {3})}});
        ASSERT_TRUE(results) << results.error().message();
        ASSERT_EQ(results->size(), 1u);
        EXPECT_THAT((*results)[0].as<double>(), testing::ElementsAre(14, 17, 23));
      }
    }
}

TEST_F(SavedFunctions, GoOnInStreams) {
  with_shared_variables().save(path_).value_or_throw();
  const double xs[] = {2, 3, 5};
  const Session session = Session::load(path_).value_or_throw();
  Stream stream = session.stream().value_or_throw();
  for (std::int64_t call = 0; call < 3; ++call) {
    const auto results = stream.push({{"x", view(xs, {call + 1})}});
    ASSERT_TRUE(results) << results.error().message();
    ASSERT_EQ(results->size(), 1u);
    EXPECT_EQ((*results)[0].as<double>()[0], 13.0 + static_cast<double>(call));
    const Value count = stream.get("count").value_or_throw();
    EXPECT_EQ(count.as<std::int64_t>()[0], 8 + call);
    EXPECT_EQ(stream.get("last").value_or_throw().elements(), call + 1);
  }
  stream.reset();
  EXPECT_EQ(stream.get("count").value_or_throw().as<std::int64_t>()[0], 7);
  const std::int64_t hundred = 100;
  stream.set("count", view(&hundred, {})).value_or_throw();
  const auto results = stream.push({{"x", view(xs, {1})}});
  ASSERT_TRUE(results) << results.error().message();
  EXPECT_EQ((*results)[0].as<double>()[0], 106);
}

TEST_F(SavedFunctions, OfLoopsAndGradientsRunInSessions) {
  const Function f = counting_function();
  f.save(path_).value_or_throw();
  const std::vector<double> xs{2, 3, 5};
  const auto expected = f({view(xs.data(), {3})}).value_or_throw();
  const Session session = Session::load(path_).value_or_throw();
  const auto results = session.run({{"x", view(xs.data(), {3})}});
  ASSERT_TRUE(results) << results.error().message();
  ASSERT_EQ(results->size(), 3u);
  EXPECT_EQ(elements((*results)[0]), elements(expected[0]));
  EXPECT_EQ(elements((*results)[1]), elements(expected[1]));
  EXPECT_EQ((*results)[2].as<std::int64_t>()[0], 0);
  EXPECT_THAT(session.explain(), testing::HasSubstr("strategy"));
  EXPECT_THAT(session.ir(false), testing::HasSubstr("loop"));
  EXPECT_TRUE(session.passes());
}

TEST_F(SavedFunctions, RunFromC) {
  with_shared_variables().save(path_).value_or_throw();
  const double xs[] = {2, 3, 5};
  const std::int64_t shape[] = {3};
  scanloom_session* session = nullptr;
  scanloom_value *feed = nullptr, *y = nullptr;
  ASSERT_EQ(scanloom_session_load(path_.c_str(), nullptr, &session, nullptr), SCANLOOM_OK);
  EXPECT_EQ(scanloom_session_input_count(session), 1u);
  ASSERT_EQ(scanloom_value_view(SCANLOOM_F64, shape, 1, xs, nullptr, &feed, nullptr), SCANLOOM_OK);
  ASSERT_EQ(scanloom_session_run(session, nullptr, nullptr, &feed, 1, nullptr, &y, 1, nullptr),
            SCANLOOM_OK);
  const auto* const found = static_cast<const double*>(scanloom_value_data(y));
  EXPECT_THAT(std::vector(found, found + 3), testing::ElementsAre(13, 16, 22));
  scanloom_value_free(y);
  scanloom_value_free(feed);
  scanloom_session_free(session);
}

TEST_F(SavedFunctions, InMemoryRunAndAreChecked) {
  with_shared_variables().save(path_).value_or_throw();
  const std::string whole = bytes();
  const auto session = Session::load_bytes(std::as_bytes(std::span(whole)));
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_TRUE(check(path_).errors.empty());
  EXPECT_TRUE(check_bytes(std::as_bytes(std::span(whole))).errors.empty());
  const std::byte weights[4] = {};
  EXPECT_THAT(Session::load(path_, {.weights = weights}).error().message(),
              testing::HasSubstr("weights are given"));
}

TEST_F(SavedFunctions, ThatAreDamagedAreErrorsOfSessions) {
  counting_function().save(path_).value_or_throw();
  const std::string whole = bytes();
  write(whole.substr(0, whole.size() / 2));
  const auto report = check(path_);
  ASSERT_EQ(report.errors.size(), 1u);
  EXPECT_EQ(report.errors[0].code(), Code::invalid_model);
  EXPECT_THAT(report.errors[0].text(), testing::HasSubstr("damaged saved function"));
  EXPECT_EQ(Session::load(path_).error().code(), Code::invalid_model);
  // Without a checksum, only the reader protects the session from broken bytes.
  const std::string old = of_format_1(whole);
  std::mt19937 random(17);
  const std::vector<double> xs{2, 3, 5};
  for (int turn = 0; turn < 300; ++turn) {
    std::string damaged = old;
    for (int i = 0; i < 3; ++i)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    write(damaged);
    const std::vector<Feed> feeds{{"x", view(xs.data(), {3})}};
    if (const auto loaded = Session::load(path_, {.execution = Execution::interpreted}))
      (void)loaded->run(feeds, {.max_steps = 100, .max_memory = 1 << 24});
  }
}

TEST_F(SavedFunctions, ThatCannotBeWrittenAreErrors) {
  const auto saved = counting_function().save("/no such folder/f");
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().message(), testing::HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace scanloom
