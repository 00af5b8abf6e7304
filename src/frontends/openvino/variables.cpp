#include "frontends/openvino/variables.h"

#include "frontends/openvino/layer_ctx.h"
#include "frontends/openvino/reader.h"
#include "frontends/openvino/types.h"

namespace scanloom::openvino {

using ir::ValueId;
using tensor::Type;

namespace {

Expected<Type> type_by(Reading& reading, const Layer& read_value) {
  const Attributes attributes(read_value);
  if (attributes.has("variable_type")) {
    SCANLOOM_TRY(const DType dtype, attributes.dtype("variable_type"));
    return type_of(dtype, attributes.text("variable_shape", "..."), reading.module.dims);
  }
  if (read_value.outputs.size() != 1 || read_value.outputs[0].precision.empty())
    return invalid_model("attribute 'variable_type' of {} is missing", describe(read_value));
  SCANLOOM_TRY(const DType dtype, dtype_of(read_value.outputs[0].precision));
  return Type::unranked(dtype);
}

}  // namespace

VariableUses::VariableUses(const Document& document) {
  graphs_.resize(document.graphs.size());
  // Bodies stand behind the graphs that hold them.
  for (std::size_t i = document.graphs.size(); i-- > 0;) {
    OfGraph& own = graphs_[i];
    for (const Layer& layer : document.graphs[i].layers) {
      const bool reads = is_type(layer, "ReadValue");
      if (reads || is_type(layer, "Assign")) {
        const std::string id = Attributes(layer).text("variable_id");
        (reads ? own.read : own.assigned).insert(id);
        if (reads) readers_.emplace(id, &layer);
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

const Layer* VariableUses::reader(const std::string& id) const {
  const auto found = readers_.find(id);
  return found == readers_.end() ? nullptr : found->second;
}

bool VariableUses::in_bodies(const std::string& id) const { return in_bodies_.contains(id); }

Expected<tensor::Tensor> initial_zeros(const std::string& id, const Type& type) {
  // They are made while the model is read, whoever runs it.
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;
  tensor::Shape shape;
  for (const tensor::Dim& dim : type.dims) shape.push_back(dim.is_constant() ? dim.value() : 0);
  const auto most = kMaxBytes / static_cast<std::int64_t>(dtype_bytes(type.dtype));
  if (shape.checked_elements().value_or(most + 1) > most)
    return fail(Code::unsupported, "variable '{}' begins with {} zeros, at most {} are made", id,
                shape.to_string(), most)
        .note("let it begin with a constant");
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
  SCANLOOM_TRY(const Type type, type_by(reading, *reading.variable_uses.reader(id)));
  Variable made;
  made.id = id;
  SCANLOOM_TRY(made.initial, initial_zeros(id, type));
  made.argument = reading.module.add_argument(reading.module.top(), type, id);
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
  if (!may_be_equal(kept, next))
    return invalid_model("variable '{}' is {}, and is assigned {}", id,
                         to_string(kept, reading.module.dims),
                         to_string(next, reading.module.dims));
  return {};
}

ValueId left_value(const VariableScope& scope, const std::string& id) {
  const auto assigned = scope.assigned.find(id);
  return assigned != scope.assigned.end() ? assigned->second : scope.entered.at(id);
}

}  // namespace scanloom::openvino
