#include "ops/recurrent/recurrent.h"

#include "ops/sizes.h"

namespace scanloom::ops {
namespace {

using tensor::Dim;
using tensor::Type;

constexpr int index_of(RecurrentInput input) { return static_cast<int>(input); }

const tensor::Attr& attr_of(const ir::InferCtx& ctx, RecurrentAttr attr) {
  return ctx.attr(static_cast<int>(attr));
}

Expected<int> directions_of(const ir::InferCtx& ctx) {
  const std::string& text = attr_of(ctx, RecurrentAttr::direction).text();
  if (text == "forward" || text == "reverse") return 1;
  if (text == "bidirectional") return 2;
  return invalid_model("direction is '{}', not forward, reverse or bidirectional", text);
}

Expected<RecurrentSizes> read_sizes(ir::InferCtx& ctx) {
  RecurrentSizes sizes;
  const std::int64_t layout = attr_of(ctx, RecurrentAttr::layout).integer();
  if (layout != 0 && layout != 1) return invalid_model("layout is {}, not 0 or 1", layout);
  sizes.batch_first = layout == 1;
  SCANLOOM_TRY(sizes.directions, directions_of(ctx));
  const std::int64_t hidden = attr_of(ctx, RecurrentAttr::hidden_size).integer();
  if (hidden < 1 || hidden > std::int64_t{1} << 32)
    return invalid_model("hidden_size is {}, outside [1, 2^32]", hidden);
  sizes.hidden = hidden;
  const Type& x = ctx.in(index_of(RecurrentInput::x));
  if (!x.ranked) {
    sizes.steps = ctx.dims().fresh();
    sizes.batch = ctx.dims().fresh();
    sizes.input = ctx.dims().fresh();
    return sizes;
  }
  if (x.rank() != 3) return invalid_model("X has {} axes, not 3", x.rank());
  sizes.steps = x.dims[sizes.batch_first ? 1 : 0];
  sizes.batch = x.dims[sizes.batch_first ? 0 : 1];
  sizes.input = x.dims[2];
  return sizes;
}

}  // namespace

Expected<void> expect_sizes(ir::InferCtx& ctx, int i, std::string_view name,
                            std::initializer_list<Dim> sizes) {
  if (!ctx.has(i) || !ctx.in(i).ranked) return {};
  const Type& type = ctx.in(i);
  if (type.dims.size() != sizes.size())
    return invalid_model("{} has {} axes, not {}", name, type.rank(), sizes.size());
  int axis = 0;
  for (const Dim wanted : sizes) {
    const Dim size = type.dims[static_cast<std::size_t>(axis)];
    if (size.is_constant() && wanted.is_constant() && size != wanted)
      return invalid_model("{} has size {} on axis {}, not {}", name, size.value(), axis,
                           wanted.value());
    ++axis;
  }
  return {};
}

Expected<RecurrentSizes> recurrent_sizes(ir::InferCtx& ctx, int gates) {
  SCANLOOM_TRY(const RecurrentSizes sizes, read_sizes(ctx));
  const auto [steps, batch, input, hidden, d, batch_first] = sizes;
  const std::int64_t rows = gates * hidden.value();
  SCANLOOM_CHECK_OK(expect_sizes(ctx, index_of(RecurrentInput::w), "W", {d, rows, input}));
  SCANLOOM_CHECK_OK(expect_sizes(ctx, index_of(RecurrentInput::r), "R", {d, rows, hidden}));
  SCANLOOM_CHECK_OK(expect_sizes(ctx, index_of(RecurrentInput::b), "B", {d, 2 * rows}));
  SCANLOOM_CHECK_OK(
      expect_sizes(ctx, index_of(RecurrentInput::sequence_lens), "sequence_lens", {batch}));
  const Dim first = batch_first ? batch : d, second = batch_first ? d : batch;
  SCANLOOM_CHECK_OK(
      expect_sizes(ctx, index_of(RecurrentInput::initial_h), "initial_h", {first, second, hidden}));
  return sizes;
}

std::vector<Dim> state_sizes(const RecurrentSizes& sizes) {
  if (sizes.batch_first) return {sizes.batch, sizes.directions, sizes.hidden};
  return {sizes.directions, sizes.batch, sizes.hidden};
}

int steps_axis(std::span<const tensor::Attr> attrs) {
  const bool batch_first = attrs[static_cast<std::size_t>(RecurrentAttr::layout)].integer() == 1;
  return batch_first ? 1 : 0;
}

Expected<void> set_recurrent_results(ir::InferCtx& ctx, const RecurrentSizes& sizes) {
  const auto [steps, batch, input, hidden, d, batch_first] = sizes;
  std::vector<Dim> all = {steps, d, batch, hidden};
  if (batch_first) all = {batch, steps, d, hidden};
  SCANLOOM_CHECK_OK(set_sizes(ctx, 0, ctx.dtype(), std::move(all)));
  return set_sizes(ctx, 1, ctx.dtype(), state_sizes(sizes));
}

double products_of_layer(const ir::CostCtx& ctx) {
  return ctx.elements(0) / ctx.size(0, 2) * (ctx.elements(1) + ctx.elements(2));
}

}  // namespace scanloom::ops
