// Each pass on bodies in text form: before, and after it. A case without a second part must stay as
// it is. Comments in a body say what its text does not: "// buffers 0 1" which slots are buffers,
// "// later 0 4 8" that bytes [4, 8) of slot 0 are read later, "// whole 0 8" that nests which
// write to slot 0 put together 8 elements, "// extent 3 8" how far apart neighbours in slot 3 lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "loopnest/parse.h"
#include "loopnest/print.h"
#include "loopnest/run.h"
#include "loopnest/verify.h"
#include "tests/support/case_file.h"

namespace scanloom::loopnest {
namespace {

using scanloom::testing::Case;
using scanloom::testing::read_cases;

void read_comment(std::istringstream words, BodyParts& body, std::vector<std::int32_t>& buffers) {
  std::string slashes, what;
  words >> slashes >> what;
  if (slashes != "//") return;
  std::vector<std::int64_t> numbers;
  for (std::int64_t number = 0; words >> number;) numbers.push_back(number);
  const auto slot = static_cast<std::int32_t>(numbers.at(0));
  if (what == "buffers") buffers.assign(numbers.begin(), numbers.end());
  if (what == "later") body.read_later.push_back({slot, numbers.at(1), numbers.at(2)});
  if (what == "extent") body.extents[slot] = numbers.at(1);
  if (what != "whole") return;
  for (Part& part : body.parts)
    if (part.is_nest() && part.statement.nest.writes[0].slot == slot)
      part.whole = Whole{slot, part.statement.nest.writes[0].dtype, 0, {numbers.at(1)}, {1}};
}

BodyParts parts_of(const std::string& text) {
  auto source = parse(text);
  EXPECT_TRUE(source) << source.error().message();
  BodyParts body;
  if (!source) return body;
  for (Statement& statement : std::exchange(source->statements, {})) {
    if (statement.kind == Statement::Kind::nest) {
      body.parts.push_back(part_of(std::move(statement.nest), {}));
    } else {
      body.parts.emplace_back();
      body.parts.back().statement = std::move(statement);
    }
  }
  body.source = *std::move(source);
  std::vector<std::int32_t> buffers;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    read_comment(std::istringstream(line), body, buffers);
  body.is_buffer = [buffers](std::int32_t slot) {
    return std::ranges::find(buffers, slot) != buffers.end();
  };
  return body;
}

std::vector<std::string> all_but(std::string_view name) {
  std::vector<std::string> others;
  for (const NestPass& pass : all_nest_passes())
    if (pass.name != name) others.emplace_back(pass.name);
  return others;
}

TEST(NestPasses, ChangeWhatTheirCasesSay) {
  for (const NestPass& pass : all_nest_passes()) {
    const std::vector<Case> cases =
        read_cases("loopnest/passes/" + std::string(pass.name) + ".nest");
    const auto stays = [](const Case& each) { return each.parts.size() == 1; };
    EXPECT_TRUE(std::ranges::any_of(cases, stays)) << pass.name << " has no case that stays";
    EXPECT_FALSE(std::ranges::all_of(cases, stays)) << pass.name << " has no case that changes";
    for (const Case& each : cases) {
      SCOPED_TRACE(std::string(pass.name) + ": " + each.name);
      BodyParts body = parts_of(each.parts[0]);
      const std::string before = print(source_of(body));
      const auto done =
          run(body, pass.stage, {.disabled = all_but(pass.name), .verify_each = true});
      ASSERT_TRUE(done) << done.error().message();
      EXPECT_EQ(print(source_of(body)), each.parts.size() > 1 ? each.parts[1] : before);
    }
  }
}

TEST(NestPasses, AreShownTimedAndSkippedByName) {
  BodyParts body = parts_of("body avx2 {\n call 3\n}\n");
  std::vector<std::string> shown;
  const auto done =
      run(body, Stage::shrink,
          {.disabled = {"split_nests"},
           .dump = [&](const NestPass& pass, const std::string& before, const std::string& after) {
             shown.emplace_back(pass.name);
             EXPECT_EQ(before, after);
           }});
  ASSERT_TRUE(done);
  EXPECT_EQ(shown, (std::vector<std::string>{"inline_nests", "fuse_nests"}));
  ASSERT_EQ(done->size(), 2U);
  EXPECT_EQ((*done)[1].pass, "fuse_nests");
  const auto unknown = run(body, Stage::shrink, {.disabled = {"unroll"}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Code::invalid_argument);
}

TEST(NestPasses, ABodyThatBreaksARuleIsNamedBeforeAnyPass) {
  BodyParts body = parts_of("body avx2 {\n nest (0) {\n }\n}\n");
  const auto done = run(body, Stage::shrink, {.verify_each = true});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), Code::internal);
}

}  // namespace
}  // namespace scanloom::loopnest
