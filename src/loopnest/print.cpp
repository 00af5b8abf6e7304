#include "loopnest/print.h"

#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "tensor/text.h"

namespace scanloom::loopnest {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;
using tensor::ScalarProgram;

class Printer {
 public:
  std::string run(const BodySource& source) {
    line("body {} {{", isa_name(source.isa));
    ++depth_;
    if (source.parameters > 0) line("parameters {}", source.parameters);
    if (source.timed) line("timed");
    for (const std::int64_t bytes : source.locals) line("local {}", bytes);
    for (const LocalState& state : source.states)
      line("state {} = {} then {}", slot(state.slot), slot(state.now), slot(state.then));
    for (const SlotMove& move : source.moves) line("move {} by {}", slot(move.slot), move.bytes);
    for (const SlotSwap& swap : source.swaps) line("swap {}, {}", slot(swap.a), slot(swap.b));
    if (source.keep_going) line("keep_going {}", access(*source.keep_going));
    statements(source.statements);
    close();
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  void close(std::string_view text = "}") {
    --depth_;
    line("{}", text);
  }

  static std::string slot(std::int32_t slot) {
    return slot >= 0 ? fmt::format("s{}", slot) : fmt::format("l{}", local_index(slot));
  }
  static std::string number(std::int64_t number) {
    return is_parameter(number) ? fmt::format("${}", parameter_index(number))
                                : fmt::format("{}", number);
  }
  template <class Numbers>
  static std::string list(const Numbers& numbers) {
    std::string text = "(";
    for (const std::int64_t each : numbers) text += (text.size() > 1 ? ", " : "") + number(each);
    return text + ")";
  }

  static std::string place(std::int32_t at, DType dtype, std::int64_t offset,
                           const std::vector<std::int64_t>& strides) {
    const std::string along = strides.empty() ? "" : " + " + list(strides);
    return fmt::format("{} {}[{}{}]", dtype_name(dtype), slot(at), offset, along);
  }
  static std::string access(const Access& access) {
    std::string text = place(access.slot, access.dtype, access.offset, access.strides);
    for (const DynamicIndex& index : access.indices)
      text += fmt::format(" at {} * {} < {}",
                          place(index.slot, index.dtype, index.offset, index.strides),
                          number(index.bytes), number(index.size));
    return text;
  }
  static std::string set(const SlotSet& set) {
    return fmt::format("{} = {} + {}", slot(set.slot), slot(set.from), number(set.offset));
  }

  void instructions(const ScalarProgram& program) {
    for (std::size_t i = 0; i < program.instrs.size(); ++i) {
      const ScalarInstr& instr = program.instrs[i];
      std::string text = fmt::format("%{} = {} {}", program.inputs.size() + i,
                                     tensor::scalar_op_name(instr.op), dtype_name(instr.dtype));
      if (instr.op == ScalarOp::constant) {
        text += ' ';
        // Machines that the library runs on are little-endian: the first bytes are the element.
        tensor::text::append_element(text, instr.dtype,
                                     reinterpret_cast<const std::byte*>(&instr.bits));
      }
      for (int arg = 0; arg < tensor::scalar_op_arguments(instr.op); ++arg)
        text += fmt::format("{}%{}", arg == 0 ? " " : ", ", instr.args[arg]);
      line("{}", text);
    }
  }
  void yield(const ScalarProgram& program) {
    std::string text = "yield ";
    for (std::size_t i = 0; i < program.results.size(); ++i)
      text += fmt::format("{}%{}", i == 0 ? "" : ", ", program.results[i]);
    line("{}", text);
  }
  void reads(const std::vector<Access>& reads) {
    for (std::size_t i = 0; i < reads.size(); ++i) line("%{} = read {}", i, access(reads[i]));
  }

  void reduction(const Reduction& reduction, std::size_t index) {
    line("%{} = reduce {} {} over {}{} {{", index, kind_name(reduction.kind),
         dtype_name(reduction.dtype), list(reduction.sizes), reduction.takes_last ? " last" : "");
    ++depth_;
    reads(reduction.reads);
    instructions(reduction.program);
    yield(reduction.program);
    close();
  }

  void nest(const Nest& nest) {
    line("nest {} {{", list(nest.sizes));
    ++depth_;
    reads(nest.reads);
    for (std::size_t i = 0; i < nest.reductions.size(); ++i)
      reduction(nest.reductions[i], nest.reads.size() + i);
    instructions(nest.program);
    for (std::size_t i = 0; i < nest.writes.size(); ++i)
      line("write %{} to {}", nest.program.results[i], access(nest.writes[i]));
    if (!nest.update.instrs.empty() || !nest.update.results.empty()) update(nest.update);
    for (const std::int32_t call : nest.calls) line("outside call {}", call);
    close();
  }
  void update(const ScalarProgram& program) {
    std::string inputs;
    for (const DType dtype : program.inputs)
      inputs += fmt::format("{}{}", inputs.empty() ? "" : ", ", dtype_name(dtype));
    line("update ({}) {{", inputs);
    ++depth_;
    instructions(program);
    yield(program);
    close();
  }

  void loop(const Statement& statement) {
    const InnerLoop& loop = statement.loop;
    std::string head = "loop trips " + number(loop.trips);
    if (loop.trip_count) head += " count " + access(*loop.trip_count);
    if (loop.endless != InnerLoop{}.endless) head += fmt::format(" endless {}", loop.endless);
    if (loop.slices != InnerLoop{}.slices) head += " slices " + number(loop.slices);
    if (loop.condition) head += " condition " + access(*loop.condition);
    if (loop.keep_going) head += " keep_going " + access(*loop.keep_going);
    if (loop.weight != 0) head += " weight " + number(loop.weight);
    if (loop.index != 0) head += fmt::format(" index {}", loop.index);
    line("{} {{", head);
    ++depth_;
    for (const SlotSet& each : loop.before) line("before {}", set(each));
    for (const SlotSet& each : loop.after) line("after {}", set(each));
    for (const SlotSet& each : loop.skipped) line("skipped {}", set(each));
    for (const SlotMove& move : loop.moves) line("move {} by {}", slot(move.slot), move.bytes);
    for (const InnerState& state : loop.states)
      line("state {} = {} second {}", slot(state.argument), slot(state.next), set(state.second));
    statements(statement.inner);
    close();
  }

  // kMaxStatementDepth bounds how deep statements nest.
  void statements(const std::vector<Statement>& statements) {
    for (const Statement& each : statements) statement(each);
  }

  void statement(const Statement& each) {
    switch (each.kind) {
      case Statement::Kind::nest:
        return nest(each.nest);
      case Statement::Kind::dynamic_slice:
        line("dynamic_slice {} at {} * {} < {} outside call {} {{",
             each.slice.into ? "write" : "read", access(each.slice.index), number(each.slice.bytes),
             number(each.slice.size), each.call);
        ++depth_;
        nest(each.nest);
        return close();
      case Statement::Kind::call:
        return line("call {}", each.call);
      case Statement::Kind::set:
        return line("set {}", set(each.set));
      case Statement::Kind::branch:
        line("branch {} {{", access(each.condition));
        ++depth_;
        statements(each.inner);
        close("} else {");
        ++depth_;
        statements(each.otherwise);
        return close();
      case Statement::Kind::loop:
        return loop(each);
      case Statement::Kind::charge:
        return line("charge {}", each.nanoseconds);
    }
  }

  std::string out_;
  std::size_t depth_ = 0;
};

}  // namespace

const char* kind_name(Statement::Kind kind) {
  constexpr const char* kNames[] = {"nest",   "dynamic_slice", "call",  "set",
                                    "branch", "loop",          "charge"};
  return kNames[static_cast<int>(kind)];
}

const char* kind_name(Reduction::Kind kind) {
  constexpr const char* kNames[] = {"sum",          "prod",   "max",   "min",
                                    "multiply_add", "argmax", "argmin"};
  return kNames[static_cast<int>(kind)];
}

std::string print(const BodySource& source) { return Printer().run(source); }

}  // namespace scanloom::loopnest
