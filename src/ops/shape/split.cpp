#include <algorithm>

#include "ops/indices.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace split {

using tensor::Dim;
using tensor::Operand;
using tensor::Type;

constexpr int kAxis = 0;
constexpr int kSizes = 1;

// Without sizes the parts are equal; if that does not divide, the last ones are smaller or empty.
std::vector<Dim> equal_parts(ir::InferCtx& ctx, Dim size) {
  const std::int64_t count = ctx.output_count();
  tensor::DimTable& dims = ctx.dims();
  const Dim part = dims.floor_div(dims.add(size, count - 1), count);
  const bool even = dims.mul(part, count) == size;
  std::vector<Dim> parts;
  for (std::int64_t i = 0; i < count; ++i) {
    if (even || count == 1)
      parts.push_back(part);
    else
      parts.push_back(dims.min(dims.max(dims.sub(size, dims.mul(part, i)), 0), part));
  }
  return parts;
}

Expected<std::vector<Dim>> part_sizes(ir::InferCtx& ctx, Dim size) {
  const int count = ctx.output_count();
  if (!ctx.has(kSizes)) return equal_parts(ctx, size);
  const auto given = ctx.integers(kSizes);
  if (!given) return ctx.fresh(ctx.dtype(), count).dims;
  if (given->size() != static_cast<std::size_t>(count))
    return invalid_model("{} sizes are given for {} results", given->size(), count);
  Dim sum = 0;
  for (std::size_t i = 0; i < given->size(); ++i) {
    const Dim part = (*given)[i];
    if (part.is_constant() && part.value() < 0)
      return invalid_model("part {} has size {}, but must have at least 0", i, part.value());
    sum = ctx.dims().add(sum, part);
  }
  if (sum.is_constant() && size.is_constant() && sum != size)
    return invalid_model("the parts have {} elements, but the axis has {}", sum.value(),
                         size.value());
  return *given;
}

void follow(ir::InferCtx& ctx, std::span<const Dim> parts) {
  const auto values = ctx.integers(0);
  if (!values || ctx.in(0).rank() != 1) return;
  auto next = values->begin();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].is_constant() || parts[i].value() > values->end() - next) return;
    const auto last = next + parts[i].value();
    ctx.set_integers(static_cast<int>(i), std::vector<Dim>(next, last));
    next = last;
  }
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  if (ctx.has(kSizes)) SCANLOOM_CHECK_OK(check_list(ctx, kSizes, "the list of sizes"));
  if (!x.ranked) {
    for (int i = 0; i < ctx.output_count(); ++i) ctx.set(i, Type::unranked(x.dtype));
    return {};
  }
  if (ctx.output_count() == 0) return invalid_model("there are no results");
  SCANLOOM_TRY(const int axis, ctx.axis(ctx.attr(kAxis).integer(), x.rank()));
  const auto along = static_cast<std::size_t>(axis);
  SCANLOOM_TRY(const std::vector<Dim> parts, part_sizes(ctx, x.dims[along]));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<Dim> sizes = x.dims;
    sizes[along] = parts[i];
    ctx.set(static_cast<int>(i), x.dtype, std::move(sizes));
  }
  follow(ctx, parts);
  return {};
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand& x = call.in(0);
  const int axis = checked_axis(call.attrs[kAxis], x.rank);
  std::int64_t done = 0;
  for (int i = 0; i < call.output_count; ++i) {
    const Operand& y = call.out(i);
    tensor::copy_strided(y.dtype, {y.dims, static_cast<std::size_t>(y.rank)},
                         tensor::advance(x.data<std::byte>(), y.dtype, done * x.strides[axis]),
                         x.strides, y.data<std::byte>(), y.strides);
    done += y.dims[axis];
  }
  return tensor::Status::ok;
}

}  // namespace split
}  // namespace

constinit const ir::OpDef split_op{
    .name = "split",
    .doc = "Consecutive parts along `axis`, of the sizes given or else of equal ones.",
    .inputs = {{"x", ir::Accept::tensor}, {"sizes", ir::Accept::index, ir::Arity::optional}},
    .outputs = {"parts..."},
    .attrs = {{"axis", tensor::AttrKind::integer}},
    .infer = split::infer,
    .reference = split::reference,
    .linear_work = true,
    .steps = {.axis = steps_along_axis},
};

}  // namespace scanloom::ops
