#include "ir/builder.h"

#include "ir/infer_node.h"
#include "ir/signature.h"
#include "ir/text.h"

namespace scanloom::ir {
namespace {

Expected<std::vector<Attr>> in_declared_order(const OpDef& op, std::vector<NamedAttr>& named) {
  std::vector<Attr> attrs(op.attrs.size());
  for (NamedAttr& attr : named) {
    const int index = op.attr_index(attr.name);
    if (index < 0) return invalid_model("{} has no attribute '{}'", op.name, attr.name);
    attrs[static_cast<std::size_t>(index)] = std::move(attr.value);
  }
  return attrs;
}

std::string location_text(const Module& module, LocationId location, const OpDef& op) {
  if (!location.valid() || module.location(location).nodes.empty())
    return text::described_node(op.name);
  return module.location(location).nodes.front();
}

/// Infers without any known sizes: only element types and wraps.
Expected<NodeTypes> infer_sizeless(const OpDef& op, std::span<const Type* const> types,
                                   std::span<const Attr> attrs, std::size_t outputs,
                                   DimTable& dims) {
  std::vector<Type> unranked(types.size());
  std::vector<const Type*> pointers(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] == nullptr) continue;
    unranked[i] = Type::unranked(types[i]->dtype);
    unranked[i].wraps = types[i]->wraps;
    pointers[i] = &unranked[i];
  }
  const std::vector<const Known*> nothing(types.size());
  SCANLOOM_TRY(NodeTypes result, infer_node(op, pointers, nothing, attrs, outputs, dims));
  for (Type& type : result.types) {
    type.ranked = false;
    type.dims.clear();
  }
  result.known.assign(outputs, nullptr);
  return result;
}

}  // namespace

std::shared_ptr<const Known> Builder::known(ValueId value) {
  if (const auto found = known_.find(value); found != known_.end()) return found->second;
  const NodeId producer = module_.value(value).producer;
  if (!producer.valid() || module_.node(producer).op != &constant_op) return nullptr;
  return known_[value] = known_tensor(module_.node(producer).attrs[0].tensor());
}

Expected<NodeId> Builder::node(const OpDef& op, std::vector<ValueId> inputs,
                               std::vector<NamedAttr> attrs, std::size_t outputs) {
  const auto location = [&] { return location_text(module_, location_, op); };
  auto ordered = in_declared_order(op, attrs);
  if (!ordered) return std::move(ordered).error().at(location());
  if (op.infer == nullptr)
    return fail(Code::internal, "{}: the builder cannot make a {} node", location(), op.name);
  std::vector<const Type*> types;
  std::vector<const Known*> known_inputs;
  for (const ValueId input : inputs) {
    types.push_back(input.valid() ? &module_.value(input).type : nullptr);
    known_inputs.push_back(input.valid() ? known(input).get() : nullptr);
  }
  if (auto fits = check_signature(op, types, *ordered, module_.dims); !fits)
    return std::move(fits).error().at(location());
  auto result = infer_node(op, types, known_inputs, *ordered, outputs, module_.dims);
  if (!result) {
    if (region_ == module_.top()) return std::move(result).error().at(location());
    // Sizes that do not fit may be in a region that never runs; the kinds of values must be right
    // regardless.
    auto sizeless = infer_sizeless(op, types, *ordered, outputs, module_.dims);
    if (!sizeless && op.run_objects != nullptr) return std::move(result).error().at(location());
    const DType dtype = types.empty() || types[0] == nullptr ? DType::f32 : types[0]->dtype;
    result = sizeless ? *std::move(sizeless)
                      : NodeTypes{std::vector<Type>(outputs, Type::unranked(dtype)), {}, 0};
    result->known.resize(outputs);
  }
  const NodeId id = module_.add_node(region_, op, std::move(inputs), *std::move(ordered),
                                     std::move(result->types), location_);
  for (std::size_t i = 0; i < outputs; ++i)
    if (result->known[i]) known_[module_.node(id).outputs[i]] = std::move(result->known[i]);
  return id;
}

Expected<ValueId> Builder::op(const OpDef& op, std::vector<ValueId> inputs,
                              std::vector<NamedAttr> attrs) {
  SCANLOOM_TRY(const NodeId id, node(op, std::move(inputs), std::move(attrs)));
  return module_.node(id).outputs[0];
}

ValueId Builder::constant(Tensor value) {
  Type type = Type::of(value.dtype(), value.shape());
  const NodeId id = module_.add_node(region_, constant_op, {}, {Attr(std::move(value))},
                                     {std::move(type)}, location_);
  return module_.node(id).outputs[0];
}

}  // namespace scanloom::ir
