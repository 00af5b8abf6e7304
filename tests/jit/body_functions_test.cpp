// Functions such as exp in compiled bodies, for every instruction set of the architecture, whether
// or not this machine supports it: lanes that fill blocks, rows that together fill blocks, and
// remainders.
#include <gtest/gtest.h>

#include "jit/interface.h"
#include "tensor/scalar_functions.h"
#include "tests/jit/compiler.h"

namespace scanloom::jit {

using loopnest::BodySource;
using loopnest::Nest;
using loopnest::Statement;

namespace {

using tensor::ScalarOp;

#ifdef SCANLOOM_SANITIZED
constexpr DType kTypes[] = {DType::f32};
#else
constexpr DType kTypes[] = {DType::f32, DType::f64};
#endif

/// to[i, j] = op(from[i, j]), or op(from[i, j], from[i, j]).
BodySource body_of(ScalarOp op, DType dtype, std::vector<std::int64_t> sizes, Isa isa) {
  Statement statement;
  Nest& nest = statement.nest;
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
  nest.sizes = std::move(sizes);
  nest.reads = {{0, dtype, 0, strides}};
  nest.writes = {{1, dtype, 0, strides}};
  nest.program.inputs = {dtype};
  tensor::ScalarInstr instr{.op = op, .dtype = dtype};
  for (int i = 0; i < tensor::scalar_op_arguments(op); ++i) instr.args[i] = 0;
  nest.program.results = {nest.program.append(instr)};
  BodySource source;
  source.statements = {std::move(statement)};
  source.isa = isa;
  return source;
}

class BodyFunctions : public testing::TestWithParam<Isa> {};

TEST_P(BodyFunctions, HaveCode) {
  if (compiler() == nullptr) GTEST_SKIP() << "built without the loop compiler";
#if !defined(__x86_64__)
  GTEST_SKIP() << "these instruction sets are of another kind of machine";
#endif
  constexpr ScalarOp kOps[] = {
#define SCANLOOM_SCALAR(name, arguments, result) ScalarOp::name,
#include "tensor/scalar_ops.inc"
#undef SCANLOOM_SCALAR
  };
  for (const ScalarOp op : kOps) {
    if (!tensor::is_function(op)) continue;
    for (const DType dtype : kTypes)
      for (const auto& sizes : {std::vector<std::int64_t>{150}, {5, 8}}) {
        const auto code = compiler()->compile_body(body_of(op, dtype, sizes, GetParam()));
        EXPECT_TRUE(code) << tensor::scalar_op_name(op) << ": " << code.error().message();
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, BodyFunctions,
                         testing::Values(Isa::baseline, Isa::avx2, Isa::avx512),
                         [](const auto& isa) { return std::string(isa_name(isa.param)); });

}  // namespace
}  // namespace scanloom::jit
