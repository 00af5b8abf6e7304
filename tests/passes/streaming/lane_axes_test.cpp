// The axis of the batch in stream forms: where it is found, lanes must not depend on each other.
#include "passes/streaming/lane_axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/parse.h"
#include "ops/ops.h"
#include "passes/streaming/stream_form.h"
#include "tests/support/case_file.h"

namespace scanloom::passes {
namespace {

using scanloom::testing::Case;
using scanloom::testing::read_cases;

std::string axis_text(std::string name, std::optional<int> axis) {
  if (name.find(' ') != std::string::npos) name = "\"" + name + "\"";
  return name + ":" + (axis ? std::to_string(*axis) : "-");
}

/// "x:1 h:0 | last:0 rows:1".
std::string axes_text(const StreamForm& form, const LaneAxes& axes) {
  std::string text;
  const ir::Region& top = form.module.region(form.module.top());
  for (std::size_t i = 0; i < top.args.size(); ++i)
    text += axis_text(form.module.value(top.args[i]).name, axes.arguments[i]) + " ";
  text += "|";
  for (std::size_t i = 0; i < form.outputs; ++i)
    text += " " + axis_text(form.module.output_names[i], axes.results[i]);
  return text;
}

std::variant<LaneAxes, Refusal> axes_of(const StreamForm& form) {
  return lane_axes(form.module, form.arguments, form.results);
}

class LaneAxesOf : public ::testing::TestWithParam<Case> {};

TEST_P(LaneAxesOf, AreFoundOrTheReasonIsNamed) {
  constexpr std::string_view kLanes = "// lanes: ";
  const std::string& text = GetParam().parts[0];
  const auto module = ir::parse(text, ops::find_op);
  ASSERT_TRUE(module) << module.error().message();
  const auto form = stream_form(*module);
  ASSERT_TRUE(form) << form.error().message();
  const auto found = axes_of(*form);
  if (!GetParam().error.empty()) {
    const auto* refusal = std::get_if<Refusal>(&found);
    ASSERT_NE(refusal, nullptr) << axes_text(*form, std::get<LaneAxes>(found));
    EXPECT_THAT(refusal->reason, ::testing::HasSubstr(GetParam().error));
    return;
  }
  const auto* axes = std::get_if<LaneAxes>(&found);
  ASSERT_NE(axes, nullptr) << std::get<Refusal>(found).reason;
  ASSERT_TRUE(text.starts_with(kLanes));
  EXPECT_EQ(axes_text(*form, *axes), text.substr(kLanes.size(), text.find('\n') - kLanes.size()));
}

INSTANTIATE_TEST_SUITE_P(, LaneAxesOf,
                         ::testing::ValuesIn(read_cases("passes/streaming/lane_axes.ir")),
                         [](const auto& info) {
                           return scanloom::testing::test_name(info.param.name);
                         });

// Sizes without a name may be the same batch.
TEST(LaneAxes, UnnamedSizesAreTriedTogether) {
  const auto module = ir::parse(R"(module {
  graph(%0 "x": f32[T,?1,3], %1 "h": f32[?2,3], %2 "c": f32[?3,3]) {
    %3, %4 = loop captured(%2) carried(%1) scanned(%0 axis 0) stacked(axis 0) : f32[?2,3], f32[T,?2,3] {
      body(%5: f32[?3,3], %6: f32[?2,3], %7: f32[?1,3]) {
        %8 = concat(%6, %7, %5) {axis = 1} : f32[?2,9]
        %9 = constant f32[9,3] <27 elements>
        %10 = contract(%8, %9) {spec = ""} : f32[?2,3]
        yield %10, %10
      }
    }
    yield %3 "last", %4 "rows"
  }
})",
                                ops::find_op);
  ASSERT_TRUE(module) << module.error().message();
  const auto form = stream_form(*module);
  ASSERT_TRUE(form) << form.error().message();
  const auto found = axes_of(*form);
  ASSERT_TRUE(std::holds_alternative<LaneAxes>(found)) << std::get<Refusal>(found).reason;
  EXPECT_EQ(axes_text(*form, std::get<LaneAxes>(found)), "x:1 h:0 c:0 | last:0 rows:1");
}

}  // namespace
}  // namespace scanloom::passes
