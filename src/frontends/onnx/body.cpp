#include "frontends/onnx/body.h"

#include <set>

#include "frontends/onnx/types.h"

namespace scanloom::onnx {

using tensor::Type;

namespace {

Expected<std::optional<Type>> declared_type(NodeCtx& ctx, const ValueInfoProto& info,
                                            const std::string& description) {
  if (info.type.kind == TypeProto::Kind::none) return std::optional<Type>();
  Expected<Type> type = make_type(info.type, ctx.module().dims);
  if (!type) return std::move(type).error().at(description);
  return std::optional<Type>(*std::move(type));
}

void warn(NodeCtx& ctx, std::string_view text) {
  ctx.reading().diagnostics.warning(fmt::format("onnx: {}: {}", ctx.describe_location(), text));
}

}  // namespace

Expected<Body> Body::of(NodeCtx& ctx, std::string_view attribute) {
  Body body;
  SCANLOOM_TRY(const GraphUse use, ctx.graph(attribute));
  body.graph_ = use.graph;
  body.given_ = use.given;
  if (use.given != nullptr)
    for (const auto& [name, alias] : use.given->aliases) body.by_alias_[alias.index] = name;
  body.role_ = attribute;
  body.proto_ = &ctx.reading().model.graphs[body.graph_];
  body.facts_ = &ctx.reading().facts[body.graph_];
  const GraphFacts& facts = *body.facts_;
  const std::set<NameId> initialised = facts.initialised();
  std::set<NameId> seen;
  for (std::size_t i = 0; i < facts.inputs.size(); ++i) {
    if (!facts.inputs[i].valid()) return invalid_model("{} input {} has no name", attribute, i);
    if (!seen.insert(facts.inputs[i]).second)
      return invalid_model("{} input {} '{}' has the same name as another one", attribute, i,
                           body.proto_->inputs[i].name);
    (initialised.contains(facts.inputs[i]) ? body.defaulted_ : body.formals_).push_back(i);
  }
  return body;
}

std::optional<NameId> Body::own_name(NameId outer) const {
  if (given_ == nullptr) return outer;
  const auto found = by_alias_.find(outer.index);
  return found == by_alias_.end() ? std::nullopt : std::optional(found->second);
}

const std::shared_ptr<Root>& Body::root(const NodeCtx& ctx) const {
  return given_ != nullptr ? given_->origin : ctx.site().root;
}

std::string Body::describe_input(std::size_t i) const {
  return fmt::format("{} input {} '{}'", role_, i, shown_name(proto_->inputs[formals_[i]].name));
}

std::string Body::describe_output(std::size_t i) const {
  return fmt::format("{} output {} '{}'", role_, i, shown_name(proto_->outputs[i].name));
}

Expected<std::optional<Type>> Body::declared_input(NodeCtx& ctx, std::size_t i) const {
  return declared_type(ctx, proto_->inputs[formals_[i]], describe_input(i));
}

Expected<std::optional<Type>> Body::declared_output(NodeCtx& ctx, std::size_t i) const {
  return declared_type(ctx, proto_->outputs[i], describe_output(i));
}

Expected<Type> Body::formal_type(NodeCtx& ctx, std::size_t i, const Type& actual) const {
  SCANLOOM_TRY(const std::optional<Type> declared, declared_input(ctx, i));
  if (!declared) return actual;
  if (declared->dtype != actual.dtype || declared->wraps != actual.wraps) {
    Error error = invalid_model("{} is declared {}, but its value is {}", describe_input(i),
                                describe_elements(*declared), describe_elements(actual));
    if (!ctx.reading().options.lenient)
      return std::move(error).note("the option lenient takes the type of the value");
    warn(ctx, error.text());
    return actual;
  }
  if (!declared->ranked) return actual;
  if (!actual.ranked) return *declared;
  // Exporters declare what they knew before they knew the outer graph.
  if (declared->rank() != actual.rank())
    warn(ctx, fmt::format("{} is declared with {} axes, but its value has {}, which are taken",
                          describe_input(i), declared->rank(), actual.rank()));
  return actual;
}

/// Describes all of them: "input 3 'w' of the body is an initialiser, too".
std::string Body::describe_defaulted() const {
  const bool is_one = defaulted_.size() == 1;
  std::string names;
  for (const std::size_t i : defaulted_)
    names +=
        fmt::format("{}{} '{}'", names.empty() ? "" : ", ", i, shown_name(proto_->inputs[i].name));
  return fmt::format("{} {} of the {} {}, too", is_one ? "input" : "inputs", names, role_,
                     is_one ? "is an initialiser" : "are initialisers");
}

Expected<void> Body::check_counts(NodeCtx& ctx, std::size_t inputs, std::string_view input_words,
                                  std::size_t outputs, std::string_view output_words) const {
  if (input_count() != inputs) {
    Error error = invalid_model("the {} has {} inputs, but {} are needed: {}", role_, input_count(),
                                inputs, input_words);
    if (inputs <= input_count() || defaulted_.empty()) return error;
    return invalid_model(
        "{}; {}, and the node does not feed it: remove either the initialiser or the operand",
        error.text(), describe_defaulted());
  }
  if (output_count() != outputs)
    return invalid_model("the {} has {} outputs, but {} are needed: {}", role_, output_count(),
                         outputs, output_words);
  // In older files every initialiser also had to be an input.
  if (!defaulted_.empty() && ctx.reading().model.ir_version >= kSeparateInitialisers)
    warn(ctx, fmt::format("{}: the value of the initialiser is used, as before IR version {}",
                          describe_defaulted(), kSeparateInitialisers));
  return {};
}

ir::ValueId Body::add_formal(NodeCtx& ctx, BodyRequest& request, std::size_t i, Type type) const {
  const NameId name = input_name(i);
  const ir::ValueId argument = ctx.module().add_argument(
      request.builder->region(), std::move(type), shown_name(ctx.reading().names.text(name)));
  request.bindings.emplace_back(name, Binding::of(argument));
  return argument;
}

BodyRequest request_body(NodeCtx& ctx, const Body& body, ir::NodeId owner) {
  const GraphProto& proto = ctx.reading().model.graphs[body.graph()];
  const ir::RegionId region = ctx.module().add_region(owner, shown_name(proto.name));
  ctx.module().node(owner).regions.push_back(region);
  return {.graph = body.graph(),
          .role = body.role(),
          .builder = std::make_shared<ir::Builder>(ctx.module(), region),
          .root = body.root(ctx),
          .bindings = {}};
}

Captures::Captures(NodeCtx& ctx) {
  for (const NameId name : ctx.site().captures) {
    const Binding* const binding = ctx.site().scope.find(name);
    if (binding == nullptr) continue;  // the body reports the node that reads it
    outer_.emplace_back(name, *binding);
    if (binding->constant == nullptr && binding->value.valid()) operands_.push_back(binding->value);
  }
}

void Captures::enter(NodeCtx& ctx, const Body& body, BodyRequest& request) const {
  for (const auto& [name, outer] : outer_) {
    Binding inner = outer;
    if (outer.constant != nullptr) {
      inner = Binding::of(outer.constant);
    } else if (outer.value.valid()) {
      inner =
          Binding::of(ctx.module().add_argument(request.builder->region(), ctx.type(outer.value),
                                                shown_name(ctx.reading().names.text(name))));
    }
    if (const std::optional<NameId> own = body.own_name(name))
      request.bindings.emplace_back(*own, std::move(inner));
  }
}

}  // namespace scanloom::onnx
