// Turns reductions, argmin, argmax and products of matrices into nests with a reduction.
#include <algorithm>
#include <functional>

#include "ir/scalar_ctx.h"
#include "loopnest/axis_order.h"
#include "opmath/contraction.h"
#include "opmath/reduction.h"
#include "ops/indices.h"
#include "ops/ops.h"
#include "plan/codegen/nest_source.h"
#include "plan/cost.h"

namespace scanloom::plan {
namespace {

using ir::Reg;
using loopnest::Access;
using loopnest::Nest;
using tensor::ScalarOp;

/// The loop-nest form of an operator's reduction: its kind, and an operation on each element
/// before.
struct ReducedBy {
  loopnest::Reduction::Kind kind;
  std::optional<ScalarOp> each = std::nullopt;
};

ReducedBy reduced_by(tensor::Reduction::Fold fold) {
  switch (fold) {
    case tensor::Reduction::Fold::sum:
      return {loopnest::Reduction::Kind::sum};
    case tensor::Reduction::Fold::prod:
      return {loopnest::Reduction::Kind::prod};
    case tensor::Reduction::Fold::max:
      return {loopnest::Reduction::Kind::max};
    case tensor::Reduction::Fold::min:
      return {loopnest::Reduction::Kind::min};
    case tensor::Reduction::Fold::sum_square:
      return {loopnest::Reduction::Kind::sum, ScalarOp::mul};
    case tensor::Reduction::Fold::l1:
      return {loopnest::Reduction::Kind::sum, ScalarOp::abs};
  }
  return {loopnest::Reduction::Kind::sum};
}

bool is_min_max(loopnest::Reduction::Kind kind) {
  return kind == loopnest::Reduction::Kind::max || kind == loopnest::Reduction::Kind::min;
}

/// Returns the type in which elements are reduced: f16 and bf16 are widened to f32 and rounded once
/// at the end.
DType reduced_in(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

/// Returns the register `reg` converted to type `to`.
Reg as_dtype(tensor::ScalarProgram& program, Reg reg, DType to) {
  return ir::ScalarCtx(program, {}, {}).as(reg, to);
}

/// Returns a reduction of the elements that it reads, without an operation on each.
loopnest::Reduction plain_reduction(loopnest::Reduction::Kind kind, DType dtype) {
  loopnest::Reduction reduction{.kind = kind,
                                .dtype = reduced_in(dtype),
                                .program = {.inputs = {dtype}, .instrs = {}, .results = {}}};
  reduction.program.results = {as_dtype(reduction.program, 0, reduction.dtype)};
  return reduction;
}

/// Adds a reduction with one result per element of the nest.
void add_reduction(Nest& nest, loopnest::Reduction reduction) {
  nest.program.inputs.push_back(reduction.dtype);
  nest.reductions.push_back(std::move(reduction));
}

/// The axes of an operand, split into kept and reduced ones.
struct DividedAxes {
  std::vector<std::int64_t> kept, reduced;
  Access read, write;
  std::int64_t count = 1;  ///< elements that each result reduces
};

template <class IsReduced>
DividedAxes divide_axes(const CallView& call, bool keeps, const IsReduced& is_reduced) {
  const Layout &x = call.layout(call.spot(0)), &y = call.layout(call.output());
  DividedAxes axes{.read = first_element(call.spot(0)), .write = first_element(call.output())};
  std::vector<std::int64_t> inner;
  int own = 0;
  for (int axis = 0; axis < x.dims.rank(); ++axis) {
    const bool reduced = is_reduced(axis);
    const int result_axis = reduced && !keeps ? -1 : own++;
    if (reduced) axes.count *= x.dims[axis];
    if (x.dims[axis] == 1) continue;
    (reduced ? axes.reduced : axes.kept).push_back(x.dims[axis]);
    (reduced ? inner : axes.read.strides).push_back(x.strides[axis]);
    if (!reduced) axes.write.strides.push_back(y.strides[result_axis]);
  }
  axes.read.strides.insert(axes.read.strides.end(), inner.begin(), inner.end());
  return axes;
}

DividedAxes reduced_axes(const CallView& call) {
  const tensor::Attr& named = call.node().attrs[tensor::kReduceAxes];
  const int rank = call.layout(call.spot(0)).dims.rank();
  return divide_axes(call, call.node().attrs[tensor::kReduceKeepdims].integer() != 0,
                     [&](int axis) { return tensor::is_reduced(named, axis, rank); });
}

/// Emits the operation on the finished reduction of `count` elements, such as the mean's division.
Reg emit_finish(ir::ScalarCtx& end, tensor::Reduction::Finish finish, std::int64_t count,
                DType dtype) {
  switch (finish) {
    case tensor::Reduction::Finish::none:
      return 0;
    case tensor::Reduction::Finish::mean:
      return end.binary(ScalarOp::div, 0, end.constant(static_cast<double>(count), dtype));
    case tensor::Reduction::Finish::sqrt:
      return end.unary(ScalarOp::sqrt, 0);
    case tensor::Reduction::Finish::log:
      return end.unary(ScalarOp::log, 0);
  }
  return 0;
}

void add_named(Nest& nest, const tensor::Reduction& named, const DividedAxes& axes, DType dtype) {
  const ReducedBy kind = reduced_by(named.fold);
  loopnest::Reduction reduction = plain_reduction(kind.kind, dtype);
  reduction.sizes = axes.reduced;
  reduction.reads = {axes.read};
  const DType reduced = reduction.dtype;
  if (kind.each) {
    const Reg first = reduction.program.results[0];
    const Reg second = *kind.each == ScalarOp::mul ? first : -1;
    reduction.program.results = {reduction.program.append(
        {.op = *kind.each, .dtype = reduced, .args = {first, second, -1}})};
  }
  add_reduction(nest, std::move(reduction));
  ir::ScalarCtx end(nest.program, {}, {});
  const Reg result = emit_finish(end, named.finish, axes.count, reduced);
  nest.program.results = {as_dtype(nest.program, result, dtype)};
}

}  // namespace

std::optional<Nest> reduction_nest(const CallView& call) {
  if (call.inputs() > 1 && call.spot(1).present()) return std::nullopt;
  const DType dtype = call.spot(0).dtype;
  const tensor::Reduction* const named =
      tensor::find_reduction(call.node().attrs[tensor::kReduceKind].text());
  if (named == nullptr) return std::nullopt;
  const ReducedBy reduction = reduced_by(named->fold);
  const bool only_reduces = !reduction.each && named->finish == tensor::Reduction::Finish::none;
  if (!is_floating_point(dtype) && (!only_reduces || dtype_bytes(dtype) < 4))
    return std::nullopt;  // the operator computes these in another type
  DividedAxes axes = reduced_axes(call);
  if (axes.count == 0 ||
      (is_min_max(reduction.kind) && axes.kept.empty() && axes.count > kMaxMinMaxOfNest))
    return std::nullopt;
  // A nest adds one element after the other; the kernel also knows the order of long sums.
  if (is_floating_point(dtype) && reduction.kind == loopnest::Reduction::Kind::sum &&
      axes.count >= tensor::kMinInterleaved)
    return std::nullopt;
  Nest nest;
  add_named(nest, *named, axes, dtype);
  nest.sizes = std::move(axes.kept);
  nest.writes = {std::move(axes.write)};
  return nest;
}

std::optional<Nest> arg_min_max_nest(const CallView& call) {
  const std::vector<tensor::Attr>& attrs = call.node().attrs;
  const int chosen = ops::checked_axis(attrs[0], call.layout(call.spot(0)).dims.rank());
  DividedAxes axes =
      divide_axes(call, attrs[1].integer() != 0, [&](int axis) { return axis == chosen; });
  // The kernel searches a single long line faster.
  if (axes.kept.empty() && axes.count > kMaxMinMaxOfNest) return std::nullopt;
  loopnest::Reduction reduction =
      plain_reduction(call.node().op == &ops::argmax_op ? loopnest::Reduction::Kind::argmax
                                                        : loopnest::Reduction::Kind::argmin,
                      call.spot(0).dtype);
  reduction.dtype = DType::i64;
  reduction.takes_last = attrs[2].integer() != 0;
  if (axes.reduced.empty()) {  // every line has one element; the reduction still needs an axis
    axes.reduced.push_back(1);
    axes.read.strides.push_back(0);
  }
  reduction.sizes = std::move(axes.reduced);
  reduction.reads = {std::move(axes.read)};
  Nest nest;
  add_reduction(nest, std::move(reduction));
  nest.program.results = {0};
  nest.sizes = std::move(axes.kept);
  nest.writes = {std::move(axes.write)};
  return nest;
}

namespace {

/// Whether the lanes of each operand of the product are contiguous, or all the same element.
bool has_neighbouring_lanes(Nest nest) {
  loopnest::choose_axis_order(nest);
  if (nest.sizes.empty()) return true;
  return std::ranges::all_of(nest.reductions[0].reads, [&](const Access& read) {
    const std::int64_t along = read.strides[nest.sizes.size() - 1];
    return along == 0 || along == 1;
  });
}

}  // namespace

std::optional<Nest> product_nest(const CallView& call) {
  const Spot &a = call.spot(0), &b = call.spot(1), &to = call.output();
  const DType dtype = reduced_in(a.dtype);
  if (dtype_bytes(dtype) < 4 || dtype_bytes(dtype) > 8) return std::nullopt;
  const auto axes = tensor::contraction_of(call.node().attrs[0].text(), call.without_address(a),
                                           call.without_address(b), call.without_address(to));
  if (!axes) return std::nullopt;
  const std::int64_t results = axes->batch.elements() * axes->m.elements() * axes->n.elements();
  const std::int64_t products = results * axes->k.elements();
  if (products > kMaxProductOfNest || products == 0) return std::nullopt;
  // Order the axes as in the result's memory, so that nests that read the result can be fused.
  std::vector<tensor::ContractionAxis> kept;
  for (const auto* list : {&axes->batch, &axes->m, &axes->n})
    kept.insert(kept.end(), list->view().begin(), list->view().end());
  std::ranges::stable_sort(kept, std::ranges::greater(), &tensor::ContractionAxis::out);
  Nest nest;
  loopnest::Reduction reduction{
      .kind = loopnest::Reduction::Kind::multiply_add,
      .dtype = dtype,
      .program = {.inputs = {a.dtype, b.dtype}, .instrs = {}, .results = {}},
      .reads = {first_element(a), first_element(b)}};
  for (const Reg operand : {0, 1})
    reduction.program.results.push_back(as_dtype(reduction.program, operand, dtype));
  Access write = first_element(to);
  for (const tensor::ContractionAxis& axis : kept) {
    nest.sizes.push_back(axis.size);
    write.strides.push_back(axis.out);
  }
  kept.insert(kept.end(), axes->k.view().begin(), axes->k.view().end());
  for (const tensor::ContractionAxis& axis : kept) {
    reduction.reads[0].strides.push_back(axis.a);
    reduction.reads[1].strides.push_back(axis.b);
  }
  for (const tensor::ContractionAxis& axis : axes->k.view()) reduction.sizes.push_back(axis.size);
  nest.writes.push_back(std::move(write));
  add_reduction(nest, std::move(reduction));
  nest.program.results = {as_dtype(nest.program, 0, to.dtype)};
  if (products > kMaxProductAcross && !has_neighbouring_lanes(nest)) return std::nullopt;
  return nest;
}

}  // namespace scanloom::plan
