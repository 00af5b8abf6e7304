#include <algorithm>

#include "ops/ops.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {
namespace shape {

constexpr int kStart = 0;
constexpr int kEnd = 1;

struct Range {
  std::int64_t first, last;  ///< axes [first, last)
};

// Negative ends count from the back; both are clamped to the existing axes.
Range range_of(const tensor::Attr& start, const tensor::Attr& end, std::int64_t rank) {
  const auto limited = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  return {limited(start.integer()), end.present() ? limited(end.integer()) : rank};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const tensor::Type& x = ctx.in(0);
  if (!x.ranked) {
    ctx.set(0, ctx.fresh(DType::i64, 1));
    return {};
  }
  const Range range = range_of(ctx.attr(kStart), ctx.attr(kEnd), x.rank());
  std::vector<tensor::Dim> sizes;
  for (std::int64_t axis = range.first; axis < range.last; ++axis)
    sizes.push_back(x.dims[static_cast<std::size_t>(axis)]);
  ctx.set(0, DType::i64, {static_cast<std::int64_t>(sizes.size())});
  ctx.set_integers(0, std::move(sizes));
  return {};
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const tensor::Operand &x = call.in(0), &y = call.out(0);
  const Range range = range_of(call.attrs[kStart], call.attrs[kEnd], x.rank);
  for (std::int64_t axis = range.first; axis < range.last; ++axis)
    y.data<std::int64_t>()[(axis - range.first) * y.strides[0]] = x.dims[axis];
  return tensor::Status::ok;
}

}  // namespace shape
}  // namespace

constinit const ir::OpDef shape_op{
    .name = "shape",
    .doc =
        "The sizes of the axes start .. end - 1; without `end` up to the last. Negative ones count "
        "from the back.",
    .inputs = {{.name = "x", .accept = ir::Accept::tensor, .sizes_only = true}},
    .outputs = {"sizes"},
    .attrs = {{"start", tensor::AttrKind::integer}, {"end", tensor::AttrKind::integer, true}},
    .infer = shape::infer,
    .reference = shape::reference,
    .recompute = ir::Recompute::cheap,
};

}  // namespace scanloom::ops
