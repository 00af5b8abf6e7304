#include "frontends/openvino/wide_sizes.h"

#include <algorithm>

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// An operation that computes sizes from sizes.
struct SizeOp {
  std::string_view type;
  bool paired = false;          ///< all operands share the element type, not only the first
  bool names_its_type = false;  ///< an attribute gives the element type of the results
};

constexpr SizeOp kSizeOps[] = {
    {"Add", true},     {"Broadcast"},      {"Concat", true},   {"Convert", false, true},
    {"Divide", true},  {"FloorMod", true}, {"Gather"},         {"Maximum", true},
    {"Minimum", true}, {"Mod", true},      {"Multiply", true}, {"ReduceMax"},
    {"ReduceMin"},     {"ReduceProd"},     {"ReduceSum"},      {"Reshape"},
    {"Select", true},  {"Slice"},          {"Split"},          {"Squeeze"},
    {"StridedSlice"},  {"Subtract", true}, {"Unsqueeze"},      {"VariadicSplit"},
};

DType dtype_of(const Binding& binding, const ir::Module& module) {
  return binding.constant != nullptr ? binding.constant->dtype()
                                     : module.value(binding.value).type.dtype;
}

ValueId wide(const Binding& operand, ir::Builder& builder) {
  return operand.value.valid() ? wide_size(builder, operand.value) : ValueId{};
}

Expected<Binding> widened(Binding& operand, ir::Builder& builder) {
  if (const ValueId value = wide(operand, builder); value.valid()) return Binding::of(value);
  if (operand.constant != nullptr)
    if (const auto integers = tensor::to_integers(*operand.constant))
      return Binding::of(std::make_shared<const tensor::Tensor>(
          tensor::Tensor::of<std::int64_t>(operand.constant->shape(), *integers)));
  SCANLOOM_TRY(const ValueId value,
               builder.op(ops::cast_op, {operand.materialise(builder)}, {{"to", DType::i64}}));
  return Binding::of(value);
}

}  // namespace

ValueId wide_size(ir::Builder& builder, ValueId value) {
  const ir::Module& module = builder.module();
  const ir::NodeId producer = module.value(value).producer;
  if (module.value(value).type.dtype != DType::i32 || !producer.valid()) return {};
  const ir::Node& node = module.node(producer);
  if (node.op != &ops::cast_op || module.value(node.inputs[0]).type.dtype != DType::i64) return {};
  const auto known = builder.known(node.inputs[0]);
  return known != nullptr && known->integers ? node.inputs[0] : ValueId{};
}

ValueId widest(ir::Builder& builder, ValueId value) {
  const ValueId wide = wide_size(builder, value);
  return wide.valid() ? wide : value;
}

Expected<void> WideOperands::widen(std::string_view type, ir::Builder& builder) {
  const auto* const op = std::ranges::find(kSizeOps, type, &SizeOp::type);
  if (op == std::end(kSizeOps)) return {};
  const std::span sharing(
      operands_.data(), op->paired ? operands_.size() : std::min<std::size_t>(1, operands_.size()));
  const auto is_given = [](const Binding* operand) {
    return operand != nullptr && !operand->is_absent();
  };
  const auto is_wide = [&](const Binding* operand) {
    return is_given(operand) && wide(*operand, builder).valid();
  };
  if (std::ranges::none_of(sharing, is_wide)) return {};
  for (Binding*& operand : sharing) {
    if (!is_given(operand) || dtype_of(*operand, builder.module()) != DType::i32) continue;
    SCANLOOM_TRY(Binding wider, widened(*operand, builder));
    operand = &widened_.emplace_back(std::move(wider));
  }
  narrows_ = !op->names_its_type;
  return {};
}

Expected<void> WideOperands::narrow(LayerCtx& ctx) const {
  if (!narrows_) return {};
  ops::Composer c(ctx.builder());
  for (int i = 0; i < ctx.output_count(); ++i) {
    Binding& output = ctx.outputs()[static_cast<std::size_t>(i)];
    if (output.is_absent() || output.poisoned || dtype_of(output, ctx.module()) != DType::i64)
      continue;
    const ValueId narrowed = c.cast(output.materialise(ctx.builder()), DType::i32);
    SCANLOOM_CHECK_OK(c.done());
    ctx.set_output(i, narrowed);
  }
  return {};
}

}  // namespace scanloom::openvino
