#include "jit/fold_forms.h"

#include <algorithm>

#include "tensor/scalar_functions.h"

namespace scanloom::jit {

using loopnest::Fold;
using loopnest::Nest;
using loopnest::NestOperand;

namespace {

/// Folds of fewer elements are not worth the further loops of the quicker form.
constexpr std::int64_t kLeastOfQuick = 16;
/// Instructions of a fold's program up to which it may be written out many times.
constexpr std::size_t kMostOfLight = 8;

std::int64_t count_of(const Fold& fold) {
  std::int64_t count = 1;
  for (const std::int64_t size : fold.sizes) count *= size;
  return count;
}

/// Whether it pays, as code and as time to compile it, to write the fold's program out more often.
bool is_light(const Fold& fold) {
  return fold.program.instrs.size() <= kMostOfLight && !has_math(fold.program);
}

}  // namespace

bool finds_index(const Fold& fold) {
  return fold.kind == Fold::Kind::argmax || fold.kind == Fold::Kind::argmin;
}
bool finds_extreme(const Fold& fold) {
  return fold.kind == Fold::Kind::max || fold.kind == Fold::Kind::min;
}
bool finds_greatest(const Fold& fold) {
  return fold.kind == Fold::Kind::max || fold.kind == Fold::Kind::argmax;
}

DType term_dtype(const Fold& fold) { return fold.program.register_dtype(fold.program.results[0]); }

bool same_terms(const Fold& a, const Fold& b) {
  return a.program == b.program && a.reads == b.reads;
}

bool has_math(const tensor::ScalarProgram& program) {
  return std::ranges::any_of(program.instrs, [](const tensor::ScalarInstr& instr) {
    return tensor::is_function(instr.op);
  });
}

bool has_calls_of_lanes(const tensor::ScalarProgram& program) {
  return std::ranges::any_of(program.instrs, [](const tensor::ScalarInstr& instr) {
    return instr.op == tensor::ScalarOp::pow;
  });
}

bool has_across(const Nest& nest, const Fold& fold) {
  return is_light(fold) && std::ranges::any_of(fold.reads, [&](const NestOperand& read) {
           return is_across(nest, read);
         });
}

bool has_quick_form(const Fold& fold) {
  return (finds_index(fold) || finds_extreme(fold)) && is_real(term_dtype(fold)) &&
         count_of(fold) >= kLeastOfQuick && is_light(fold);
}

}  // namespace scanloom::jit
