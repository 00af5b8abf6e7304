#include "tests/loopnest/evaluate.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <utility>

#include "base/dot.h"
#include "loopnest/access.h"
#include "tensor/scalar_eval.h"

namespace scanloom::loopnest::test {
namespace {

using tensor::ScalarOp;
using tensor::ScalarProgram;
using tensor::ScalarReg;

using Position = std::vector<std::int64_t>;

/// Calls f(position) for each element, the last axis the fastest.
template <class F>
void for_elements(const std::vector<std::int64_t>& sizes, F&& f) {
  Position at(sizes.size(), 0);
  for (;;) {
    f(at);
    std::size_t axis = sizes.size();
    while (axis > 0 && ++at[axis - 1] == sizes[axis - 1]) at[--axis] = 0;
    if (axis == 0) return;
  }
}

std::vector<ScalarReg> results_of(const ScalarProgram& program, std::vector<ScalarReg> registers) {
  registers.resize(program.inputs.size() + program.instrs.size());
  tensor::eval_scalar(program, registers.data());
  std::vector<ScalarReg> results;
  for (const std::int32_t result : program.results)
    results.push_back(registers[static_cast<std::size_t>(result)]);
  return results;
}

ScalarReg combined(ScalarOp op, DType dtype, ScalarReg a, ScalarReg b) {
  ScalarProgram program{.inputs = {dtype, dtype}, .instrs = {}, .results = {2}};
  program.append({.op = op, .dtype = dtype, .args = {0, 1, -1}});
  return results_of(program, {a, b})[0];
}

/// sum + a * b by the rule of base/dot.h.
ScalarReg multiplied_and_added(DType dtype, ScalarReg a, ScalarReg b, ScalarReg sum) {
  if (dtype == DType::f32) {
    const auto number = [](ScalarReg reg) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(reg.low));
    };
    return {std::bit_cast<std::uint32_t>(multiply_add(number(a), number(b), number(sum)))};
  }
  if (dtype == DType::f64) {
    const auto number = [](ScalarReg reg) { return std::bit_cast<double>(reg.low); };
    return {std::bit_cast<std::uint64_t>(multiply_add(number(a), number(b), number(sum)))};
  }
  return combined(ScalarOp::add, dtype, sum, combined(ScalarOp::mul, dtype, a, b));
}

bool is_true(ScalarOp op, DType dtype, ScalarReg a, ScalarReg b) {
  ScalarProgram program{.inputs = {dtype, dtype}, .instrs = {}, .results = {2}};
  program.append({.op = op, .dtype = dtype, .args = {0, 1, -1}});
  return (results_of(program, {a, b})[0].low & 1) != 0;
}

bool is_nan(DType dtype, ScalarReg a) {
  return is_floating_point(dtype) && !is_true(ScalarOp::equal, dtype, a, a);
}

/// Whether `a` comes after `b` in the order of ops/index/element_order.h: a NaN is above all.
bool is_above(DType dtype, ScalarReg a, ScalarReg b) {
  if (is_nan(dtype, a) || is_nan(dtype, b)) return is_nan(dtype, a) && !is_nan(dtype, b);
  return is_true(ScalarOp::less, dtype, b, a);
}

class Evaluator {
 public:
  Evaluator(const BodySource& source, std::vector<std::byte*>& slots,
            std::span<const std::int64_t> parameters)
      : source_(source), slots_(slots), parameters_(parameters) {
    for (const std::int64_t bytes : source.locals)
      locals_.emplace_back(static_cast<std::size_t>(bytes));
  }

  std::int64_t run(std::int64_t steps) {
    for (const LocalState& state : source_.states) {
      std::vector<std::byte>& now = local(state.now);
      std::memcpy(now.data(), base(state.slot), now.size());
    }
    std::int64_t step = 0;
    bool goes_on = true;
    for (; step < steps && goes_on; ++step) {
      run_block(source_.statements);
      if (source_.keep_going) goes_on = flag(*source_.keep_going);
      for (const LocalState& state : source_.states) local(state.now) = local(state.then);
      move(source_.moves);
      for (const SlotSwap& swap : source_.swaps) std::swap(slot(swap.a), slot(swap.b));
    }
    for (const LocalState& state : source_.states) {
      const std::vector<std::byte>& now = local(state.now);
      std::memcpy(base(state.slot), now.data(), now.size());
    }
    return goes_on ? step : -1 - step;
  }

 private:
  std::vector<std::byte>& local(std::int32_t slot) { return locals_[local_index(slot)]; }

  std::byte*& slot(std::int32_t index) { return slots_[static_cast<std::size_t>(index)]; }

  std::byte* base(std::int32_t index) { return index < 0 ? local(index).data() : slot(index); }

  void set(const SlotSet& set) { slot(set.slot) = slot(set.from) + number(set.offset); }
  void set(const std::vector<SlotSet>& sets) {
    for (const SlotSet& each : sets) set(each);
  }
  void move(const std::vector<SlotMove>& moves) {
    for (const SlotMove& each : moves) slot(each.slot) += each.bytes;
  }

  bool flag(const Access& access) { return *address(access, {}) != std::byte{0}; }

  [[nodiscard]] std::int64_t number(std::int64_t given) const {
    return is_parameter(given) ? parameters_[parameter_index(given)] : given;
  }

  template <class Operand>
  std::byte* element(const Operand& operand, const Position& at) {
    std::int64_t elements = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis)
      elements += at[axis] * number(operand.strides[axis]);
    return base(operand.slot) + operand.offset +
           elements * static_cast<std::int64_t>(dtype_bytes(operand.dtype));
  }

  ScalarReg load(const std::byte* from, DType dtype) const {
    ScalarReg reg;
    tensor::load_scalars(dtype, from, 0, &reg, 1);
    return reg;
  }

  /// Returns the element that an index of `dtype` stored there selects.
  std::int64_t selected(const std::byte* from, DType dtype, std::int64_t size) const {
    const auto read = load(from, dtype).low;
    std::int64_t chosen = dtype == DType::i32 ? std::int64_t{static_cast<std::int32_t>(read)}
                                              : static_cast<std::int64_t>(read);
    if (chosen < 0) chosen += number(size);
    EXPECT_TRUE(chosen >= 0 && chosen < number(size)) << "index " << chosen;
    return chosen;
  }

  std::byte* address(const Access& access, const Position& at) {
    std::byte* place = element(access, at);
    for (const DynamicIndex& index : access.indices)
      place += selected(element(index, at), index.dtype, index.size) * number(index.bytes);
    return place;
  }

  std::vector<ScalarReg> loaded(const std::vector<Access>& reads, const Position& at) {
    std::vector<ScalarReg> registers;
    for (const Access& read : reads) registers.push_back(load(address(read, at), read.dtype));
    return registers;
  }

  static ScalarReg next(const Reduction& reduction, ScalarReg sum,
                        const std::vector<ScalarReg>& values) {
    switch (reduction.kind) {
      case Reduction::Kind::sum:
        return combined(ScalarOp::add, reduction.dtype, sum, values[0]);
      case Reduction::Kind::prod:
        return combined(ScalarOp::mul, reduction.dtype, sum, values[0]);
      case Reduction::Kind::max:
        return combined(ScalarOp::max, reduction.dtype, sum, values[0]);
      case Reduction::Kind::min:
        return combined(ScalarOp::min, reduction.dtype, sum, values[0]);
      case Reduction::Kind::multiply_add:
        return multiplied_and_added(reduction.dtype, values[0], values[1], sum);
      case Reduction::Kind::argmax:
      case Reduction::Kind::argmin:
        break;  // see index_of_extreme
    }
    ADD_FAILURE() << "no such reduction";
    return sum;
  }

  ScalarReg index_of_extreme(const Reduction& reduction, const Position& outer) {
    const DType dtype = reduction.program.register_dtype(reduction.program.results[0]);
    ScalarReg best, index;
    for_elements(reduction.sizes, [&](const Position& inner) {
      const ScalarReg value = value_of(reduction, outer, inner)[0];
      const bool wins = reduction.kind == Reduction::Kind::argmax ? is_above(dtype, value, best)
                                                                  : is_above(dtype, best, value);
      const bool loses = reduction.kind == Reduction::Kind::argmax ? is_above(dtype, best, value)
                                                                   : is_above(dtype, value, best);
      if (inner[0] > 0 && !wins && (loses || !reduction.takes_last)) return;
      best = value;
      index = {static_cast<std::uint64_t>(inner[0])};
    });
    return index;
  }

  std::vector<ScalarReg> value_of(const Reduction& reduction, Position at, const Position& inner) {
    at.insert(at.end(), inner.begin(), inner.end());
    return results_of(reduction.program, loaded(reduction.reads, at));
  }

  ScalarReg reduced(const Reduction& reduction, const Position& outer) {
    using Kind = Reduction::Kind;
    if (reduction.kind == Kind::argmax || reduction.kind == Kind::argmin)
      return index_of_extreme(reduction, outer);
    const bool begins_with_first = reduction.kind == Kind::max || reduction.kind == Kind::min;
    ScalarReg result = {
        tensor::scalar_bits(std::int64_t{reduction.kind == Kind::prod ? 1 : 0}, reduction.dtype)};
    bool is_first = true;
    for_elements(reduction.sizes, [&](const Position& inner) {
      const std::vector<ScalarReg> values = value_of(reduction, outer, inner);
      result = begins_with_first && is_first ? values[0] : next(reduction, result, values);
      is_first = false;
    });
    return result;
  }

  void run_nest(const Nest& nest) {
    for_elements(nest.sizes, [&](const Position& at) {
      std::vector<ScalarReg> registers = loaded(nest.reads, at);
      for (const Reduction& reduction : nest.reductions)
        registers.push_back(reduced(reduction, at));
      const std::vector<ScalarReg> results = results_of(nest.program, std::move(registers));
      for (std::size_t i = 0; i < results.size(); ++i) store(nest, nest.writes[i], at, results[i]);
    });
  }

  void store(const Nest& nest, const Access& write, const Position& at, ScalarReg value) {
    std::byte* const place = address(write, at);
    if (!nest.update.instrs.empty())
      value = results_of(nest.update, {load(place, write.dtype), value})[0];
    tensor::store_scalars(write.dtype, &value, place, 0, 1);
  }

  /// Runs the nest with its operands moved, through slots that are forgotten afterwards.
  void run_slice(const DynamicSlice& slice, Nest nest) {
    const std::int64_t bytes =
        selected(address(slice.index, {}), slice.index.dtype, slice.size) * number(slice.bytes);
    const std::size_t own = slots_.size();
    const auto move_operand = [&](Access& operand) {
      slots_.push_back(base(operand.slot) + bytes);
      operand.slot = static_cast<std::int32_t>(slots_.size() - 1);
    };
    if (slice.into) {
      for (Access& write : nest.writes) move_operand(write);
      for (std::size_t i = 1; i < nest.reads.size(); ++i) move_operand(nest.reads[i]);
    } else {
      move_operand(nest.reads[0]);
    }
    run_nest(nest);
    slots_.resize(own);
  }

  void run_loop(const InnerLoop& loop, const std::vector<Statement>& statements) {
    std::int64_t trips = number(loop.trips);
    if (loop.trip_count)
      trips = static_cast<std::int64_t>(load(address(*loop.trip_count, {}), DType::i64).low);
    if (trips >= loop.endless && loop.slices != -1) trips = number(loop.slices);
    if (trips < 1 || (loop.condition && !flag(*loop.condition))) return set(loop.skipped);
    set(loop.before);
    for (std::int64_t step = 0; step < trips; ++step) {
      run_block(statements);
      const bool goes_on = !loop.keep_going || flag(*loop.keep_going);
      move(loop.moves);
      for (const InnerState& state : loop.states) {
        std::byte* const read = slot(state.argument);
        slot(state.argument) = slot(state.next);
        slot(state.next) = read;
        if (step == 0) set(state.second);
      }
      if (!goes_on) break;
    }
    set(loop.after);
  }

  void run_block(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) run_statement(statement);
  }

  void run_statement(const Statement& statement) {
    switch (statement.kind) {
      case Statement::Kind::nest:
        return run_nest(statement.nest);
      case Statement::Kind::dynamic_slice:
        return run_slice(statement.slice, statement.nest);
      case Statement::Kind::call:
        ADD_FAILURE() << "the evaluator knows no kernels";
        return;
      case Statement::Kind::set:
        return set(statement.set);
      case Statement::Kind::branch:
        return run_block(flag(statement.condition) ? statement.inner : statement.otherwise);
      case Statement::Kind::loop:
        return run_loop(statement.loop, statement.inner);
      case Statement::Kind::charge:
        return;
    }
  }

  const BodySource& source_;
  std::vector<std::byte*>& slots_;
  std::span<const std::int64_t> parameters_;
  std::vector<std::vector<std::byte>> locals_;
};

}  // namespace

std::int64_t evaluate(const BodySource& source, std::vector<std::byte*>& slots,
                      std::span<const std::int64_t> parameters, std::int64_t steps) {
  return Evaluator(source, slots, parameters).run(steps);
}

}  // namespace scanloom::loopnest::test
