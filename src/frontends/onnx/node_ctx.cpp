#include "frontends/onnx/node_ctx.h"

#include <algorithm>

#include "ops/composer.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Tensor;

namespace {

const char* kind_text(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::undefined:
      return "nothing";
    case AttributeKind::real:
      return "a float";
    case AttributeKind::integer:
      return "an integer";
    case AttributeKind::text:
      return "a string";
    case AttributeKind::tensor:
      return "a tensor";
    case AttributeKind::graph:
      return "a graph";
    case AttributeKind::floats:
      return "a list of floats";
    case AttributeKind::integers:
      return "a list of integers";
    case AttributeKind::texts:
      return "a list of strings";
    case AttributeKind::tensors:
      return "a list of tensors";
    case AttributeKind::graphs:
      return "a list of graphs";
    case AttributeKind::sparse_tensor:
      return "a sparse tensor";
    case AttributeKind::sparse_tensors:
      return "a list of sparse tensors";
    case AttributeKind::type:
      return "a type";
    case AttributeKind::types:
      return "a list of types";
  }
  return "of an unknown kind";
}

/// Returns the declared kind of an attribute or, in files older than that field, the kind of its
/// value.
Expected<AttributeKind> kind_of(const AttributeProto& attribute) {
  const auto last = static_cast<std::int64_t>(AttributeKind::types);
  if (attribute.declared < 0 || attribute.declared > last)
    return invalid_model("attribute '{}' has the unknown kind {}", attribute.name,
                         attribute.declared);
  const auto declared = static_cast<AttributeKind>(attribute.declared);
  AttributeKind held = AttributeKind::undefined;
  for (std::int64_t kind = 1; kind <= last; ++kind)
    if ((attribute.present >> kind & 1u) != 0 && kind != attribute.declared)
      held = static_cast<AttributeKind>(kind);
  if (declared == AttributeKind::undefined) return held;
  if (held != AttributeKind::undefined)
    return invalid_model("attribute '{}' is declared as {}, but holds {}", attribute.name,
                         kind_text(declared), kind_text(held));
  return declared;
}

}  // namespace

ValueId BodyResult::value(std::size_t i) { return outputs[i].materialise(*builder); }

NodeCtx::NodeCtx(Reading& reading, const NodeSite& site)
    : reading_(reading),
      site_(site),
      attribute_read_(site.node.attributes.size()),
      outputs_(site.node.outputs.size()) {
  // Lists operands that may be overwritten; most operators accept it up to version 5.
  if (version() < 6) ignore("consumed_inputs");
}

bool NodeCtx::has(int i) const {
  if (i >= input_count()) return false;
  const NameId name = site_.facts.inputs[static_cast<std::size_t>(i)];
  if (!name.valid()) return false;
  const Binding* const binding = site_.scope.find(name);
  return binding == nullptr || !binding->is_absent();
}

std::string NodeCtx::describe_input(int i) const {
  if (!has(i)) return fmt::format("input {}", i);
  return fmt::format("input {} '{}'", i,
                     shown_name(site_.node.inputs[static_cast<std::size_t>(i)]));
}

Expected<int> NodeCtx::rank(int i, ValueId x, int at_least) {
  const tensor::Type& known = type(x);
  if (!known.ranked)
    return fail(Code::unsupported, "{} has an unknown number of axes", describe_input(i));
  if (known.rank() < at_least)
    return invalid_model("{} has {} axes, but at least {} are needed", describe_input(i),
                         known.rank(), at_least);
  return known.rank();
}

Expected<ValueId> NodeCtx::in(int i) {
  if (!has(i)) return invalid_model("input {} is missing", i);
  return optional_in(i);
}

Expected<ValueId> NodeCtx::optional_in(int i) {
  if (!has(i)) return ValueId{};
  const NameId name = site_.facts.inputs[static_cast<std::size_t>(i)];
  Binding* const binding = site_.scope.find(name);
  if (binding == nullptr) return invalid_model("{} is not produced by any node", describe_input(i));
  const bool is_new = !binding->value.valid();
  const ValueId value = binding->materialise(builder());
  if (is_new && module().value(value).name.empty())
    module().value(value).name = shown_name(reading_.names.text(name));
  return value;
}

const Tensor* NodeCtx::constant(int i) const {
  if (!has(i)) return nullptr;
  const Binding* const binding = site_.scope.find(site_.facts.inputs[static_cast<std::size_t>(i)]);
  return binding == nullptr ? nullptr : binding->constant.get();
}

Expected<std::optional<std::vector<std::int64_t>>> NodeCtx::constant_integers(int i) {
  using Result = std::optional<std::vector<std::int64_t>>;
  if (!has(i)) return Result{};
  const Tensor* const known = constant(i);
  if (known == nullptr)
    return fail(Code::unsupported, "{} must be a constant, but is computed", describe_input(i));
  Result integers = tensor::to_integers(*known);
  if (!integers || known->dtype() == DType::boolean)
    return invalid_model("{} is {}, but integers are needed", describe_input(i),
                         dtype_onnx_name(known->dtype()));
  return integers;
}

bool NodeCtx::has_attribute(std::string_view name) {
  for (std::size_t i = 0; i < site_.node.attributes.size(); ++i)
    if (site_.node.attributes[i].name == name) {
      attribute_read_[i] = true;
      const Expected<AttributeUse> use = use_of(name);
      return !use || use->value != nullptr;
    }
  return false;
}

Expected<AttributeUse> NodeCtx::use_of(std::string_view name) {
  const AttributeProto* found = nullptr;
  for (std::size_t i = 0; i < site_.node.attributes.size(); ++i) {
    const AttributeProto& attribute = site_.node.attributes[i];
    if (attribute.name != name) continue;
    if (found != nullptr) return invalid_model("attribute '{}' appears twice", name);
    attribute_read_[i] = true;
    found = &attribute;
  }
  if (found == nullptr || found->reference.empty()) return AttributeUse{found, nullptr};
  if (const GivenAttribute* const given = site_.root->find(found->reference))
    return AttributeUse{given->value, given};
  return invalid_model("attribute '{}' refers to '{}', which is not an attribute of the function",
                       name, found->reference);
}

Expected<const AttributeProto*> NodeCtx::attribute(std::string_view name, AttributeKind kind) {
  SCANLOOM_TRY(const AttributeUse use, use_of(name));
  const AttributeProto* const found = use.value;
  if (found == nullptr) return found;
  SCANLOOM_TRY(const AttributeKind has, kind_of(*found));
  if (has != kind)
    return invalid_model("attribute '{}' is {}, but {} is needed", name, kind_text(has),
                         kind_text(kind));
  return found;
}

Expected<std::int64_t> NodeCtx::integer(std::string_view name, std::int64_t fallback) {
  SCANLOOM_TRY(const AttributeProto* const found, attribute(name, AttributeKind::integer));
  return found == nullptr ? fallback : found->integer;
}

Expected<std::int64_t> NodeCtx::required_integer(std::string_view name) {
  if (!has_attribute(name)) return invalid_model("attribute '{}' is missing", name);
  return integer(name, 0);
}

Expected<double> NodeCtx::real(std::string_view name, double fallback) {
  SCANLOOM_TRY(const AttributeProto* const found, attribute(name, AttributeKind::real));
  return found == nullptr ? fallback : static_cast<double>(found->real);
}

Expected<std::string> NodeCtx::text(std::string_view name, std::string_view fallback) {
  SCANLOOM_TRY(const AttributeProto* const found, attribute(name, AttributeKind::text));
  return std::string(found == nullptr ? fallback : found->text);
}

Expected<std::vector<std::int64_t>> NodeCtx::integers(std::string_view name) {
  SCANLOOM_TRY(const AttributeProto* const found, attribute(name, AttributeKind::integers));
  return found == nullptr ? std::vector<std::int64_t>() : found->integers;
}

Expected<std::vector<double>> NodeCtx::floats(std::string_view name) {
  SCANLOOM_TRY(const AttributeProto* const found, attribute(name, AttributeKind::floats));
  if (found == nullptr) return std::vector<double>();
  return std::vector<double>(found->floats.begin(), found->floats.end());
}

Expected<std::vector<std::string>> NodeCtx::texts(std::string_view name) {
  SCANLOOM_TRY(const AttributeProto* const found, attribute(name, AttributeKind::texts));
  if (found == nullptr) return std::vector<std::string>();
  return std::vector<std::string>(found->texts.begin(), found->texts.end());
}

Expected<GraphUse> NodeCtx::graph(std::string_view name) {
  SCANLOOM_TRY(const AttributeProto* const found, attribute(name, AttributeKind::graph));
  if (found == nullptr || found->graphs.empty())
    return invalid_model("attribute '{}' is missing", name);
  SCANLOOM_TRY(const AttributeUse use, use_of(name));
  const bool is_handed_in = use.through != nullptr && use.through->origin != nullptr;
  return GraphUse{found->graphs.front(), is_handed_in ? use.through : nullptr};
}

std::vector<std::string_view> NodeCtx::unread_attributes() const {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < attribute_read_.size(); ++i)
    if (!attribute_read_[i]) names.push_back(site_.node.attributes[i].name);
  return names;
}

Expected<ValueId> NodeCtx::cast(ValueId value, DType to) {
  if (type(value).dtype == to) return value;
  return op(ops::cast_op, {value}, {{"to", to}});
}

ValueId NodeCtx::integers_value(std::span<const std::int64_t> values) {
  return builder().constant(
      Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

ValueId NodeCtx::integer_value(std::int64_t value) {
  return builder().constant(Tensor::scalar<std::int64_t>(value));
}

Expected<ValueId> NodeCtx::scalar(double value, DType dtype) {
  SCANLOOM_TRY(Tensor made, ops::scalar_of(value, dtype));
  return builder().constant(std::move(made));
}

bool NodeCtx::wants(int i) const {
  return i < output_count() && site_.facts.outputs[static_cast<std::size_t>(i)].valid();
}

void NodeCtx::set_output(int i, ValueId value) { set_output(i, Binding::of(value)); }

void NodeCtx::set_output(int i, Binding binding) {
  if (i < output_count()) outputs_[static_cast<std::size_t>(i)] = std::move(binding);
}

void NodeCtx::alias_output(int i) {
  if (const Binding* const binding = site_.scope.find(site_.facts.inputs[0]))
    set_output(i, *binding);
}

void NodeCtx::set_constant(int i, Tensor value) {
  set_output(i, Binding::of(std::make_shared<const Tensor>(std::move(value))));
}

Expected<void> NodeCtx::emit(const ir::OpDef& op, std::vector<ValueId> inputs,
                             std::vector<ir::NamedAttr> attrs) {
  SCANLOOM_TRY(const ValueId value, builder().op(op, std::move(inputs), std::move(attrs)));
  set_output(0, value);
  return {};
}

}  // namespace scanloom::onnx
