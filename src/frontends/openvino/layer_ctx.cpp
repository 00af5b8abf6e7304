#include "frontends/openvino/layer_ctx.h"

#include "base/ascii.h"
#include "frontends/openvino/types.h"
#include "ir/constants.h"
#include "ir/evaluate.h"
#include "ir/op_def.h"

namespace scanloom::openvino {

using ir::ValueId;
using tensor::Tensor;

namespace {

/// Larger values are left to the passes, which also compute them only once.
constexpr std::int64_t kMaxFolded = 4096;

/// Returns the value of a node over constants; nullptr if it is computed or large.
std::shared_ptr<const Tensor> folded(const ir::Module& module, ValueId value) {
  const ir::NodeId producer = module.value(value).producer;
  if (!producer.valid()) return nullptr;
  const ir::Node& node = module.node(producer);
  if (!node.regions.empty() || node.inputs.empty()) return nullptr;
  std::vector<Tensor> inputs;
  for (const ValueId input : node.inputs) {
    const Tensor* const known = input.valid() ? ir::constant_of(module, input) : nullptr;
    if (input.valid() && (known == nullptr || known->elements() > kMaxFolded)) return nullptr;
    inputs.push_back(known == nullptr ? Tensor() : *known);
  }
  std::vector<tensor::Type> types;
  for (const ValueId output : node.outputs) types.push_back(module.value(output).type);
  const auto results = ir::evaluate(*node.op, inputs, node.attrs, types, kMaxFolded);
  if (!results || !*results) return nullptr;
  return std::make_shared<const Tensor>((**results)[module.value(value).index]);
}

}  // namespace

bool LayerCtx::has(int i) const {
  const auto at = static_cast<std::size_t>(i);
  return at < site_.operands.size() && site_.operands[at] != nullptr &&
         !site_.operands[at]->is_absent();
}

bool LayerCtx::is_left_out(int i) const {
  const auto at = static_cast<std::size_t>(i);
  return at < site_.operands.size() && site_.operands[at] != nullptr &&
         site_.operands[at]->is_absent();
}

Expected<ValueId> LayerCtx::in(int i) {
  if (is_left_out(i)) return invalid_model("input {} is omitted, but is needed", i);
  if (!has(i)) return invalid_model("input {} is missing: no edge leads to it", i);
  return optional_in(i);
}

Expected<ValueId> LayerCtx::optional_in(int i) {
  if (!has(i)) return ValueId{};
  return site_.operands[static_cast<std::size_t>(i)]->materialise(builder());
}

Expected<int> LayerCtx::rank(int i, ValueId x, int at_least) {
  const tensor::Type& known = type(x);
  if (!known.ranked) return fail(Code::unsupported, "input {} has an unknown number of axes", i);
  if (known.rank() < at_least)
    return invalid_model("input {} has {} axes, but at least {} are needed", i, known.rank(),
                         at_least);
  return known.rank();
}

const Tensor* LayerCtx::constant(int i) const {
  return has(i) ? site_.operands[static_cast<std::size_t>(i)]->constant.get() : nullptr;
}

std::optional<std::vector<std::int64_t>> LayerCtx::inferred_integers(int i) {
  const auto value = optional_in(i);
  if (!value || !value->valid()) return std::nullopt;
  const auto known = builder().known(*value);
  if (known == nullptr || !known->integers) return std::nullopt;
  std::vector<std::int64_t> integers;
  for (const tensor::Dim one : *known->integers) {
    if (!one.is_constant()) return std::nullopt;
    integers.push_back(one.value());
  }
  return integers;
}

bool LayerCtx::is_known(int i) {
  return constant(i) != nullptr || inferred_integers(i).has_value();
}

Expected<std::vector<std::int64_t>> LayerCtx::constant_integers(int i) {
  if (!has(i)) return invalid_model("input {} is missing: no edge leads to it", i);
  const Tensor* const known = constant(i);
  if (known == nullptr) {
    if (auto inferred = inferred_integers(i)) return *std::move(inferred);
    return fail(Code::unsupported, "input {} must be a constant, but is computed", i);
  }
  const auto integers = tensor::to_integers(*known);
  if (!integers || known->dtype() == DType::boolean)
    return invalid_model("input {} is {}, but integers are needed", i, dtype_name(known->dtype()));
  return *integers;
}

Expected<std::int64_t> LayerCtx::constant_integer(int i) {
  SCANLOOM_TRY(const auto integers, constant_integers(i));
  if (integers.size() != 1)
    return invalid_model("input {} has {} elements, but one is needed", i, integers.size());
  return integers.front();
}

void LayerCtx::set_output(int i, ValueId value) {
  if (!value.valid()) return;
  if (const Tensor* const known = ir::constant_of(module(), value))
    return set_output(i, Binding{value, std::make_shared<const Tensor>(*known), false});
  if (std::shared_ptr<const Tensor> made = folded(module(), value))
    return set_output(i, Binding::of(std::move(made)));
  set_output(i, Binding::of(value));
}

void LayerCtx::set_output(int i, Binding binding) {
  if (i < output_count()) outputs_[static_cast<std::size_t>(i)] = std::move(binding);
}

void LayerCtx::set_constant(int i, Tensor value) {
  set_output(i, Binding::of(std::make_shared<const Tensor>(std::move(value))));
}

void LayerCtx::alias_output() { set_output(0, *site_.operands[0]); }

Expected<void> LayerCtx::emit(const ir::OpDef& op, std::vector<ValueId> inputs,
                              std::vector<ir::NamedAttr> attrs) {
  SCANLOOM_TRY(const ValueId value, builder().op(op, std::move(inputs), std::move(attrs)));
  set_output(0, value);
  return {};
}

Expected<void> LayerCtx::emit(ops::Composer& composer, ValueId value) {
  SCANLOOM_CHECK_OK(composer.done());
  set_output(0, value);
  return {};
}

void LayerCtx::poison_outputs() {
  for (Binding& output : outputs_) output = Binding::poison();
}

Expected<DeclaredType> declared_type(Reading& reading, const Layer& parameter) {
  const Attributes attributes(parameter);
  DeclaredType declared;
  const std::string port =
      parameter.outputs.size() == 1 ? parameter.outputs[0].precision : std::string();
  const std::string word = attributes.text("element_type", port);
  declared.has_dtype = !word.empty() && !is_dynamic_type(word);
  DType dtype = DType::f32;
  if (declared.has_dtype) {
    SCANLOOM_TRY(dtype, dtype_of(trimmed(word)));
  }
  if (attributes.has("shape")) {
    SCANLOOM_TRY(declared.type,
                 type_of(dtype, attributes.text("shape"), reading.module.dims, &declared.ranges));
    return declared;
  }
  declared.type = tensor::Type::scalar(dtype);
  if (parameter.outputs.size() == 1)
    for (const std::int64_t size : parameter.outputs[0].dims)
      declared.type.dims.push_back(size < 0 ? reading.module.dims.fresh() : tensor::Dim(size));
  return declared;
}

std::string describe_type(LayerCtx& ctx, ValueId value) {
  return to_string(ctx.type(value), ctx.module().dims);
}

}  // namespace scanloom::openvino
