// OpDef: everything the system knows of one operator, as plain data. Instances live in src/ops, one
// file each; loop, branch and constant, which the IR itself is made of, in src/ir/core_ops.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "ir/infer_ctx.h"
#include "ir/scalar_ctx.h"
#include "tensor/attr.h"
#include "tensor/call.h"
#include "tensor/object_call.h"

namespace scanloom::ir {

/// A short list held inline, so that OpDefs are constants of the program.
template <class T, std::size_t kCapacity>
class InlineList {
 public:
  constexpr InlineList() = default;
  /// Precondition: items.size() <= kCapacity (a constant that breaks it does not compile).
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

/// Which element types an operand takes; the verifier enforces it.
enum class Accept : std::uint8_t {
  any,      ///< every type, sequences and optionals too
  tensor,   ///< a tensor of any element type
  numeric,  ///< reals and integers
  real,
  integer,
  boolean,
  boolean_or_integer,
  index,  ///< i64 or i32
  text,
  sequence,
  optional,
};

enum class Arity : std::uint8_t { one, optional, variadic };

/// same_as: the operand must have the element type of that input (-1: free).
struct OperandDef {
  std::string_view name;
  Accept accept = Accept::tensor;
  Arity arity = Arity::one;  ///< variadic only at the end
  int same_as = -1;
};

/// kind `none` never occurs. An attribute without default must be present unless optional.
struct AttrDef {
  std::string_view name;
  tensor::AttrKind kind = tensor::AttrKind::integer;
  bool optional = false;
};

enum class Effects : std::uint8_t {
  pure,
  may_fail,  ///< on data (an index out of range): never hoisted out of a loop that may not run
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

/// What a view operator does to sizes and strides (in elements).
struct ViewOf {
  std::int64_t offset = 0;
  tensor::Shape dims, strides;
};

/// The bound operands that a view is made from.
struct ViewCtx {
  tensor::Shape dims, strides;  ///< of input 0
  tensor::Shape result;         ///< inferred sizes of the output
  std::span<const tensor::Attr> attrs;
  /// integers[i]: the elements of integer input i; none: it is absent; nullopt: they are not known.
  std::span<const std::optional<std::vector<std::int64_t>>> integers;
};

/// A missing capability is declared with its reason, so that nothing is missing by accident.
struct OpDef {
  std::string_view name;
  std::string_view doc;
  InlineList<OperandDef, 12> inputs = {};
  InlineList<std::string_view, 4> outputs = {};  ///< ends in "..." when variadic
  InlineList<AttrDef, 12> attrs = {};
  Effects effects = Effects::pure;
  Access access = Access::opaque;
  Expected<void> (*infer)(InferCtx&) = nullptr;
  /// The oracle kernel: any strides for inputs and outputs; null for loop, branch and constant, and
  /// where `run_objects` is all there is.
  tensor::KernelFn reference = nullptr;
  /// Runs the operator on objects: sequences, optionals, strings that it makes. It must check
  /// what it is given as far as element types and operand kinds of the IR do not.
  tensor::ObjectFn run_objects = nullptr;
  /// Of pointwise operators: the element program; returns the result's register.
  Reg (*scalar)(ScalarCtx&) = nullptr;
  /// Of operators whose result 0 is made row by row along an axis, and no row is read once the next
  /// one is begun: that axis. Where nothing reads the result, its rows lie on each other.
  int (*rows_axis)(std::span<const tensor::Attr>) = nullptr;
  /// Of view operators: nullopt where this view cannot be expressed by strides (then it is a copy).
  std::optional<ViewOf> (*view)(const ViewCtx&) = nullptr;

  [[nodiscard]] int attr_index(std::string_view attr_name) const;
};

/// The table that parse and verify are given: operator by name, nullptr when there is none.
using OpTable = const OpDef* (*)(std::string_view name);

extern const OpDef loop_op;
extern const OpDef branch_op;    ///< inputs: condition, captured...; two regions: then, else
extern const OpDef constant_op;  ///< attribute "value"

}  // namespace scanloom::ir
