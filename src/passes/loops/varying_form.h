// The next value of a state as a factor times the state plus a term, both of which differ from step
// to step. Used by linear_recurrences.
#pragma once

#include <map>
#include <vector>

#include "passes/loops/linear_body.h"
#include "passes/rewrite/outside.h"

namespace scanloom::passes {

class VaryingForm {
 public:
  /// `like`: a sequence as long as the loop.
  VaryingForm(Outside& outside, const LinearBody& body, const StateGroup& group, Lifted like)
      : outside_(outside), body_(body), group_(group), like_(like) {}

  /// Appends the nodes that make the operands of linear_scan; returns x and factor.
  Expected<std::pair<ir::ValueId, ir::ValueId>> operands();

 private:
  /// Values with an axis of steps, or numbers. An invalid one is 0, and a factor that is the
  /// state's argument is 1: constants are made where they are needed.
  struct Affine {
    ir::ValueId factor, term;
  };

  Expected<Affine> form_of(const ir::Node& node);
  Expected<Affine> operand(ir::ValueId value);
  Expected<ir::ValueId> scaled(const ir::OpDef& op, ir::ValueId x, ir::ValueId by);
  Expected<ir::ValueId> chosen(ir::ValueId condition, ir::ValueId x, ir::ValueId y);
  Expected<ir::ValueId> joined(bool adds, ir::ValueId x, ir::ValueId y);
  ir::ValueId made(ir::ValueId value);
  Expected<ir::ValueId> steps_of(ir::ValueId value);
  [[nodiscard]] ir::Builder& builder() { return outside_.builder(); }
  [[nodiscard]] ir::Module& module() { return outside_.builder().module(); }

  Outside& outside_;
  const LinearBody& body_;
  const StateGroup& group_;
  const Lifted like_;
  ir::ValueId one_;                      ///< the state's argument
  std::map<ir::ValueId, Affine> forms_;  ///< of the values on the path
};

/// Returns the elements of a value of the body as a list of the steps, or as a number if it is the
/// same in all steps.
Expected<ir::ValueId> elements_of(Outside& outside, ir::ValueId value);

}  // namespace scanloom::passes
