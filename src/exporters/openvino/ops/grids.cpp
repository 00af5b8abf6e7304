// affine_grid, and sums to a shape.
#include <algorithm>

#include "exporters/openvino/ops/forms.h"

namespace scanloom::exporters::openvino {

namespace {

/// Returns `size` coordinates from -1 to 1. If the size is known they are a constant, because
/// implementations take long to fold sums of constants.
Output known_coordinates(NodeWriter& out, std::int64_t size) {
  std::vector<double> at;
  const bool align = out.flag("align_corners");
  const auto count = static_cast<double>(align ? std::max<std::int64_t>(size - 1, 1) : size);
  for (std::int64_t i = 0; i < size; ++i)
    at.push_back((2 * static_cast<double>(i) + (align ? 0 : 1)) / count - 1);
  return out.constant(tensor::Tensor::of<double>({size}, at));
}

/// The same for a computed scalar.
Output coordinates(NodeWriter& out, Output size) {
  const DType f64 = DType::f64, i64 = DType::i64;
  const auto sum = [&](Output a, double b) {
    return out.binary("Add", a, out.scalar(b, f64), f64);
  };
  const Output numbers =
      out.layer("Range", 4, {out.number(0), size, out.number(1)}, i64, {{"output_type", "i64"}});
  Output over = out.binary("Multiply", out.convert(numbers, f64), out.scalar(2, f64), f64);
  Output count = out.convert(size, f64);
  if (out.flag("align_corners"))
    count = out.binary("Maximum", sum(count, -1), out.scalar(1, f64), f64);
  else
    over = sum(over, 1);
  return sum(out.binary("Divide", over, count, f64), -1);
}

}  // namespace

/// One row per position (x before y before z, last axis first, then a 1), times theta; in f64,
/// rounded once.
void write_affine_grid(NodeWriter& out) {
  constexpr std::size_t kSize = 1;
  const DType dtype = out.dtype(), f64 = DType::f64, i64 = DType::i64;
  if (!out.result_type().ranked) return out.refuse("it has an unknown number of axes");
  const int spatial = out.result_type().rank() - 2;
  const Output given = out.dtype(kSize) == i64 ? out.in(kSize) : out.convert(out.in(kSize), i64);
  const Output sizes = out.slice(given, 0, out.list({2}), out.list({2 + spatial}), 1, i64);
  const auto as_column = [&](Output x) {
    return out.reshape(out.broadcast(x, sizes, f64), out.list({-1, 1}), f64);
  };
  const tensor::Tensor* const known = out.constant_in(kSize);
  const auto coordinate = [&](int axis) {
    const Output at =
        known != nullptr
            ? known_coordinates(out,
                                (*tensor::to_integers(*known))[static_cast<std::size_t>(axis + 2)])
            : coordinates(out, out.gather(sizes, out.number(axis), 0, i64));
    NodeWriter::Ints trailing;
    for (int i = 1; i < spatial - axis; ++i) trailing.push_back(i);
    return as_column(trailing.empty() ? at : out.unsqueeze(at, trailing, f64));
  };
  std::vector<Output> columns;
  for (int axis = spatial - 1; axis >= 0; --axis) columns.push_back(coordinate(axis));
  columns.push_back(as_column(out.scalar(1, f64)));
  const Output positions = out.concat(std::move(columns), 1, f64);
  const Output made = out.layer("MatMul", 1, {positions, out.convert(out.in(0), f64)}, f64,
                                {{"transpose_a", "false"}, {"transpose_b", "true"}});
  const Output shape =
      out.concat({out.size_of(out.in(0), 0, true), sizes, out.list({spatial})}, 0, i64);
  const Output y = out.reshape(made, shape, f64);
  out.set(dtype == f64 ? y : out.convert(y, dtype));
}

/// Reshapes axis i of n elements, of which m remain, to [n / m, m] and sums over the former.
void write_sum_to(NodeWriter& out) {
  const tensor::Type &x = out.type(0), &y = out.result_type();
  if (!x.ranked || !y.ranked) return out.refuse("it has an unknown number of axes");
  const DType i64 = DType::i64;
  const int extra = x.rank() - y.rank();
  const Output sizes = out.shape_of(out.in(0));
  const Output wanted = out.dtype(1) == i64 ? out.in(1) : out.convert(out.in(1), i64);
  std::vector<Output> parts;
  NodeWriter::Ints axes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Output size = out.gather(sizes, out.list({axis}), 0, i64);
    axes.push_back(static_cast<std::int64_t>(parts.size()));
    if (axis < extra) {
      parts.push_back(size);
      continue;
    }
    const Output left = out.gather(wanted, out.list({axis - extra}), 0, i64);
    const Output most = out.binary("Maximum", left, out.list({1}), i64);
    parts.push_back(out.binary("Divide", size, most, i64));
    parts.push_back(left);
  }
  if (parts.empty()) return out.set(out.in(0));
  const Output parted = out.reshape(out.in(0), out.concat(std::move(parts), 0, i64), out.dtype());
  out.set(
      out.layer("ReduceSum", 1, {parted, out.list(axes)}, out.dtype(), {{"keep_dims", "false"}}));
}

}  // namespace scanloom::exporters::openvino
