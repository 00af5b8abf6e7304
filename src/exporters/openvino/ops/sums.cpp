// Products, reductions and other sums along axes.
#include <map>
#include <utility>

#include "exporters/openvino/forms.h"
#include "exporters/openvino/ops/forms.h"
#include "exporters/openvino/running.h"
#include "ops/composer.h"

namespace scanloom::exporters::openvino {

namespace {

/// Returns all axes, for values of any rank.
Output all_axes(NodeWriter& out) {
  if (out.type(0).ranked) {
    NodeWriter::Ints axes;
    for (int axis = 0; axis < out.type(0).rank(); ++axis) axes.push_back(axis);
    return out.list(axes);
  }
  const Output rank = out.squeeze(out.shape_of(out.shape_of(out.in(0))), {0}, DType::i64);
  return out.layer("Range", 4, {out.number(0), rank, out.number(1)}, DType::i64,
                   {{"output_type", "i64"}});
}

/// Returns the computed axes, or all axes if there are none. Axes are marked in a list, and the
/// marked ones extracted.
Output axes_or_all(NodeWriter& out) {
  if (!out.type(0).ranked) return out.in(1);
  const DType i64 = DType::i64;
  const Output none = out.list(NodeWriter::Ints(static_cast<std::size_t>(out.type(0).rank()), 0));
  const Output count = out.shape_of(out.in(1));
  const Output ones = out.broadcast(out.number(1), count, i64);
  const Output marks =
      out.layer("ScatterElementsUpdate", 3, {none, out.in(1), ones, out.number(0)}, i64);
  const Output is_empty = out.binary("Equal", count, out.list({0}), DType::boolean);
  const Output is_summed =
      out.binary("LogicalOr", out.convert(marks, DType::boolean), is_empty, DType::boolean);
  const Output found = out.layer("NonZero", 3, {is_summed}, i64, {{"output_type", "i64"}});
  return out.reshape(found, out.list({-1}), i64);
}

/// A value and the axes to reduce it over.
struct Reduction {
  Output x, axes;
  bool keeps = false, has_known_axes = true;
};

/// Finds the axes, whether they may be empty, and whether empty means all.
Reduction reduction_of(NodeWriter& out) {
  Reduction reduction{out.in(0), {}, out.flag("keepdims")};
  const tensor::Attr& empty_is_all = out.attr("empty_is_all");
  const bool may_be_all = empty_is_all.present() && empty_is_all.integer() != 0;
  std::optional<std::int64_t> count;
  if (out.attr("axes").present()) {
    count = std::ssize(out.attr("axes").integers());
    reduction.axes = out.list(out.attr("axes").integers());
  } else if (out.has(1)) {
    const tensor::Type& given = out.type(1);
    if (given.ranked && given.rank() == 1 && given.dims[0].is_constant())
      count = given.dims[0].value();
    reduction.has_known_axes = out.constant_in(1) != nullptr;
    reduction.axes = !count && may_be_all ? axes_or_all(out) : out.in(1);
  }
  const bool is_all = !reduction.axes.valid() || (count == 0 && may_be_all && out.has(1));
  const bool is_scalar = out.type(0).ranked && out.type(0).rank() == 0;
  if (!is_all && count != 0) return reduction;
  reduction.has_known_axes = out.type(0).ranked || !is_all;
  if (is_all && !is_scalar) {
    reduction.axes = all_axes(out);
    return reduction;
  }
  // Over no axes each element is its own group, so x gets an extra axis to reduce over, because
  // OpenVINO does not read constants without elements.
  reduction.x = out.unsqueeze(reduction.x, {-1}, out.dtype());
  reduction.axes = out.list({-1});
  reduction.keeps = false;
  return reduction;
}

Output reduced(NodeWriter& out, std::string_view type, Output x, const Reduction& by, DType dtype) {
  const int opset = type == "ReduceL1" || type == "ReduceL2" ? 4 : 1;
  return out.layer(type, opset, {x, by.axes}, dtype, {{"keep_dims", by.keeps ? "true" : "false"}});
}

/// log(sum(exp(x - m))) + m, where m is the largest element if that is finite.
Output log_sum_exp(NodeWriter& out, Output x, Reduction by, DType dtype) {
  const bool keeps = std::exchange(by.keeps, true);
  const Output greatest = reduced(out, "ReduceMax", x, by, dtype);
  const Output is_finite = out.layer("IsFinite", 10, {greatest}, DType::boolean);
  const Output m = out.layer("Select", 1, {is_finite, greatest, out.scalar(0, dtype)}, dtype);
  const Output powers = out.layer("Exp", 1, {out.binary("Subtract", x, m, dtype)}, dtype);
  const Output sum = reduced(out, "ReduceSum", powers, by, dtype);
  const Output result = out.binary("Add", out.layer("Log", 1, {sum}, dtype), m, dtype);
  return keeps ? result : out.layer("Squeeze", 1, {result, by.axes}, dtype);
}

/// Reductions without an IR layer, in the types in which the operator computes them.
Output composed(NodeWriter& out, std::string_view kind, const Reduction& by) {
  const DType dtype = out.dtype();
  const DType whole = dtype == DType::u64 ? dtype : DType::i64;
  const DType sums = is_floating_point(dtype) ? ops::at_least_f32(dtype) : whole;
  const DType logs = is_floating_point(dtype) ? sums : DType::f64;
  const auto as = [&](Output value, DType from, DType to) {
    return from == to ? value : out.convert(value, to);
  };
  if (kind == "log_sum_exp")
    return as(log_sum_exp(out, as(by.x, dtype, logs), by, logs), logs, dtype);
  const Output x = as(by.x, dtype, sums);
  if (kind == "sum_square") {
    const Output squares = out.binary("Multiply", x, x, sums);
    return as(reduced(out, "ReduceSum", squares, by, sums), sums, dtype);
  }
  const Output sum = as(reduced(out, "ReduceSum", x, by, sums), sums, logs);
  return as(out.layer("Log", 1, {sum}, logs), logs, dtype);
}

/// The maximum or minimum of booleans. OpenVINO's layers for these do not take computed axes.
Output reduced_booleans(NodeWriter& out, bool greatest, const Reduction& by) {
  if (by.has_known_axes)
    return reduced(out, greatest ? "ReduceLogicalOr" : "ReduceLogicalAnd", by.x, by,
                   DType::boolean);
  const Output numbers = out.convert(by.x, DType::u8);
  return out.convert(reduced(out, greatest ? "ReduceMax" : "ReduceMin", numbers, by, DType::u8),
                     DType::boolean);
}

}  // namespace

void write_contract(NodeWriter& out) {
  const std::string& spec = out.text("spec");
  if (spec.empty())
    return out.set(out.layer("MatMul", 1, {out.in(0), out.in(1)}, out.result_type().dtype,
                             {{"transpose_a", "false"}, {"transpose_b", "false"}}));
  out.set(out.layer("Einsum", 7, {out.in(0), out.in(1)}, out.result_type().dtype,
                    {{"equation", spec}}));
}

void write_cumsum(NodeWriter& out) {
  const auto word = [&](const char* name) { return out.flag(name) ? "true" : "false"; };
  const Output axis = out.reshape(out.in(1), out.list({}), out.dtype(1));
  out.set(out.layer("CumSum", 3, {out.in(0), axis}, out.dtype(),
                    {{"exclusive", word("exclusive")}, {"reverse", word("reverse")}}));
}

void write_reduce(NodeWriter& out) {
  static const std::map<std::string, const char*, std::less<>> kLayers = {
      {"sum", "ReduceSum"},   {"mean", "ReduceMean"}, {"max", "ReduceMax"}, {"min", "ReduceMin"},
      {"prod", "ReduceProd"}, {"l1", "ReduceL1"},     {"l2", "ReduceL2"}};
  const std::string& kind = out.text("kind");
  const Reduction by = reduction_of(out);
  if (out.dtype() == DType::boolean) return out.set(reduced_booleans(out, kind == "max", by));
  const auto found = kLayers.find(kind);
  out.set(found == kLayers.end() ? composed(out, kind, by)
                                 : reduced(out, found->second, by.x, by, out.dtype()));
}

namespace {

/// Reshapes x to [before, axis, after] around a computed axis.
Output around_axis(NodeWriter& out, Output x, DType dtype) {
  const DType i64 = DType::i64;
  const Output sizes = out.shape_of(out.in(0)), rank = out.shape_of(sizes);
  const Output given = out.reshape(out.convert(out.in(1), i64), out.list({1}), i64);
  const Output axis = out.layer("Select", 1,
                                {out.binary("Less", given, out.list({0}), DType::boolean),
                                 out.binary("Add", given, rank, i64), given},
                                i64);
  const Output after = out.binary("Add", axis, out.list({1}), i64);
  const auto product = [&](Output start, Output stop) {
    return out.layer("ReduceProd", 1, {out.slice(sizes, 0, start, stop, 1, i64), out.list({0})},
                     i64, {{"keep_dims", "true"}});
  };
  const Output shape = out.concat(
      {product(out.list({0}), axis), product(axis, after), product(after, rank)}, 0, i64);
  return out.reshape(x, shape, dtype);
}

}  // namespace

/// A loop along the axis that carries the product so far, in f32 for narrower floats. A computed
/// axis is made the second of three.
void write_cumprod(NodeWriter& out) {
  const tensor::Tensor* const known = out.constant_in(1);
  const DType dtype = out.dtype(), i64 = DType::i64;
  const DType wide = is_floating_point(dtype) ? ops::at_least_f32(dtype) : dtype;
  const bool is_plain = known != nullptr && out.type(0).ranked;
  Output x = wide == dtype ? out.in(0) : out.convert(out.in(0), wide);
  std::int64_t axis = is_plain ? tensor::to_integers(*known)->front() : 1;
  if (axis < 0) axis += out.type(0).rank();
  // Unknown sizes.
  constexpr tensor::Dim kAny = tensor::Dim::from_expr(0);
  tensor::Type type = tensor::Type::of(wide, {kAny, kAny, kAny});
  if (is_plain) type.dims = out.type(0).dims;
  if (!is_plain) x = around_axis(out, x, wide);
  const Output sizes = out.shape_of(x);
  const auto part = [&](std::int64_t start, std::int64_t stop) {
    return out.slice(sizes, 0, out.list({start}), out.list({stop}), 1, i64);
  };
  const Output row =
      out.concat({part(0, axis), out.list({1}), part(axis + 1, tensor::kMaxRank)}, 0, i64);
  const Output ones = out.broadcast(out.scalar(1, wide), row, wide);
  Output y = write_running(out, {"Multiply", axis, out.flag("reverse"), out.flag("exclusive")}, x,
                           type, ones);
  if (!is_plain) y = out.reshape(y, out.shape_of(out.in(0)), wide);
  out.set(wide == dtype ? y : out.convert(y, dtype));
}

void write_softmax(NodeWriter& out) {
  const bool is_log = out.node().op->name == "log_softmax";
  out.set(out.layer(is_log ? "LogSoftmax" : "Softmax", is_log ? 5 : 8, {out.in(0)}, out.dtype(),
                    {{"axis", std::to_string(out.integer("axis"))}}));
}

}  // namespace scanloom::exporters::openvino
