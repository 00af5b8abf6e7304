#include "loopnest/parse_nest.h"

#include <utility>

#include "loopnest/print.h"
#include "tensor/text.h"

namespace scanloom::loopnest {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;
using tensor::ScalarProgram;

class NestReader {
 public:
  explicit NestReader(tensor::TextReader& reader) : reader_(reader), operands_(reader) {}

  Expected<Nest> nest() {
    Nest nest;
    SCANLOOM_TRY(nest.sizes, operands_.numbers());
    SCANLOOM_CHECK_OK(reader_.expect('{'));
    SCANLOOM_CHECK_OK(registers(nest.reads, &nest.reductions, nest.program));
    while (reader_.take_keyword("write")) {
      SCANLOOM_TRY(const std::int32_t result, operands_.register_use());
      SCANLOOM_CHECK_OK(reader_.expect_keyword("to"));
      SCANLOOM_TRY(Access write, operands_.access());
      nest.program.results.push_back(result);
      nest.writes.push_back(std::move(write));
    }
    if (reader_.take_keyword("update")) SCANLOOM_CHECK_OK(update(nest.update));
    while (reader_.take_keyword("outside")) {
      SCANLOOM_CHECK_OK(reader_.expect_keyword("call"));
      SCANLOOM_TRY(const std::int32_t call, operands_.index());
      nest.calls.push_back(call);
    }
    SCANLOOM_CHECK_OK(reader_.expect('}'));
    return nest;
  }

 private:
  /// "%n =", where n is the next register.
  Expected<void> definition(std::size_t next) {
    SCANLOOM_TRY(const std::int32_t found, operands_.register_use());
    if (static_cast<std::size_t>(found) != next)
      return reader_.error(fmt::format("register %{} is defined where %{} is next", found, next));
    return reader_.expect('=');
  }

  Expected<ScalarInstr> instruction() {
    ScalarInstr instr;
    SCANLOOM_TRY(const std::string_view name, reader_.name());
    bool known = false;
    for (int op = 0; op <= static_cast<int>(ScalarOp::cast) && !known; ++op) {
      instr.op = static_cast<ScalarOp>(op);
      known = tensor::scalar_op_name(instr.op) == name;
    }
    if (!known) return reader_.error(fmt::format("unknown instruction '{}'", name));
    SCANLOOM_TRY(instr.dtype, reader_.dtype());
    if (instr.op == ScalarOp::constant) {
      SCANLOOM_TRY(const std::string_view word, reader_.word());
      if (dtype_bytes(instr.dtype) > sizeof instr.bits ||
          !tensor::text::read_element(word, instr.dtype, reinterpret_cast<std::byte*>(&instr.bits)))
        return reader_.error(fmt::format("'{}' is not a valid {}", word, dtype_name(instr.dtype)));
    }
    for (int arg = 0; arg < tensor::scalar_op_arguments(instr.op); ++arg) {
      if (arg > 0) SCANLOOM_CHECK_OK(reader_.expect(','));
      SCANLOOM_TRY(instr.args[arg], operands_.register_use());
    }
    return instr;
  }

  Expected<void> yields(ScalarProgram& program) {
    SCANLOOM_CHECK_OK(reader_.expect_keyword("yield"));
    do {
      SCANLOOM_TRY(const std::int32_t result, operands_.register_use());
      program.results.push_back(result);
    } while (reader_.take(','));
    return reader_.expect('}');
  }

  /// What defines registers: reads, then reductions where there may be some, then instructions.
  Expected<void> registers(std::vector<Access>& reads, std::vector<Reduction>* reductions,
                           ScalarProgram& program) {
    while (reader_.peek() == '%') {
      SCANLOOM_CHECK_OK(definition(program.inputs.size() + program.instrs.size()));
      const bool begins = program.instrs.empty();
      if (begins && (reductions == nullptr || reductions->empty()) &&
          reader_.take_keyword("read")) {
        SCANLOOM_TRY(Access read, operands_.access());
        program.inputs.push_back(read.dtype);
        reads.push_back(std::move(read));
      } else if (begins && reductions != nullptr && reader_.take_keyword("reduce")) {
        SCANLOOM_TRY(Reduction made, reduction());
        program.inputs.push_back(made.dtype);
        reductions->push_back(std::move(made));
      } else {
        SCANLOOM_TRY(const ScalarInstr instr, instruction());
        program.instrs.push_back(instr);
      }
    }
    return {};
  }

  Expected<Reduction> reduction() {
    Reduction made;
    SCANLOOM_TRY(const std::string_view name, reader_.name());
    bool known = false;
    for (int kind = 0; kind <= static_cast<int>(Reduction::Kind::argmin) && !known; ++kind) {
      made.kind = static_cast<Reduction::Kind>(kind);
      known = kind_name(made.kind) == name;
    }
    if (!known) return reader_.error(fmt::format("unknown reduction '{}'", name));
    SCANLOOM_TRY(made.dtype, reader_.dtype());
    SCANLOOM_CHECK_OK(reader_.expect_keyword("over"));
    SCANLOOM_TRY(made.sizes, operands_.numbers());
    made.takes_last = reader_.take_keyword("last");
    SCANLOOM_CHECK_OK(reader_.expect('{'));
    SCANLOOM_CHECK_OK(registers(made.reads, nullptr, made.program));
    SCANLOOM_CHECK_OK(yields(made.program));
    return made;
  }

  Expected<void> update(ScalarProgram& program) {
    SCANLOOM_CHECK_OK(reader_.expect('('));
    while (!reader_.take(')')) {
      if (!program.inputs.empty()) SCANLOOM_CHECK_OK(reader_.expect(','));
      SCANLOOM_TRY(const DType dtype, reader_.dtype());
      program.inputs.push_back(dtype);
    }
    SCANLOOM_CHECK_OK(reader_.expect('{'));
    while (reader_.peek() == '%') {
      SCANLOOM_CHECK_OK(definition(program.inputs.size() + program.instrs.size()));
      SCANLOOM_TRY(const ScalarInstr instr, instruction());
      program.instrs.push_back(instr);
    }
    return yields(program);
  }

  tensor::TextReader& reader_;
  OperandReader operands_;
};

}  // namespace

Expected<Nest> parse_nest(tensor::TextReader& reader) { return NestReader(reader).nest(); }

}  // namespace scanloom::loopnest
