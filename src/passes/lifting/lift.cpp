#include "passes/lifting/lift.h"

#include <algorithm>
#include <numeric>

#include "ops/ops.h"
#include "passes/lifting/lift_rules.h"
#include "passes/nodes/einsum_text.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Builder;
using ir::Dim;
using ir::Module;
using ir::Node;
using ir::Type;
using ir::ValueId;
using tensor::Einsum;
using Operands = std::vector<Lifted>;

// --- products

std::optional<Einsum> einsum_of(const Module& module, const Node& node) {
  auto einsum = tensor::parse_einsum(node.attrs[0].text(), type_of(module, node, 0).rank(),
                                     type_of(module, node, 1).rank());
  if (!einsum) return std::nullopt;
  return *einsum;
}

bool can_lift_contract(Module& module, const Node& node, const std::vector<bool>& varies) {
  const auto einsum = einsum_of(module, node);
  return (varies[0] || varies[1]) && einsum &&
         sizes_fit(type_of(module, node, 0), type_of(module, node, 1), *einsum);
}

/// Returns where the steps go in the result: next to the same axis as in the operand, so that
/// consecutive rows of the product stay consecutive.
int result_axis(const tensor::Subscripts& operand, int axis, const tensor::Subscripts& out) {
  if (axis == 0) return 0;
  const int before = out.find(operand.labels[static_cast<std::size_t>(axis - 1)]);
  if (before >= 0) return before + 1;
  const int after =
      axis < operand.count ? out.find(operand.labels[static_cast<std::size_t>(axis)]) : -1;
  return std::max(after, 0);
}

/// Returns the specification with one more label, at that position of the varying operand; nullopt
/// if no label can be written there, within an ellipsis. Sums keep their order: no summed label
/// moves.
std::optional<std::string> spec_with_steps(Einsum einsum, std::size_t varying, int axis, int to) {
  const std::uint8_t letter = unused_letter(einsum, 't');
  insert_label(varying == 0 ? einsum.a : einsum.b, axis, letter);
  insert_label(einsum.out, to, letter);
  return text_of(einsum);
}

/// Lifts a product with two varying operands: the steps are one more axis of all three tensors.
Expected<Lifted> lift_product_of_both(Builder& builder, const Node& node, const Operands& operands,
                                      Einsum einsum) {
  const std::uint8_t letter = unused_letter(einsum, 't');
  for (tensor::Subscripts* subscripts : {&einsum.a, &einsum.b, &einsum.out})
    insert_label(*subscripts, 0, letter);
  const auto spec = text_of(einsum);
  if (!spec) return fail(Code::internal, "a product cannot be written with one more axis");
  SCANLOOM_TRY(const Lifted a, at_front(builder, operands[0]));
  SCANLOOM_TRY(const Lifted b, at_front(builder, operands[1]));
  SCANLOOM_TRY(const ValueId product, builder.op(*node.op, {a.value, b.value}, {{"spec", *spec}}));
  return Lifted{product, 0};
}

Expected<Lifted> lift_contract(Builder& builder, const Node& node, const Operands& operands) {
  const Einsum einsum = *einsum_of(builder.module(), node);
  if (operands[0].is_sequence() && operands[1].is_sequence())
    return lift_product_of_both(builder, node, operands, einsum);
  const std::size_t varying = operands[0].is_sequence() ? 0 : 1;
  ValueId inputs[] = {operands[0].value, operands[1].value};
  int axis = result_axis(varying == 0 ? einsum.a : einsum.b, operands[varying].axis, einsum.out);
  auto spec = spec_with_steps(einsum, varying, operands[varying].axis, axis);
  if (!spec) {
    SCANLOOM_TRY(inputs[varying], with_steps_along(builder, operands[varying], 0));
    axis = 0;
    spec = spec_with_steps(einsum, varying, 0, 0);
  }
  if (!spec) return fail(Code::internal, "a product cannot be written with one more axis");
  SCANLOOM_TRY(const ValueId product,
               builder.op(ops::contract_op, {inputs[0], inputs[1]}, {{"spec", *spec}}));
  return Lifted{product, axis};
}

// --- pointwise operators

/// The node must not be able to fail, for its sizes or its elements.
bool can_lift_pointwise(Module& module, const Node& node, const std::vector<bool>&) {
  return node.op->effects == ir::Effects::pure && broadcasts_for_sure(module, node);
}

/// Returns how many axes follow the steps in all sequences; nullopt if the numbers differ.
std::optional<int> axes_behind_steps(const Module& module, const Operands& operands) {
  std::optional<int> behind;
  for (const Lifted& operand : operands) {
    if (!operand.is_sequence()) continue;
    const int here = module.value(operand.value).type.rank() - 1 - operand.axis;
    if (behind && *behind != here) return std::nullopt;
    behind = here;
  }
  return behind;
}

/// Moves the steps to axis 0, followed by all axes of the result.
Expected<void> align_at_front(Builder& builder, Operands& operands, int rank) {
  for (Lifted& operand : operands) {
    if (!operand.is_sequence()) continue;
    SCANLOOM_TRY(operand, at_front(builder, operand));
    const int missing = rank + 1 - builder.module().value(operand.value).type.rank();
    SCANLOOM_TRY(operand.value, with_axes_of_1(builder, operand.value, 1, missing));
  }
  return {};
}

// Broadcasting counts axes from the last one, so equally many must follow the steps everywhere.
Expected<Lifted> lift_pointwise(Builder& builder, const Node& node, const Operands& operands) {
  Operands aligned = operands;
  const int rank = builder.module().value(node.outputs[0]).type.rank();
  const std::optional<int> common = axes_behind_steps(builder.module(), operands);
  if (!common) SCANLOOM_CHECK_OK(align_at_front(builder, aligned, rank));
  const int behind = common.value_or(rank);
  std::vector<ValueId> inputs;
  for (const Lifted& operand : aligned) {
    ValueId& input = inputs.emplace_back(operand.value);
    if (operand.is_sequence() || !input.valid()) continue;
    const int before = builder.module().value(input).type.rank() - behind;
    if (before > 0) {
      SCANLOOM_TRY(input, with_axes_of_1(builder, input, before, 1));
    }
  }
  SCANLOOM_TRY(const ValueId result, builder.op(*node.op, std::move(inputs), attrs_but(node)));
  return Lifted{result, rank - behind};
}

// --- all of them

struct LiftRule {
  const ir::OpDef* op;
  CanLift* can;
  LiftNode* lift;
};

constexpr LiftRule kLiftPointwise{nullptr, can_lift_pointwise, lift_pointwise};
// An operator that may fail can be lifted only if it fails exactly where a step fails.
constexpr LiftRule kLiftRules[] = {
    {&ops::argmax_op, can_lift_arg_min_max, lift_arg_min_max},
    {&ops::argmin_op, can_lift_arg_min_max, lift_arg_min_max},
    {&ops::average_pool_op, can_lift_windows, lift_windows},
    {&ops::concat_op, can_lift_concat, lift_concat},
    {&ops::contract_op, can_lift_contract, lift_contract},
    {&ops::conv_op, can_lift_windows, lift_windows},
    {&ops::conv_transpose_op, can_lift_windows, lift_windows},
    {&ops::cumprod_op, can_lift_cumulative, lift_cumulative},
    {&ops::cumsum_op, can_lift_cumulative, lift_cumulative},
    {&ops::dequantize_linear_op, can_lift_quantization, lift_along_axis},
    {&ops::expand_op, can_lift_expand, lift_expand},
    {&ops::flatten_op, can_lift_reshape, lift_reshape},
    {&ops::gather_op, can_lift_gather, lift_gather},
    {&ops::log_softmax_op, can_lift_along_axis, lift_along_axis},
    {&ops::lp_pool_op, can_lift_windows, lift_windows},
    {&ops::max_pool_op, can_lift_windows, lift_windows},
    {&ops::pad_op, can_lift_pad, lift_pad},
    {&ops::qlinear_conv_op, can_lift_windows, lift_windows},
    {&ops::quantize_linear_op, can_lift_quantization, lift_along_axis},
    {&ops::reduce_op, can_lift_reduce, lift_reduce},
    {&ops::reshape_op, can_lift_reshape, lift_reshape},
    {&ops::slice_op, can_lift_slice, lift_slice},
    {&ops::softmax_op, can_lift_along_axis, lift_along_axis},
    {&ops::squeeze_op, can_lift_squeeze, lift_squeeze},
    {&ops::tile_op, can_lift_tile, lift_tile},
    {&ops::topk_op, can_lift_topk, lift_along_axis},
    {&ops::transpose_op, can_lift_transpose, lift_transpose},
    {&ops::unsqueeze_op, can_lift_unsqueeze, lift_unsqueeze},
};

const LiftRule* row_of(const Node& node) {
  if (node.op->scalar != nullptr) return &kLiftPointwise;
  const LiftRule* row = std::ranges::find(kLiftRules, node.op, &LiftRule::op);
  return row != std::end(kLiftRules) ? row : nullptr;
}

}  // namespace

bool only_first_varies(const std::vector<bool>& varies) {
  return varies[0] && std::ranges::count(varies, true) == 1;
}

const Type& type_of(const Module& module, const Node& node, std::size_t operand) {
  return module.value(node.inputs[operand]).type;
}

std::optional<std::vector<std::int64_t>> integers_of(const Module& module, const Node& node,
                                                     std::size_t operand) {
  if (operand >= node.inputs.size()) return std::nullopt;
  const tensor::Tensor* constant = constant_of(module, node.inputs[operand]);
  return constant != nullptr ? to_integers(*constant) : std::nullopt;
}

std::optional<int> axis_of(const Module& module, const Node& node) {
  return tensor::normalise_axis(attr_of(node, "axis").integer(), type_of(module, node).rank());
}

std::vector<ir::NamedAttr> attrs_but(const Node& node, std::string_view left_out) {
  std::vector<ir::NamedAttr> named;
  for (std::size_t i = 0; i < node.attrs.size(); ++i)
    if (node.attrs[i].present() && node.op->attrs[i].name != left_out)
      named.push_back({node.op->attrs[i].name, node.attrs[i]});
  return named;
}

ValueId list_of(Builder& builder, const std::vector<std::int64_t>& integers) {
  const auto count = static_cast<std::int64_t>(integers.size());
  return builder.constant(tensor::Tensor::of<std::int64_t>({count}, integers));
}

Expected<Lifted> at_front(Builder& builder, const Lifted& sequence) {
  SCANLOOM_TRY(const ValueId value, with_steps_along(builder, sequence, 0));
  return Lifted{value, 0};
}

Expected<ValueId> with_axes_of_1(Builder& builder, ValueId value, int first, int count) {
  if (count == 0) return value;
  std::vector<std::int64_t> axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), first);
  return builder.op(ops::unsqueeze_op, {value}, {{"axes", std::move(axes)}});
}

KnownSizes::KnownSizes(const Module& module) {
  for (const ValueId arg : module.region(module.top()).args)
    for (const Dim dim : module.value(arg).type.dims)
      if (module.dims.is_fresh(dim)) given_.insert(dim);
}

bool KnownSizes::has(const tensor::DimTable& dims, Dim dim) const {
  std::vector<Dim> pending{dim};
  while (!pending.empty()) {
    const Dim next = pending.back();
    pending.pop_back();
    if (next.is_constant()) continue;
    const tensor::DimNode& node = dims.node(next.expr());
    if (node.kind == tensor::DimKind::symbol) continue;
    if (node.kind != tensor::DimKind::fresh) {
      pending.push_back(node.left);
      pending.push_back(node.right);
    } else if (!given_.contains(next)) {
      return false;
    }
  }
  return true;
}

bool KnownSizes::has(const Module& module, ValueId value) const {
  const Type& type = module.value(value).type;
  return type.is_tensor() && type.ranked &&
         std::ranges::all_of(type.dims, [&](Dim dim) { return has(module.dims, dim); });
}

bool can_lift(Module& module, const KnownSizes& sizes, ir::NodeId id,
              const std::vector<bool>& varies) {
  const Node& node = module.node(id);
  const LiftRule* row = row_of(node);
  if (row == nullptr) return false;
  const auto fits = [&](ValueId value) {
    return !value.valid() ||
           (sizes.has(module, value) && module.value(value).type.rank() < tensor::kMaxRank);
  };
  return std::ranges::all_of(node.inputs, fits) && std::ranges::all_of(node.outputs, fits) &&
         row->can(module, node, varies);
}

bool broadcasts_for_sure(const Module& module, const Node& node) {
  const std::vector<Dim>& result = module.value(node.outputs[0]).type.dims;
  return std::ranges::all_of(node.inputs, [&](ValueId input) {
    if (!input.valid()) return true;
    const std::vector<Dim>& dims = module.value(input).type.dims;
    return dims.size() <= result.size() &&
           std::equal(dims.rbegin(), dims.rend(), result.rbegin(),
                      [](Dim size, Dim wanted) { return size == wanted || size == Dim(1); });
  });
}

Expected<Operands> lift(Builder& builder, ir::NodeId id, const Operands& operands) {
  const Node node = builder.module().node(id);  // by value: adding nodes may move it
  builder.set_location(node.location);
  SCANLOOM_TRY(const Lifted first, row_of(node)->lift(builder, node, operands));
  Module& module = builder.module();
  const Node& made = module.node(module.value(first.value).producer);
  Operands results(node.outputs.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i > 0 && made.op != node.op) break;  // nothing reads the other results
    results[i] = {i == 0 ? first.value : made.outputs[i], first.axis};
    module.value(results[i].value).name = module.value(node.outputs[i]).name;
  }
  return results;
}

Expected<Lifted> repeated(Builder& builder, ValueId value, const Lifted& like) {
  const Module& module = builder.module();
  const Dim steps = module.value(like.value).type.dims[static_cast<std::size_t>(like.axis)];
  const auto rank = static_cast<std::size_t>(module.value(value).type.rank());
  SCANLOOM_TRY(const ValueId row, with_axes_of_1(builder, value, 0, 1));
  std::vector<std::int64_t> sizes(rank, 1);
  ValueId shape;
  if (steps.is_constant()) {
    sizes.insert(sizes.begin(), steps.value());
    shape = list_of(builder, sizes);
  } else {
    SCANLOOM_TRY(const ValueId count, builder.op(ops::shape_op, {like.value},
                                                 {{"start", like.axis}, {"end", like.axis + 1}}));
    SCANLOOM_TRY(shape,
                 builder.op(ops::concat_op, {count, list_of(builder, sizes)}, {{"axis", 0}}));
  }
  SCANLOOM_TRY(const ValueId sequence, builder.op(ops::expand_op, {row, shape}));
  return Lifted{sequence, 0};
}

Expected<ValueId> with_steps_along(Builder& builder, const Lifted& sequence, int axis) {
  if (axis == sequence.axis) return sequence.value;
  const int rank = builder.module().value(sequence.value).type.rank();
  std::vector<std::int64_t> order;
  for (int i = 0; i < rank; ++i)
    if (i != sequence.axis) order.push_back(i);
  order.insert(order.begin() + axis, sequence.axis);
  return builder.op(ops::transpose_op, {sequence.value}, {{"perm", std::move(order)}});
}

Type sequence_type(const Type& element, int axis, Dim steps) {
  Type type = element;
  type.dims.insert(type.dims.begin() + axis, steps);
  return type;
}

}  // namespace scanloom::passes
