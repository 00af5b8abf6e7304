// Forms of operators along axes: reductions, products, cumulative operators, determinants.
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "exporters/onnx/forms.h"
#include "exporters/onnx/model_writer.h"
#include "ops/ops.h"

namespace scanloom::exporters::onnx::forms {
namespace {

const std::map<std::string, const char*, std::less<>> kReductions = {
    {"sum", "ReduceSum"},        {"mean", "ReduceMean"},
    {"max", "ReduceMax"},        {"min", "ReduceMin"},
    {"prod", "ReduceProd"},      {"sum_square", "ReduceSumSquare"},
    {"l1", "ReduceL1"},          {"l2", "ReduceL2"},
    {"log_sum", "ReduceLogSum"}, {"log_sum_exp", "ReduceLogSumExp"}};

/// Returns the type in which ONNX sums and multiplies these elements: integers of at least 32 bits,
/// which give the same result when narrowed again.
DType summed_in(DType dtype) {
  if (!is_integer(dtype) || dtype_bytes(dtype) >= 4) return dtype;
  return DType::i32;
}

/// Writes `type` in the element type `wide` and casts the result back to the node's own type.
void finish_in(NodeEmitter& node, DType wide, const char* type, const Attributes& attributes,
               std::size_t operands) {
  const DType dtype = node.dtype();
  if (wide == dtype) return node.finish(type, attributes);
  for (std::size_t i = 0; i < operands; ++i) node.set_in(i, node.cast(node.in(i), wide));
  const std::string made = node.op(type, node.inputs(), attributes);
  node.emit("Cast", {made}, node.outputs(),
            {attribute("to", std::int64_t{dtype_onnx_number(dtype)})});
}

/// A matrix product, either of whose operands may be transposed.
struct TransposedProduct {
  bool is_transposed[2] = {false, false};
};

/// Recognises specifications like "...ik,...jk->...ij" on operands of rank 2 or more. MatMul is
/// faster than Einsum and accepts operands of any rank.
std::optional<TransposedProduct> transposed_product(const NodeEmitter& node) {
  constexpr std::string_view kDots = "...";
  constexpr std::size_t kPart = 5;  // three dots and two letters
  const std::string_view spec = node.attr("spec").text();
  if (spec.size() != 3 * kPart + 3 || node.inputs().size() != 2) return std::nullopt;
  const std::string_view parts[] = {spec.substr(0, kPart), spec.substr(kPart + 1, kPart),
                                    spec.substr(2 * kPart + 3)};
  for (const std::string_view part : parts)
    if (!part.starts_with(kDots)) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i)
    if (!node.in_type(i).ranked || node.in_type(i).rank() < 2) return std::nullopt;
  const std::string_view left = parts[0].substr(3), right = parts[1].substr(3),
                         result = parts[2].substr(3);
  const char row = result[0], column = result[1];
  if (left.find(row) > 1 || right.find(column) > 1 || row == column) return std::nullopt;
  const char summed = left[0] == row ? left[1] : left[0];
  if (summed == row || summed == column) return std::nullopt;
  const std::string straight{summed, column}, turned{column, summed};
  if (right != straight && right != turned) return std::nullopt;
  return TransposedProduct{{left[0] != row, right == turned}};
}

std::string with_last_axes_exchanged(NodeEmitter& node, const std::string& x, int rank) {
  std::vector<std::int64_t> order;
  for (std::int64_t axis = 0; axis < rank; ++axis) order.push_back(axis);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return node.transpose(x, order);
}

}  // namespace

void contract(NodeEmitter& node) {
  const std::string& spec = node.attr("spec").text();
  if (spec.empty()) return finish_in(node, summed_in(node.dtype()), "MatMul", {}, 2);
  if (const auto product = transposed_product(node)) {
    for (std::size_t i = 0; i < 2; ++i)
      if (product->is_transposed[i])
        node.set_in(i, with_last_axes_exchanged(node, node.in(i), node.in_type(i).rank()));
    return finish_in(node, summed_in(node.dtype()), "MatMul", {}, 2);
  }
  // Before version 28 Einsum accepts all numbers except bf16; sums are f32 in any case.
  const DType wide = node.dtype() == DType::bf16 ? DType::f32 : node.dtype();
  finish_in(node, wide, "Einsum", {attribute("equation", spec)}, node.inputs().size());
}

/// Writes a Scan along the axis if it is known; there is an operator only since opset 26.
void cumprod(NodeEmitter& node) {
  const tensor::Type& whole = node.in_type(0);
  const tensor::Tensor* const given = node.known(1);
  const auto axis = given == nullptr ? std::nullopt : tensor::to_integers(*given);
  if (!axis || axis->empty() || !whole.ranked) {
    node.need_opset(26);
    return node.finish("CumProd", node.attributes());
  }
  const std::int64_t at = axis->front() < 0 ? axis->front() + whole.rank() : axis->front();
  tensor::Type row = whole;
  row.dims.erase(row.dims.begin() + at);
  ModelWriter& model = node.model();
  const tensor::DimTable& dims = model.module().dims;
  GraphWriter body(model.parts());
  Emitter inside(model, body, node.label());
  const std::string before = node.fresh(), next = node.fresh();
  body.input(before, row, dims);
  body.input(next, row, dims);
  const std::string product = inside.op("Mul", {before, next});
  body.output(product, row, dims);
  const bool is_exclusive = node.attr("exclusive").integer() != 0;
  body.output(inside.op("Identity", {is_exclusive ? before : product}), row, dims);
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i < whole.rank(); ++i)
    if (i != at) others.push_back(i);
  const std::string sizes = node.op("Gather", {node.shape(node.in(0)), node.list(others)});
  const std::string ones = node.op("Expand", {node.number(1, whole.dtype), sizes});
  const std::vector<std::int64_t> axes{at}, directions{node.attr("reverse").integer() != 0};
  node.emit("Scan", {ones, node.in(0)}, {node.fresh(), node.out()},
            {attribute("body", body), attribute("num_scan_inputs", std::int64_t{1}),
             attribute("scan_input_axes", axes), attribute("scan_output_axes", axes),
             attribute("scan_input_directions", directions),
             attribute("scan_output_directions", directions)});
}

void cumsum(NodeEmitter& node) {
  if (!(node.in_type(1).ranked && node.in_type(1).rank() == 0))
    node.set_in(1, node.scalar(node.in(1)));
  finish_in(node, summed_in(node.dtype()), "CumSum", node.attributes(), 1);
}

/// Writes the determinant of the factored matrix. ONNX has no operator for its sign and logarithm.
void lu_det(NodeEmitter& node) {
  const ir::Module& module = node.model().module();
  const ir::NodeId factors = module.value(node.node().inputs[0]).producer;
  const bool is_known = factors.valid() && module.node(factors).op == &ops::lu_factor_op;
  if (!is_known || node.is_read(1) || node.is_read(2)) return node.refuse();
  node.emit("Det", {node.model().name(module.node(factors).inputs[0])}, {node.out()});
}

/// Only determinants may read it, since they use the matrix itself.
void lu_factor(NodeEmitter& node) {
  const ir::Module& module = node.model().module();
  std::uint32_t read_by_det = 0;
  for (const ir::NodeId id : module.region(node.node().parent).nodes) {
    const ir::Node& reader = module.node(id);
    if (reader.op != &ops::lu_det_op) continue;
    for (const ir::ValueId output : node.node().outputs)
      read_by_det += static_cast<std::uint32_t>(std::ranges::count(reader.inputs, output));
  }
  std::uint32_t read = 0;
  for (const ir::ValueId output : node.node().outputs) read += node.model().uses(output);
  if (read != read_by_det) node.refuse();
}

void reduce(NodeEmitter& node) {
  const std::string& kind = node.attr("kind").text();
  Attributes attributes{node.attribute_as("keepdims", "keepdims")};
  const tensor::Attr& empty_is_all = node.attr("empty_is_all");
  if (!node.has(1) && node.attr("axes").present())
    node.add_input(node.list(node.attr("axes").integers()));
  if (node.has(1) && !(empty_is_all.present() && empty_is_all.integer() != 0))
    attributes.push_back(attribute("noop_with_empty_axes", std::int64_t{1}));
  const DType dtype = node.dtype();
  const bool is_min_max = kind == "max" || kind == "min";
  const bool has_form = is_min_max && (dtype == DType::i8 || dtype == DType::u8);
  if (is_min_max && dtype == DType::boolean) node.need_opset(20);
  finish_in(node, has_form ? dtype : summed_in(dtype), kReductions.at(kind), attributes, 1);
}

/// Sums over the axes whose sizes differ from the wanted ones, aligned at the last axis.
void sum_to(NodeEmitter& node) {
  const int extra = node.in_type(0).rank() - node.out_type().rank();
  const std::string &x = node.in(0), &wanted = node.in(1);
  const std::string ones = node.list(std::vector<std::int64_t>(static_cast<std::size_t>(extra), 1));
  const std::string same = node.op("Equal", {node.shape(x), node.join({ones, wanted})});
  const std::string axes =
      node.op("Squeeze", {node.op("NonZero", {node.op("Not", {same})}), node.list({0})});
  const std::string sum =
      node.op("ReduceSum", {x, axes}, {attribute("noop_with_empty_axes", std::int64_t{1})});
  node.emit("Reshape", {sum, wanted}, node.outputs());
}

void topk(NodeEmitter& node) {
  node.take_as_i64(1);
  if (!(node.in_type(1).ranked && node.in_type(1).rank() == 1))
    node.set_in(1, node.one_element_list(node.in(1)));
  node.finish("TopK", node.attributes());
}

}  // namespace scanloom::exporters::onnx::forms
