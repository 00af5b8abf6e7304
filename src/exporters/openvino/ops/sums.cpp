// Products, reductions and what else sums along axes.
#include <map>

#include "exporters/openvino/forms.h"
#include "exporters/openvino/ops/forms.h"
#include "exporters/openvino/running.h"

namespace scanloom::exporters::openvino {

namespace {

/// All axes, for values of any number of them.
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

/// The axes that are computed, or all where there are none: marked, and the marks counted.
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

/// An empty list of axes means none, or with `empty_is_all` all of them.
Output axes_of(NodeWriter& out) {
  if (out.attr("axes").present()) return out.list(out.attr("axes").integers());
  if (!out.has(1)) return all_axes(out);
  const tensor::Tensor* const known = out.constant_in(1);
  const tensor::Attr& empty_is_all = out.attr("empty_is_all");
  const bool may_be_all = empty_is_all.present() && empty_is_all.integer() != 0;
  const tensor::Type& given = out.type(1);
  if (!may_be_all) return out.in(1);
  if (known != nullptr) return known->elements() == 0 ? all_axes(out) : out.in(1);
  if (given.ranked && given.rank() == 1 && given.dims[0].is_constant())
    return given.dims[0].value() == 0 ? all_axes(out) : out.in(1);
  return axes_or_all(out);
}

/// log(sum(exp(x - m))) + m, with the greatest element for m where that is a number.
void write_log_sum_exp(NodeWriter& out, Output axes) {
  const DType dtype = out.dtype();
  const Data kept{{"keep_dims", "true"}};
  const Output x = out.in(0), greatest = out.layer("ReduceMax", 1, {x, axes}, dtype, kept);
  const Output is_finite = out.layer("IsFinite", 10, {greatest}, DType::boolean);
  const Output m = out.layer("Select", 1, {is_finite, greatest, out.scalar(0, dtype)}, dtype);
  const Output powers = out.layer("Exp", 1, {out.binary("Subtract", x, m, dtype)}, dtype);
  const Output sum = out.layer("ReduceSum", 1, {powers, axes}, dtype, kept);
  const Output result = out.binary("Add", out.layer("Log", 1, {sum}, dtype), m, dtype);
  if (out.flag("keepdims")) return out.set(result);
  out.set(out.layer("Squeeze", 1, {result, axes}, dtype));
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
  struct Reduction {
    const char* type;
    int opset;
  };
  static const std::map<std::string, Reduction, std::less<>> kReductions = {
      {"sum", {"ReduceSum", 1}}, {"mean", {"ReduceMean", 1}}, {"max", {"ReduceMax", 1}},
      {"min", {"ReduceMin", 1}}, {"prod", {"ReduceProd", 1}}, {"l1", {"ReduceL1", 4}},
      {"l2", {"ReduceL2", 4}}};
  const DType dtype = out.dtype();
  const Data data{{"keep_dims", out.flag("keepdims") ? "true" : "false"}};
  const std::string& kind = out.text("kind");
  if (dtype == DType::boolean && (kind == "max" || kind == "min"))
    return out.set(out.layer(kind == "max" ? "ReduceLogicalOr" : "ReduceLogicalAnd", 1,
                             {out.in(0), axes_of(out)}, dtype, data));
  const auto reduced = [&](const Reduction& by, Output x) {
    return out.layer(by.type, by.opset, {x, axes_of(out)}, dtype, data);
  };
  if (const auto found = kReductions.find(kind); found != kReductions.end())
    return out.set(reduced(found->second, out.in(0)));
  if (kind == "sum_square")
    return out.set(reduced({"ReduceSum", 1}, out.binary("Multiply", out.in(0), out.in(0), dtype)));
  if (kind == "log_sum")
    return out.set(out.layer("Log", 1, {reduced({"ReduceSum", 1}, out.in(0))}, dtype));
  write_log_sum_exp(out, axes_of(out));
}

/// A loop along the axis, which carries the product so far.
void write_cumprod(NodeWriter& out) {
  const tensor::Tensor* const known = out.constant_in(1);
  const tensor::Type& x = out.type(0);
  if (known == nullptr || !x.ranked) return out.refuse("its axis is computed");
  const std::int64_t given = tensor::to_integers(*known)->front();
  const std::int64_t axis = given < 0 ? given + x.rank() : given;
  const Output sizes = out.shape_of(out.in(0));
  const auto part = [&](std::int64_t start, std::int64_t stop) {
    return out.slice(sizes, 0, out.list({start}), out.list({stop}), 1, DType::i64);
  };
  const Output row =
      out.concat({part(0, axis), out.list({1}), part(axis + 1, tensor::kMaxRank)}, 0, DType::i64);
  const Output ones = out.broadcast(out.scalar(1, x.dtype), row, x.dtype);
  out.set(write_running(out, {"Multiply", axis, out.flag("reverse"), out.flag("exclusive")}, ones));
}

void write_softmax(NodeWriter& out) {
  const bool is_log = out.node().op->name == "log_softmax";
  out.set(out.layer(is_log ? "LogSoftmax" : "Softmax", is_log ? 5 : 8, {out.in(0)}, out.dtype(),
                    {{"axis", std::to_string(out.integer("axis"))}}));
}

}  // namespace scanloom::exporters::openvino
