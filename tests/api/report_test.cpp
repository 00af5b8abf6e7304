// Reports of sessions and streams in C++ and C: their data, and their errors.
#include <scanloom/report.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

#include <scanloom/scanloom.h>
#include <scanloom/session.h>

#include "tests/api/models.h"

namespace scanloom::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const ReportOptions kData{.form = ReportForm::data};

Expected<std::string> report_of_run(const Session& session, const ReportOptions& options) {
  return session.report({{"start", view(kStart, {2})}, {"xs", view(kXs, {3, 2})}}, options);
}

TEST(Report, NothingRunsWithoutFeeds) {
  const Session session = load(running_sums());
  const json data = json::parse(session.report(kData).value_or_throw());
  EXPECT_TRUE(data["run"].is_null());
  EXPECT_TRUE(data["executions"].is_null());
  EXPECT_EQ(data["title"], "running_sums");
}

TEST(Report, RunsAreCountedAndTimed) {
  const Session session = load(running_sums());
  ReportOptions options = kData;
  options.runs = 3;
  options.title = "three runs";
  const json data = json::parse(report_of_run(session, options).value_or_throw());
  EXPECT_EQ(data["title"], "three runs");
  EXPECT_EQ(data["run"]["steps"], 3);
  EXPECT_EQ(data["loops"][0]["measured"]["steps"], 3);  // of the fastest run
  EXPECT_LE(data["run"]["fastest_seconds"].get<double>(), 60);
}

TEST(Report, ErrorsAreThoseOfARun) {
  const Session session = load(running_sums());
  for (const int runs : {-1, 1001}) {
    const auto refused = report_of_run(session, {.form = ReportForm::data, .runs = runs});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::invalid_argument);
    EXPECT_THAT(refused.error().message(),
                HasSubstr(std::to_string(runs) + ", outside of [0, 1000]"));
  }
  const auto missing = session.report({{"start", view(kStart, {2})}}, kData);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), HasSubstr("'xs'"));
  ReportOptions limited = kData;
  limited.run.max_steps = 2;
  const auto stopped = report_of_run(session, limited);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), Code::limit_reached);
}

TEST(Report, APageIsMadeOfJsonOnly) {
  const auto page = report_page("{\"title\": \"<b>\"}");
  if (!page) GTEST_SKIP() << page.error().message();
  EXPECT_THAT(*page, StartsWith("<!doctype html>"));
  EXPECT_THAT(*page, HasSubstr("\\u003cb\\u003e"));
  EXPECT_EQ(report_page("</script>").error().code(), Code::invalid_argument);
}

TEST(Report, OfAStreamSaysWhatItKeeps) {
  const Session session = load(running_sums());
  Stream stream = session.stream().value_or_throw();
  json data = json::parse(stream.report(kData).value_or_throw());
  ASSERT_EQ(data["stream"]["states"].size(), 1u);
  EXPECT_EQ(data["stream"]["kept"], json::array({nullptr}));
  ASSERT_TRUE(stream.push({{"start", view(kStart, {2})}, {"xs", view(kXs, {3, 2})}}));
  data = json::parse(stream.report(kData).value_or_throw());
  EXPECT_EQ(data["stream"]["kept"], json::array({json::array({2})}));
  EXPECT_EQ(data["title"], "running_sums");
  EXPECT_EQ(data["loops"].size(), 1u);
  EXPECT_THAT(data["code"]["cpp"].get<std::string>(), HasSubstr("stream.push("));
  EXPECT_FALSE(data["code"].contains("command"));
  EXPECT_EQ(data["outputs"].size(), session.outputs().size());
}

/// A report of a session in C; owns its text.
struct CReport {
  scanloom_code code = SCANLOOM_OK;
  std::string text, message;
};

CReport c_report(const std::string& model, int as_data, const char* const* names,
                 const scanloom_value* const* inputs, std::size_t count) {
  scanloom_session* session = nullptr;
  EXPECT_EQ(scanloom_session_load_bytes(model.data(), model.size(), nullptr, &session, nullptr),
            SCANLOOM_OK);
  char* text = nullptr;
  scanloom_error* error = nullptr;
  CReport made;
  made.code =
      scanloom_session_report(session, nullptr, names, inputs, count, as_data, &text, &error);
  if (text != nullptr) made.text = text;
  if (error != nullptr) made.message = scanloom_error_message(error);
  scanloom_text_free(text);
  scanloom_error_free(error);
  scanloom_session_free(session);
  return made;
}

TEST(ReportInC, DataWithAndWithoutARun) {
  EXPECT_TRUE(json::parse(c_report(running_sums(), 1, nullptr, nullptr, 0).text)["run"].is_null());
  const std::int64_t sizes[][2] = {{2, 0}, {3, 2}};
  scanloom_value* values[2] = {};
  ASSERT_EQ(scanloom_value_view(SCANLOOM_F32, sizes[0], 1, kStart, nullptr, &values[0], nullptr),
            SCANLOOM_OK);
  ASSERT_EQ(scanloom_value_view(SCANLOOM_F32, sizes[1], 2, kXs, nullptr, &values[1], nullptr),
            SCANLOOM_OK);
  const char* const names[] = {"start", "xs"};
  EXPECT_EQ(json::parse(c_report(running_sums(), 1, names, values, 2).text)["run"]["steps"], 3);
  const CReport missing = c_report(running_sums(), 1, names, values, 1);
  EXPECT_EQ(missing.code, SCANLOOM_INVALID_ARGUMENT);
  EXPECT_THAT(missing.message, HasSubstr("'xs'"));
  EXPECT_EQ(missing.text, "");
  for (scanloom_value* const value : values) scanloom_value_free(value);
}

TEST(ReportInC, NullIsAnError) {
  char* text = nullptr;
  scanloom_error* error = nullptr;
  EXPECT_EQ(scanloom_session_report(nullptr, nullptr, nullptr, nullptr, 0, 1, &text, &error),
            SCANLOOM_INVALID_ARGUMENT);
  EXPECT_THAT(scanloom_error_message(error), HasSubstr("'session' is NULL"));
  scanloom_error_free(std::exchange(error, nullptr));
  EXPECT_EQ(scanloom_stream_report(nullptr, 1, &text, &error), SCANLOOM_INVALID_ARGUMENT);
  EXPECT_THAT(scanloom_error_message(error), HasSubstr("'stream' is NULL"));
  scanloom_error_free(std::exchange(error, nullptr));
  const std::string model = running_sums();
  scanloom_session* session = nullptr;
  ASSERT_EQ(scanloom_session_load_bytes(model.data(), model.size(), nullptr, &session, nullptr),
            SCANLOOM_OK);
  EXPECT_EQ(scanloom_session_report(session, nullptr, nullptr, nullptr, 0, 1, nullptr, &error),
            SCANLOOM_INVALID_ARGUMENT);
  EXPECT_THAT(scanloom_error_message(error), HasSubstr("'text' is NULL"));
  scanloom_error_free(error);
  scanloom_stream* stream = nullptr;
  ASSERT_EQ(scanloom_stream_new(session, &stream, nullptr), SCANLOOM_OK);
  EXPECT_EQ(scanloom_stream_report(stream, 1, &text, nullptr), SCANLOOM_OK);
  EXPECT_EQ(json::parse(text)["stream"]["kept"], json::array({nullptr}));
  scanloom_text_free(text);
  scanloom_stream_free(stream);
  scanloom_session_free(session);
}

TEST(EnvironmentInC, IsTheTextOfTheCommand) {
  char* const text = scanloom_environment();
  ASSERT_NE(text, nullptr);
  EXPECT_THAT(text, StartsWith("scanloom       " + std::string(version()) + "\nlibrary "));
  scanloom_text_free(text);
}

}  // namespace
}  // namespace scanloom::test
