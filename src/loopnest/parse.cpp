#include "loopnest/parse.h"

#include <string>
#include <utility>

#include "loopnest/parse_nest.h"
#include "loopnest/parse_operands.h"
#include "loopnest/print.h"
#include "tensor/text_reader.h"

namespace scanloom::loopnest {
namespace {

class BodyReader {
 public:
  explicit BodyReader(std::string_view text) : reader_(text), operands_(reader_) {}

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

  /// Reads a declaration; returns whether there was one.
  Expected<bool> declaration() {
    if (reader_.take_keyword("parameters")) {
      SCANLOOM_TRY(const std::int32_t count, operands_.index());
      source_.parameters = static_cast<std::size_t>(count);
    } else if (reader_.take_keyword("timed")) {
      source_.timed = true;
    } else if (reader_.take_keyword("local")) {
      SCANLOOM_TRY(const std::int64_t bytes, reader_.integer());
      source_.locals.push_back(bytes);
    } else if (reader_.take_keyword("state")) {
      LocalState state;
      SCANLOOM_TRY(state.slot, operands_.slot());
      SCANLOOM_CHECK_OK(reader_.expect('='));
      SCANLOOM_TRY(state.now, operands_.slot());
      SCANLOOM_CHECK_OK(reader_.expect_keyword("then"));
      SCANLOOM_TRY(state.then, operands_.slot());
      source_.states.push_back(state);
    } else if (reader_.take_keyword("move")) {
      SCANLOOM_TRY(const SlotMove move, operands_.slot_move());
      source_.moves.push_back(move);
    } else if (reader_.take_keyword("swap")) {
      SlotSwap swap;
      SCANLOOM_TRY(swap.a, operands_.slot());
      SCANLOOM_CHECK_OK(reader_.expect(','));
      SCANLOOM_TRY(swap.b, operands_.slot());
      source_.swaps.push_back(swap);
    } else if (reader_.take_keyword("keep_going")) {
      SCANLOOM_TRY(source_.keep_going, operands_.access());
    } else {
      return false;
    }
    return true;
  }

  Expected<void> dynamic_slice(Statement& statement) {
    DynamicSlice& slice = statement.slice;
    slice.into = reader_.take_keyword("write");
    if (!slice.into) SCANLOOM_CHECK_OK(reader_.expect_keyword("read"));
    SCANLOOM_CHECK_OK(reader_.expect_keyword("at"));
    SCANLOOM_TRY(slice.index, operands_.place<Access>());
    SCANLOOM_CHECK_OK(operands_.selection(slice));
    SCANLOOM_CHECK_OK(reader_.expect_keyword("outside"));
    SCANLOOM_CHECK_OK(reader_.expect_keyword("call"));
    SCANLOOM_TRY(statement.call, operands_.index());
    SCANLOOM_CHECK_OK(reader_.expect('{'));
    SCANLOOM_CHECK_OK(reader_.expect_keyword("nest"));
    SCANLOOM_TRY(statement.nest, parse_nest(reader_));
    return reader_.expect('}');
  }

  Expected<void> loop_head(InnerLoop& loop) {
    SCANLOOM_CHECK_OK(reader_.expect_keyword("trips"));
    SCANLOOM_TRY(loop.trips, operands_.number());
    if (reader_.take_keyword("count")) {
      SCANLOOM_TRY(loop.trip_count, operands_.access());
    }
    if (reader_.take_keyword("endless")) {
      SCANLOOM_TRY(loop.endless, reader_.integer());
    }
    if (reader_.take_keyword("slices")) {
      SCANLOOM_TRY(loop.slices, operands_.number());
    }
    if (reader_.take_keyword("condition")) {
      SCANLOOM_TRY(loop.condition, operands_.access());
    }
    if (reader_.take_keyword("keep_going")) {
      SCANLOOM_TRY(loop.keep_going, operands_.access());
    }
    if (reader_.take_keyword("weight")) {
      SCANLOOM_TRY(loop.weight, operands_.number());
    }
    if (reader_.take_keyword("index")) {
      SCANLOOM_TRY(loop.index, operands_.index());
    }
    return reader_.expect('{');
  }

  Expected<void> loop(Statement& statement, int depth) {
    InnerLoop& loop = statement.loop;
    SCANLOOM_CHECK_OK(loop_head(loop));
    for (auto [keyword, sets] : {std::pair{"before", &loop.before}, std::pair{"after", &loop.after},
                                 std::pair{"skipped", &loop.skipped}})
      while (reader_.take_keyword(keyword)) {
        SCANLOOM_TRY(const SlotSet set, operands_.slot_set());
        sets->push_back(set);
      }
    while (reader_.take_keyword("move")) {
      SCANLOOM_TRY(const SlotMove move, operands_.slot_move());
      loop.moves.push_back(move);
    }
    while (reader_.take_keyword("state")) {
      InnerState state;
      SCANLOOM_TRY(state.argument, operands_.slot());
      SCANLOOM_CHECK_OK(reader_.expect('='));
      SCANLOOM_TRY(state.next, operands_.slot());
      SCANLOOM_CHECK_OK(reader_.expect_keyword("second"));
      SCANLOOM_TRY(state.second, operands_.slot_set());
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
        SCANLOOM_TRY(statement.nest, parse_nest(reader_));
        return {};
      }
      case Statement::Kind::dynamic_slice:
        return dynamic_slice(statement);
      case Statement::Kind::call: {
        SCANLOOM_TRY(statement.call, operands_.index());
        return {};
      }
      case Statement::Kind::set: {
        SCANLOOM_TRY(statement.set, operands_.slot_set());
        return {};
      }
      case Statement::Kind::branch: {
        SCANLOOM_TRY(statement.condition, operands_.access());
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
  OperandReader operands_;
  BodySource source_;
};

}  // namespace

Expected<BodySource> parse(std::string_view text) { return BodyReader(text).run(); }

}  // namespace scanloom::loopnest
