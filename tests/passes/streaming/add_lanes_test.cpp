// Lanes that are added to stream forms without a batch: where they are, and what stands in the way.
// That results keep their bits is tested in python/tests/session/test_run_many_random.py.
#include "passes/streaming/add_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/parse.h"
#include "ir/verify.h"
#include "ops/ops.h"
#include "passes/streaming/stream_form.h"
#include "tests/support/case_file.h"

namespace scanloom::passes {
namespace {

using scanloom::testing::Case;
using scanloom::testing::read_cases;

std::string lane_text(const ir::Module& module, ir::ValueId value, std::optional<int> axis) {
  const std::string type = to_string(module.value(value).type, module.dims);
  return type + ":" + (axis ? std::to_string(*axis) : "-");
}

/// "f32[T,lanes,3]:1 f32[lanes,3]:0 | f32[lanes,3]:0": arguments, then the form's own results.
std::string laned_text(const LanedForm& form, std::size_t results) {
  const ir::Region& top = form.module.region(form.module.top());
  std::string text;
  for (std::size_t i = 0; i < top.args.size(); ++i)
    text += lane_text(form.module, top.args[i], form.axes.arguments[i]) + " ";
  text += "|";
  for (std::size_t i = 0; i < results; ++i)
    text += " " + lane_text(form.module, top.yields[i], form.axes.results[i]);
  return text;
}

/// Inputs called "common" are the same for all sequences.
std::variant<LanedForm, Refusal> laned(const StreamForm& form) {
  std::vector<bool> common;
  for (const ir::ValueId arg : form.module.region(form.module.top()).args)
    common.push_back(form.module.value(arg).name == "common");
  return add_lanes(form.module, form.arguments, form.results, common);
}

class AddLanesTo : public ::testing::TestWithParam<Case> {};

TEST_P(AddLanesTo, MakesAVerifiedModuleOrNamesTheReason) {
  constexpr std::string_view kLanes = "// lanes: ";
  const std::string& text = GetParam().parts[0];
  const auto module = ir::parse(text, ops::find_op);
  ASSERT_TRUE(module) << module.error().message();
  const auto form = stream_form(*module);
  ASSERT_TRUE(form) << form.error().message();
  const auto found = laned(*form);
  if (!GetParam().error.empty()) {
    const auto* refusal = std::get_if<Refusal>(&found);
    ASSERT_NE(refusal, nullptr) << laned_text(std::get<LanedForm>(found), form->outputs);
    EXPECT_THAT(refusal->reason, ::testing::HasSubstr(GetParam().error));
    return;
  }
  const auto* made = std::get_if<LanedForm>(&found);
  ASSERT_NE(made, nullptr) << std::get<Refusal>(found).reason;
  const auto valid = ir::verify(made->module);
  EXPECT_TRUE(valid) << valid.error().message();
  ASSERT_TRUE(text.starts_with(kLanes));
  EXPECT_EQ(laned_text(*made, form->outputs),
            text.substr(kLanes.size(), text.find('\n') - kLanes.size()));
}

INSTANTIATE_TEST_SUITE_P(, AddLanesTo,
                         ::testing::ValuesIn(read_cases("passes/streaming/add_lanes.ir")),
                         [](const auto& info) {
                           return scanloom::testing::test_name(info.param.name);
                         });

}  // namespace
}  // namespace scanloom::passes
