#include "loopnest/verify.h"

#include <algorithm>
#include <string>
#include <utility>

#include "loopnest/access.h"
#include "loopnest/print.h"

namespace scanloom::loopnest {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarProgram;

bool is_flag(const Access& access) { return access.dtype == DType::boolean; }

/// The rules of slots, numbers and accesses.
class OperandRules {
 public:
  explicit OperandRules(const BodySource& source) : source_(source) {}

  /// Sets what messages begin with.
  void set_subject(std::string subject) { subject_ = std::move(subject); }

  template <class... Args>
  Error broken(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(Code::internal, "{} {}", subject_,
                fmt::format(format, std::forward<Args>(args)...));
  }

  Expected<void> check_slot(std::int32_t slot) const {
    if (slot < 0 && local_index(slot) >= source_.locals.size())
      return broken("names buffer l{}, but the body has {}", local_index(slot),
                    source_.locals.size());
    return {};
  }
  Expected<void> check_run_slot(std::int32_t slot) const {
    if (slot < 0)
      return broken("moves buffer l{}, which has a fixed place: name a slot", local_index(slot));
    return {};
  }
  Expected<void> check_number(std::int64_t number) const {
    if (is_parameter(number) && parameter_index(number) >= source_.parameters)
      return broken("names parameter ${}, but the body has {}", parameter_index(number),
                    source_.parameters);
    return {};
  }
  /// A number that may be a parameter, `least` at least.
  Expected<void> check_count(std::int64_t number, std::int64_t least, const char* what) const {
    SCANLOOM_CHECK_OK(check_number(number));
    if (!is_parameter(number) && number < least)
      return broken("has {} {}, but the least is {}", what, number, least);
    return {};
  }
  Expected<void> check_set(const SlotSet& set) const {
    SCANLOOM_CHECK_OK(check_run_slot(set.slot));
    SCANLOOM_CHECK_OK(check_run_slot(set.from));
    return check_number(set.offset);
  }

  // Accesses.

  template <class Place>
  Expected<void> check_place(const Place& place, std::size_t axes, const std::string& what) const {
    SCANLOOM_CHECK_OK(check_slot(place.slot));
    if (place.strides.size() != axes)
      return broken("has {} with {} strides over {} axes: give a stride per axis", what,
                    place.strides.size(), axes);
    for (const std::int64_t stride : place.strides) SCANLOOM_CHECK_OK(check_number(stride));
    return {};
  }

  template <class Index>
  Expected<void> check_selection(const Index& selection, DType dtype) const {
    if (dtype != DType::i32 && dtype != DType::i64)
      return broken("has an index of {}: indices are i32 or i64", dtype_name(dtype));
    SCANLOOM_CHECK_OK(check_number(selection.bytes));
    return check_count(selection.size, 1, "an index along an axis of size");
  }

  Expected<void> check_access(const Access& access, const std::vector<std::int64_t>& sizes,
                              const std::string& what) const {
    SCANLOOM_CHECK_OK(check_place(access, sizes.size(), what));
    for (const DynamicIndex& index : access.indices) {
      SCANLOOM_CHECK_OK(check_place(index, sizes.size(), "an index of " + what));
      SCANLOOM_CHECK_OK(check_selection(index, index.dtype));
    }
    const bool is_fixed =
        access.indices.empty() && std::ranges::none_of(access.strides, is_parameter);
    if (access.slot >= 0 || !is_fixed) return {};
    const Use use = use_of(access, sizes);
    const std::int64_t bytes = source_.locals[local_index(access.slot)];
    if (use.first < 0 || use.last > bytes)
      return broken("has {} of bytes [{}, {}) of buffer l{}, which has {}", what, use.first,
                    use.last, local_index(access.slot), bytes);
    return {};
  }

  Expected<void> check_flag(const Access& access, const char* what) const {
    if (!is_flag(access))
      return broken("has a {} of {}: it is a boolean", what, dtype_name(access.dtype));
    return check_access(access, {}, what);
  }

  Expected<void> check_sizes(const std::vector<std::int64_t>& sizes) const {
    for (const std::int64_t size : sizes)
      if (size < 1) return broken("has an axis of size {}, but the least is 1", size);
    return {};
  }

 private:
  const BodySource& source_;
  std::string subject_ = "the body";
};

/// The rules of nests and their programs.
class NestRules {
 public:
  explicit NestRules(const OperandRules& operands) : operands_(operands) {}

  Expected<void> check_nest(const Nest& nest) const {
    SCANLOOM_CHECK_OK(operands_.check_sizes(nest.sizes));
    for (std::size_t i = 0; i < nest.reads.size(); ++i)
      SCANLOOM_CHECK_OK(
          operands_.check_access(nest.reads[i], nest.sizes, fmt::format("read {}", i)));
    for (std::size_t i = 0; i < nest.writes.size(); ++i) {
      SCANLOOM_CHECK_OK(
          operands_.check_access(nest.writes[i], nest.sizes, fmt::format("write {}", i)));
      if (!nest.writes[i].indices.empty() && nest.writes.size() > 1)
        return operands_.broken(
            "has {} writes of which one is by indices: that is the only one of a nest",
            nest.writes.size());
    }
    for (const Reduction& reduction : nest.reductions)
      SCANLOOM_CHECK_OK(check_reduction(nest, reduction));
    SCANLOOM_CHECK_OK(check_inputs(nest.program, nest.reads, nest.reductions));
    SCANLOOM_CHECK_OK(check_program(nest.program, nest.writes.size()));
    if (!nest.update.instrs.empty()) {
      if (nest.update.inputs.size() != 2)
        return operands_.broken(
            "has an update of {} inputs: it takes 2, the old and the new element",
            nest.update.inputs.size());
      SCANLOOM_CHECK_OK(check_program(nest.update, 1));
    }
    for (const std::int32_t call : nest.calls) SCANLOOM_CHECK_OK(check_call(call));
    return {};
  }

  Expected<void> check_call(std::int32_t call) const {
    if (call < 0) return operands_.broken("names call {}, but 0 is the first", call);
    return {};
  }

 private:
  Expected<void> check_reduction(const Nest& nest, const Reduction& reduction) const {
    SCANLOOM_CHECK_OK(operands_.check_sizes(reduction.sizes));
    for (const Access& read : reduction.reads) {
      if (!read.indices.empty())
        return operands_.broken("has a reduction with a read by {} indices: reductions take none",
                                read.indices.size());
      SCANLOOM_CHECK_OK(
          operands_.check_access(read, axes_of(nest, reduction), "a read of a reduction"));
    }
    SCANLOOM_CHECK_OK(check_inputs(reduction.program, reduction.reads, {}));
    const bool multiplies = reduction.kind == Reduction::Kind::multiply_add;
    SCANLOOM_CHECK_OK(check_program(reduction.program, multiplies ? 2 : 1));
    const bool finds_index =
        reduction.kind == Reduction::Kind::argmax || reduction.kind == Reduction::Kind::argmin;
    if (finds_index && (reduction.dtype != DType::i64 || reduction.sizes.size() != 1))
      return operands_.broken("has an {} of {} over {} axes: it is an i64 over 1 axis",
                              kind_name(reduction.kind), dtype_name(reduction.dtype),
                              reduction.sizes.size());
    return {};
  }

  Expected<void> check_program(const ScalarProgram& program, std::size_t results) const {
    std::size_t next = program.inputs.size();
    for (const ScalarInstr& instr : program.instrs) {
      for (int arg = 0; arg < tensor::scalar_op_arguments(instr.op); ++arg)
        if (instr.args[arg] < 0 || static_cast<std::size_t>(instr.args[arg]) >= next)
          return operands_.broken("computes %{} from %{}, which is not defined before", next,
                                  instr.args[arg]);
      ++next;
    }
    for (const std::int32_t result : program.results)
      if (result < 0 || static_cast<std::size_t>(result) >= next)
        return operands_.broken("gives %{}, but its program defines {} registers", result, next);
    if (program.results.size() != results)
      return operands_.broken("has a program of {} results, but {} are taken",
                              program.results.size(), results);
    return {};
  }

  Expected<void> check_inputs(const ScalarProgram& program, const std::vector<Access>& reads,
                              const std::vector<Reduction>& reductions) const {
    if (program.inputs.size() != reads.size() + reductions.size())
      return operands_.broken("has a program of {} inputs, with {} reads and {} reductions",
                              program.inputs.size(), reads.size(), reductions.size());
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      const DType given = i < reads.size() ? reads[i].dtype : reductions[i - reads.size()].dtype;
      if (program.inputs[i] != given)
        return operands_.broken("has %{} of {}, but its program takes {}", i, dtype_name(given),
                                dtype_name(program.inputs[i]));
    }
    return {};
  }

  const OperandRules& operands_;
};

/// The rules of a body and its statements.
class BodyVerifier {
 public:
  explicit BodyVerifier(const BodySource& source)
      : source_(source), operands_(source), nests_(operands_) {}

  Expected<void> run() {
    if (source_.parameters > kMaxParameters)
      return operands_.broken("has {} parameters, but the limit is {}", source_.parameters,
                              kMaxParameters);
    for (const std::int64_t bytes : source_.locals)
      if (bytes < 1)
        return operands_.broken("has a buffer of {} bytes, but needs at least 1", bytes);
    for (const LocalState& state : source_.states) SCANLOOM_CHECK_OK(check_state(state));
    for (const SlotMove& move : source_.moves)
      SCANLOOM_CHECK_OK(operands_.check_run_slot(move.slot));
    for (const SlotSwap& swap : source_.swaps)
      for (const std::int32_t slot : {swap.a, swap.b})
        SCANLOOM_CHECK_OK(operands_.check_run_slot(slot));
    if (source_.keep_going)
      SCANLOOM_CHECK_OK(operands_.check_flag(*source_.keep_going, "keep_going"));
    return check_block(source_.statements, "", 0);
  }

 private:
  Expected<void> check_state(const LocalState& state) const {
    SCANLOOM_CHECK_OK(operands_.check_run_slot(state.slot));
    for (const std::int32_t slot : {state.now, state.then}) {
      if (slot >= 0)
        return operands_.broken("keeps a state in slot s{}: name one of its buffers", slot);
      SCANLOOM_CHECK_OK(operands_.check_slot(slot));
    }
    const std::int64_t now = source_.locals[local_index(state.now)],
                       then = source_.locals[local_index(state.then)];
    if (now != then)
      return operands_.broken("keeps a state of {} bytes whose successor has {}", now, then);
    return {};
  }
  Expected<void> check_dynamic_slice(const Statement& statement) const {
    const DynamicSlice& slice = statement.slice;
    SCANLOOM_CHECK_OK(operands_.check_access(slice.index, {}, "the index of a slice"));
    SCANLOOM_CHECK_OK(operands_.check_selection(slice, slice.index.dtype));
    SCANLOOM_CHECK_OK(nests_.check_call(statement.call));
    const std::vector<Access>& moved = slice.into ? statement.nest.writes : statement.nest.reads;
    if (moved.empty())
      return operands_.broken("has {} {}, of which it moves the first", moved.size(),
                              slice.into ? "writes" : "reads");
    return nests_.check_nest(statement.nest);
  }

  Expected<void> check_loop(const InnerLoop& loop) const {
    SCANLOOM_CHECK_OK(operands_.check_count(
        loop.trips, loop.trip_count || !loop.is_counted() ? 0 : 1, "a number of trips of"));
    if (loop.trip_count) {
      if (loop.trip_count->dtype != DType::i64)
        return operands_.broken("has a trip count of {}: it is an i64",
                                dtype_name(loop.trip_count->dtype));
      SCANLOOM_CHECK_OK(operands_.check_access(*loop.trip_count, {}, "a trip count"));
    }
    SCANLOOM_CHECK_OK(operands_.check_count(loop.slices, -1, "a number of slices of"));
    SCANLOOM_CHECK_OK(operands_.check_count(loop.weight, 0, "a weight of"));
    if (loop.condition) SCANLOOM_CHECK_OK(operands_.check_flag(*loop.condition, "condition"));
    if (loop.keep_going) SCANLOOM_CHECK_OK(operands_.check_flag(*loop.keep_going, "keep_going"));
    for (const auto* sets : {&loop.before, &loop.after, &loop.skipped})
      for (const SlotSet& set : *sets) SCANLOOM_CHECK_OK(operands_.check_set(set));
    for (const SlotMove& move : loop.moves) SCANLOOM_CHECK_OK(operands_.check_run_slot(move.slot));
    for (const InnerState& state : loop.states) {
      SCANLOOM_CHECK_OK(operands_.check_run_slot(state.argument));
      SCANLOOM_CHECK_OK(operands_.check_run_slot(state.next));
      SCANLOOM_CHECK_OK(operands_.check_set(state.second));
    }
    return {};
  }

  Expected<void> check_block(const std::vector<Statement>& statements, const std::string& path,
                             int depth) {
    for (std::size_t i = 0; i < statements.size(); ++i) {
      const Statement& statement = statements[i];
      const std::string at = fmt::format("{}{}", path, i);
      operands_.set_subject(fmt::format("statement {} ({})", at, kind_name(statement.kind)));
      if (depth > kMaxStatementDepth)
        return operands_.broken("is nested {} blocks deep, but the limit is {}", depth,
                                kMaxStatementDepth);
      SCANLOOM_CHECK_OK(check_statement(statement));
      SCANLOOM_CHECK_OK(check_block(statement.inner, at + ".", depth + 1));
      SCANLOOM_CHECK_OK(check_block(statement.otherwise, at + ".else.", depth + 1));
    }
    return {};
  }

  Expected<void> check_statement(const Statement& statement) const {
    switch (statement.kind) {
      case Statement::Kind::nest:
        return nests_.check_nest(statement.nest);
      case Statement::Kind::dynamic_slice:
        return check_dynamic_slice(statement);
      case Statement::Kind::call:
        return nests_.check_call(statement.call);
      case Statement::Kind::set:
        return operands_.check_set(statement.set);
      case Statement::Kind::branch:
        return operands_.check_flag(statement.condition, "condition");
      case Statement::Kind::loop:
        return check_loop(statement.loop);
      case Statement::Kind::charge:
        if (statement.nanoseconds < 0)
          return operands_.broken("charges {} ns, but the least is 0", statement.nanoseconds);
        return {};
    }
    return {};
  }

  const BodySource& source_;
  OperandRules operands_;
  NestRules nests_;
};

}  // namespace

Expected<void> verify(const BodySource& source) { return BodyVerifier(source).run(); }

}  // namespace scanloom::loopnest
