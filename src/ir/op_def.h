// OpDef: everything the system knows of one operator, as plain data. Instances are in src/ops, one
// file each; those of loop, branch and constant, which are part of the IR, in src/ir/core_ops.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/ids.h"
#include "ir/infer_ctx.h"
#include "ir/scalar_ctx.h"
#include "tensor/attr.h"
#include "tensor/call.h"
#include "tensor/object_call.h"

namespace scanloom::ir {

/// A short list held inline, so that OpDefs can be constants.
template <class T, std::size_t kCapacity>
class InlineList {
 public:
  constexpr InlineList() = default;
  /// Precondition: items.size() <= kCapacity (a constant that violates it does not compile).
  constexpr InlineList(std::initializer_list<T> items) {
    for (const T& item : items) items_[size_++] = item;
  }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
  [[nodiscard]] constexpr const T* begin() const { return items_.data(); }
  [[nodiscard]] constexpr const T* end() const { return items_.data() + size_; }
  constexpr const T& operator[](std::size_t i) const { return items_[i]; }

 private:
  std::array<T, kCapacity> items_{};
  std::size_t size_ = 0;
};

/// The element types that an operand accepts; the verifier enforces it.
enum class Accept : std::uint8_t {
  any,      ///< every type, sequences and optionals too
  tensor,   ///< a tensor of any element type
  numeric,  ///< floating point and integers
  real,
  integer,
  boolean,
  boolean_or_integer,
  index,  ///< i64 or i32
  text,
  sequence,
  optional,
  map,
};

enum class Arity : std::uint8_t { one, optional, variadic };

/// same_as: the operand must have the element type of this input (-1: any).
struct OperandDef {
  std::string_view name;
  Accept accept = Accept::tensor;
  Arity arity = Arity::one;  ///< variadic only at the end
  int same_as = -1;
  bool sizes_only = false;     ///< its sizes are read, its elements are not
  bool decides_sizes = false;  ///< sizes of results depend on its elements
};

/// `kind` is never `none`. An attribute without default must be present unless optional.
struct AttrDef {
  std::string_view name;
  tensor::AttrKind kind = tensor::AttrKind::integer;
  bool optional = false;
};

enum class Effects : std::uint8_t {
  pure,
  may_fail,  ///< depends on data (an index out of range): never hoisted out of a loop that may not
             ///< run
  random,
  state,
};

/// How outputs depend on inputs, axis by axis.
enum class Access : std::uint8_t {
  pointwise,  ///< element i of the result from elements i of the (broadcast) inputs
  view,       ///< the elements of input 0 under other sizes and strides
  reduce,
  contract,
  opaque,
};

/// Whether a gradient computes the results again in its reverse loop, instead of storing and
/// loading them.
enum class Recompute : std::uint8_t {
  by_access,  ///< as cheap if pointwise or a view, expensive otherwise
  cheap,
  expensive,
};

/// Whether one call for all steps of a loop takes less time than one call in each step.
enum class Batching : std::uint8_t {
  no_gain,
  product,      ///< of few rows per step, if they are deep enough
  convolution,  ///< of few elements, because only the call for all steps is shared among threads
  call,         ///< of few elements, because calling the kernel takes as long as computing them
};

/// Offset, sizes and strides (in elements) of a view operator's result.
struct ViewOf {
  std::int64_t offset = 0;
  tensor::Shape dims, strides;
};

/// The bound operands that a view is made from.
struct ViewCtx {
  tensor::Shape dims, strides;  ///< of input 0
  tensor::Shape result;         ///< inferred sizes of the output
  std::span<const tensor::Attr> attrs;
  /// integers[i]: the elements of integer input i; null: it is absent; nullopt: they are not known.
  std::span<const std::optional<std::vector<std::int64_t>>> integers;
};

/// The bound operands of a call, from which its cost is estimated.
struct CostCtx {
  std::span<const tensor::Shape* const> inputs;  ///< null: the operand is absent
  const tensor::Shape* result = nullptr;         ///< of result 0; null: nothing reads it
  std::span<const tensor::Attr> attrs;

  /// The elements of input i; 0 if it is absent.
  [[nodiscard]] double elements(std::size_t i) const { return count(inputs[i]); }
  [[nodiscard]] double results() const { return count(result); }
  /// The size of an axis of input i, at least 1; 1 if it has no such axis.
  [[nodiscard]] double size(std::size_t i, int axis) const {
    if (inputs[i] == nullptr || axis >= inputs[i]->rank() || (*inputs[i])[axis] < 1) return 1;
    return static_cast<double>((*inputs[i])[axis]);
  }

 private:
  static double count(const tensor::Shape* dims) {
    return dims == nullptr ? 0 : static_cast<double>(dims->elements());
  }
};

class Builder;
class Module;
struct Node;
struct StepSite;
struct StepFlow;
struct Lifted;

/// How a stream follows the steps of a sequence through a node outside of loops. The functions find
/// where the steps are in all results; their errors say how the node mixes steps. See
/// ir/step_rules.h, and ops/step_rules.h for those that several operators share.
struct StepsRule {
  Expected<int> (*axis)(const StepSite&) = nullptr;
  bool any_operand = false;  ///< operands other than the first may have the steps
  /// Instead of `axis`, if a step may get other neighbours along its axis.
  Expected<StepFlow> (*regroup)(const StepSite&) = nullptr;
};

/// How a node of a body is computed outside of its loop for all steps at once, which are one more
/// axis of its operands and results. Each element is computed as before, bit for bit. See
/// ir/step_rules.h, and ops/lift_rules.h for those that several operators share.
struct LiftRule {
  /// Whether it can be, given that its sizes are known, without failing where no step fails.
  /// varies[i]: operand i is a sequence.
  bool (*can)(Module&, const Node&, const std::vector<bool>& varies) = nullptr;
  /// Appends the nodes that compute result 0. If the last one has the node's operator, its other
  /// results are the node's other results.
  Expected<Lifted> (*lift)(Builder&, const Node&, const std::vector<Lifted>& operands) = nullptr;
};

/// The opposite of lifting, for operators that only change the axes of their first input.
struct LowerRule {
  /// Returns the axis of the steps in the result; nullopt: the node cannot be lowered.
  std::optional<int> (*axis)(const Module&, const Node&, int operand_axis) = nullptr;
  /// Appends the node that makes one step's element of the result.
  Expected<ValueId> (*lower)(Builder&, const Node&, ValueId element, int operand_axis,
                             int result_axis) = nullptr;
};

/// The definition of an operator. A missing capability is declared with its reason, so that nothing
/// is missing by accident. What depends on a layer above is registered there, in one list each:
/// gradients, kernels, loop nests, forms of exporters.
struct OpDef {
  std::string_view name;
  std::string_view doc;
  InlineList<OperandDef, 12> inputs = {};
  InlineList<std::string_view, 4> outputs = {};  ///< ends in "..." if variadic
  InlineList<AttrDef, 12> attrs = {};
  Effects effects = Effects::pure;
  Access access = Access::opaque;
  Expected<void> (*infer)(InferCtx&) = nullptr;
  /// The reference kernel, for any strides of inputs and outputs; null for loop, branch and
  /// constant, and if there is only `run_objects`.
  tensor::KernelFn reference = nullptr;
  /// Runs the operator on objects: sequences, optionals, or strings that it makes. It must
  /// check its inputs as far as element types and operand kinds of the IR do not.
  tensor::ObjectFn run_objects = nullptr;
  /// Pointwise operators: the element program; returns the result's register.
  Reg (*scalar)(ScalarCtx&) = nullptr;
  /// Operators that compute result 0 row by row along an axis and never read a finished row:
  /// returns that axis. If nothing reads the result, its rows share memory.
  int (*rows_axis)(std::span<const tensor::Attr>) = nullptr;
  /// View operators: nullopt if strides cannot express this view, which is then a copy.
  std::optional<ViewOf> (*view)(const ViewCtx&) = nullptr;

  // What passes, plans and gradients ask. The defaults are always correct.

  Recompute recompute = Recompute::by_access;
  Batching batching = Batching::no_gain;
  /// The work grows as the size of the results, so that they are computed when a model is loaded
  /// even if they are large. Always true for pointwise operators and views.
  bool linear_work = false;
  /// Each element of the result is one of input 0 that the other inputs select, and no others are
  /// read.
  bool picks = false;
  /// The result is input 0 with part of it overwritten, as the others determine. The reference
  /// kernel copies input 0 unless both share their memory, then writes only the part. If it fails,
  /// it has not written an element out of range.
  bool writes_part = false;
  /// Can fail the run even if nothing reads the result.
  bool must_run = false;
  /// View operators: the elements of input 0 in the same order.
  bool keeps_order = false;
  /// LSTM, GRU and RNN: the number of states, which are results 1, 2 ...; 0 for other operators.
  std::uint8_t layer_states = 0;
  /// Whether f16 and bf16 are widened to f32 and rounded once at the end, so that casts and the
  /// operator on f32 give the same bits. Null: no.
  bool (*widens_f16)(std::span<const tensor::Attr>) = nullptr;
  /// The most products that a call computes, for operators whose time does not follow from the
  /// sizes of operands and results alone.
  double (*products)(const CostCtx&) = nullptr;
  /// Pointwise operators without a rule of their own have that of ops/step_rules.h.
  StepsRule steps = {};
  /// Pointwise operators have the rule of ops/lift_rules.h.
  LiftRule lifting = {};
  LowerRule lowering = {};

  /// Whether computing the results again costs less than storing and loading them.
  [[nodiscard]] constexpr bool is_cheap() const {
    if (recompute != Recompute::by_access) return recompute == Recompute::cheap;
    return access == Access::pointwise || access == Access::view;
  }
  [[nodiscard]] constexpr bool reads_only_sizes() const {
    return !inputs.empty() && inputs[0].sizes_only;
  }
  [[nodiscard]] int attr_index(std::string_view attr_name) const;
};

/// An OpDef::widens_f16.
inline bool always_widens(std::span<const tensor::Attr>) { return true; }

/// Operator table for parse and verify: finds an operator by name, or returns nullptr.
using OpTable = const OpDef* (*)(std::string_view name);

extern const OpDef loop_op;
extern const OpDef branch_op;    ///< inputs: condition, captured...; two regions: then, else
extern const OpDef constant_op;  ///< attribute "value"

}  // namespace scanloom::ir
