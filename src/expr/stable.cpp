#include "expr/stable.h"

#include "expr/loop.h"
#include "expr/patterns.h"
#include "expr/stable_log.h"
#include "expr/types.h"
#include "ops/ops.h"

namespace scanloom::expr {
namespace {

StableForm stable_div(const Expr& above, const Expr& below) {
  if (auto found = sigmoid_quotient(above, below))
    return {sigmoid(found->argument()), {found->x}, std::move(found->passed)};
  if (auto found = softmax_quotient(above, below))
    return {softmax(found->z, static_cast<int>(found->axis)), {found->z}, std::move(found->passed)};
  return {};
}

StableForm stable_sub(const Expr& a, const Expr& b) {
  if (!is(a, ops::exp_op) || !is_one(b)) return {};
  return {expm1(operand(a)), {operand(a)}, {a}};
}

/// After no steps there is no row, but there is a state.
StableForm stable_gather(const Expr& rows, const Expr& index) {
  if (index.rank() != 0) return {};
  const auto last = constant_integers(index);
  if (!last || last->front() != -1) return {};
  const Expr state = last_state(rows);
  if (!state.defined()) return {};
  return {state, {state}, {rows}};
}

}  // namespace

std::unique_ptr<const StableForm> stable_form(const ir::OpDef& op, std::span<const Expr> inputs,
                                              std::span<const tensor::Attr> attrs,
                                              const StaticType& type) {
  StableForm form;
  const bool real = !is_complex(type.dtype);
  if (real && &op == &ops::log_op) form = stable_log(inputs[0]);
  if (real && &op == &ops::log1p_op) form = stable_log1p(inputs[0]);
  if (real && &op == &ops::div_op) form = stable_div(inputs[0], inputs[1]);
  if (real && &op == &ops::sub_op) form = stable_sub(inputs[0], inputs[1]);
  if (&op == &ops::gather_op && attrs[0].integer() == 0) form = stable_gather(inputs[0], inputs[1]);
  const Expr& value = form.value;
  const bool serves = value.defined() && value.error() == nullptr && value.dtype() == type.dtype &&
                      value.rank() == type.rank();
  return serves ? std::make_unique<const StableForm>(std::move(form)) : nullptr;
}

}  // namespace scanloom::expr
