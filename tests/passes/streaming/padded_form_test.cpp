// The form of a module for padded sequences: where its results have the steps, that padding changes
// no bit of them, and what stands in the way.
#include "passes/streaming/padded_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "interp/interpreter.h"
#include "ir/parse.h"
#include "ir/verify.h"
#include "ops/ops.h"
#include "tests/support/case_file.h"

namespace scanloom::passes {
namespace {

using scanloom::testing::Case;
using scanloom::testing::read_cases;
using Kind = ir::StepFlow::Kind;
using tensor::Shape;
using tensor::Tensor;

std::string result_text(const ir::StepFlow& flow, StepOrder order) {
  if (flow.kind != Kind::along) return "same";
  return std::to_string(flow.axis) + (order == StepOrder::backward ? ":backward" : ":forward");
}

std::string results_text(const PaddedForm& form) {
  std::string text;
  for (std::size_t i = 0; i < form.results.size(); ++i)
    text += (i > 0 ? " " : "") + result_text(form.results[i], form.orders[i]);
  return text;
}

/// Calls visit(element, index on the axis) for each element, in order.
template <class Visit>
void for_each_element(const Shape& shape, int axis, Visit visit) {
  std::int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    visit(static_cast<std::size_t>(i), i / inner % shape[axis]);
}

/// The arguments for sequences of some steps: the same numbers for the same steps of each.
std::vector<Tensor> arguments(const PaddedForm& form, const ir::Module& module, std::int64_t steps,
                              std::int64_t padded) {
  std::vector<Tensor> made;
  for (std::size_t i = 0; i < form.arguments.size(); ++i) {
    const ir::Type& type = module.value(module.region(module.top()).args[i]).type;
    const bool along = form.arguments[i].kind == Kind::along;
    const int axis = along ? form.arguments[i].axis : 0;
    Shape shape;
    for (int k = 0; k < type.rank(); ++k)
      shape.push_back(along && k == axis ? padded : type.dims[static_cast<std::size_t>(k)].value());
    Tensor value = Tensor::zeros(DType::f32, shape).value_or_throw();
    auto* const data = static_cast<float*>(value.mutable_data());
    float next = 0.25F;
    for_each_element(shape, axis, [&](std::size_t element, std::int64_t at) {
      const bool is_padding = along && at >= steps;
      if (!is_padding) next = next < 1 ? next + 0.125F : -next / 2;
      data[element] = is_padding ? std::numeric_limits<float>::quiet_NaN() : next;
    });
    made.push_back(std::move(value));
  }
  return made;
}

/// The elements that belong to the steps; all of them if there are none.
std::vector<float> own_elements(const Tensor& value, const ir::StepFlow& flow, StepOrder order,
                                std::int64_t steps) {
  std::vector<float> own;
  const std::span<const float> all = value.as<float>();
  if (flow.kind != Kind::along) return {all.begin(), all.end()};
  const std::int64_t count = value.shape()[flow.axis];
  const std::int64_t first = order == StepOrder::backward ? count - steps : 0;
  for_each_element(value.shape(), flow.axis, [&](std::size_t element, std::int64_t at) {
    if (at >= first && at < first + steps) own.push_back(all[element]);
  });
  return own;
}

void expect_same_bits(const ir::Module& module, const PaddedForm& form, std::int64_t steps) {
  const auto alone = interp::interpret(module, arguments(form, module, steps, steps));
  ASSERT_TRUE(alone) << alone.error().message();
  for (const std::int64_t padded : {steps, steps + 1, steps + 5}) {
    std::vector<Tensor> given = arguments(form, module, steps, padded);
    given.push_back(Tensor::scalar<std::int64_t>(steps));
    const auto found = interp::interpret(form.module, given);
    ASSERT_TRUE(found) << found.error().message();
    for (std::size_t i = 0; i < form.results.size(); ++i) {
      const auto right = own_elements((*alone)[i], form.results[i], form.orders[i], steps);
      const auto ours = own_elements((*found)[i], form.results[i], form.orders[i], steps);
      ASSERT_EQ(ours.size(), right.size());
      EXPECT_EQ(std::memcmp(ours.data(), right.data(), right.size() * sizeof(float)), 0)
          << "result " << i << ", " << steps << " of " << padded << " steps";
    }
  }
}

class PaddedFormOf : public ::testing::TestWithParam<Case> {};

TEST_P(PaddedFormOf, KeepsTheBitsOrNamesTheReason) {
  constexpr std::string_view kResults = "// results: ";
  const std::string& text = GetParam().parts[0];
  const auto module = ir::parse(text, ops::find_op);
  ASSERT_TRUE(module) << module.error().message();
  const auto found = padded_form(*module);
  if (!GetParam().error.empty()) {
    const auto* refusal = std::get_if<Refusal>(&found);
    ASSERT_NE(refusal, nullptr) << results_text(std::get<PaddedForm>(found));
    EXPECT_THAT(refusal->reason, ::testing::HasSubstr(GetParam().error));
    return;
  }
  const auto* form = std::get_if<PaddedForm>(&found);
  ASSERT_NE(form, nullptr) << std::get<Refusal>(found).reason;
  const auto valid = ir::verify(form->module);
  EXPECT_TRUE(valid) << valid.error().message();
  ASSERT_TRUE(text.starts_with(kResults));
  EXPECT_EQ(results_text(*form), text.substr(kResults.size(), text.find('\n') - kResults.size()));
  for (const std::int64_t steps : {1, 2, 7}) expect_same_bits(*module, *form, steps);
}

INSTANTIATE_TEST_SUITE_P(, PaddedFormOf,
                         ::testing::ValuesIn(read_cases("passes/streaming/padded_form.ir")),
                         [](const auto& info) {
                           return scanloom::testing::test_name(info.param.name);
                         });

}  // namespace
}  // namespace scanloom::passes
