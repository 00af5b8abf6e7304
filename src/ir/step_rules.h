// What the rules of operators about the steps of loops take and return (StepsRule, LiftRule and
// LowerRule in op_def.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"

namespace scanloom::ir {

/// How one value of the top region relates to the steps.
struct StepFlow {
  enum class Kind : std::uint8_t {
    same,   ///< does not depend on them
    along,  ///< the elements along `axis` belong to the steps, in order
    count,  ///< the number of steps
    sizes,  ///< the sizes of a value along the steps, as a list; element `axis` is the count
    last,   ///< the final value that a loop or layer carries
    sum,    ///< a product that sums over the steps, to be added to a carried value
  };
  Kind kind = Kind::same;
  int axis = 0;
  Dim each = 1;  ///< along: how many consecutive elements belong to each step
};

/// A node of the top region with at least one operand along the steps, and what is known of all
/// values before it.
struct StepSite {
  const Module& module;
  const Node& node;
  const std::vector<StepFlow>& flows;      ///< by ValueId
  const std::vector<std::uint32_t>& uses;  ///< by ValueId
  tensor::DimTable& dims;                  ///< the module's, for sizes that are computed here
  Dim steps;

  [[nodiscard]] bool has(std::size_t operand) const;
  [[nodiscard]] bool along(std::size_t operand) const;
  /// Precondition of this function and the next ones: has(operand).
  [[nodiscard]] const StepFlow& flow(std::size_t operand) const;
  [[nodiscard]] int axis(std::size_t operand) const { return flow(operand).axis; }
  [[nodiscard]] const Type& type(std::size_t operand) const;
  [[nodiscard]] const Type& result_type() const;
  /// Returns the elements of a constant list; nullopt for other operands.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::size_t operand) const;
  [[nodiscard]] bool is_read(std::size_t output) const;
};

/// Makes the error of a rule: says what is wrong, not where.
Error across(std::string reason);

/// The counterpart, outside the loop, of a value of its body: either one value for all steps, or a
/// sequence whose elements along `axis` are the values of the steps, in some order.
struct Lifted {
  static constexpr int kSame = -1;

  ValueId value;  ///< invalid for an operand that is absent
  int axis = kSame;
  [[nodiscard]] bool is_sequence() const { return axis >= 0; }
};

}  // namespace scanloom::ir
