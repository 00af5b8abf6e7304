// Loops written as ONNX and read again give the same bits: random ones and those of cases.ir.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "api/export_model.h"
#include "api/plain_form.h"
#include "base/diagnostics.h"
#include "exporters/onnx/write.h"
#include "frontends/onnx/read.h"
#include "interp/interpreter.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ops/ops.h"
#include "passes/nodes/decompose_windows.h"
#include "tests/differential/random_module.h"
#include "tests/differential/ways.h"

namespace scanloom {
namespace {

using namespace differential;
using tensor::Tensor;

/// The module as an ONNX model, read.
Expected<ir::Module> as_onnx(ir::Module module) {
  SCANLOOM_CHECK_OK(passes::decompose_windows(module));
  SCANLOOM_CHECK_OK(to_plain_form(module));
  SCANLOOM_TRY(exporters::onnx::WrittenModel model,
               exporters::onnx::write_model(module, names_of(module)));
  const auto bytes = std::make_shared<std::string>(std::move(model.bytes));
  Diagnostics diagnostics;
  return onnx::read_model(bytes, *bytes, {}, diagnostics);
}

/// Sizes of empty rows are those that something determines, which may be less once written.
bool are_both_empty(const Tensor& got, const Tensor& wanted) {
  return got.elements() == 0 && wanted.elements() == 0 &&
         got.shape().rank() == wanted.shape().rank() && got.dtype() == wanted.dtype();
}

/// Numbers by a key are Theano's alone.
bool has_no_form(const ir::Module& module) {
  for (std::uint32_t i = 0; i < module.node_count(); ++i)
    if (module.node(ir::NodeId{i}).op == &ops::draw_op) return true;
  return false;
}

/// Counts in `compared` the runs whose results were compared.
void check(const ir::Module& module, int& compared) {
  const auto again = as_onnx(module);
  ASSERT_TRUE(again) << again.error().message();
  for (const std::int64_t length : {0, 1, 2, 9}) {
    SCOPED_TRACE("length " + std::to_string(length));
    const std::vector<Tensor> feeds = feeds_of(module, length);
    const auto wanted = interp::interpret(module, feeds, {});
    if (!wanted) continue;
    const auto got = interp::interpret(*again, feeds, {});
    ASSERT_TRUE(got) << got.error().message() << "\n" << ir::print(*again);
    ASSERT_EQ(got->size(), wanted->size());
    ++compared;
    for (std::size_t i = 0; i < wanted->size(); ++i)
      if (!are_both_empty((*got)[i], (*wanted)[i]))
        expect_identical((*got)[i], (*wanted)[i], "output " + std::to_string(i));
  }
}

TEST(ModulesAsOnnx, GiveTheSameBitsWhereTheyAreRandom) {
#ifdef SCANLOOM_SANITIZED
  constexpr std::uint64_t kCount = 80;
#else
  constexpr std::uint64_t kCount = 250;
#endif
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= kCount && !::testing::Test::HasFailure(); ++seed) {
    const ir::Module module = random_module(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + ir::print(module));
    if (has_no_form(module)) continue;
    check(module, compared);
  }
  std::printf("%d runs compared\n", compared);
}

TEST(ModulesAsOnnx, GiveTheSameBitsOfLoopsOfEveryKind) {
  int compared = 0, without_form = 0;
  for (const std::string& text : read_cases()) {
    const auto module = ir::parse(text, ops::find_op);
    ASSERT_TRUE(module) << module.error().message();
    SCOPED_TRACE(text);
    const auto written = as_onnx(*module);
    if (!written && written.error().code() == Code::unsupported)
      ++without_form;
    else
      check(*module, compared);
  }
  EXPECT_EQ(without_form, 2);  // factors of matrices; affine_scan, which passes alone make
  std::printf("%d runs compared\n", compared);
}

}  // namespace
}  // namespace scanloom
