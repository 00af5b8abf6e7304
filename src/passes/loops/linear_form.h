// Linear forms: the next values of a group of states as sums of coefficients times the states and
// coefficients times values that differ from step to step. Used by linear_recurrences.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "passes/loops/linear_body.h"
#include "passes/rewrite/outside.h"

namespace scanloom::passes {

/// A number that is the same in all steps: known, or the element of a value of type f64[] times a
/// known number.
struct Coefficient {
  double number = 0;
  ir::ValueId value = {};
  [[nodiscard]] bool is_zero() const { return number == 0 && !value.valid(); }
};

class LinearForms {
 public:
  /// `like`: a sequence as long as the loop.
  LinearForms(Outside& outside, const LinearBody& body, const StateGroup& group, Lifted like)
      : outside_(outside), body_(body), group_(group), like_(like) {}

  /// Appends the nodes that make the operands of linear_scan; returns them, with `initial` left
  /// out.
  Expected<std::vector<ir::ValueId>> operands();

 private:
  /// By state, and by the value of the body that is multiplied; invalid: the number 1.
  struct Form {
    std::vector<Coefficient> states;
    std::map<ir::ValueId, Coefficient> terms;
  };

  Expected<Form> form_of(const ir::Node& node);
  Expected<Form> operand(ir::ValueId value);
  Expected<Form> of_sequence(ir::ValueId value);
  Expected<Form> scaled(Form form, const Coefficient& by);
  Expected<Form> sum(Form a, const Form& b, double sign);
  Expected<Coefficient> coefficient(ir::ValueId value, bool inverse);
  Expected<Coefficient> product(const Coefficient& a, const Coefficient& b);
  Expected<Coefficient> sum(const Coefficient& a, const Coefficient& b);
  Expected<ir::ValueId> made(const Coefficient& coefficient);
  Expected<ir::ValueId> matrix_of(const std::vector<std::vector<Coefficient>>& rows);
  Expected<ir::ValueId> steps_of(ir::ValueId value);
  Expected<ir::ValueId> term_of(const Form& form);
  [[nodiscard]] ir::Builder& builder() { return outside_.builder(); }
  [[nodiscard]] ir::Module& module() { return outside_.builder().module(); }

  Outside& outside_;
  const LinearBody& body_;
  const StateGroup& group_;
  const Lifted like_;
  std::map<ir::ValueId, Form> forms_;  ///< of the values on the path
};

}  // namespace scanloom::passes
