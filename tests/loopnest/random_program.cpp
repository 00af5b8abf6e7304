#include "tests/loopnest/random_program.h"

#include <iterator>

#include "tensor/scalar_eval.h"

namespace scanloom::loopnest::test {

using tensor::ScalarOp;
using tensor::ScalarProgram;

DType ProgramWriter::any_dtype() {
  return chance(6) ? (chance(2) ? DType::f16 : DType::bf16) : any_accumulator();
}

DType ProgramWriter::any_accumulator() {
  constexpr DType kTypes[] = {DType::f32, DType::f32, DType::f64, DType::i32, DType::i64};
  return kTypes[below(std::ssize(kTypes))];
}

void ProgramWriter::finish(ScalarProgram& program, const std::vector<DType>& results) {
  for (std::int64_t count = below(5); count > 0; --count) append_instruction(program);
  for (const DType dtype : results) program.results.push_back(some(program, dtype));
}

std::int32_t ProgramWriter::any_of(const ScalarProgram& program, DType dtype) {
  std::vector<std::int32_t> found;
  const auto count = static_cast<std::int32_t>(program.inputs.size() + program.instrs.size());
  for (std::int32_t i = 0; i < count; ++i)
    if (program.register_dtype(i) == dtype) found.push_back(i);
  if (!found.empty()) return found[static_cast<std::size_t>(below(std::ssize(found)))];
  return -1;
}

/// Returns a register of that type, or casts another one if there is none.
std::int32_t ProgramWriter::some(ScalarProgram& program, DType dtype) {
  const std::int32_t found = any_of(program, dtype);
  if (found >= 0) return found;
  const auto count = static_cast<std::int64_t>(program.inputs.size() + program.instrs.size());
  if (count == 0)
    return program.append({.op = ScalarOp::constant,
                           .dtype = dtype,
                           .bits = tensor::scalar_bits(std::int64_t{3}, dtype)});
  return program.append({.op = ScalarOp::cast,
                         .dtype = dtype,
                         .args = {static_cast<std::int32_t>(below(count)), -1, -1}});
}

void ProgramWriter::append_instruction(ScalarProgram& program) {
  constexpr ScalarOp kOps[] = {ScalarOp::add,   ScalarOp::sub,   ScalarOp::mul, ScalarOp::min,
                               ScalarOp::max,   ScalarOp::neg,   ScalarOp::abs, ScalarOp::less,
                               ScalarOp::equal, ScalarOp::select};
  const DType dtype = any_dtype();
  const ScalarOp op =
      is_floating_point(dtype) && chance(12) ? ScalarOp::tanh : kOps[below(std::ssize(kOps))];
  tensor::ScalarInstr instr{.op = op, .dtype = dtype};
  for (int i = 0; i < tensor::scalar_op_arguments(op); ++i)
    instr.args[i] = some(program, op == ScalarOp::select && i == 0 ? DType::boolean : dtype);
  program.append(instr);
}

}  // namespace scanloom::loopnest::test
