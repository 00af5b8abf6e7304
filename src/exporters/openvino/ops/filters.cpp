// Resampling modes without an IR layer. They are linear in x, so applying the reference operator to
// unit vectors gives the matrix to multiply by.
#include "exporters/openvino/ops/filters.h"

#include <algorithm>
#include <cmath>

#include "ir/call_reference.h"

namespace scanloom::exporters::openvino {

using tensor::Shape;
using tensor::Tensor;

namespace {

constexpr std::size_t kSize = 1, kScales = 2, kRegion = 3;

/// Limit on the elements of a weight matrix.
constexpr std::int64_t kMaxWeights = std::int64_t{1} << 24;

class Resampling {
 public:
  Resampling(NodeWriter& out, int axis, std::int64_t in, std::int64_t to)
      : out_(out), axis_(axis), in_(in), to_(to), dtype_(out.dtype()) {}

  Expected<void> write() {
    const bool is_nearest = out_.text("mode").starts_with("nearest_");
    if (is_nearest) return pick();
    const int rank = out_.type(0).rank();
    NodeWriter::Ints order, back(static_cast<std::size_t>(rank));
    for (int axis = 0; axis < rank; ++axis)
      if (axis != axis_) order.push_back(axis);
    order.push_back(axis_);
    for (std::size_t i = 0; i < order.size(); ++i)
      back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    SCANLOOM_TRY(const Tensor outside, made_of(zeros({in_, 1}), {to_, 1}));
    SCANLOOM_TRY(const Tensor unit, unit_vectors());
    SCANLOOM_TRY(const Tensor weights, made_of(unit, {to_, in_}));
    const Output rows = out_.transpose(out_.in(0), order, dtype_);
    Output y = out_.layer("MatMul", 1, {rows, out_.constant(without(weights, outside))}, dtype_,
                          {{"transpose_a", "false"}, {"transpose_b", "true"}});
    if (has_extrapolation()) y = out_.binary("Add", y, out_.constant(as_line(outside)), dtype_);
    out_.set(out_.transpose(y, back, dtype_));
    return {};
  }

 private:
  [[nodiscard]] bool has_extrapolation() const {
    return out_.text("coordinates") == "tf_crop_and_resize";
  }

  /// Element o is element places[o] of x, or the extrapolation value if that is -1.
  Expected<void> pick() {
    std::vector<double> numbers(static_cast<std::size_t>(in_));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
    std::vector<tensor::Attr> attrs = out_.node().attrs;
    attrs[static_cast<std::size_t>(out_.node().op->attr_index("extrapolation"))] =
        tensor::Attr(-1.0);
    SCANLOOM_TRY(const Tensor picked,
                 made_of(Tensor::of<double>({in_, 1}, numbers), {to_, 1}, std::move(attrs)));
    NodeWriter::Ints positions;
    std::vector<std::uint8_t> inside;
    for (const double position : picked.as<double>()) {
      positions.push_back(static_cast<std::int64_t>(std::max(position, 0.0)));
      inside.push_back(position >= 0 ? 1 : 0);
    }
    Output y = out_.gather(out_.in(0), out_.list(positions), axis_, dtype_);
    if (has_extrapolation()) {
      NodeWriter::Ints sizes(static_cast<std::size_t>(out_.type(0).rank()), 1);
      sizes[static_cast<std::size_t>(axis_)] = to_;
      const Output is_inside = out_.convert(
          out_.constant(Tensor::of<std::uint8_t>(Shape(sizes), inside)), DType::boolean);
      const Output other = out_.scalar(out_.attr("extrapolation").real(), dtype_);
      y = out_.layer("Select", 1, {is_inside, y, other}, dtype_);
    }
    out_.set(y);
    return {};
  }

  [[nodiscard]] static Tensor zeros(const Shape& shape) {
    return Tensor::of<double>(shape,
                              std::vector<double>(static_cast<std::size_t>(shape.elements()), 0.0));
  }

  [[nodiscard]] Expected<Tensor> unit_vectors() const {
    std::vector<double> values(static_cast<std::size_t>(in_ * in_), 0.0);
    for (std::int64_t i = 0; i < in_; ++i) values[static_cast<std::size_t>(i * in_ + i)] = 1;
    return Tensor::of<double>({in_, in_}, values);
  }

  /// Applies the operator to x along axis 0.
  Expected<Tensor> made_of(const Tensor& x, const Shape& shape,
                           std::optional<std::vector<tensor::Attr>> attrs = {}) const {
    std::vector<tensor::Attr> given = attrs ? *std::move(attrs) : out_.node().attrs;
    given[static_cast<std::size_t>(out_.node().op->attr_index("axis"))] =
        tensor::Attr(std::int64_t{0});
    std::vector<Tensor> inputs{x, *out_.constant_in(kSize), *out_.constant_in(kScales)};
    if (out_.has(kRegion)) inputs.push_back(*out_.constant_in(kRegion));
    SCANLOOM_TRY(Tensor made, Tensor::zeros(DType::f64, shape));
    const Tensor results[] = {made};
    made = {};
    SCANLOOM_CHECK_OK(ir::call_reference(*out_.node().op, inputs, given, results));
    return results[0];
  }

  [[nodiscard]] Tensor as_line(const Tensor& column) const {
    if (dtype_ == DType::f64) return column.reshaped({to_});
    const auto values = column.as<double>();
    return Tensor::of<float>({to_}, std::vector<float>(values.begin(), values.end()));
  }

  /// Returns the weights alone, in the type of x.
  [[nodiscard]] Tensor without(const Tensor& weights, const Tensor& outside) const {
    const auto all = weights.as<double>(), rows = outside.as<double>();
    std::vector<double> wide;
    std::vector<float> narrow;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double weight = all[i] - rows[i / static_cast<std::size_t>(in_)];
      wide.push_back(weight);
      narrow.push_back(static_cast<float>(weight));
    }
    return dtype_ == DType::f64 ? Tensor::of<double>({to_, in_}, wide)
                                : Tensor::of<float>({to_, in_}, narrow);
  }

  NodeWriter& out_;
  int axis_;
  std::int64_t in_, to_;
  DType dtype_;
};

std::size_t axis_of(const NodeWriter& out) {
  const std::int64_t given = out.integer("axis");
  return static_cast<std::size_t>(given < 0 ? given + out.type(0).rank() : given);
}

}  // namespace

std::string_view no_filters(const NodeWriter& out) {
  const tensor::Type &x = out.type(0), &y = out.result_type();
  for (const std::size_t i : {kSize, kScales, kRegion})
    if (out.has(i) && out.constant_in(i) == nullptr)
      return "its sizes, factors or region are computed, and no layer has its mode";
  if (!x.ranked || !y.ranked) return "x has an unknown number of axes";
  const std::size_t axis = axis_of(out);
  if (!x.dims[axis].is_constant() || !y.dims[axis].is_constant())
    return "the size of its axis is not known, and no layer has its mode";
  const std::int64_t in = x.dims[axis].value(), to = y.dims[axis].value();
  if (in == 0 || to == 0 || in > kMaxWeights / std::max(in, to))
    return "there are no weights, or more than 2^24";
  return {};
}

void write_filters(NodeWriter& out) {
  if (const std::string_view reason = no_filters(out); !reason.empty()) return out.refuse(reason);
  const std::size_t axis = axis_of(out);
  const std::int64_t in = out.type(0).dims[axis].value(), to = out.result_type().dims[axis].value();
  if (const Expected<void> done = Resampling(out, static_cast<int>(axis), in, to).write(); !done)
    out.refuse(done.error().message());
}

}  // namespace scanloom::exporters::openvino
