// Products, reductions and what else sums along axes.
#include <map>

#include "exporters/openvino/forms.h"
#include "exporters/openvino/ops/forms.h"

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

Output axes_of(NodeWriter& out) {
  if (out.attr("axes").present()) return out.list(out.attr("axes").integers());
  return out.has(1) ? out.in(1) : all_axes(out);
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
  const auto reduced = [&](const Reduction& by, Output x) {
    return out.layer(by.type, by.opset, {x, axes_of(out)}, dtype, data);
  };
  if (const auto found = kReductions.find(kind); found != kReductions.end())
    return out.set(reduced(found->second, out.in(0)));
  if (kind == "sum_square")
    return out.set(reduced({"ReduceSum", 1}, out.binary("Multiply", out.in(0), out.in(0), dtype)));
  if (kind == "log_sum")
    return out.set(out.layer("Log", 1, {reduced({"ReduceSum", 1}, out.in(0))}, dtype));
  out.refuse(kind + " has no form in an IR");
}

void write_softmax(NodeWriter& out) {
  const bool is_log = out.node().op->name == "log_softmax";
  out.set(out.layer(is_log ? "LogSoftmax" : "Softmax", is_log ? 5 : 8, {out.in(0)}, out.dtype(),
                    {{"axis", std::to_string(out.integer("axis"))}}));
}

}  // namespace scanloom::exporters::openvino
