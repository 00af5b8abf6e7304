#include "passes/lift.h"

#include <algorithm>
#include <numeric>

#include "ops/ops.h"
#include "passes/einsum_text.h"
#include "passes/lift_views.h"
#include "passes/rewriter.h"

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

const Type& type_of(const Module& module, const Node& node, std::size_t operand) {
  return module.value(node.inputs[operand]).type;
}

Expected<Lifted> at_front(Builder& builder, const Lifted& sequence) {
  SCANLOOM_TRY(const ValueId value, with_steps_along(builder, sequence, 0));
  return Lifted{value, 0};
}

// --- products

std::optional<Einsum> einsum_of(const Module& module, const Node& node) {
  auto einsum = tensor::parse_einsum(node.attrs[0].text(), type_of(module, node, 0).rank(),
                                     type_of(module, node, 1).rank());
  if (!einsum) return std::nullopt;
  return *einsum;
}

bool can_lift_contract(Module& module, const Node& node, const std::vector<bool>& varies) {
  if (varies[0] == varies[1]) return false;
  const auto einsum = einsum_of(module, node);
  return einsum && sizes_fit(type_of(module, node, 0), type_of(module, node, 1), *einsum);
}

/// Where the steps go in the result: beside the axis that they stand beside in the operand, so that
/// rows of the product that lie one behind the other stay so.
int result_axis(const tensor::Subscripts& operand, int axis, const tensor::Subscripts& out) {
  if (axis == 0) return 0;
  const int before = out.find(operand.labels[static_cast<std::size_t>(axis - 1)]);
  if (before >= 0) return before + 1;
  const int after =
      axis < operand.count ? out.find(operand.labels[static_cast<std::size_t>(axis)]) : -1;
  return std::max(after, 0);
}

/// The specification with one more label, at that position of the varying operand; nullopt where it
/// cannot be named there, within an ellipsis. Sums keep their order: no label that is summed moves.
std::optional<std::string> spec_with_steps(Einsum einsum, std::size_t varying, int axis, int to) {
  const std::uint8_t letter = unused_letter(einsum, 't');
  insert_label(varying == 0 ? einsum.a : einsum.b, axis, letter);
  insert_label(einsum.out, to, letter);
  return text_of(einsum);
}

Expected<Lifted> lift_contract(Builder& builder, const Node& node, const Operands& operands) {
  const std::size_t varying = operands[0].is_sequence() ? 0 : 1;
  ValueId inputs[] = {operands[0].value, operands[1].value};
  const Einsum einsum = *einsum_of(builder.module(), node);
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

bool can_lift_pointwise(Module& module, const Node& node, const std::vector<bool>&) {
  return broadcasts_for_sure(module, node);
}

Expected<ValueId> with_axes_of_1(Builder& builder, ValueId value, int first, int count) {
  if (count == 0) return value;
  std::vector<std::int64_t> axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), first);
  return builder.op(ops::unsqueeze_op, {value}, {{"axes", std::move(axes)}});
}

/// How many axes stand behind the steps in all sequences; nullopt where they differ.
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

/// Steps in front and all axes of the result behind them.
Expected<void> align_at_front(Builder& builder, Operands& operands, int rank) {
  for (Lifted& operand : operands) {
    if (!operand.is_sequence()) continue;
    SCANLOOM_TRY(operand, at_front(builder, operand));
    const int missing = rank + 1 - builder.module().value(operand.value).type.rank();
    SCANLOOM_TRY(operand.value, with_axes_of_1(builder, operand.value, 1, missing));
  }
  return {};
}

// Broadcasting counts axes from the last, so the steps must have as many behind them everywhere.
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
  SCANLOOM_TRY(const ValueId result, builder.op(*node.op, std::move(inputs), attrs_of(node)));
  return Lifted{result, rank - behind};
}

// --- along axes

/// The axes that a reduction reduces, sorted; nullopt where an operand names them.
std::optional<std::vector<int>> reduced_axes(const Module& module, const Node& node) {
  const int rank = type_of(module, node, 0).rank();
  if (node.inputs.size() > 1 && node.inputs[1].valid()) return std::nullopt;
  const ir::Attr& attr = attr_of(node, "axes");
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (attr.present()) {
    axes.clear();
    for (const std::int64_t axis : attr.integers()) {
      const auto normal = tensor::normalise_axis(axis, rank);
      if (!normal) return std::nullopt;
      axes.push_back(*normal);
    }
    std::ranges::sort(axes);
  }
  return axes;
}

bool can_lift_reduce(Module& module, const Node& node, const std::vector<bool>&) {
  const auto axes = reduced_axes(module, node);
  return axes && !axes->empty();
}

Expected<Lifted> lift_reduce(Builder& builder, const Node& node, const Operands& operands) {
  const int axis = operands[0].axis;
  int result = axis;
  std::vector<std::int64_t> axes;
  std::vector<ir::NamedAttr> attrs = attrs_of(node);
  std::erase_if(attrs, [](const ir::NamedAttr& attr) {
    return attr.name == "axes" || attr.name == "empty_is_all";
  });
  const bool keeps = attr_of(node, "keepdims").integer() != 0;
  const std::vector<int> named = *reduced_axes(builder.module(), node);
  for (const int reduced : named) {
    axes.push_back(reduced < axis ? reduced : reduced + 1);
    if (!keeps && reduced < axis) --result;
  }
  attrs.push_back({"axes", std::move(axes)});
  SCANLOOM_TRY(const ValueId value, builder.op(*node.op, {operands[0].value}, std::move(attrs)));
  return Lifted{value, result};
}

std::optional<int> softmax_axis(const Module& module, const Node& node) {
  return tensor::normalise_axis(node.attrs[0].integer(), type_of(module, node, 0).rank());
}

bool can_lift_softmax(Module& module, const Node& node, const std::vector<bool>&) {
  return softmax_axis(module, node).has_value();
}

Expected<Lifted> lift_softmax(Builder& builder, const Node& node, const Operands& operands) {
  const int own = *softmax_axis(builder.module(), node), steps = operands[0].axis;
  SCANLOOM_TRY(const ValueId value,
               builder.op(*node.op, {operands[0].value}, {{"axis", own < steps ? own : own + 1}}));
  return Lifted{value, steps};
}

// --- all of them

struct Row {
  const ir::OpDef* op;
  bool (*can)(Module&, const Node&, const std::vector<bool>& varies);
  Expected<Lifted> (*lift)(Builder&, const Node&, const Operands&);
};

constexpr Row kPointwise{nullptr, can_lift_pointwise, lift_pointwise};
constexpr Row kRows[] = {
    {&ops::contract_op, can_lift_contract, lift_contract},
    {&ops::flatten_op, can_lift_reshape, lift_reshape},
    {&ops::log_softmax_op, can_lift_softmax, lift_softmax},
    {&ops::reduce_op, can_lift_reduce, lift_reduce},
    {&ops::reshape_op, can_lift_reshape, lift_reshape},
    {&ops::slice_op, can_lift_slice, lift_slice},
    {&ops::softmax_op, can_lift_softmax, lift_softmax},
    {&ops::squeeze_op, can_lift_squeeze, lift_squeeze},
    {&ops::transpose_op, can_lift_transpose, lift_transpose},
    {&ops::unsqueeze_op, can_lift_unsqueeze, lift_unsqueeze},
};

const Row* row_of(const Node& node) {
  if (node.op->scalar != nullptr) return &kPointwise;
  const Row* row = std::ranges::find(kRows, node.op, &Row::op);
  return row != std::end(kRows) ? row : nullptr;
}

}  // namespace

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
  const Row* row = row_of(node);
  if (row == nullptr || node.op->effects != ir::Effects::pure || node.outputs.size() != 1)
    return false;
  const auto fits = [&](ValueId value) {
    return !value.valid() ||
           (sizes.has(module, value) && module.value(value).type.rank() < tensor::kMaxRank);
  };
  return std::ranges::all_of(node.inputs, fits) && fits(node.outputs[0]) &&
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

Expected<Lifted> lift(Builder& builder, ir::NodeId id, const Operands& operands) {
  const Node node = builder.module().node(id);  // by value: adding nodes may move it
  builder.set_place(node.place);
  SCANLOOM_TRY(const Lifted lifted, row_of(node)->lift(builder, node, operands));
  Module& module = builder.module();
  module.value(lifted.value).name = module.value(node.outputs[0]).name;
  return lifted;
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
