// Created only by the pass linear_recurrences (numerics fast); no model format has it.
#include "opmath/linear_call.h"
#include "ops/matrix/matrices.h"
#include "ops/ops.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {
namespace linear_scan {

Expected<void> check_matrix(const ir::InferCtx& ctx, int i, const char* what, tensor::Dim rows,
                            tensor::Dim columns) {
  const tensor::Type& type = ctx.in(i);
  if (type.dtype != DType::f64)
    return invalid_model("{} holds {}, but must hold f64", what, dtype_name(type.dtype));
  if (!type.ranked) return {};
  if (type.rank() != 2) return invalid_model("{} has {} axes, but must have 2", what, type.rank());
  const tensor::Dim wanted[] = {rows, columns};
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (type.dims[axis].is_constant() && wanted[axis].is_constant() &&
        type.dims[axis] != wanted[axis])
      return invalid_model("{} has size {} on axis {}, but must have {}", what,
                           type.dims[axis].value(), axis, wanted[axis].value());
  return {};
}

Expected<tensor::Dim> state_count(ir::InferCtx& ctx) {
  const tensor::Type& type = ctx.in(tensor::LinearInput::initial);
  if (!type.ranked) return ctx.fresh(type.dtype, 1).dims[0];
  if (type.rank() != 1) return invalid_model("initial has {} axes, but must have 1", type.rank());
  const tensor::Dim states = type.dims[0];
  if (states.is_constant() && (states.value() < 1 || states.value() > tensor::kMaxLinearStates))
    return invalid_model("initial has {} elements, but must have 1 or {}", states.value(),
                         tensor::kMaxLinearStates);
  return states;
}

/// Input i, if present, must have the sizes of x.
Expected<void> join_sizes(ir::InferCtx& ctx, int i, const char* what, tensor::Type& rows) {
  if (!ctx.has(i) || !ctx.in(i).ranked) return {};
  const tensor::Type& other = ctx.in(i);
  if (other.rank() != rows.rank())
    return invalid_model("x has {} axes and {} has {}", rows.rank(), what, other.rank());
  for (std::size_t axis = 0; axis < rows.dims.size(); ++axis) {
    SCANLOOM_TRY(rows.dims[axis], same_size(ctx, rows.dims[axis], other.dims[axis],
                                            fmt::format("axis {} of x and {}", axis, what)));
  }
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const DType dtype = ctx.dtype();
  if (dtype != DType::f32 && dtype != DType::f64)
    return invalid_model("x holds {}, but must hold f32 or f64", dtype_name(dtype));
  SCANLOOM_TRY(const tensor::Dim states, state_count(ctx));
  const bool has_more = ctx.has(tensor::LinearInput::more);
  const tensor::Dim inputs(has_more ? 2 : 1);
  SCANLOOM_CHECK_OK(check_matrix(ctx, tensor::LinearInput::matrix, "matrix", states, states));
  SCANLOOM_CHECK_OK(check_matrix(ctx, tensor::LinearInput::gain, "gain", states, inputs));
  const bool has_several = states.is_constant() && states.value() > 1;
  if (ctx.has(tensor::LinearInput::factor) && (has_several || has_more))
    return invalid_model("factor is given with {} states and {} inputs, but takes one of each",
                         has_several ? states.value() : 1, inputs.value());
  tensor::Type rows = ctx.in(0);
  if (!rows.ranked) {
    for (int i = 0; i < 3; ++i) ctx.set(i, tensor::Type::unranked(dtype));
    return {};
  }
  if (rows.rank() == 0) return invalid_model("x has no axis, but must have one of steps");
  SCANLOOM_CHECK_OK(join_sizes(ctx, tensor::LinearInput::more, "more", rows));
  SCANLOOM_CHECK_OK(join_sizes(ctx, tensor::LinearInput::factor, "factor", rows));
  std::vector<tensor::Dim> last = rows.dims;
  last.back() = states;
  SCANLOOM_CHECK_OK(set_sizes(ctx, tensor::LinearOutput::last, dtype, std::move(last)));
  SCANLOOM_CHECK_OK(set_sizes(ctx, tensor::LinearOutput::first_row, dtype, rows.dims));
  // The rows of a second state are empty if there is none.
  if (!states.is_constant())
    rows.dims.back() = ctx.fresh(dtype, 1).dims[0];
  else if (states.value() == 1)
    rows.dims.back() = tensor::Dim(0);
  return set_sizes(ctx, tensor::LinearOutput::first_row + 1, dtype, std::move(rows.dims));
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return visit_real(call.in(0).dtype, [&]<class Real> {
    return tensor::run_linear_call<Real>(call, &tensor::run_linear_blocks<Real>, nullptr);
  });
}

}  // namespace linear_scan
}  // namespace

constinit const ir::OpDef linear_scan_op{
    .name = "linear_scan",
    .doc =
        "The states of s[t + 1] = matrix s[t] + gain (x[t], more[t]), for steps along the last "
        "axis "
        "and one or two states, of which all lines begin with `initial`. One state may have a "
        "`factor` per step, by which `matrix` is multiplied. `rows0` and `rows1` are "
        "the states after each step, or with `before` those before it; `reverse` begins at the end "
        "of the axis. Steps are computed in blocks, so the last bits differ from those of a loop.",
    .inputs = {{"x", ir::Accept::real},
               {"matrix", ir::Accept::real},
               {"gain", ir::Accept::real, ir::Arity::one, tensor::LinearInput::matrix},
               {"initial", ir::Accept::real, ir::Arity::one, 0},
               {"more", ir::Accept::real, ir::Arity::optional, 0},
               {"factor", ir::Accept::real, ir::Arity::optional, 0}},
    .outputs = {"last", "rows0", "rows1"},
    .attrs = {{"reverse", tensor::AttrKind::integer}, {"before", tensor::AttrKind::integer}},
    .infer = linear_scan::infer,
    .reference = linear_scan::reference,
};

}  // namespace scanloom::ops
