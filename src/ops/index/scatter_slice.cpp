// The part is written in row-major order. Updates are broadcast to it, so that a single number may
// fill it.
#include "ops/index/scatter_slice.h"

#include "ops/index/scatter_reduction.h"
#include "ops/indices.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/for_each.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {

using namespace scatter_slice;  // NOLINT(google-build-using-namespace): the names of its operands
using tensor::Dim;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;

Expected<void> check_lists(ir::InferCtx& ctx) {
  const auto picked = static_cast<std::int64_t>(ctx.attr(kPicked).integers().size());
  const auto sliced = static_cast<std::int64_t>(ctx.attr(kAxes).integers().size());
  const auto check = [&](int i, const char* name, std::int64_t count,
                         bool needed) -> Expected<void> {
    if (ctx.has(i)) return check_elements(ctx, i, count, name);
    if (needed && count > 0) return invalid_model("{} is missing", name);
    return {};
  };
  SCANLOOM_CHECK_OK(check(kIndices, "indices", picked, true));
  SCANLOOM_CHECK_OK(check(kStarts, "starts", sliced, true));
  SCANLOOM_CHECK_OK(check(kEnds, "ends", sliced, true));
  return check(kSteps, "steps", sliced, false);
}

/// Returns the sizes of the part as far as they are known; fresh ones otherwise.
Expected<std::vector<Dim>> part_sizes(ir::InferCtx& ctx) {
  const Type& data = ctx.in(kData);
  const std::vector<std::int64_t>&axes = ctx.attr(kAxes).integers(),
        &picked = ctx.attr(kPicked).integers();
  std::vector<std::int64_t> all = axes;
  all.insert(all.end(), picked.begin(), picked.end());
  SCANLOOM_TRY(const std::vector<int> named, normalise_axes(ctx, all, data.rank()));
  const auto numbers = [&](int i) {
    return ctx.has(i) ? ctx.numbers(i) : std::optional(std::vector<std::int64_t>(axes.size(), 1));
  };
  const auto starts = numbers(kStarts), ends = numbers(kEnds), steps = numbers(kSteps);
  std::vector<Dim> sizes = data.dims;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    Dim& size = sizes[static_cast<std::size_t>(named[k])];
    if (steps && (*steps)[k] == 0) return invalid_model("the step along axis {} is 0", named[k]);
    if (starts && ends && steps && size.is_constant())
      size = cut_axis(size.value(), (*starts)[k], (*ends)[k], (*steps)[k]).count;
    else
      size = ctx.dims().fresh();
  }
  std::vector<Dim> kept;
  for (int axis = 0; axis < data.rank(); ++axis)
    if (std::find(named.begin() + static_cast<std::ptrdiff_t>(axes.size()), named.end(), axis) ==
        named.end())
      kept.push_back(sizes[static_cast<std::size_t>(axis)]);
  return kept;
}

Expected<void> check_updates(ir::InferCtx& ctx) {
  SCANLOOM_TRY(const std::vector<Dim> part, part_sizes(ctx));
  const Type& updates = ctx.in(kUpdates);
  if (!updates.ranked) return {};
  if (updates.dims.size() > part.size())
    return invalid_model("updates has {} axes, but the part has {}", updates.rank(), part.size());
  SCANLOOM_CHECK_OK(ctx.broadcast(updates, Type::of(updates.dtype, part), updates.dtype));
  const std::size_t missing = part.size() - updates.dims.size();
  for (std::size_t i = 0; i < updates.dims.size(); ++i)
    if (part[missing + i] == Dim(1) && updates.dims[i].is_constant() && updates.dims[i] != Dim(1))
      return invalid_model("updates has size {} on axis {}, but the part has 1",
                           updates.dims[i].value(), i);
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& data = ctx.in(kData);
  SCANLOOM_CHECK_OK(check_reduction(ctx.attr(kReduction).text(), data.dtype));
  SCANLOOM_CHECK_OK(check_lists(ctx));
  if (data.ranked) SCANLOOM_CHECK_OK(check_updates(ctx));
  ctx.set(0, data);
  return {};
}

/// Moves the part to the positions that the indices select on the picked axes, which it keeps.
tensor::Status pick(const tensor::Call& call, ir::ViewOf& part) {
  const Operand& y = call.out(0);
  const std::vector<std::int64_t>& picked = call.attrs[kPicked].integers();
  for (std::size_t k = 0; k < picked.size(); ++k) {
    const int axis = non_negative_axis(picked[k], y.rank);
    const std::int64_t index = listed_index(call.in(kIndices), static_cast<std::int64_t>(k));
    const std::int64_t position = position_of(index, y.dims[axis]);
    if (position < 0)
      return call.fail("index {} is outside an axis of {} elements", index, y.dims[axis]);
    part.offset += position * y.strides[axis];
  }
  return tensor::Status::ok;
}

/// Finds the strides of updates along the axes of the part. Returns false if sizes do not match.
bool broadcast(const Operand& updates, const Shape& part, Shape& strides) {
  strides = Shape::filled(part.rank(), 0);
  const int missing = part.rank() - updates.rank;
  for (int i = 0; i < updates.rank; ++i) {
    if (updates.dims[i] == 1) continue;
    if (updates.dims[i] != part[missing + i]) return false;
    strides[missing + i] = updates.strides[i];
  }
  return true;
}

tensor::Status fail_sizes(const tensor::Call& call, const Shape& part) {
  const Operand& updates = call.in(kUpdates);
  const int missing = part.rank() - updates.rank;
  for (int i = 0; i < updates.rank; ++i)
    if (updates.dims[i] != 1 && updates.dims[i] != part[missing + i])
      return call.fail("size {} does not match a part of size {}", updates.dims[i],
                       part[missing + i]);
  return tensor::Status::ok;
}

/// Calls update(existing element, update) for each element of the part.
template <class T, class Update>
void update_part(const tensor::Call& call, const ir::ViewOf& part, const Shape& strides,
                 const Update& update) {
  T* const base = call.out(0).data<T>() + part.offset;
  const T* const updates = call.in(kUpdates).data<const T>();
  tensor::RowCursor<2> rows(part.dims.dims());
  rows.add(part.strides.data());
  rows.add(strides.data());
  rows.start();
  const std::int64_t to_step = rows.step(0), from_step = rows.step(1);
  // Updates never alias the output, so the compiler vectorizes rows that are contiguous in both.
  for (; !rows.done(); rows.next()) {
    T* const __restrict to = base + rows.offset(0);
    const T* const __restrict from = updates + rows.offset(1);
    const std::int64_t count = rows.length();
    if (to_step == 1 && from_step == 1)
      for (std::int64_t i = 0; i < count; ++i) to[i] = update(to[i], from[i]);
    else if (to_step == 1 && from_step == 0)
      for (std::int64_t i = 0; i < count; ++i) to[i] = update(to[i], from[0]);
    else
      for (std::int64_t i = 0; i < count; ++i)
        to[i * to_step] = update(to[i * to_step], from[i * from_step]);
  }
}

void write_part(const tensor::Call& call, const ir::ViewOf& part, const Shape& strides) {
  const auto reduction =
      scatter_reduction_of(call.attrs[kReduction].text()).value_or(Reduction::none);
  const Operand& y = call.out(0);
  if (reduction == Reduction::none)
    return tensor::copy_strided(
        y.dtype, part.dims.dims(), call.in(kUpdates).data<std::byte>(), strides.data(),
        tensor::advance(y.data<std::byte>(), y.dtype, part.offset), part.strides.data());
  tensor::visit_dtype(y.dtype, [&]<class T>(std::type_identity<T>) {
    if (reduction == Reduction::add)  // by far the most common; avoids a branch per element
      update_part<T>(call, part, strides, [](const T& there, const T& with) {
        return combine(Reduction::add, there, with);
      });
    else
      update_part<T>(call, part, strides, [&](const T& there, const T& with) {
        return combine(reduction, there, with);
      });
  });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &data = call.in(kData), &y = call.out(0);
  if (!tensor::is_same_memory(data, y)) tensor::copy_in_order(data, y);
  if (call.has(kSteps))
    for (std::int64_t i = 0; i < call.in(kSteps).elements(); ++i)
      if (listed_index(call.in(kSteps), i) == 0) return call.fail("a slice has step 0");
  const Shape strides(std::span(y.strides, static_cast<std::size_t>(y.rank)));
  ir::ViewOf part =
      sliced_part(y.shape(), strides, call.attrs, call.has(kSteps),
                  [&](int input, std::int64_t i) { return listed_index(call.in(input), i); });
  if (const tensor::Status found = pick(call, part); found != tensor::Status::ok) return found;
  drop_picked(part, call.attrs);
  Shape of_updates;
  if (!broadcast(call.in(kUpdates), part.dims, of_updates)) return fail_sizes(call, part.dims);
  if (part.dims.elements() > 0) write_part(call, part, of_updates);
  return tensor::Status::ok;
}

}  // namespace

constinit const ir::OpDef scatter_slice_op{
    .name = "scatter_slice",
    .doc =
        "data, with updates written where a slice of it lies: along `axes` the elements start, "
        "start + step, ... before end, as `slice` has them; along `picked` the one that an index "
        "names, negative ones counting from the back, which updates have no axis for; all along "
        "the others. Updates are broadcast to that. `reduction` is none, add, mul, max or min.",
    .inputs = {{"data", ir::Accept::tensor},
               {.name = "updates", .accept = ir::Accept::tensor, .same_as = 0},
               {"indices", ir::Accept::index, ir::Arity::optional},
               {"starts", ir::Accept::index, ir::Arity::optional},
               {"ends", ir::Accept::index, ir::Arity::optional},
               {"steps", ir::Accept::index, ir::Arity::optional}},
    .outputs = {"y"},
    .attrs = {{"axes", tensor::AttrKind::integers},
              {"picked", tensor::AttrKind::integers},
              {"reduction", tensor::AttrKind::text}},
    .effects = ir::Effects::may_fail,
    .infer = infer,
    .reference = reference,
    .writes_part = true,
};

}  // namespace scanloom::ops
