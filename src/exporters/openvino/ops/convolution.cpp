// Convolutions and their transposes. In an IR, grouped filters have a separate axis for the groups;
// biases are added separately.
#include <algorithm>

#include "exporters/openvino/ops/forms.h"
#include "exporters/openvino/ops/spatial.h"

namespace scanloom::exporters::openvino {

namespace {

constexpr std::size_t kBias = 2;

/// Reshapes filters [groups * a, b, ...] to [groups, a, b, ...]. A constant stays one.
Output parted_filters(NodeWriter& out, Output w, std::int64_t groups, DType dtype) {
  const tensor::Tensor* const known = out.constant_in(1);
  if (known != nullptr && w == out.in(1)) {
    std::vector<std::int64_t> sizes{groups, known->shape()[0] / groups};
    for (std::size_t axis = 1; axis < static_cast<std::size_t>(known->shape().rank()); ++axis)
      sizes.push_back(known->shape()[static_cast<int>(axis)]);
    return out.constant(known->reshaped(tensor::Shape(sizes)));
  }
  const Output rest =
      out.slice(out.shape_of(w), 0, out.list({1}), out.list({tensor::kMaxRank}), 1, DType::i64);
  return out.reshape(w, out.concat({out.list({groups, -1}), rest}, 0, DType::i64), dtype);
}

/// Returns a convolution, or a transposed one if `backwards`, of x with w. Both are floating point.
Output convolved(NodeWriter& out, Output x, Output w, DType dtype, bool backwards, Data data,
                 Output sizes = {}) {
  const std::int64_t groups = out.attr("group").present() ? out.integer("group") : std::int64_t{1};
  const bool is_parted = groups != 1;
  std::string type = is_parted ? "GroupConvolution" : "Convolution";
  if (backwards) type += "BackpropData";
  std::vector<Output> inputs{x, is_parted ? parted_filters(out, w, groups, dtype) : w};
  if (sizes.valid()) inputs.push_back(sizes);
  return out.layer(type, 1, std::move(inputs), dtype, std::move(data));
}

/// Adds one number per channel to y.
Output with_bias(NodeWriter& out, Output y, Output bias, DType dtype, int spatial) {
  NodeWriter::Ints sizes(static_cast<std::size_t>(spatial + 2), 1);
  sizes[1] = -1;
  return out.binary("Add", y, out.reshape(bias, out.list(sizes), dtype), dtype);
}

/// Per axis: the extent of the filters, and output_padding, which is added to the elements the taps
/// reach. nullopt: the size of the filters is unknown.
struct Reach {
  NodeWriter::Ints extent, extra, strides;
};

/// Pads, begins first, and the elements appended after those the taps reach.
struct Cut {
  NodeWriter::Ints pads, extra;
};

std::optional<Reach> reach_of(NodeWriter& out, int spatial) {
  Reach reach{{},
              spatial_numbers(out, "output_padding", spatial, 0),
              spatial_numbers(out, "strides", spatial, 1)};
  const NodeWriter::Ints dilations = spatial_numbers(out, "dilations", spatial, 1);
  for (std::size_t i = 0; i < dilations.size(); ++i) {
    const tensor::Dim kernel = out.type(1).dims[i + 2];
    if (!kernel.is_constant()) return std::nullopt;
    reach.extent.push_back((kernel.value() - 1) * dilations[i] + 1);
  }
  return reach;
}

/// Returns pads that cut the result to its sizes. The larger half is cut at the beginning, or for
/// same_upper at the end. Missing elements are appended. nullopt: sizes are unknown.
std::optional<Cut> cut_to_size(NodeWriter& out, int spatial) {
  const std::optional<Reach> reach = reach_of(out, spatial);
  if (!reach) return std::nullopt;
  const bool has_shape = out.attr("output_shape").present();
  const bool upper = out.attr("auto_pad").present() && out.text("auto_pad") == "same_upper";
  Cut cut{{}, reach->extra};
  NodeWriter::Ints ends;
  for (std::size_t i = 0; i < reach->extent.size(); ++i) {
    // Without `output_shape` the result has size * stride elements.
    std::int64_t surplus = reach->extent[i] + reach->extra[i] - reach->strides[i];
    if (has_shape) {
      const tensor::Dim in = out.type(0).dims[i + 2];
      if (!in.is_constant()) return std::nullopt;
      surplus += in.value() * reach->strides[i] - out.attr("output_shape").integers()[i];
    }
    const std::int64_t all = std::max<std::int64_t>(surplus, 0);
    cut.extra[i] += all - surplus;
    cut.pads.push_back(upper ? all / 2 : all - all / 2);
    ends.push_back(all - cut.pads.back());
  }
  cut.pads.insert(cut.pads.end(), ends.begin(), ends.end());
  return cut;
}

/// Computes everything the taps reach, then cuts the end to `output_shape`.
Output cut_behind(NodeWriter& out, int spatial) {
  const DType dtype = out.dtype(), i64 = DType::i64;
  const NodeWriter::Ints none(static_cast<std::size_t>(2 * spatial), 0);
  const NodeWriter::Ints extra = spatial_numbers(out, "output_padding", spatial, 0);
  const Output y =
      convolved(out, out.in(0), out.in(1), dtype, true, window_data(out, spatial, none));
  const Output reached =
      out.slice(out.shape_of(y), 0, out.list({2}), out.list({2 + spatial}), 1, i64);
  const Output wanted = out.list(out.attr("output_shape").integers());
  const Output surplus =
      out.binary("Subtract", out.binary("Add", reached, out.list(extra), i64), wanted, i64);
  const Output cut = out.binary("Maximum", surplus, out.number(0), i64);
  const Output half = out.binary("Divide", cut, out.number(2), i64);
  const bool upper = out.attr("auto_pad").present() && out.text("auto_pad") == "same_upper";
  const Output begin = upper ? half : out.binary("Subtract", cut, half, i64);
  const Output end = out.binary("Add", out.binary("Subtract", wanted, reached, i64), begin, i64);
  const Output images = out.list({0, 0});
  const Output before =
      out.concat({images, out.binary("Subtract", out.list({0}), begin, i64)}, 0, i64);
  return out.layer("Pad", 12, {y, before, out.concat({images, end}, 0, i64)}, dtype,
                   {{"pad_mode", "constant"}});
}

}  // namespace

void write_conv(NodeWriter& out) {
  const std::optional<int> spatial = spatial_axes(out);
  if (!spatial) return out.refuse("its filters have an unknown number of axes");
  const DType dtype = out.dtype();
  Data data = window_attributes(out, *spatial);
  Output y = convolved(out, out.in(0), out.in(1), dtype, false, std::move(data));
  if (out.has(kBias)) y = with_bias(out, y, out.in(kBias), dtype, *spatial);
  out.set(y);
}

void write_conv_transpose(NodeWriter& out) {
  const std::optional<int> spatial = spatial_axes(out);
  if (!spatial) return out.refuse("its filters have an unknown number of axes");
  const DType dtype = out.dtype();
  const std::string auto_pad = out.attr("auto_pad").present() ? out.text("auto_pad") : "explicit";
  const bool is_cut = out.attr("output_shape").present() || auto_pad.starts_with("same");
  const std::optional<Cut> cut = is_cut ? cut_to_size(out, *spatial)
                                        : Cut{explicit_pads(out, *spatial, auto_pad == "explicit"),
                                              spatial_numbers(out, "output_padding", *spatial, 0)};
  if (!cut && !out.attr("output_shape").present())
    return out.refuse("pads follow from sizes of filters that are not known");
  Output y;
  if (cut) {
    Data data = window_data(out, *spatial, cut->pads);
    data.emplace_back("output_padding", list_text(cut->extra));
    y = convolved(out, out.in(0), out.in(1), dtype, true, std::move(data));
  } else {
    y = cut_behind(out, *spatial);
  }
  if (out.has(kBias)) y = with_bias(out, y, out.in(kBias), dtype, *spatial);
  out.set(y);
}

void write_deform_conv(NodeWriter& out) {
  enum : std::size_t { kX, kFilters, kOffset, kOwnBias, kMask };
  if (spatial_axes(out) != 2) return out.refuse("an IR moves windows over two axes alone");
  const DType dtype = out.dtype();
  Data data = window_attributes(out, 2);
  const std::int64_t groups = out.attr("group").present() ? out.integer("group") : 1;
  data.emplace_back("group", std::to_string(groups));
  data.emplace_back("deformable_group", std::to_string(out.integer("offset_group")));
  data.emplace_back("bilinear_interpolation_pad", "true");
  std::vector<Output> inputs{out.in(kX), out.in(kOffset), out.in(kFilters)};
  if (out.has(kMask)) inputs.push_back(out.in(kMask));
  Output y = out.layer("DeformableConvolution", 8, std::move(inputs), dtype, std::move(data));
  if (out.has(kOwnBias)) y = with_bias(out, y, out.in(kOwnBias), dtype, 2);
  out.set(y);
}

namespace {

/// Converts one number, or one per filter, to floating point with the shape [filters, 1, ...].
Output per_filter(NodeWriter& out, std::size_t i, int rank, DType dtype, std::size_t axis) {
  const Output x = out.dtype(i) == dtype ? out.in(i) : out.convert(out.in(i), dtype);
  NodeWriter::Ints sizes(static_cast<std::size_t>(rank), 1);
  sizes[axis] = -1;
  return out.reshape(x, out.list(sizes), dtype);
}

/// Returns the type in which a sum of that many byte products is exact.
DType exact_type(const tensor::Type& w) {
  constexpr std::int64_t kExact = std::int64_t{1} << 24, kProduct = std::int64_t{255} * 255;
  std::int64_t taps = 1;
  for (std::size_t axis = 1; axis < w.dims.size(); ++axis) {
    if (!w.dims[axis].is_constant() || w.dims[axis].value() > kExact) return DType::f64;
    taps *= std::max<std::int64_t>(w.dims[axis].value(), 1);
    if (taps * kProduct >= kExact) return DType::f64;
  }
  return DType::f32;
}

}  // namespace

// Sums of bytes, exact in floating point, times x_scale * w_scale / y_scale in f32, rounded to
// even.
void write_qlinear_conv(NodeWriter& out) {
  enum : std::size_t { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kSumBias };
  const tensor::Type& w_type = out.type(kW);
  if (!w_type.ranked) return out.refuse("its filters have an unknown number of axes");
  const int rank = w_type.rank();
  const DType wide = exact_type(w_type), f32 = DType::f32;
  const auto centered = [&](std::size_t value, std::size_t zero, std::size_t axis) {
    return out.binary("Subtract", out.convert(out.in(value), wide),
                      per_filter(out, zero, rank, wide, axis), wide);
  };
  const Output x = centered(kX, kXZero, 0), w = centered(kW, kWZero, 0);
  Output sum = convolved(out, x, w, wide, false, window_attributes(out, rank - 2));
  if (out.has(kSumBias))
    sum = out.binary("Add", sum, per_filter(out, kSumBias, rank, wide, 1), wide);
  if (!out.has(kYZero)) return out.set(out.convert(sum, DType::i32));
  if (wide != f32) sum = out.convert(sum, f32);
  const Output scale = out.binary("Divide",
                                  out.binary("Multiply", per_filter(out, kXScale, rank, f32, 1),
                                             per_filter(out, kWScale, rank, f32, 1), f32),
                                  per_filter(out, kYScale, rank, f32, 1), f32);
  const Output scaled = out.binary("Multiply", sum, scale, f32);
  const Output zero = per_filter(out, kYZero, rank, f32, 1);
  out.set(quantised(out, scaled, zero, out.result_type().dtype));
}

}  // namespace scanloom::exporters::openvino
