// Rewrites equivalent forms into one, so that every later pass and kernel has to know only one. It
// runs before folding and merging, which find more once equal things look equal.
#include <algorithm>

#include "ops/ops.h"
#include "passes/analysis/body_kinds.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Node;
using ir::Type;
using ir::ValueId;

/// The replacement of a node's only result; kStays: the node stays.
using Replacement = Expected<ValueId>;
constexpr ValueId kStays;

bool operand_absent(const Node& node, std::size_t i) {
  return i >= node.inputs.size() || !node.inputs[i].valid();
}

Replacement first_operand(Rewriter&, const Node& node) { return node.inputs[0]; }

/// f(f(x)) is x: neg, bit_not, logical_not.
Replacement twice_is_nothing(Rewriter& rewriter, const Node& node) {
  const Node* inner = made_by(rewriter.module(), node.inputs[0], *node.op);
  if (inner == nullptr) return kStays;
  return inner->inputs[0];
}

/// Bits of fraction and greatest exponent; 0 for types that are not such floating-point types.
struct RealRange {
  int fraction = 0, exponent = 0;
};

RealRange real_range(DType dtype) {
  if (dtype == DType::f16) return {10, 15};
  if (dtype == DType::bf16) return {7, 127};
  if (dtype == DType::f32) return {23, 127};
  if (dtype == DType::f64) return {52, 1023};
  return {};
}

/// Whether every value of `from` is a value of `to`: signed integers in wider signed ones,
/// floating-point types in more precise and wider ones. Casting in two steps then equals casting in
/// one.
bool keeps_all(DType from, DType to) {
  if (from == to) return true;
  const DTypeKind kind = dtype_kind(from);
  if (kind != dtype_kind(to)) return false;
  if (is_integer(from)) return dtype_file_bits(to) >= dtype_file_bits(from);
  const RealRange a = real_range(from), b = real_range(to);
  return a.fraction > 0 && b.fraction >= a.fraction && b.exponent >= a.exponent;
}

/// Drops a check of two sizes that are known to be equal.
Replacement drop_certain_check(Rewriter& rewriter, const Node& node) {
  std::optional<tensor::Dim> sizes[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const Node* of = made_by(rewriter.module(), node.inputs[i], ops::dim_op);
    if (of == nullptr) return kStays;
    const Type& type = rewriter.type(of->inputs[0]);
    const std::int64_t axis = attr_of(*of, "axis").integer();
    if (!type.ranked || axis < 0 || axis >= type.rank()) return kStays;
    sizes[i] = type.dims[static_cast<std::size_t>(axis)];
  }
  return *sizes[0] == *sizes[1] ? node.inputs[0] : kStays;
}

Replacement simplify_cast(Rewriter& rewriter, const Node& node) {
  const ValueId x = node.inputs[0];
  const DType to = attr_of(node, "to").dtype();
  if (rewriter.type(x).dtype == to) return x;
  const Node* inner = made_by(rewriter.module(), x, ops::cast_op);
  if (inner == nullptr) return kStays;
  const ValueId source = inner->inputs[0];
  if (!keeps_all(rewriter.type(source).dtype, rewriter.type(x).dtype)) return kStays;
  if (rewriter.type(source).dtype == to) return source;
  return rewriter.build().op(ops::cast_op, {source}, {{"to", to}});
}

Replacement simplify_transpose(Rewriter& rewriter, const Node& node) {
  auto order = order_of(rewriter.module(), node);
  if (!order) return kStays;
  if (std::ranges::is_sorted(*order)) return node.inputs[0];
  const Node* inner = made_by(rewriter.module(), node.inputs[0], ops::transpose_op);
  if (inner == nullptr) return kStays;
  const auto inner_order = order_of(rewriter.module(), *inner);
  if (!inner_order || inner_order->size() != order->size()) return kStays;
  for (std::int64_t& axis : *order) axis = (*inner_order)[static_cast<std::size_t>(axis)];
  const ValueId source = inner->inputs[0];
  if (std::ranges::is_sorted(*order)) return source;
  return rewriter.build().op(ops::transpose_op, {source}, {{"perm", *std::move(order)}});
}

/// For results with all of the input's elements in its order: if the sizes are the same, so is the
/// value.
Replacement same_sizes(Rewriter& rewriter, const Node& node) {
  const Type& type = rewriter.type(node.inputs[0]);
  if (type.ranked && type == rewriter.type(node.outputs[0])) return node.inputs[0];
  return kStays;
}

/// Whether an operand is absent or a constant whose elements all are `value`.
bool all_are(const ir::Module& module, const Node& node, std::size_t operand, std::int64_t value) {
  if (operand_absent(node, operand)) return true;
  const tensor::Tensor* constant = constant_of(module, node.inputs[operand]);
  const auto integers = constant != nullptr ? to_integers(*constant) : std::nullopt;
  return integers &&
         std::ranges::all_of(*integers, [&](std::int64_t entry) { return entry == value; });
}

/// A slice of all elements, from the first one with step 1.
Replacement simplify_slice(Rewriter& rewriter, const Node& node) {
  const ir::Module& module = rewriter.module();
  const bool whole = all_are(module, node, 1, 0) && all_are(module, node, 4, 1);
  return whole ? same_sizes(rewriter, node) : Replacement(kStays);
}

/// Whether a shape operand determines the result's sizes for any sizes of the input.
bool shape_stands_alone(const ir::Module& module, const Node& node) {
  const tensor::Tensor* shape = constant_of(module, node.inputs[1]);
  if (shape == nullptr) return false;
  const auto sizes = to_integers(*shape);
  if (!sizes) return false;
  return attr_of(node, "allowzero").integer() != 0 || std::ranges::find(*sizes, 0) == sizes->end();
}

/// Whether a node that reshapes its input can do so for any values of the symbols.
bool surely_fits(ir::Module& module, const Node& node) {
  const Type& from = module.value(node.inputs[0]).type;
  const Type& to = module.value(node.outputs[0]).type;
  if (!from.ranked || !to.ranked) return false;
  if (elements_of(module, from) != elements_of(module, to)) return false;
  // An inferred size is ambiguous if another one is 0, as a symbol may be.
  return node.op != &ops::reshape_op || from.is_static() || shape_stands_alone(module, node);
}

// The inner node is dropped only if it cannot fail: what it rejects must not become a result.
Replacement simplify_reshape(Rewriter& rewriter, const Node& node) {
  if (auto same = same_sizes(rewriter, node); *same) return same;
  ir::Module& module = rewriter.module();
  if (!shape_stands_alone(module, node)) return kStays;
  for (const ir::OpDef* op :
       {&ops::reshape_op, &ops::flatten_op, &ops::squeeze_op, &ops::unsqueeze_op})
    if (const Node* inner = made_by(module, node.inputs[0], *op);
        inner != nullptr && surely_fits(module, *inner))
      return rewriter.build().op(ops::reshape_op, {inner->inputs[0], node.inputs[1]},
                                 {{"allowzero", attr_of(node, "allowzero")}});
  return kStays;
}

/// Turns axes given by a constant operand into the attribute.
Replacement axes_to_attribute(Rewriter& rewriter, const Node& node) {
  if (operand_absent(node, 1)) return kStays;
  const tensor::Tensor* constant = constant_of(rewriter.module(), node.inputs[1]);
  auto axes = constant != nullptr ? to_integers(*constant) : std::nullopt;
  if (!axes) return kStays;
  const bool reduces = node.op == &ops::reduce_op;
  const bool all = reduces && axes->empty() && attr_of(node, "empty_is_all").present() &&
                   attr_of(node, "empty_is_all").integer() != 0;
  std::vector<ir::NamedAttr> attrs;
  if (!all) attrs.push_back({"axes", *std::move(axes)});
  if (reduces)
    for (const std::string_view name : {"kind", "keepdims"})
      attrs.push_back({name, attr_of(node, name)});
  return rewriter.build().op(*node.op, {node.inputs[0]}, std::move(attrs));
}

/// Returns the axes in [0, rank), sorted; nullopt if they are absent or the rank is not known.
std::optional<std::vector<std::int64_t>> axes_of(const Node& node, const Type& type) {
  const ir::Attr& axes = attr_of(node, "axes");
  if (!axes.present() || !type.ranked) return std::nullopt;
  std::vector<std::int64_t> sorted = axes.integers();
  for (std::int64_t& axis : sorted)
    if (axis < 0) axis += type.rank();
  std::ranges::sort(sorted);
  return sorted;
}

/// squeeze(unsqueeze(x)) and unsqueeze(squeeze(x)) of the same axes. Both name axes of the larger
/// rank: that of squeeze's operand and of unsqueeze's result.
Replacement undo_axes(Rewriter& rewriter, const Node& node) {
  if (!operand_absent(node, 1)) return axes_to_attribute(rewriter, node);
  const bool squeezes = node.op == &ops::squeeze_op;
  const Node* inner =
      made_by(rewriter.module(), node.inputs[0], squeezes ? ops::unsqueeze_op : ops::squeeze_op);
  if (inner == nullptr) return kStays;
  const Type& wide = rewriter.type(squeezes ? node.inputs[0] : inner->inputs[0]);
  const auto outer_axes = axes_of(node, wide);
  const auto inner_axes = axes_of(*inner, wide);
  if (!outer_axes || outer_axes != inner_axes) return kStays;
  // An axis that is squeezed must have size 1; if that is not known, it is checked at run time.
  const auto has_size_1 = [&](std::int64_t axis) {
    return wide.dims[static_cast<std::size_t>(axis)] == tensor::Dim(1);
  };
  if (!std::ranges::all_of(*inner_axes, has_size_1)) return kStays;
  return inner->inputs[0];
}

Replacement simplify_clip(Rewriter&, const Node& node) {
  if (operand_absent(node, 1) && operand_absent(node, 2)) return node.inputs[0];
  return kStays;
}

constexpr std::size_t kMaxJoinedParts = 16;

// If the rank is not known, the axis may be outside.
Replacement simplify_concat(Rewriter& rewriter, const Node& node) {
  if (node.inputs.size() == 1 && rewriter.type(node.inputs[0]).ranked) return node.inputs[0];
  // A concat of concats along one axis is one; other readers of the inner ones still compute them.
  std::vector<ValueId> parts;
  for (const ValueId input : node.inputs) {
    const Node* inner = made_by(rewriter.module(), input, ops::concat_op);
    const bool same = inner != nullptr && attr_of(*inner, "axis") == attr_of(node, "axis");
    if (same)
      parts.insert(parts.end(), inner->inputs.begin(), inner->inputs.end());
    else
      parts.push_back(input);
  }
  if (parts.size() == node.inputs.size() || parts.size() > kMaxJoinedParts) return kStays;
  return rewriter.build().op(ops::concat_op, std::move(parts), {{"axis", attr_of(node, "axis")}});
}

/// The number that a constant holds in its only element.
std::optional<double> scalar_of(const ir::Module& module, ValueId value) {
  const tensor::Tensor* constant = constant_of(module, value);
  if (constant == nullptr || constant->elements() != 1) return std::nullopt;
  if (constant->dtype() == DType::f32) return constant->as<float>()[0];
  if (constant->dtype() == DType::f64) return constant->as<double>()[0];
  const auto integers = to_integers(*constant);
  if (!integers) return std::nullopt;
  return static_cast<double>((*integers)[0]);
}

/// Returns the type in which ops/elementwise/pow.cpp multiplies; nullopt for types that it rounds
/// in other places than products do.
std::optional<DType> computed_power(DType base, DType exponent) {
  if (base == DType::f64) return base;
  if (is_integer(base)) return is_integer(exponent) ? std::optional(base) : std::nullopt;
  if (base == DType::f32)
    return exponent == base || dtype_bytes(exponent) < 4 ? DType::f32 : DType::f64;
  if (base != DType::f16 && base != DType::bf16) return std::nullopt;
  return exponent == base ? DType::f32 : DType::f64;
}

Replacement cube(Rewriter& rewriter, ValueId x, DType exponent) {
  const DType own = rewriter.type(x).dtype;
  const std::optional<DType> wide = computed_power(own, exponent);
  if (!wide) return kStays;
  ir::Builder& build = rewriter.build();
  const auto as = [&](ValueId value, DType to) -> Expected<ValueId> {
    return own == *wide ? Expected<ValueId>(value) : build.op(ops::cast_op, {value}, {{"to", to}});
  };
  SCANLOOM_TRY(const ValueId base, as(x, *wide));
  SCANLOOM_TRY(const ValueId square, build.op(ops::mul_op, {base, base}));
  SCANLOOM_TRY(const ValueId power, build.op(ops::mul_op, {square, base}));
  return as(power, own);
}

// pow(x, 2) is x x by definition, and pow(x, 3) is (x x) x; a square root is not pow(x, 0.5), which
// maps -infinity to infinity. Integers to a floating-point power are computed in f64, which neither
// wraps nor holds all of them.
Replacement simplify_pow(Rewriter& rewriter, const Node& node) {
  const auto exponent = scalar_of(rewriter.module(), node.inputs[1]);
  const ValueId x = node.inputs[0];
  if (!exponent || !rewriter.type(x).ranked || rewriter.type(x) != rewriter.type(node.outputs[0]))
    return kStays;
  if (is_integer(rewriter.type(x).dtype) && !is_integer(rewriter.type(node.inputs[1]).dtype))
    return kStays;
  if (*exponent == 1) return x;
  if (*exponent == 2) return rewriter.build().op(ops::mul_op, {x, x});
  if (*exponent == 3) return cube(rewriter, x, rewriter.type(node.inputs[1]).dtype);
  return kStays;
}

/// Only if inference shows that nothing was broadcast, or exactly which axes were.
Replacement simplify_sum_to(Rewriter& rewriter, const Node& node) {
  const Type &from = rewriter.type(node.inputs[0]), &to = rewriter.type(node.outputs[0]);
  if (!from.ranked || !to.ranked) return kStays;
  if (from == to) return node.inputs[0];
  const std::size_t extra = from.dims.size() - to.dims.size();
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < from.dims.size(); ++i) {
    const bool repeated =
        i < extra || (to.dims[i - extra] == tensor::Dim(1) && from.dims[i] != tensor::Dim(1));
    if (repeated)
      axes.push_back(static_cast<std::int64_t>(i));
    else if (from.dims[i] != to.dims[i - extra])
      return kStays;
  }
  SCANLOOM_TRY(const ValueId sum,
               rewriter.build().op(ops::reduce_op, {node.inputs[0]},
                                   {{"kind", "sum"}, {"axes", std::move(axes)}, {"keepdims", 0}}));
  return rewriter.build().op(ops::reshape_op, {sum, node.inputs[1]}, {{"allowzero", 1}});
}

/// A pad that adds and drops nothing. Equal sizes are not enough, since elements may differ; only
/// constant pads count.
Replacement simplify_pad(Rewriter& rewriter, const Node& node) {
  const tensor::Tensor* pads = constant_of(rewriter.module(), node.inputs[1]);
  if (pads == nullptr || !all_are(rewriter.module(), node, 1, 0)) return kStays;
  return same_sizes(rewriter, node);
}

/// A tensor with zeros around it along one axis, by numbers.
struct Placed {
  ValueId part;
  std::int64_t axis = 0, begin = 0, end = 0, length = 0;
};

std::optional<Placed> placed(Rewriter& rewriter, ValueId value) {
  const Node* pad = made_by(rewriter.module(), value, ops::pad_op);
  if (pad == nullptr || attr_of(*pad, "mode").text() != "constant" || !operand_absent(*pad, 2) ||
      !operand_absent(*pad, 3))
    return std::nullopt;
  const tensor::Tensor* constant = constant_of(rewriter.module(), pad->inputs[1]);
  const auto pads = constant != nullptr ? to_integers(*constant) : std::nullopt;
  const Type& part = rewriter.type(pad->inputs[0]);
  if (!pads || !part.ranked || pads->size() != 2 * part.dims.size()) return std::nullopt;
  std::optional<Placed> found;
  for (std::size_t i = 0; i < part.dims.size(); ++i) {
    const std::int64_t begin = (*pads)[i], end = (*pads)[part.dims.size() + i];
    if (begin == 0 && end == 0) continue;
    if (found || begin < 0 || end < 0 || !part.dims[i].is_constant()) return std::nullopt;
    found = Placed{pad->inputs[0], static_cast<std::int64_t>(i), begin, end, part.dims[i].value()};
  }
  return found;
}

/// Joins two adjacent parts with zeros around them. The gradient of a tensor taken to pieces looks
/// like this.
Replacement join_parts(Rewriter& rewriter, const Node& node) {
  auto a = placed(rewriter, node.inputs[0]), b = placed(rewriter, node.inputs[1]);
  if (!a || !b || a->axis != b->axis) return kStays;
  if (rewriter.type(node.inputs[0]) != rewriter.type(node.inputs[1])) return kStays;
  if (b->begin + b->length == a->begin) std::swap(a, b);
  if (a->begin + a->length != b->begin) return kStays;
  SCANLOOM_TRY(const ValueId both,
               rewriter.build().op(ops::concat_op, {a->part, b->part}, {{"axis", a->axis}}));
  const auto rank = static_cast<std::size_t>(rewriter.type(node.outputs[0]).rank());
  std::vector<std::int64_t> pads(2 * rank);
  pads[static_cast<std::size_t>(a->axis)] = a->begin;
  pads[rank + static_cast<std::size_t>(a->axis)] = b->end;
  const ValueId around = rewriter.build().constant(
      tensor::Tensor::of<std::int64_t>({static_cast<std::int64_t>(pads.size())}, pads));
  return rewriter.build().op(ops::pad_op, {both, around}, {{"mode", "constant"}});
}

struct Simplification {
  const ir::OpDef* op;
  Replacement (*simplify)(Rewriter&, const Node&);
};

constexpr Simplification kSimplifications[] = {
    {&ops::add_op, join_parts},           {&ops::bit_not_op, twice_is_nothing},
    {&ops::cast_op, simplify_cast},       {&ops::check_equal_op, drop_certain_check},
    {&ops::clip_op, simplify_clip},       {&ops::concat_op, simplify_concat},
    {&ops::expand_op, same_sizes},        {&ops::flatten_op, same_sizes},
    {&ops::identity_op, first_operand},   {&ops::logical_not_op, twice_is_nothing},
    {&ops::neg_op, twice_is_nothing},     {&ops::pad_op, simplify_pad},
    {&ops::pow_op, simplify_pow},         {&ops::sum_to_op, simplify_sum_to},
    {&ops::reduce_op, axes_to_attribute}, {&ops::reshape_op, simplify_reshape},
    {&ops::slice_op, simplify_slice},     {&ops::squeeze_op, undo_axes},
    {&ops::tile_op, same_sizes},          {&ops::transpose_op, simplify_transpose},
    {&ops::unsqueeze_op, undo_axes},
};

/// Returns the sizes of the parts along the axis if they are numbers that add up to the whole.
std::optional<std::vector<std::int64_t>> part_sizes(Rewriter& rewriter, const Node& node,
                                                    std::size_t axis) {
  const Type& whole = rewriter.type(node.inputs[0]);
  std::vector<std::int64_t> sizes;
  std::int64_t left = whole.dims[axis].is_constant() ? whole.dims[axis].value() : -1;
  for (const ValueId output : node.outputs) {
    const Type& part = rewriter.type(output);
    if (!part.ranked || part.rank() != whole.rank() || !part.dims[axis].is_constant())
      return std::nullopt;
    sizes.push_back(part.dims[axis].value());
    if (sizes.back() < 0 || sizes.back() > left) return std::nullopt;
    left -= sizes.back();
  }
  if (left != 0) return std::nullopt;
  return sizes;
}

/// Slices are views and independent of each other: one that nothing reads is removed.
Expected<bool> split_to_slices(Rewriter& rewriter, const Node& node) {
  const Type& whole = rewriter.type(node.inputs[0]);
  if (!whole.ranked) return false;
  const auto axis = tensor::normalise_axis(attr_of(node, "axis").integer(), whole.rank());
  if (!axis) return false;
  const auto sizes = part_sizes(rewriter, node, static_cast<std::size_t>(*axis));
  if (!sizes) return false;
  const auto list = [&](std::int64_t value) {
    return rewriter.build().constant(tensor::Tensor::of<std::int64_t>({1}, {{value}}));
  };
  if (sizes->size() == 1) {
    rewriter.replace(node.outputs[0], node.inputs[0]);
    return true;
  }
  const ValueId axes = list(*axis);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    const ValueId from = list(start);
    start += (*sizes)[i];
    SCANLOOM_TRY(const ValueId part,
                 rewriter.build().op(ops::slice_op, {node.inputs[0], from, list(start), axes}));
    rewriter.replace(node.outputs[i], part);
  }
  return true;
}

/// Results of factors do not depend on the matrix that these were made from; only gradients need
/// it.
Expected<bool> drop_matrix(Rewriter& rewriter, const Node& node, std::size_t operand) {
  if (operand_absent(node, operand)) return false;
  std::vector<ValueId> inputs(node.inputs.begin(),
                              node.inputs.begin() + static_cast<std::ptrdiff_t>(operand));
  while (!inputs.back().valid()) inputs.pop_back();
  SCANLOOM_TRY(const ir::NodeId made, rewriter.build().node(*node.op, std::move(inputs),
                                                            attrs_of(node), node.outputs.size()));
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    rewriter.replace(node.outputs[i], rewriter.module().node(made).outputs[i]);
  return true;
}

Expected<bool> simplify(Rewriter& rewriter, ir::NodeId id) {
  const Node node = rewriter.module().node(id);  // by value: adding nodes may move it
  if (node.op == &ops::lu_solve_op) return drop_matrix(rewriter, node, 3);
  if (node.op == &ops::lu_det_op) return drop_matrix(rewriter, node, 2);
  if (node.op == &ops::split_op) return split_to_slices(rewriter, node);
  const Simplification* row = std::ranges::find(kSimplifications, node.op, &Simplification::op);
  if (row == std::end(kSimplifications)) return false;
  SCANLOOM_TRY(const ValueId replacement, row->simplify(rewriter, node));
  if (!replacement.valid()) return false;
  rewriter.replace(node.outputs[0], replacement);
  return true;
}

}  // namespace

Expected<Change> canonicalise(ir::Module& module) { return Rewriter(module).sweep(simplify); }

}  // namespace scanloom::passes
