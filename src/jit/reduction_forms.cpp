#include "jit/reduction_forms.h"

#include <algorithm>

#include "loopnest/access.h"
#include "tensor/scalar_functions.h"

namespace scanloom::jit {

using loopnest::Access;
using loopnest::Nest;
using loopnest::Reduction;

namespace {

/// Reductions of fewer elements are not worth the additional loops of the quick form.
constexpr std::int64_t kMinOfQuick = 16;
/// Upper bound on the instructions of a reduction's program that may be emitted many times.
constexpr std::size_t kMaxOfLight = 8;

std::int64_t count_of(const Reduction& reduction) {
  std::int64_t count = 1;
  for (const std::int64_t size : reduction.sizes) count *= size;
  return count;
}

/// Whether it pays, in code size and compile time, to emit the reduction's program more often.
bool is_light(const Reduction& reduction) {
  return reduction.program.instrs.size() <= kMaxOfLight && !has_math(reduction.program);
}

}  // namespace

bool finds_index(const Reduction& reduction) {
  return reduction.kind == Reduction::Kind::argmax || reduction.kind == Reduction::Kind::argmin;
}
bool finds_min_max(const Reduction& reduction) {
  return reduction.kind == Reduction::Kind::max || reduction.kind == Reduction::Kind::min;
}
bool finds_greatest(const Reduction& reduction) {
  return reduction.kind == Reduction::Kind::max || reduction.kind == Reduction::Kind::argmax;
}

DType term_dtype(const Reduction& reduction) {
  return reduction.program.register_dtype(reduction.program.results[0]);
}

bool same_terms(const Reduction& a, const Reduction& b) {
  return a.program == b.program && a.reads == b.reads;
}

bool has_math(const tensor::ScalarProgram& program) {
  return std::ranges::any_of(program.instrs, [](const tensor::ScalarInstr& instr) {
    return tensor::is_function(instr.op);
  });
}

bool has_pow(const tensor::ScalarProgram& program) {
  return std::ranges::any_of(program.instrs, [](const tensor::ScalarInstr& instr) {
    return instr.op == tensor::ScalarOp::pow;
  });
}

bool has_across(const Nest& nest, const Reduction& reduction) {
  return is_light(reduction) && std::ranges::any_of(reduction.reads, [&](const Access& read) {
           return is_across(nest, read);
         });
}

bool has_quick_form(const Reduction& reduction) {
  return (finds_index(reduction) || finds_min_max(reduction)) &&
         is_floating_point(term_dtype(reduction)) && count_of(reduction) >= kMinOfQuick &&
         is_light(reduction);
}

}  // namespace scanloom::jit
