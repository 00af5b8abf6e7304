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
};

enum class Arity : std::uint8_t { one, optional, variadic };

/// same_as: the operand must have the element type of this input (-1: any).
struct OperandDef {
  std::string_view name;
  Accept accept = Accept::tensor;
  Arity arity = Arity::one;  ///< variadic only at the end
  int same_as = -1;
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

/// The definition of an operator. A missing capability is declared with its reason, so that nothing
/// is missing by accident.
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

  [[nodiscard]] int attr_index(std::string_view attr_name) const;
};

/// Operator table for parse and verify: finds an operator by name, or returns nullptr.
using OpTable = const OpDef* (*)(std::string_view name);

extern const OpDef loop_op;
extern const OpDef branch_op;    ///< inputs: condition, captured...; two regions: then, else
extern const OpDef constant_op;  ///< attribute "value"

}  // namespace scanloom::ir
