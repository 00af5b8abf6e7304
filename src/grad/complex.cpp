// Rules of operators that take complex numbers apart and put them together. grad/elementwise.cpp
// defines the cotangent of a complex value.
#include "expr/complex_ops.h"
#include "grad/rules.h"

namespace scanloom::autodiff {
namespace {

void pull_make_complex(Pull& p) {
  p.give(0, real(p.g()));
  p.give(1, imag(p.g()));
}
void pull_real(Pull& p) { p.give(0, cast(p.g(), p.in(0).dtype())); }
void pull_imag(Pull& p) { p.give(0, make_complex(zeros_like(p.g()), p.g())); }
void pull_conj(Pull& p) { p.give(0, conj(p.g())); }
/// The angle grows at a right angle to the line to 0, more slowly the farther away.
void pull_angle(Pull& p) {
  const Expr size = abs(p.in(0));
  const Expr slope = p.g() / size;
  p.give(0, make_complex(-(slope * (imag(p.in(0)) / size)), slope * (real(p.in(0)) / size)));
}

}  // namespace

std::span<const RuleRow> complex_rules() {
  static const RuleRow rows[] = {
      {&expr::make_complex_op, pull_make_complex},
      {&expr::real_op, pull_real},
      {&expr::imag_op, pull_imag},
      {&expr::conj_op, pull_conj},
      {&expr::angle_op, pull_angle},
  };
  return rows;
}

}  // namespace scanloom::autodiff
