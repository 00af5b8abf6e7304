// What operators do with complex numbers, in terms of their parts. A node of an expression may hold
// complex values. Lowering computes with both parts of each, so that passes, kernels and machine
// code only see real numbers, and all ways of execution agree on the bits.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// The two parts of a complex value, which have its sizes; or a real value as `re`.
struct Parts {
  Expr re;
  Expr im;  ///< undefined: the value is real

  [[nodiscard]] bool is_real() const { return !im.defined(); }
  /// Returns the imaginary part, zeros if there is none.
  [[nodiscard]] Expr imaginary() const;
};

/// Returns one part of every element. Error: out_of_memory.
[[nodiscard]] Expected<tensor::Tensor> part_of_complex(const tensor::Tensor& value, bool imaginary);

/// Whether all elements are 0, and none is -0.
[[nodiscard]] bool holds_only_zeros(const tensor::Tensor& value);

/// A node together with the parts of its operands.
struct ComplexCall {
  const Node& node;
  std::vector<Parts> inputs;  ///< undefined parts: an operand that is absent

  [[nodiscard]] const Parts& in(std::size_t i) const { return inputs[i]; }
  [[nodiscard]] const tensor::Attr& attr(std::string_view name) const;
  /// The element type of both parts of the result.
  [[nodiscard]] DType part() const;
};

/// Returns the parts of a node's outputs.
using ComplexRule = std::vector<Parts> (*)(const ComplexCall&);

enum class ComplexResult : std::uint8_t {
  complex,
  real,     ///< or integers or booleans, as for real operands
  as_said,  ///< given by the attribute `to`
};

struct ComplexRow {
  const ir::OpDef* op;
  ComplexRule rule;
  ComplexResult result = ComplexResult::complex;
};

/// Whether a use of the operator involves complex numbers.
[[nodiscard]] bool is_complex_use(const ir::OpDef& op, std::span<const Expr> inputs,
                                  std::span<const tensor::Attr> attrs);
/// Returns the row of an operator used with these attributes. Error: the operator does not take
/// complex numbers; the message says what to write instead.
[[nodiscard]] Expected<const ComplexRow*> complex_row(const ir::OpDef& op,
                                                      std::span<const tensor::Attr> attrs);

/// Makes the error of an operation that does not take complex numbers, saying what to write
/// instead.
[[nodiscard]] Error complex_refusal(std::string_view operation);
/// Returns that error as a value, for an operation that consists of several operators; undefined if
/// no operand is complex.
[[nodiscard]] Expr refused_complex(std::string_view operation,
                                   std::initializer_list<Expr> operands);

/// Wraps the parts of an operator's only result.
[[nodiscard]] inline std::vector<Parts> one(Parts parts) { return {std::move(parts)}; }

/// Rows by subject: moves, arithmetic and comparisons; functions.
[[nodiscard]] std::span<const ComplexRow> complex_arithmetic();
[[nodiscard]] std::span<const ComplexRow> complex_functions();

[[nodiscard]] Parts operator+(const Parts& a, const Parts& b);
[[nodiscard]] Parts operator-(const Parts& a, const Parts& b);
[[nodiscard]] Parts operator*(const Parts& a, const Parts& b);
[[nodiscard]] Parts operator/(const Parts& a, const Parts& b);

}  // namespace scanloom::expr
