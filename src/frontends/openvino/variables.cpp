#include "frontends/openvino/variables.h"

#include <algorithm>

#include "base/ascii.h"
#include "frontends/openvino/layer_ctx.h"
#include "frontends/openvino/reader.h"
#include "frontends/openvino/types.h"

namespace scanloom::openvino {

using ir::ValueId;
using tensor::Type;

namespace {

/// The attributes of the ReadValues and Assigns of a variable.
struct Declaration {
  std::optional<DType> dtype;
  std::optional<std::string> shape;
};

Expected<Declaration> declaration_of(const Document& document,
                                     std::span<const LayerPosition> layers) {
  Declaration declared;
  for (const LayerPosition& position : layers) {
    const Attributes attributes(document.graphs[position.graph].layers[position.layer]);
    const std::string shape = attributes.text("variable_shape", "...");
    if (!declared.shape && trimmed(shape) != "...") declared.shape = shape;
    if (declared.dtype || !attributes.has("variable_type") ||
        is_dynamic_type(attributes.text("variable_type")))
      continue;
    SCANLOOM_TRY(declared.dtype, attributes.dtype("variable_type"));
  }
  return declared;
}

/// Returns the type of an initial value, with sizes known to change left open.
Type guessed(Type type, const LearntSizes* learnt, tensor::DimTable& dims) {
  if (learnt != nullptr && !learnt->ranked) return Type::unranked(type.dtype);
  for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
    const bool is_open =
        learnt != nullptr && axis < learnt->is_open.size() && learnt->is_open[axis];
    // An input's size may differ in the next run.
    if (is_open || !type.dims[axis].is_constant()) type.dims[axis] = dims.fresh();
  }
  return type;
}

}  // namespace

VariableUses::VariableUses(const Document& document) {
  graphs_.resize(document.graphs.size());
  // Bodies are stored after the graphs that contain them.
  for (std::size_t i = document.graphs.size(); i-- > 0;) {
    OfGraph& own = graphs_[i];
    for (const Layer& layer : document.graphs[i].layers) {
      const bool reads = is_type(layer, "ReadValue");
      if (reads || is_type(layer, "Assign")) {
        const std::string id = Attributes(layer).text("variable_id");
        (reads ? own.read : own.assigned).insert(id);
        const auto position = static_cast<std::size_t>(&layer - document.graphs[i].layers.data());
        (reads ? readers_ : assigns_)[id].push_back({static_cast<GraphIndex>(i), position});
        if (i > 0) in_bodies_.insert(id);
      }
      for (const BodyPart& part : layer.bodies) {
        const OfGraph& inner = graphs_[part.graph];
        own.read.insert(inner.read.begin(), inner.read.end());
        own.assigned.insert(inner.assigned.begin(), inner.assigned.end());
      }
    }
  }
}

std::vector<VariableUses::Use> VariableUses::of(std::span<const GraphIndex> bodies) const {
  std::map<std::string, bool> found;
  for (const GraphIndex body : bodies) {
    for (const std::string& id : graphs_[body].read) found.try_emplace(id, false);
    for (const std::string& id : graphs_[body].assigned) found[id] = true;
  }
  std::vector<Use> uses;
  for (const auto& [id, is_assigned] : found)
    if (readers_.contains(id)) uses.push_back({id, is_assigned});
  return uses;
}

std::vector<VariableUses::Use> VariableUses::of(const Layer& layer) const {
  std::vector<GraphIndex> bodies;
  for (const BodyPart& part : layer.bodies) bodies.push_back(part.graph);
  return of(bodies);
}

bool VariableUses::in_bodies(const std::string& id) const { return in_bodies_.contains(id); }

std::vector<LayerPosition> VariableUses::layers(const std::string& id) const {
  std::vector<LayerPosition> layers;
  for (const auto* const positions : {&readers_, &assigns_})
    if (const auto found = positions->find(id); found != positions->end())
      layers.insert(layers.end(), found->second.begin(), found->second.end());
  return layers;
}

std::vector<std::pair<std::string, LayerPosition>> VariableUses::never_read() const {
  std::vector<std::pair<std::string, LayerPosition>> found;
  for (const auto& [id, positions] : assigns_)
    if (!readers_.contains(id)) found.emplace_back(id, positions.front());
  return found;
}

Expected<VariableType> variable_type(Reading& reading, const std::string& id, ValueId first) {
  tensor::DimTable& dims = reading.module.dims;
  const std::vector<LayerPosition> layers = reading.variable_uses.layers(id);
  SCANLOOM_TRY(const Declaration declared, declaration_of(reading.document, layers));
  std::optional<DType> dtype = declared.dtype;
  Type type = Type::unranked(DType::f32);
  if (first.valid()) {
    type = reading.module.value(first).type;
    if (!dtype) dtype = type.dtype;
  } else if (!dtype || !declared.shape) {
    const VariableHints hints = hints_around(reading.document, layers);
    if (!dtype) dtype = hints.dtype;
    type.ranked = hints.sizes.has_value();
    if (hints.sizes)
      for (const std::int64_t size : *hints.sizes)
        type.dims.push_back(size < 0 ? dims.fresh() : tensor::Dim(size));
  }
  if (!dtype)
    return invalid_model(
        "the element type of variable '{}' is unknown: give its ReadValue the attribute "
        "'variable_type'",
        id);
  type.dtype = *dtype;
  if (declared.shape) {
    SCANLOOM_TRY(type, type_of(*dtype, *declared.shape, dims));
    return VariableType{type, type, false};
  }
  const auto learnt = reading.learnt_sizes.find(id);
  return VariableType{
      guessed(type, learnt == reading.learnt_sizes.end() ? nullptr : &learnt->second, dims), type,
      true};
}

Expected<tensor::Tensor> initial_zeros(const std::string& id, const Type& type) {
  // The zeros are allocated while the model is read, whoever runs it.
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;
  tensor::Shape shape;
  for (const tensor::Dim& dim : type.dims) shape.push_back(dim.is_constant() ? dim.value() : 0);
  const auto most = kMaxBytes / static_cast<std::int64_t>(dtype_bytes(type.dtype));
  if (shape.checked_elements().value_or(most + 1) > most)
    return fail(Code::unsupported, "variable '{}' begins with {} zeros, but at most {} are allowed",
                id, shape.to_string(), most)
        .note("give it a constant as its initial value");
  return tensor::Tensor::zeros(type.dtype, shape);
}

bool may_be_equal(const Type& a, const Type& b) {
  if (a.dtype != b.dtype || a.wraps != b.wraps) return false;
  if (!a.ranked || !b.ranked) return true;
  if (a.rank() != b.rank()) return false;
  for (std::size_t axis = 0; axis < a.dims.size(); ++axis)
    if (a.dims[axis].is_constant() && b.dims[axis].is_constant() && a.dims[axis] != b.dims[axis])
      return false;
  return true;
}

Expected<ValueId> entered_value(Reading& reading, const std::string& id) {
  VariableScope& scope = reading.scopes.back();
  if (const auto found = scope.entered.find(id); found != scope.entered.end()) return found->second;
  Variable made;
  made.id = id;
  SCANLOOM_TRY(const VariableType found, variable_type(reading, id, {}));
  made.is_guessed = found.is_guessed;
  SCANLOOM_TRY(made.initial, initial_zeros(id, found.begins));
  made.argument = reading.module.add_argument(reading.module.top(), found.type, id);
  scope.entered[id] = made.argument;
  reading.variables.push_back(std::move(made));
  return scope.entered[id];
}

Expected<void> assign_variable(Reading& reading, const std::string& id, ValueId value) {
  VariableScope& scope = reading.scopes.back();
  if (!scope.assigned.emplace(id, value).second)
    return invalid_model("variable '{}' is assigned twice in a {}", id,
                         reading.scopes.size() == 1 ? "run" : "step or branch");
  const auto entered = scope.entered.find(id);
  if (entered == scope.entered.end()) return {};
  const Type &kept = reading.module.value(entered->second).type,
             &next = reading.module.value(value).type;
  const auto variable = std::ranges::find(reading.variables, id, &Variable::id);
  const bool is_guessed = variable != reading.variables.end() && variable->is_guessed;
  // Guessed sizes are checked once everything has been read.
  if (is_guessed ? kept.dtype != next.dtype : !may_be_equal(kept, next))
    return invalid_model("variable '{}' is {}, but is assigned {}", id,
                         to_string(kept, reading.module.dims),
                         to_string(next, reading.module.dims));
  return {};
}

ValueId left_value(const VariableScope& scope, const std::string& id) {
  const auto assigned = scope.assigned.find(id);
  return assigned != scope.assigned.end() ? assigned->second : scope.entered.at(id);
}

}  // namespace scanloom::openvino
