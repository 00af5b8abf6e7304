// The loop-nest IR: what a step of a loop does, as loops over the elements of values whose sizes
// are known, calls of kernels, branches and inner loops. Values are memory that slots of the run
// point to. Binding describes a body in it, passes make it smaller, and every compiler of bodies
// takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/cpu.h"
#include "tensor/scalar.h"

namespace scanloom::loopnest {

/// Stands for parameter `index` wherever a source may have one instead of a number: the run passes
/// its value. Whatever differs from one number of steps to the next is a parameter, so that
/// executions of all lengths share the code.
constexpr std::int64_t parameter(std::size_t index) {
  return std::numeric_limits<std::int64_t>::min() + static_cast<std::int64_t>(index);
}
inline constexpr std::size_t kMaxParameters = std::size_t{1} << 16;
constexpr bool is_parameter(std::int64_t number) { return number < parameter(kMaxParameters); }
constexpr std::size_t parameter_index(std::int64_t number) {
  return static_cast<std::size_t>(number - parameter(0));
}

/// An i32 or i64 for each element of a nest, which lies as operands do, in a slot of the run: how
/// many elements along an axis of `size`, below 0 from the end, an operand begins further on.
struct DynamicIndex {
  std::int32_t slot = 0;
  DType dtype = DType::i64;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides = {};  ///< may be a parameter
  std::int64_t size = 0;                   ///< may be a parameter; 1 at least
  std::int64_t bytes = 0;  ///< from one element of that axis to the next; may be a parameter
  friend bool operator==(const DynamicIndex&, const DynamicIndex&) = default;
};

/// Element (i, j, ...) of an operand lies i * strides[0] + j * strides[1] + ... elements from the
/// place that is `offset` bytes from where the slot points, and further on by its indices. Those of
/// reductions have none.
struct Access {
  std::int32_t slot = 0;  ///< or local_slot(index)
  DType dtype = DType::f32;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;  ///< may be a parameter
  std::vector<DynamicIndex> indices = {};
  friend bool operator==(const Access&, const Access&) = default;
};

/// Combines what `program` gives over axes of its own, in order, the outermost first: an ordered
/// sum or product, an extreme, or the index of one.
struct Reduction {
  /// Sums and products begin with 0 and 1, extremes with their first element. multiply_add: the
  /// program has two results, whose product is added by the rule of base/dot.h. argmax, argmin: the
  /// index along the only axis, i64, in the order of ops/index/element_order.h.
  enum class Kind : std::uint8_t { sum, prod, max, min, multiply_add, argmax, argmin };
  Kind kind = Kind::sum;
  DType dtype = DType::f32;  ///< of the result
  std::vector<std::int64_t> sizes;
  tensor::ScalarProgram program;  ///< of the reads
  std::vector<Access> reads;      ///< strides of the nest's axes, then of the reduction's
  bool takes_last = false;        ///< of indices: the last among equals, not the first
  friend bool operator==(const Reduction&, const Reduction&) = default;
};

/// Loops over independent elements, with vectors along the last axis. A write may equal a read of
/// the same nest, element for element; otherwise no write overlaps any operand. A write with
/// indices is the only one; its elements are written in the order of the axes.
struct Nest {
  std::vector<std::int64_t> sizes;
  std::vector<Access> reads;
  std::vector<Reduction> reductions;
  tensor::ScalarProgram program;  ///< of the reads, then of the reductions' results
  std::vector<Access> writes;     ///< of its results
  /// Of what lies where an index points and of the result, what is written there; without
  /// instructions: the result.
  tensor::ScalarProgram update = {};
  /// Where an index is outside, these of BodyFrame::calls, one of which fails by that index, and
  /// nothing else of the nest.
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

/// A slot that moves by so many bytes after each step.
struct SlotMove {
  std::int32_t slot = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const SlotMove&, const SlotMove&) = default;
};

/// Two slots that change places after each step: a state and its successor.
struct SlotSwap {
  std::int32_t a = 0, b = 0;
  friend bool operator==(const SlotSwap&, const SlotSwap&) = default;
};

/// A slot that begins to point `offset` bytes from where slot `from` points.
struct SlotSet {
  std::int32_t slot = 0, from = 0;
  std::int64_t offset = 0;  ///< may be a parameter
  friend bool operator==(const SlotSet&, const SlotSet&) = default;
};

/// A state of an inner loop: after the first step its successor's place becomes `second`'s.
struct InnerState {
  std::int32_t argument = 0, next = 0;
  SlotSet second;  ///< of `next`
  friend bool operator==(const InnerState&, const InnerState&) = default;
};

/// A loop inside a step: of as many steps as is known, or as the run decides.
struct InnerLoop {
  std::int64_t trips = 1;            ///< may be a parameter; 1 at least, where nothing below is set
  std::optional<Access> trip_count;  ///< an i64, in the place of `trips`
  /// A count that is no smaller, and `trips` where it is that, means no end: then there are as many
  /// steps as slices, if there are slices, or as BodyFrame allows.
  std::int64_t endless = std::numeric_limits<std::int64_t>::max();
  std::int64_t slices = -1;          ///< may be a parameter; more steps are a fault; -1: none
  std::optional<Access> condition;   ///< a boolean; false: no step is taken
  std::optional<Access> keep_going;  ///< a boolean; false: the last step is behind us
  std::vector<SlotSet> before, after;
  std::vector<SlotSet> skipped;  ///< in the place of both where no step is taken
  std::vector<SlotMove> moves;
  std::vector<InnerState> states;
  /// Of loops whose number of steps nobody knows beforehand: what a step counts for in
  /// BodyFrame::steps_to_poll, with the counted loops inside. 0: the loop is counted.
  std::int64_t weight = 0;  ///< may be a parameter
  std::int32_t index = 0;   ///< in BodyFrame::steps_to_poll; reported where it fails

  [[nodiscard]] bool is_counted() const { return weight == 0; }
  friend bool operator==(const InnerLoop&, const InnerLoop&) = default;
};

/// What a nest reads first begins `bytes` bytes further on for each element of an axis that an
/// index names: an i32 or i64, below 0 from the end. into: not that read begins there, but what the
/// nest writes, and the reads behind the first. Unlike a DynamicIndex, of which each element of a
/// nest has its own, it moves the whole operand, and where it is outside the call of the kernel
/// takes over, which knows the error.
struct DynamicSlice {
  Access index;
  std::int64_t size = 0;   ///< of the axis; may be a parameter
  std::int64_t bytes = 0;  ///< from one element of that axis to the next; may be a parameter
  bool into = false;
  friend bool operator==(const DynamicSlice&, const DynamicSlice&) = default;
};

/// One part of a step.
struct Statement {
  enum class Kind : std::uint8_t {
    nest,
    dynamic_slice,  ///< `nest`, whose operands `slice` moves; where the index is outside, the call
    call,           ///< of a kernel that was bound before
    set,            ///< of a slot
    branch,         ///< `inner` where the condition is true, `otherwise` where it is not
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

/// A state in the code's own memory from the first step of an execution to its last: `now`, which
/// `then` replaces after each step. Before and after it lies where `slot` points.
struct LocalState {
  std::int32_t slot = 0, now = 0, then = 0;
  friend bool operator==(const LocalState&, const LocalState&) = default;
};

/// How operands name the code's own memory: below all slots.
constexpr std::int32_t local_slot(std::size_t index) {
  return -1 - static_cast<std::int32_t>(index);
}
constexpr std::size_t local_index(std::int32_t slot) { return static_cast<std::size_t>(-1 - slot); }

/// How many blocks, branches and loops, lie around a statement at most: the compiler recurses.
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
  std::size_t parameters = 0;  ///< how many the run passes
  bool timed = false;          ///< whether the code adds up what each statement takes
  Isa isa = active_isa();      ///< as above; products are added by fma where it has that
  friend bool operator==(const BodySource&, const BodySource&) = default;
};

}  // namespace scanloom::loopnest
