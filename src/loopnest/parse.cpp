#include "loopnest/parse.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "loopnest/print.h"
#include "tensor/text.h"
#include "tensor/text_reader.h"

namespace scanloom::loopnest {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;
using tensor::ScalarProgram;

/// More registers, statements or axes than any body has: what a number in a text may ask for.
constexpr std::int64_t kMaxIndex = 1 << 24;

class NestParser {
 public:
  explicit NestParser(std::string_view text) : reader_(text) {}

  Expected<BodySource> run() {
    SCANLOOM_CHECK_OK(reader_.expect_keyword("body"));
    SCANLOOM_TRY(source_.isa, isa());
    SCANLOOM_CHECK_OK(reader_.expect('{'));
    bool found = true;
    while (found) {
      SCANLOOM_TRY(found, declaration());
    }
    SCANLOOM_TRY(source_.statements, block(0));
    SCANLOOM_CHECK_OK(reader_.expect_end());
    return std::move(source_);
  }

 private:
  Expected<Isa> isa() {
    SCANLOOM_TRY(const std::string_view found, reader_.name());
    for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::neon})
      if (isa_name(isa) == found) return isa;
    return reader_.error(fmt::format("unknown instruction set '{}'", found));
  }

  /// Whether one stood there.
  Expected<bool> declaration() {
    if (reader_.take_keyword("parameters")) {
      SCANLOOM_TRY(const std::int32_t count, index());
      source_.parameters = static_cast<std::size_t>(count);
    } else if (reader_.take_keyword("timed")) {
      source_.timed = true;
    } else if (reader_.take_keyword("local")) {
      SCANLOOM_TRY(const std::int64_t bytes, reader_.integer());
      source_.locals.push_back(bytes);
    } else if (reader_.take_keyword("state")) {
      LocalState state;
      SCANLOOM_TRY(state.slot, slot());
      SCANLOOM_CHECK_OK(reader_.expect('='));
      SCANLOOM_TRY(state.now, slot());
      SCANLOOM_CHECK_OK(reader_.expect_keyword("then"));
      SCANLOOM_TRY(state.then, slot());
      source_.states.push_back(state);
    } else if (reader_.take_keyword("move")) {
      SCANLOOM_TRY(const SlotMove move, slot_move());
      source_.moves.push_back(move);
    } else if (reader_.take_keyword("swap")) {
      SlotSwap swap;
      SCANLOOM_TRY(swap.a, slot());
      SCANLOOM_CHECK_OK(reader_.expect(','));
      SCANLOOM_TRY(swap.b, slot());
      source_.swaps.push_back(swap);
    } else if (reader_.take_keyword("keep_going")) {
      SCANLOOM_TRY(source_.keep_going, access());
    } else {
      return false;
    }
    return true;
  }

  Expected<std::int32_t> index() {
    SCANLOOM_TRY(const std::int64_t value, reader_.integer());
    if (value < 0 || value > kMaxIndex)
      return reader_.error(fmt::format("{} is outside [0, {}]", value, kMaxIndex));
    return static_cast<std::int32_t>(value);
  }

  Expected<std::int32_t> slot() {
    SCANLOOM_TRY(const std::string_view name, reader_.name());
    std::int32_t value = -1;
    const char* const end = name.data() + name.size();
    const auto result = std::from_chars(name.data() + 1, end, value);
    if ((name[0] != 's' && name[0] != 'l') || result.ec != std::errc() || result.ptr != end ||
        value < 0 || value > kMaxIndex)
      return reader_.error(fmt::format("'{}' is not a slot: write s0 or l0", name));
    return name[0] == 's' ? value : local_slot(static_cast<std::size_t>(value));
  }

  Expected<std::int64_t> number() {
    if (!reader_.take('$')) return reader_.integer();
    SCANLOOM_TRY(const std::int32_t at, index());
    return parameter(static_cast<std::size_t>(at));
  }

  Expected<std::vector<std::int64_t>> numbers() {
    std::vector<std::int64_t> list;
    SCANLOOM_CHECK_OK(reader_.expect('('));
    while (!reader_.take(')')) {
      if (!list.empty()) SCANLOOM_CHECK_OK(reader_.expect(','));
      SCANLOOM_TRY(const std::int64_t value, number());
      list.push_back(value);
    }
    return list;
  }

  /// An Access or a DynamicIndex, up to the closing bracket.
  template <class Place>
  Expected<Place> place() {
    Place place;
    SCANLOOM_TRY(place.dtype, reader_.dtype());
    SCANLOOM_TRY(place.slot, slot());
    SCANLOOM_CHECK_OK(reader_.expect('['));
    SCANLOOM_TRY(place.offset, reader_.integer());
    if (reader_.take('+')) {
      SCANLOOM_TRY(place.strides, numbers());
    }
    SCANLOOM_CHECK_OK(reader_.expect(']'));
    return place;
  }

  /// "* bytes < size"
  template <class Index>
  Expected<void> selection(Index& index) {
    SCANLOOM_CHECK_OK(reader_.expect('*'));
    SCANLOOM_TRY(index.bytes, number());
    SCANLOOM_CHECK_OK(reader_.expect('<'));
    SCANLOOM_TRY(index.size, number());
    return {};
  }

  Expected<Access> access() {
    SCANLOOM_TRY(Access access, place<Access>());
    while (reader_.take_keyword("at")) {
      SCANLOOM_TRY(DynamicIndex index, place<DynamicIndex>());
      SCANLOOM_CHECK_OK(selection(index));
      access.indices.push_back(std::move(index));
    }
    return access;
  }

  Expected<SlotMove> slot_move() {
    SlotMove move;
    SCANLOOM_TRY(move.slot, slot());
    SCANLOOM_CHECK_OK(reader_.expect_keyword("by"));
    SCANLOOM_TRY(move.bytes, reader_.integer());
    return move;
  }

  Expected<SlotSet> slot_set() {
    SlotSet set;
    SCANLOOM_TRY(set.slot, slot());
    SCANLOOM_CHECK_OK(reader_.expect('='));
    SCANLOOM_TRY(set.from, slot());
    SCANLOOM_CHECK_OK(reader_.expect('+'));
    SCANLOOM_TRY(set.offset, number());
    return set;
  }

  Expected<std::int32_t> use() {
    SCANLOOM_CHECK_OK(reader_.expect('%'));
    return index();
  }

  /// "%n =", where n is the next register.
  Expected<void> definition(std::size_t next) {
    SCANLOOM_TRY(const std::int32_t found, use());
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
      SCANLOOM_TRY(instr.args[arg], use());
    }
    return instr;
  }

  Expected<void> yields(ScalarProgram& program) {
    SCANLOOM_CHECK_OK(reader_.expect_keyword("yield"));
    do {
      SCANLOOM_TRY(const std::int32_t result, use());
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
        SCANLOOM_TRY(Access read, access());
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
    SCANLOOM_TRY(made.sizes, numbers());
    made.takes_last = reader_.take_keyword("last");
    SCANLOOM_CHECK_OK(reader_.expect('{'));
    SCANLOOM_CHECK_OK(registers(made.reads, nullptr, made.program));
    SCANLOOM_CHECK_OK(yields(made.program));
    return made;
  }

  Expected<Nest> nest() {
    Nest nest;
    SCANLOOM_TRY(nest.sizes, numbers());
    SCANLOOM_CHECK_OK(reader_.expect('{'));
    SCANLOOM_CHECK_OK(registers(nest.reads, &nest.reductions, nest.program));
    while (reader_.take_keyword("write")) {
      SCANLOOM_TRY(const std::int32_t result, use());
      SCANLOOM_CHECK_OK(reader_.expect_keyword("to"));
      SCANLOOM_TRY(Access write, access());
      nest.program.results.push_back(result);
      nest.writes.push_back(std::move(write));
    }
    if (reader_.take_keyword("update")) SCANLOOM_CHECK_OK(update(nest.update));
    while (reader_.take_keyword("outside")) {
      SCANLOOM_CHECK_OK(reader_.expect_keyword("call"));
      SCANLOOM_TRY(const std::int32_t call, index());
      nest.calls.push_back(call);
    }
    SCANLOOM_CHECK_OK(reader_.expect('}'));
    return nest;
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

  Expected<void> dynamic_slice(Statement& statement) {
    DynamicSlice& slice = statement.slice;
    slice.into = reader_.take_keyword("write");
    if (!slice.into) SCANLOOM_CHECK_OK(reader_.expect_keyword("read"));
    SCANLOOM_CHECK_OK(reader_.expect_keyword("at"));
    SCANLOOM_TRY(slice.index, place<Access>());
    SCANLOOM_CHECK_OK(selection(slice));
    SCANLOOM_CHECK_OK(reader_.expect_keyword("outside"));
    SCANLOOM_CHECK_OK(reader_.expect_keyword("call"));
    SCANLOOM_TRY(statement.call, index());
    SCANLOOM_CHECK_OK(reader_.expect('{'));
    SCANLOOM_CHECK_OK(reader_.expect_keyword("nest"));
    SCANLOOM_TRY(statement.nest, nest());
    return reader_.expect('}');
  }

  Expected<void> loop_head(InnerLoop& loop) {
    SCANLOOM_CHECK_OK(reader_.expect_keyword("trips"));
    SCANLOOM_TRY(loop.trips, number());
    if (reader_.take_keyword("count")) {
      SCANLOOM_TRY(loop.trip_count, access());
    }
    if (reader_.take_keyword("endless")) {
      SCANLOOM_TRY(loop.endless, reader_.integer());
    }
    if (reader_.take_keyword("slices")) {
      SCANLOOM_TRY(loop.slices, number());
    }
    if (reader_.take_keyword("condition")) {
      SCANLOOM_TRY(loop.condition, access());
    }
    if (reader_.take_keyword("keep_going")) {
      SCANLOOM_TRY(loop.keep_going, access());
    }
    if (reader_.take_keyword("weight")) {
      SCANLOOM_TRY(loop.weight, number());
    }
    if (reader_.take_keyword("index")) {
      SCANLOOM_TRY(loop.index, index());
    }
    return reader_.expect('{');
  }

  Expected<void> loop(Statement& statement, int depth) {
    InnerLoop& loop = statement.loop;
    SCANLOOM_CHECK_OK(loop_head(loop));
    for (auto [keyword, sets] : {std::pair{"before", &loop.before}, std::pair{"after", &loop.after},
                                 std::pair{"skipped", &loop.skipped}})
      while (reader_.take_keyword(keyword)) {
        SCANLOOM_TRY(const SlotSet set, slot_set());
        sets->push_back(set);
      }
    while (reader_.take_keyword("move")) {
      SCANLOOM_TRY(const SlotMove move, slot_move());
      loop.moves.push_back(move);
    }
    while (reader_.take_keyword("state")) {
      InnerState state;
      SCANLOOM_TRY(state.argument, slot());
      SCANLOOM_CHECK_OK(reader_.expect('='));
      SCANLOOM_TRY(state.next, slot());
      SCANLOOM_CHECK_OK(reader_.expect_keyword("second"));
      SCANLOOM_TRY(state.second, slot_set());
      loop.states.push_back(state);
    }
    SCANLOOM_TRY(statement.inner, block(depth + 1));
    return {};
  }

  /// Statements up to the closing brace.
  Expected<std::vector<Statement>> block(int depth) {
    if (depth > kMaxStatementDepth)
      return reader_.error(fmt::format("blocks are nested {} deep, but the limit is {}: nest fewer",
                                       depth, kMaxStatementDepth));
    std::vector<Statement> statements;
    while (!reader_.take('}')) {
      Statement statement;
      SCANLOOM_CHECK_OK(read_statement(statement, depth));
      statements.push_back(std::move(statement));
    }
    return statements;
  }

  Expected<void> read_statement(Statement& statement, int depth) {
    SCANLOOM_TRY(const std::string_view name, reader_.name());
    bool known = false;
    for (int kind = 0; kind <= static_cast<int>(Statement::Kind::charge) && !known; ++kind) {
      statement.kind = static_cast<Statement::Kind>(kind);
      known = kind_name(statement.kind) == name;
    }
    if (!known) return reader_.error(fmt::format("unknown statement '{}'", name));
    switch (statement.kind) {
      case Statement::Kind::nest: {
        SCANLOOM_TRY(statement.nest, nest());
        return {};
      }
      case Statement::Kind::dynamic_slice:
        return dynamic_slice(statement);
      case Statement::Kind::call: {
        SCANLOOM_TRY(statement.call, index());
        return {};
      }
      case Statement::Kind::set: {
        SCANLOOM_TRY(statement.set, slot_set());
        return {};
      }
      case Statement::Kind::branch: {
        SCANLOOM_TRY(statement.condition, access());
        SCANLOOM_CHECK_OK(reader_.expect('{'));
        SCANLOOM_TRY(statement.inner, block(depth + 1));
        SCANLOOM_CHECK_OK(reader_.expect_keyword("else"));
        SCANLOOM_CHECK_OK(reader_.expect('{'));
        SCANLOOM_TRY(statement.otherwise, block(depth + 1));
        return {};
      }
      case Statement::Kind::loop:
        return loop(statement, depth);
      case Statement::Kind::charge: {
        SCANLOOM_TRY(statement.nanoseconds, reader_.integer());
        return {};
      }
    }
    return {};
  }

  tensor::TextReader reader_;
  BodySource source_;
};

}  // namespace

Expected<BodySource> parse(std::string_view text) { return NestParser(text).run(); }

}  // namespace scanloom::loopnest
