// Listings of code: every form, for every instruction set of the architecture, whether or not this
// machine supports it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/interface.h"
#include "tests/jit/compiler.h"

namespace scanloom::jit {
namespace {

using tensor::ScalarOp;
using testing::HasSubstr;

/// state = state + captured * scanned, one element.
LoopSource averaging(Isa isa) {
  LoopSource source;
  source.name = "average";
  source.captured = source.carried = source.scanned = {{DType::f32, 0}};
  source.stacked = source.carried;
  source.program.inputs = {DType::f32, DType::f32, DType::f32};
  const auto append = [&](ScalarOp op, std::int32_t a, std::int32_t b) {
    tensor::ScalarInstr instr{.op = op, .dtype = DType::f32};
    instr.args[0] = a;
    instr.args[1] = b;
    return source.program.append(instr);
  };
  const auto part = append(ScalarOp::mul, 0, 2);
  const auto next = append(ScalarOp::add, 1, part);
  source.program.results = {next, next};
  source.isa = isa;
  return source;
}

TEST(Listing, HasEveryFormForEveryInstructionSet) {
  if (compiler() == nullptr) GTEST_SKIP() << "built without the loop compiler";
#if !defined(__x86_64__)
  GTEST_SKIP() << "these instruction sets are of another kind of machine";
#endif
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    const LoopSource source = averaging(isa);
    for (const CodeForm form : {CodeForm::llvm, CodeForm::llvm_unoptimised}) {
      const auto text = compiler()->list_loop(source, form);
      ASSERT_TRUE(text) << text.error().message();
      EXPECT_TRUE(text->starts_with("; ModuleID = 'loop'\n")) << *text;
      EXPECT_THAT(*text, HasSubstr("fmul float"));
      EXPECT_EQ(text->back(), '\n');
    }
    const auto assembly = compiler()->list_loop(source, CodeForm::assembly);
    ASSERT_TRUE(assembly) << assembly.error().message();
    EXPECT_THAT(*assembly, HasSubstr("\nscanloom_loop:\n"));
    EXPECT_THAT(*assembly, HasSubstr(isa == Isa::baseline ? "    mulss " : "    vmulss "));
  }
}

TEST(Listing, IsTheSameEachTime) {
  if (compiler() == nullptr) GTEST_SKIP() << "built without the loop compiler";
  const LoopSource source = averaging(active_isa());
  const auto first = compiler()->list_loop(source, CodeForm::assembly);
  ASSERT_TRUE(first) << first.error().message();
  ASSERT_TRUE(compiler()->compile(source));
  EXPECT_EQ(compiler()->list_loop(source, CodeForm::assembly).value_or_throw(), *first);
}

TEST(Listing, OfAnEmptyBodyIsAFunction) {
  if (compiler() == nullptr) GTEST_SKIP() << "built without the loop compiler";
  const auto text = compiler()->list_body({}, CodeForm::llvm);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_THAT(*text, HasSubstr("define i64 @scanloom_body("));
}

}  // namespace
}  // namespace scanloom::jit
