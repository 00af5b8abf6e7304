// Computes products and convolutions of dequantized bytes as products of integers, and takes in the
// steps that follow: scaling, adding a bias, and quantizing again. Sums of integers are exact, so a
// result differs from that of the nodes one by one by the rounding of their sums; docs/numbers.md
// says by how much. A scale or a bias after an integer product is taken in with the same bits.
// Products of f32 with large dequantized weights become products with the quantized ones, which
// then take as much memory as in the file: the same numbers, summed in the same order.
//
// It runs before simplify_contract, while products have their plain forms, and before the passes
// that dequantize constants.
#include <cmath>
#include <limits>

#include "ops/ops.h"
#include "ops/quantize/column_weights.h"
#include "passes/nodes/quantized_moves.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Node;
using ir::ValueId;

// Sums of fewer products of differences of bytes fit in 32 bits.
constexpr std::int64_t kMaxSummed = 32'768;
constexpr std::size_t kIntegerScale = 4, kIntegerBias = 5, kIntegerZero = 6;

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

bool has_one_element(const ir::Type& type) {
  return type.ranked && (type.rank() == 0 || (type.rank() == 1 && type.dims[0] == ir::Dim(1)));
}

/// A parameter of dequantize_linear that is absent or has one element.
bool is_single_or_absent(Rewriter& rewriter, const Node& node, std::size_t i) {
  return node.inputs.size() <= i || !node.inputs[i].valid() ||
         has_one_element(rewriter.type(node.inputs[i]));
}

ValueId operand_or_none(const Node& node, std::size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : ValueId();
}

/// Returns the node that dequantizes bytes to this f32 value, by scales in f32; otherwise nullptr.
const Node* bytes_of(Rewriter& rewriter, ValueId value) {
  if (!value.valid() || rewriter.type(value).dtype != DType::f32) return nullptr;
  const Node* node = made_by(rewriter.module(), value, ops::dequantize_linear_op);
  if (node == nullptr || !rewriter.type(value).ranked) return nullptr;
  const ir::Type& scale = rewriter.type(node->inputs[1]);
  const bool fits = is_byte(rewriter.type(node->inputs[0]).dtype) && scale.dtype == DType::f32 &&
                    scale.ranked && scale.rank() <= 1;
  return fits ? node : nullptr;
}

bool is_quantized_per_tensor(Rewriter& rewriter, const Node& node) {
  return is_single_or_absent(rewriter, node, 1) && is_single_or_absent(rewriter, node, 2);
}

/// Whether the parameters are single or belong to this axis of the operand.
bool is_quantized_along(Rewriter& rewriter, const Node& node, int axis) {
  if (is_quantized_per_tensor(rewriter, node)) return true;
  const std::int64_t given = attr_of(node, "axis").integer();
  const int rank = rewriter.type(node.inputs[0]).rank();
  return (given < 0 ? given + rank : given) == axis;
}

/// Counts the reads of values, also of those that the pass makes.
class Reads {
 public:
  explicit Reads(const ir::Module& module) : counts_(ir::count_uses(module)) {}

  /// Whether the value is read once.
  [[nodiscard]] bool once(ValueId value) const {
    return value.index < counts_.size() && counts_[value.index] == 1;
  }
  /// `to` is read where `from` was.
  void replaced(ValueId from, ValueId to) {
    if (to.index >= counts_.size()) counts_.resize(to.index + 1);
    counts_[to.index] = from.index < counts_.size() ? counts_[from.index] : 0;
  }

 private:
  std::vector<std::uint32_t> counts_;
};

/// Returns the integer product that makes a value which nothing else reads; otherwise nullptr.
const Node* only_product(Rewriter& rewriter, const Reads& reads, ValueId value) {
  const Node* node = made_by(rewriter.module(), value, ops::integer_matmul_op);
  return node != nullptr && reads.once(value) ? node : nullptr;
}

/// Returns a scale or a bias as integer_matmul takes it: a single number, or one per column of the
/// product. Invalid if it has another shape.
Expected<ValueId> per_column(Rewriter& rewriter, ValueId value, const ir::Type& product) {
  const ir::Type& type = rewriter.type(value);
  if (!type.ranked || type.rank() > product.rank()) return ValueId();
  if (type.rank() == 0) return value;
  for (int axis = 0; axis + 1 < type.rank(); ++axis)
    if (type.dims[static_cast<std::size_t>(axis)] != ir::Dim(1)) return ValueId();
  if (type.dims.back() != ir::Dim(1) && type.dims.back() != product.dims.back()) return ValueId();
  if (type.rank() == 1) return value;
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis + 1 < type.rank(); ++axis) axes.push_back(axis);
  return rewriter.build().op(ops::squeeze_op, {value}, {{"axes", std::move(axes)}});
}

/// Which axis of an operand is summed, by the specification of a product of matrices.
struct PlainProduct {
  bool transposes_a = false, transposes_b = false;
};
std::optional<PlainProduct> plain_product(const Node& node, int a_rank, int b_rank) {
  const std::string& spec = node.attrs[0].text();
  if (a_rank < 2 || b_rank < 2) return std::nullopt;
  if (spec.empty()) return PlainProduct{};
  if (spec == "mk,kn->mn") return PlainProduct{};
  if (spec == "mk,nk->mn") return PlainProduct{.transposes_b = true};
  if (spec == "km,kn->mn") return PlainProduct{.transposes_a = true};
  if (spec == "km,nk->mn") return PlainProduct{.transposes_a = true, .transposes_b = true};
  return std::nullopt;
}

Expected<ValueId> transposed_if(Rewriter& rewriter, bool transposes, ValueId value) {
  if (!transposes) return value;
  return rewriter.build().op(ops::transpose_op, {value},
                             {{"perm", std::vector<std::int64_t>{1, 0}}});
}

/// Bytes and their zero point (invalid: 0), of which the difference is taken in i32.
struct CentredBytes {
  ValueId x, zero;
};

/// Returns the bytes that are cast to i32; invalid if it is something else.
ValueId bytes_cast_to(Rewriter& rewriter, ValueId value) {
  const Node* const cast = made_by(rewriter.module(), value, ops::cast_op);
  return cast != nullptr && is_byte(rewriter.type(cast->inputs[0]).dtype) ? cast->inputs[0]
                                                                          : ValueId();
}

/// Returns the bytes whose difference from a zero point is this i32 matrix, if integer_matmul takes
/// them; x is invalid otherwise. `per_column`: the zero point may have one element per column.
CentredBytes centred_bytes(Rewriter& rewriter, ValueId value, bool per_column) {
  CentredBytes bytes;
  if (const Node* const less = made_by(rewriter.module(), value, ops::sub_op); less != nullptr) {
    bytes = {bytes_cast_to(rewriter, less->inputs[0]), bytes_cast_to(rewriter, less->inputs[1])};
    if (!bytes.x.valid() || !bytes.zero.valid()) return {};
    const ir::Type &x = rewriter.type(bytes.x), &zero = rewriter.type(bytes.zero);
    const bool is_row =
        per_column && x.ranked && zero.ranked && zero.rank() == 1 && zero.dims[0] == x.dims.back();
    if (x.dtype != zero.dtype || (!is_row && !has_one_element(zero))) return {};
  } else {
    bytes.x = bytes_cast_to(rewriter, value);
  }
  const bool is_matrix =
      bytes.x.valid() && rewriter.type(bytes.x).ranked && rewriter.type(bytes.x).rank() >= 2;
  return is_matrix ? bytes : CentredBytes{};
}

/// A product of two matrices of differences of bytes, in i32: same bits.
Expected<ValueId> product_of_centred_bytes(Rewriter& rewriter, const Node& node) {
  if (rewriter.type(node.outputs[0]).dtype != DType::i32) return ValueId();
  const CentredBytes a = centred_bytes(rewriter, node.inputs[0], false),
                     b = centred_bytes(rewriter, node.inputs[1], true);
  if (!a.x.valid() || !b.x.valid()) return ValueId();
  const auto form = plain_product(node, rewriter.type(a.x).rank(), rewriter.type(b.x).rank());
  const bool is_single = !b.zero.valid() || has_one_element(rewriter.type(b.zero));
  if (!form || (form->transposes_b && !is_single)) return ValueId();
  SCANLOOM_TRY(const ValueId left, transposed_if(rewriter, form->transposes_a, a.x));
  SCANLOOM_TRY(const ValueId right, transposed_if(rewriter, form->transposes_b, b.x));
  return rewriter.build().op(ops::integer_matmul_op, {left, right, a.zero, b.zero});
}

/// A product of two dequantized matrices: a product of bytes, times both scales.
Expected<ValueId> product_of_bytes(Rewriter& rewriter, const Node& node) {
  const Node* const a = bytes_of(rewriter, node.inputs[0]);
  const Node* const b = bytes_of(rewriter, node.inputs[1]);
  if (a == nullptr || b == nullptr) return ValueId();
  const ir::Type &a_type = rewriter.type(a->inputs[0]), &b_type = rewriter.type(b->inputs[0]);
  const auto form = plain_product(node, a_type.rank(), b_type.rank());
  if (!form) return ValueId();
  const int columns = form->transposes_b ? b_type.rank() - 2 : b_type.rank() - 1;
  const ir::Dim depth = b_type.dims[static_cast<std::size_t>(2 * b_type.rank() - 3 - columns)];
  if (!depth.is_constant() || depth.value() >= kMaxSummed) return ValueId();
  if (!is_quantized_per_tensor(rewriter, *a) || !is_quantized_along(rewriter, *b, columns))
    return ValueId();
  const std::vector<ValueId> of_a = a->inputs, of_b = b->inputs;  // adding nodes moves nodes
  const Node zeros_of_a = *a, zeros_of_b = *b;
  SCANLOOM_TRY(const ValueId left, transposed_if(rewriter, form->transposes_a, of_a[0]));
  SCANLOOM_TRY(const ValueId right, transposed_if(rewriter, form->transposes_b, of_b[0]));
  SCANLOOM_TRY(const ValueId scale, rewriter.build().op(ops::mul_op, {of_a[1], of_b[1]}));
  return rewriter.build().op(ops::integer_matmul_op, {left, right, operand_or_none(zeros_of_a, 2),
                                                      operand_or_none(zeros_of_b, 2), scale});
}

/// Smaller weights are dequantized when the model is loaded: they stay in the L2 cache.
constexpr std::int64_t kMinQuantizedWeights = std::int64_t{1} << 16;

/// The weights of a product, one row per column of the result if `by_rows`.
struct ProductWeights {
  ValueId value;
  bool by_rows = false;
};

std::optional<ProductWeights> large_weights(Rewriter& rewriter, const Node& node) {
  const ir::Type &x = rewriter.type(node.inputs[0]), &w = rewriter.type(node.inputs[1]);
  if (!x.ranked || x.rank() < 1 || x.dtype != DType::f32 || !w.is_static() || w.rank() != 2 ||
      w.shape().elements() < kMinQuantizedWeights)
    return std::nullopt;
  const std::string& spec = node.attrs[0].text();
  if (spec == "mk,nk->mn") return ProductWeights{node.inputs[1], true};
  if (!spec.empty() && spec != "mk,kn->mn") return std::nullopt;
  const Node* const transpose = made_by(rewriter.module(), node.inputs[1], ops::transpose_op);
  if (transpose == nullptr ||
      order_of(rewriter.module(), *transpose) != std::vector<std::int64_t>{1, 0})
    return ProductWeights{node.inputs[1], false};
  return ProductWeights{transpose->inputs[0], true};
}

bool has_up_to_8_bits(DType dtype) {
  return dtype == DType::u8 || dtype == DType::i8 || dtype == DType::u4 || dtype == DType::i4;
}

/// Constant weights with a scale, or one for each column of the product.
std::optional<ops::ColumnWeights> column_weights(Rewriter& rewriter,
                                                 const ProductWeights& weights) {
  const ir::Module& module = rewriter.module();
  const Node* const node = made_by(module, weights.value, ops::dequantize_linear_op);
  if (node == nullptr || !is_quantized_along(rewriter, *node, weights.by_rows ? 0 : 1))
    return std::nullopt;
  const ValueId zeros = operand_or_none(*node, 2);
  const ops::ColumnWeights found{.numbers = constant_of(module, node->inputs[0]),
                                 .scales = constant_of(module, node->inputs[1]),
                                 .zeros = zeros.valid() ? constant_of(module, zeros) : nullptr,
                                 .by_rows = weights.by_rows};
  const bool fits = found.numbers != nullptr && has_up_to_8_bits(found.numbers->dtype()) &&
                    found.scales != nullptr && found.scales->dtype() == DType::f32 &&
                    (!zeros.valid() || found.zeros != nullptr);
  return fits ? std::optional(found) : std::nullopt;
}

/// A product with weights that stay quantized: same bits.
Expected<ValueId> product_of_blocks(Rewriter& rewriter, const Node& node) {
  const auto weights = large_weights(rewriter, node);
  if (!weights) return ValueId();
  ir::Builder& build = rewriter.build();
  std::vector<ValueId> operands = {node.inputs[0]};
  const Node* const blocks = made_by(rewriter.module(), weights->value, ops::dequantize_blocks_op);
  if (blocks != nullptr && weights->by_rows) {
    operands.insert(operands.end(), blocks->inputs.begin(), blocks->inputs.end());
    return build.op(ops::matmul_nbits_op, std::move(operands), attrs_of(*blocks));
  }
  const auto columns = column_weights(rewriter, *weights);
  if (!columns) return ValueId();
  SCANLOOM_TRY(ops::BlockWeights made, ops::in_blocks(*columns));
  for (tensor::Tensor* const tensor : {&made.bytes, &made.scales, &made.zeros})
    operands.push_back(build.constant(std::move(*tensor)));
  return build.op(
      ops::matmul_nbits_op, std::move(operands),
      {{"bits", made.format.bits}, {"block", made.format.block}, {"size", made.format.size}});
}

/// A product of matrices whose operands are dequantized.
Expected<ValueId> product(Rewriter& rewriter, const Node& node) {
  SCANLOOM_TRY(const ValueId sums, product_of_centred_bytes(rewriter, node));
  if (sums.valid()) return sums;
  SCANLOOM_TRY(const ValueId of_bytes, product_of_bytes(rewriter, node));
  return of_bytes.valid() ? of_bytes : product_of_blocks(rewriter, node);
}

/// The node with more operands.
Expected<ValueId> with_operands(Rewriter& rewriter, Node product,
                                std::initializer_list<std::pair<std::size_t, ValueId>> operands) {
  for (const auto& [i, value] : operands) {
    if (product.inputs.size() <= i) product.inputs.resize(i + 1);
    product.inputs[i] = value;
  }
  return rewriter.build().op(ops::integer_matmul_op, std::move(product.inputs));
}

/// The sums of an integer product as f32, times a scale: same bits.
Expected<ValueId> scaled_product(Rewriter& rewriter, const Reads& reads, const Node& node) {
  for (const std::size_t i : {0, 1}) {
    const Node* cast = made_by(rewriter.module(), node.inputs[i], ops::cast_op);
    if (cast == nullptr || !reads.once(node.inputs[i]) ||
        rewriter.type(node.inputs[i]).dtype != DType::f32)
      continue;
    const Node* product = only_product(rewriter, reads, cast->inputs[0]);
    const ir::Type& type = rewriter.type(cast->inputs[0]);
    if (product == nullptr || type.dtype != DType::i32 || !type.ranked) continue;
    const Node sums = *product;
    SCANLOOM_TRY(const ValueId scale, per_column(rewriter, node.inputs[1 - i], ir::Type(type)));
    if (scale.valid()) return with_operands(rewriter, sums, {{kIntegerScale, scale}});
  }
  return ValueId();
}

/// A scaled product plus a bias, or the sums plus a bias of integers: same bits.
Expected<ValueId> biased_product(Rewriter& rewriter, const Reads& reads, const Node& node) {
  for (const std::size_t i : {0, 1}) {
    const Node* product = only_product(rewriter, reads, node.inputs[i]);
    const ir::Type& type = rewriter.type(node.inputs[i]);
    if (product == nullptr || !type.ranked ||
        (type.dtype != DType::f32 && type.dtype != DType::i32) ||
        operand_or_none(*product, kIntegerBias).valid())
      continue;
    const Node scaled = *product;
    SCANLOOM_TRY(const ValueId bias, per_column(rewriter, node.inputs[1 - i], ir::Type(type)));
    if (bias.valid()) return with_operands(rewriter, scaled, {{kIntegerBias, bias}});
  }
  return ValueId();
}

bool is_minimum(const tensor::Tensor* zero) {
  if (zero == nullptr || zero->elements() != 1) return false;
  return zero->dtype() == DType::u8 ? zero->as<std::uint8_t>()[0] == 0
                                    : zero->as<std::int8_t>()[0] == -128;
}

/// Returns what is quantized, without a relu that changes nothing: numbers below 0 become the zero
/// point, which is the least number, in any case.
ValueId quantized_operand(Rewriter& rewriter, const Reads& reads, const Node& node) {
  const ValueId given = node.inputs[0];
  if (!reads.once(given)) return ValueId();
  const Node* relu = made_by(rewriter.module(), given, ops::relu_op);
  if (relu == nullptr) return given;
  const bool drops = is_minimum(constant_of(rewriter.module(), operand_or_none(node, 2)));
  return drops && reads.once(relu->inputs[0]) ? relu->inputs[0] : ValueId();
}

/// A scaled product that is quantized.
Expected<ValueId> quantized_product(Rewriter& rewriter, const Node& node, const Node& product) {
  if (rewriter.type(product.outputs[0]).dtype != DType::f32 ||
      operand_or_none(product, kIntegerZero).valid())
    return ValueId();
  const Node given = product;
  ir::Builder& build = rewriter.build();
  SCANLOOM_TRY(const ValueId scale,
               build.op(ops::div_op, {given.inputs[kIntegerScale], node.inputs[1]}));
  ValueId bias = operand_or_none(given, kIntegerBias);
  if (bias.valid() && rewriter.type(bias).dtype == DType::f32) {
    SCANLOOM_TRY(bias, build.op(ops::div_op, {bias, node.inputs[1]}));
  }
  return with_operands(
      rewriter, given,
      {{kIntegerScale, scale}, {kIntegerBias, bias}, {kIntegerZero, node.inputs[2]}});
}

/// Returns the i32 bias of a convolution in units of the product of the scales; nullopt if it is
/// something else.
std::optional<ValueId> bias_in_units(Rewriter& rewriter, ValueId bias, ValueId x_scale,
                                     ValueId w_scale) {
  const ir::Module& module = rewriter.module();
  const Node* node = made_by(module, bias, ops::dequantize_linear_op);
  if (node == nullptr || rewriter.type(node->inputs[0]).dtype != DType::i32) return std::nullopt;
  const auto* const zero = constant_of(module, operand_or_none(*node, 2));
  if (operand_or_none(*node, 2).valid()) {
    if (zero == nullptr) return std::nullopt;
    for (std::int64_t i = 0; i < zero->elements(); ++i)
      if (zero->as<std::int32_t>()[i] != 0) return std::nullopt;
  }
  const auto *own = constant_of(module, node->inputs[1]), *x = constant_of(module, x_scale),
             *w = constant_of(module, w_scale);
  if (own == nullptr || x == nullptr || w == nullptr || own->dtype() != DType::f32)
    return std::nullopt;
  const std::int64_t count = std::max(own->elements(), w->elements());
  if (own->elements() != count && own->elements() != 1) return std::nullopt;
  if (w->elements() != count && w->elements() != 1) return std::nullopt;
  constexpr float kRelative = 4 * std::numeric_limits<float>::epsilon();
  for (std::int64_t i = 0; i < count; ++i) {
    const float unit = x->as<float>()[0] * w->as<float>()[w->elements() == 1 ? 0 : i];
    const float given = own->as<float>()[own->elements() == 1 ? 0 : i];
    if (!(std::abs(unit - given) <= kRelative * std::abs(unit))) return std::nullopt;
  }
  return node->inputs[0];
}

Expected<ValueId> zero_or_0(Rewriter& rewriter, const Node& dequantized) {
  if (operand_or_none(dequantized, 2).valid()) return dequantized.inputs[2];
  SCANLOOM_TRY(tensor::Tensor zero,
               tensor::Tensor::zeros(rewriter.type(dequantized.inputs[0]).dtype, {}));
  return rewriter.build().constant(std::move(zero));
}

/// A convolution of dequantized bytes that is quantized.
Expected<ValueId> quantized_conv(Rewriter& rewriter, const Node& node, ValueId sums) {
  const Node* const found = made_by(rewriter.module(), sums, ops::conv_op);
  if (found == nullptr) return ValueId();
  const Node conv = *found;
  const Node *x = bytes_of(rewriter, conv.inputs[0]), *w = bytes_of(rewriter, conv.inputs[1]);
  if (x == nullptr || w == nullptr || !is_quantized_per_tensor(rewriter, *x) ||
      !is_quantized_along(rewriter, *w, 0))
    return ValueId();
  ValueId bias = operand_or_none(conv, 2);
  if (bias.valid()) {
    const auto integers = bias_in_units(rewriter, bias, x->inputs[1], w->inputs[1]);
    if (!integers) return ValueId();
    bias = *integers;
  }
  const Node of_x = *x, of_w = *w;
  SCANLOOM_TRY(const ValueId x_zero, zero_or_0(rewriter, of_x));
  SCANLOOM_TRY(const ValueId w_zero, zero_or_0(rewriter, of_w));
  return rewriter.build().op(ops::qlinear_conv_op,
                             {of_x.inputs[0], of_x.inputs[1], x_zero, of_w.inputs[0],
                              of_w.inputs[1], w_zero, node.inputs[1], node.inputs[2], bias},
                             attrs_of(conv));
}

Expected<ValueId> quantized(Rewriter& rewriter, const Reads& reads, const Node& node) {
  const ValueId zero = operand_or_none(node, 2);
  if (!zero.valid() || !is_byte(rewriter.type(zero).dtype) ||
      rewriter.type(node.inputs[1]).dtype != DType::f32 || !is_quantized_per_tensor(rewriter, node))
    return ValueId();
  SCANLOOM_TRY(const ValueId moved,
               moved_bytes(rewriter, [&](ValueId value) { return reads.once(value); }, node));
  if (moved.valid()) return moved;
  const ValueId given = quantized_operand(rewriter, reads, node);
  if (!given.valid() || rewriter.type(given).dtype != DType::f32) return ValueId();
  if (const Node* const product = only_product(rewriter, reads, given))
    return quantized_product(rewriter, node, *product);
  return quantized_conv(rewriter, node, given);
}

Expected<ValueId> fused(Rewriter& rewriter, const Reads& reads, const Node& node) {
  if (node.op == &ops::contract_op) return product(rewriter, node);
  if (node.op == &ops::mul_op) return scaled_product(rewriter, reads, node);
  if (node.op == &ops::add_op) return biased_product(rewriter, reads, node);
  if (node.op == &ops::quantize_linear_op) return quantized(rewriter, reads, node);
  return ValueId();
}

}  // namespace

Expected<Change> fuse_quantized(ir::Module& module) {
  Reads reads(module);
  return Rewriter(module).sweep([&](Rewriter& rewriter, ir::NodeId id) -> Expected<bool> {
    const Node node = rewriter.module().node(id);  // by value: adding nodes may move it
    SCANLOOM_TRY(const ValueId value, fused(rewriter, reads, node));
    if (!value.valid()) return false;
    reads.replaced(node.outputs[0], value);
    rewriter.replace(node.outputs[0], value);
    return true;
  });
}

}  // namespace scanloom::passes
