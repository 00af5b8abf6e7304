// SegmentMax and SparseFillEmptyRows: rows assigned to segments.
#include <limits>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"
#include "tensor/visit.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// Returns how often each of 0, 1, ..., count - 1 occurs in `places`.
ValueId counted(LayerComposer& c, ValueId positions, ValueId count) {
  return c.op(ops::scatter_nd_op,
              {c.expand(c.number(0), c.join({count})), c.unsqueeze(positions, {1}),
               c.expand(c.number(1), c.shape(positions))},
              {{"reduction", "add"}});
}

/// Returns the lowest finite number of the type, as a scalar.
ValueId least(LayerComposer& c, DType dtype) {
  if (is_floating_point(dtype)) {
    const double largest = dtype == DType::f64   ? std::numeric_limits<double>::max()
                           : dtype == DType::f32 ? std::numeric_limits<float>::max()
                           : dtype == DType::f16 ? 65504.0
                                                 : 0x1.fep127;
    return c.scalar(-largest, dtype);
  }
  const bool has_sign = dtype_kind(dtype) == DTypeKind::signed_int;
  const int bits = dtype_file_bits(dtype);
  const std::int64_t value =
      has_sign ? std::numeric_limits<std::int64_t>::min() >> (64 - bits) : std::int64_t{0};
  return c.cast(c.number(value), dtype);
}

}  // namespace

// Without num_segments the number of segments follows from the largest segment number. With it,
// rows of segments beyond are ignored.
Expected<void> convert_segment_max(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId data = c.in(0), segments = c.cast(c.in(1), DType::i64), one = c.number(1);
  const std::string fill = c.choice("fill_mode", "zero", {"zero", "lowest", "ZERO", "LOWEST"});
  const int rank = c.rank(0, data, 1);
  SCANLOOM_CHECK_OK(c.done());
  const DType dtype = c.dtype(data);
  ValueId count;
  if (ctx.has(2)) {
    count = c.reshape(c.sizes_in(2), c.list({}));
  } else {
    // Adds -1, so that no rows give no segments.
    const ValueId all = c.concat({segments, c.list({-1})}, 0);
    count = c.add(c.reduce_all(all, "max"), one);
  }
  const ValueId row = c.shape(data, 1), lowest = least(c, dtype);
  const ValueId positions = c.min(segments, count), more = c.add(count, one);
  ValueId y = c.op(ops::scatter_nd_op,
                   {c.expand(lowest, c.join({more, row})), c.unsqueeze(positions, {1}), data},
                   {{"reduction", "max"}});
  if (fill == "zero" || fill == "ZERO") {
    ValueId none = c.equal(counted(c, positions, more), c.number(0));
    if (rank > 1) none = c.unsqueeze(none, ops::axes_between(1, rank));
    y = c.where(none, c.cast(c.number(0), dtype), y);
  }
  return c.emit(c.slice(y, 0, c.number(0), count));
}

// The values of a sparse matrix by row. A row without any gets the default value in column 0.
Expected<void> convert_sparse_fill_empty_rows(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId values = c.in(0), sizes = c.in(1), given = c.in(2);
  const ValueId fallback = c.reshape(c.in(3), c.list({1}));
  const DType dtype = c.dtype(given);
  const ValueId indices = c.cast(given, DType::i64);
  const ValueId rows = c.gather(indices, c.number(0), 1);
  const ValueId count = c.gather(c.cast(sizes, DType::i64), c.number(0), 0);
  const ValueId is_empty = c.equal(counted(c, rows, count), c.number(0));
  const ValueId empty = c.transpose(c.op(ops::non_zero_op, {is_empty}), {1, 0});
  const ValueId in_front = c.op(ops::pad_op, {empty, c.list({0, 0, 0, 1})}, {{"mode", "constant"}});
  const ValueId all = c.concat({indices, in_front}, 0);
  const ValueId more = c.expand(fallback, c.shape(empty, 0, 1));
  const ValueId entries = c.concat({values, more}, 0);
  SCANLOOM_CHECK_OK(c.done());
  // Entries of one row keep their order.
  SCANLOOM_TRY(const ir::NodeId sorted,
               ctx.builder().node(ops::topk_op, {c.gather(all, c.number(0), 1), c.shape(entries)},
                                  {{"axis", 0}, {"largest", 0}, {"sorted", 1}}, 2));
  const ValueId order = ctx.module().node(sorted).outputs[1];
  const ValueId positions = c.cast(c.gather(all, order, 0), dtype);
  const ValueId ordered = c.gather(entries, order, 0);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, positions);
  ctx.set_output(1, ordered);
  ctx.set_output(2, is_empty);
  return {};
}

}  // namespace scanloom::openvino
