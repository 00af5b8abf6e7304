// The loop-nest IR: what a step of a loop does, as loops over the elements of values of known size,
// calls of kernels, branches and inner loops. Values are memory that the run's slots point to.
// Binding describes a body in this IR, passes simplify it, and every compiler of bodies takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/cpu.h"
#include "tensor/scalar.h"

namespace scanloom::loopnest {

/// Stands for parameter `index` wherever a source may have one instead of a number; the run passes
/// its value. Everything that differs between numbers of steps is a parameter, so that executions
/// of all lengths share the code.
constexpr std::int64_t parameter(std::size_t index) {
  return std::numeric_limits<std::int64_t>::min() + static_cast<std::int64_t>(index);
}
inline constexpr std::size_t kMaxParameters = std::size_t{1} << 16;
constexpr bool is_parameter(std::int64_t number) { return number < parameter(kMaxParameters); }
constexpr std::size_t parameter_index(std::int64_t number) {
  return static_cast<std::size_t>(number - parameter(0));
}

/// An i32 or i64 per element of a nest, laid out in a slot of the run like an operand. It moves an
/// operand by that many elements along an axis of `size`; negative values count from the end.
struct DynamicIndex {
  std::int32_t slot = 0;
  DType dtype = DType::i64;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides = {};  ///< may be a parameter
  std::int64_t size = 0;                   ///< may be a parameter; at least 1
  std::int64_t bytes = 0;  ///< between adjacent elements of that axis; may be a parameter
  friend bool operator==(const DynamicIndex&, const DynamicIndex&) = default;
};

/// The address of an operand's element (i, j, ...): `offset` bytes from the slot's pointer, plus
/// i * strides[0] + j * strides[1] + ... elements, plus what its indices add. Reads of reductions
/// have no indices.
struct Access {
  std::int32_t slot = 0;  ///< or local_slot(index)
  DType dtype = DType::f32;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;  ///< may be a parameter
  std::vector<DynamicIndex> indices = {};
  friend bool operator==(const Access&, const Access&) = default;
};

/// Combines the results of `program` over the reduction's own axes `sizes`, outermost first, in
/// that order.
struct Reduction {
  /// Sums and products begin with 0 and 1; max and min with the first element. multiply_add: the
  /// program has two results, whose product is added by the rule of base/dot.h. argmax, argmin: the
  /// index (i64) along the only axis, in the order of ops/index/element_order.h.
  enum class Kind : std::uint8_t { sum, prod, max, min, multiply_add, argmax, argmin };
  Kind kind = Kind::sum;
  DType dtype = DType::f32;  ///< of the result
  std::vector<std::int64_t> sizes;
  tensor::ScalarProgram program;  ///< over the reads
  std::vector<Access> reads;      ///< strides of the nest's axes, then of the reduction's
  bool takes_last = false;  ///< argmax, argmin: the last of equal elements instead of the first
  friend bool operator==(const Reduction&, const Reduction&) = default;
};

/// Independent elements over the axes `sizes`, vectorized along the last. A write may equal a read
/// of the same nest, element for element; otherwise no write overlaps any operand. A write with
/// indices is the only one; its elements are written in the order of the axes.
struct Nest {
  std::vector<std::int64_t> sizes;
  std::vector<Access> reads;
  std::vector<Reduction> reductions;
  tensor::ScalarProgram program;  ///< over the reads, then the reductions' results
  std::vector<Access> writes;     ///< one per result of `program`
  /// Combines the element at the index with the result into what is written there (a scatter with
  /// addition, for example). Without instructions: the result itself.
  tensor::ScalarProgram update = {};
  /// Run if an index is out of range, instead of the nest: entries of BodyFrame::calls, one of
  /// which fails because of that index.
  std::vector<std::int32_t> calls = {};

  [[nodiscard]] bool may_fail() const { return !calls.empty(); }
  [[nodiscard]] bool writes_by_index() const {
    return writes.size() == 1 && !writes[0].indices.empty();
  }
  friend bool operator==(const Nest&, const Nest&) = default;
};

/// Calls f(program) for each program of the nest.
template <class F>
void for_programs(const Nest& nest, F&& f) {
  f(nest.program);
  for (const Reduction& reduction : nest.reductions) f(reduction.program);
  f(nest.update);
}

/// A slot that moves by `bytes` after each step.
struct SlotMove {
  std::int32_t slot = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const SlotMove&, const SlotMove&) = default;
};

/// Two slots that are swapped after each step: a state and its successor.
struct SlotSwap {
  std::int32_t a = 0, b = 0;
  friend bool operator==(const SlotSwap&, const SlotSwap&) = default;
};

/// Sets a slot to `offset` bytes from the pointer of slot `from`.
struct SlotSet {
  std::int32_t slot = 0, from = 0;
  std::int64_t offset = 0;  ///< may be a parameter
  friend bool operator==(const SlotSet&, const SlotSet&) = default;
};

/// A state of an inner loop. After each step the two slots are swapped, except that after the first
/// step `next` is set to `second`.
struct InnerState {
  std::int32_t argument = 0, next = 0;
  SlotSet second;  ///< of `next`
  friend bool operator==(const InnerState&, const InnerState&) = default;
};

/// A loop inside a step, with a number of steps that is known or that the run decides.
struct InnerLoop {
  std::int64_t trips = 1;  ///< may be a parameter; at least 1, unless a field below is set
  std::optional<Access> trip_count;  ///< an i64, used instead of `trips`
  /// A trip count of at least this value means no end: there are then as many steps as slices, if
  /// there are slices, or as many as BodyFrame allows.
  std::int64_t endless = std::numeric_limits<std::int64_t>::max();
  std::int64_t slices = -1;          ///< may be a parameter; more steps are an error; -1: no slices
  std::optional<Access> condition;   ///< a boolean; false: no step runs
  std::optional<Access> keep_going;  ///< a boolean; false: the last step is done
  std::vector<SlotSet> before, after;
  std::vector<SlotSet> skipped;  ///< instead of `before` and `after` if no step runs
  std::vector<SlotMove> moves;
  std::vector<InnerState> states;
  /// For loops whose number of steps is not known beforehand: what a step counts for in
  /// BodyFrame::steps_to_poll, including counted loops inside. 0: the loop is counted.
  std::int64_t weight = 0;  ///< may be a parameter
  std::int32_t index = 0;   ///< in BodyFrame::steps_to_poll; reported on failure

  [[nodiscard]] bool is_counted() const { return weight == 0; }
  friend bool operator==(const InnerLoop&, const InnerLoop&) = default;
};

/// Moves the first read of a nest by `bytes` per element of an axis, up to the element that an
/// index selects: an i32 or i64; negative values count from the end. into: moves instead the writes
/// and all reads after the first. Unlike a DynamicIndex, which has a value per element of a nest,
/// it moves the whole operand. If it is out of range the kernel's call runs instead and reports the
/// error.
struct DynamicSlice {
  Access index;
  std::int64_t size = 0;   ///< of the axis; may be a parameter
  std::int64_t bytes = 0;  ///< between adjacent elements of that axis; may be a parameter
  bool into = false;
  friend bool operator==(const DynamicSlice&, const DynamicSlice&) = default;
};

/// One statement of a step.
struct Statement {
  enum class Kind : std::uint8_t {
    nest,
    dynamic_slice,  ///< `nest`, with operands moved by `slice`; `call` if the index is out of range
    call,           ///< of a kernel that is already bound
    set,            ///< of a slot
    branch,         ///< `inner` if the condition is true, otherwise `otherwise`
    loop,           ///< its steps are `inner`
    charge,         ///< `nanoseconds` to BodyFrame::time_left
  };
  Kind kind = Kind::nest;
  Nest nest;
  DynamicSlice slice;
  std::int32_t call = -1;  ///< index in BodyFrame::calls
  SlotSet set;
  Access condition;  ///< a boolean
  InnerLoop loop;
  std::int64_t nanoseconds = 0;
  std::vector<Statement> inner, otherwise;
  friend bool operator==(const Statement&, const Statement&) = default;
};

/// A state kept in the code's own memory from the first step of an execution to the last: `now`,
/// replaced by `then` after each step. Before and after the execution it is stored at `slot`.
struct LocalState {
  std::int32_t slot = 0, now = 0, then = 0;
  friend bool operator==(const LocalState&, const LocalState&) = default;
};

/// How operands name the code's own memory: by numbers below all slots.
constexpr std::int32_t local_slot(std::size_t index) {
  return -1 - static_cast<std::int32_t>(index);
}
constexpr std::size_t local_index(std::int32_t slot) { return static_cast<std::size_t>(-1 - slot); }

/// How deeply branches and loops may nest: the compiler recurses.
inline constexpr int kMaxStatementDepth = 32;

/// One step of a loop, or a part of one, as every compiler of bodies takes it (loopnest/verify.h
/// has the rules).
struct BodySource {
  std::vector<Statement> statements;      ///< no deeper than kMaxStatementDepth
  std::vector<std::int64_t> locals = {};  ///< bytes of each; contents end with the step
  std::vector<LocalState> states = {};
  std::optional<Access> keep_going;  ///< a boolean; false ends the loop after this step
  std::vector<SlotMove> moves;
  std::vector<SlotSwap> swaps;
  std::size_t parameters = 0;  ///< how many parameters the run passes
  bool timed = false;          ///< whether the code accumulates the time of each statement
  Isa isa = active_isa();      ///< products are added with fma if it has that
  friend bool operator==(const BodySource&, const BodySource&) = default;
};

}  // namespace scanloom::loopnest
