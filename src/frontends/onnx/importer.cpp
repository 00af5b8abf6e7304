#include "frontends/onnx/importer.h"

#include <algorithm>

#include "frontends/onnx/types.h"

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Type;

namespace {

/// Limit on what function calls may add: nodes, and everything else entered with a body (arguments,
/// initialisers, declared values). Functions that call functions could demand any number;
/// everything outside of functions is limited by the length of the file.
constexpr std::size_t kMaxCalledNodes = std::size_t{1} << 18;

/// Limit on the nodes of a cycle that a message names.
constexpr std::size_t kNamedNodes = 5;

std::string full_name(std::string_view domain, std::string_view op_type) {
  if (domain.empty()) return shown_name(op_type);
  return fmt::format("{}.{}", shown_name(domain), shown_name(op_type));
}

/// Returns nullopt if the domain is not imported.
std::optional<std::int64_t> imported_version(const Root& root, std::string_view domain) {
  for (const OpsetProto& opset : root.opsets)
    if (normal_domain(opset.domain) == domain) return opset.version;
  return std::nullopt;
}

std::string describe_location(const NodeProto& node, std::uint32_t index, std::string_view kind) {
  if (!node.name.empty()) return fmt::format("node '{}' ({})", shown_name(node.name), kind);
  for (const std::string_view output : node.outputs)
    if (!output.empty())
      return fmt::format("node {} ({}) making '{}'", index, kind, shown_name(output));
  return fmt::format("node {} ({})", index, kind);
}

}  // namespace

void Importer::run() {
  enter_main();
  while (!stack_.empty()) {
    GraphFrame& frame = *stack_.back();
    const bool is_done = frame.next == frame.order.nodes.size() && frame.open == nullptr;
    if (!is_done) {
      advance(frame);
    } else if (stack_.size() > 1) {
      pop();
    } else {
      leave_main(frame);
      stack_.pop_back();
    }
  }
}

void Importer::fail_at(const GraphFrame& frame, const std::string& location, Error error) {
  // The builder's errors already name the location.
  if (!error.text().starts_with(location)) error = std::move(error).at(location);
  error = std::move(error).at("onnx");
  if (!frame.label.empty()) error.note("in " + frame.label);
  reading_.diagnostics.error(std::move(error));
}

void Importer::push(BodyRequest request, std::string label) {
  auto frame = std::make_unique<GraphFrame>();
  frame->graph = request.graph;
  frame->builder = std::move(request.builder);
  frame->root = std::move(request.root);
  frame->label = std::move(label);
  frame->called = is_called(request);
  frame->errors_before = reading_.diagnostics.error_count();
  for (auto& [name, binding] : request.bindings) frame->scope.bind(name, std::move(binding));
  check_names(*frame);
  for (const NameId name : reading_.facts[frame->graph].inputs) show(*frame, name);
  enter_initialisers(*frame);
  enter_declared(*frame);
  enter_captures(*frame);
  enter_order(*frame);
  stack_.push_back(std::move(frame));
}

/// Whether the initialiser is replaced by a fed value.
bool Importer::is_fed_default(const GraphFrame& frame, NameId name) const {
  return frame.graph == 0 && name.valid() &&
         std::ranges::find(reading_.options.fed_defaults, reading_.names.text(name)) !=
             reading_.options.fed_defaults.end();
}

void Importer::enter_initialisers(GraphFrame& frame) {
  const GraphProto& graph = reading_.model.graphs[frame.graph];
  const GraphFacts& facts = reading_.facts[frame.graph];
  const auto enter = [&](NameId name, Expected<tensor::Tensor> tensor) {
    if (!name.valid()) return fail_at(frame, "an initialiser", invalid_model("it has no name"));
    if (frame.clashing.contains(name.index)) return;
    show(frame, name);
    if (!tensor) {
      frame.scope.bind(name, Binding::poison());
      return fail_at(frame, "initialiser", std::move(tensor).error());
    }
    frame.scope.bind(name, Binding::of(std::make_shared<const tensor::Tensor>(*std::move(tensor))));
  };
  for (std::size_t i = 0; i < graph.initialisers.size(); ++i)
    if (!is_fed_default(frame, facts.initialisers[i]))
      enter(facts.initialisers[i], reading_.tensors.read(graph.initialisers[i]));
  for (std::size_t i = 0; i < graph.sparse_initialisers.size(); ++i)
    if (!is_fed_default(frame, facts.sparse_initialisers[i]))
      enter(facts.sparse_initialisers[i], reading_.tensors.read(graph.sparse_initialisers[i]));
}

void Importer::enter_declared(GraphFrame& frame) {
  const GraphProto& graph = reading_.model.graphs[frame.graph];
  const auto enter = [&](const ValueInfoProto& info) {
    if (!info.name.empty() && info.type.kind != TypeProto::Kind::none)
      frame.declared.try_emplace(reading_.names.intern(info.name).index, &info.type);
  };
  std::ranges::for_each(graph.outputs, enter);
  std::ranges::for_each(graph.value_infos, enter);
}

/// Computes the captures of bodies passed to the function, which differ between its calls.
void Importer::enter_captures(GraphFrame& frame) {
  const GraphFacts& facts = reading_.facts[frame.graph];
  if (facts.references.empty()) return;
  for (std::uint32_t node = 0; node < facts.nodes.size(); ++node) {
    std::vector<NameId> captures = facts.nodes[node].captures;
    std::unordered_set<std::uint32_t> seen;
    for (const NameId name : captures) seen.insert(name.index);
    for (const std::string_view reference : facts.nodes[node].references)
      if (const GivenAttribute* const given = frame.root->find(reference))
        for (const NameId name : given->reads)
          if (seen.insert(name.index).second) captures.push_back(name);
    if (captures.size() == facts.nodes[node].captures.size()) continue;
    called_nodes_ += captures.size();
    if (called_nodes_ > kMaxCalledNodes) return;  // the first of their bodies reports it
    frame.captures.emplace(node, std::move(captures));
  }
}

void Importer::enter_order(GraphFrame& frame) {
  const GraphFacts& facts = reading_.facts[frame.graph];
  frame.order = order_nodes(facts, frame.captures);
  if (frame.order.cycle.empty()) return;
  std::string names;
  const std::size_t count = frame.order.cycle.size();
  for (std::size_t i = 0; i < std::min(count, kNamedNodes); ++i)
    names += (names.empty() ? "" : ", ") + describe(frame, frame.order.cycle[i]).location;
  if (count > kNamedNodes) names += fmt::format(" and {} more", count - kNamedNodes);
  Error error = invalid_model("onnx: these nodes depend on each other: {}", names);
  if (!frame.label.empty()) error.note("in " + frame.label);
  std::size_t notes = 0;
  for (const std::uint32_t node : frame.order.cycle)
    for (const NameId name : facts.nodes[node].outputs)
      if (const auto outer = frame.root->visible.find(name.index);
          outer != frame.root->visible.end() && outer->second > 0 && notes++ < kNamedNodes)
        error.note(
            fmt::format("'{}' is also a value outside, which is hidden from the nodes of a body "
                        "that defines the same name",
                        shown_name(reading_.names.text(name))));
  // If names clash, it is unclear which node is waited for.
  if (frame.clashing.empty()) reading_.diagnostics.error(std::move(error));
  std::vector<bool> placed(facts.nodes.size());
  for (const std::uint32_t node : frame.order.nodes) placed[node] = true;
  for (std::size_t node = 0; node < placed.size(); ++node)
    if (!placed[node]) poison_outputs(frame, facts.nodes[node]);
}

std::vector<Binding> Importer::graph_outputs(GraphFrame& frame) {
  std::vector<Binding> outputs;
  const GraphFacts& facts = reading_.facts[frame.graph];
  for (std::size_t i = 0; i < facts.outputs.size(); ++i) {
    const NameId name = facts.outputs[i];
    const Binding* const binding = name.valid() ? frame.scope.find(name) : nullptr;
    if (binding == nullptr) {
      const std::string_view text = name.valid() ? reading_.names.text(name) : std::string_view();
      fail_at(frame, fmt::format("graph output {} '{}'", i, text),
              invalid_model("no node produces it"));
    } else if (!frame.label.empty() && binding->is_absent()) {
      fail_at(frame, fmt::format("graph output {} '{}'", i, reading_.names.text(name)),
              invalid_model("it is an input that the call omits"));
    }
    outputs.push_back(binding == nullptr ? Binding::poison() : *binding);
  }
  return outputs;
}

void Importer::pop() {
  GraphFrame& frame = *stack_.back();
  BodyResult result{frame.builder, graph_outputs(frame)};
  for (const NameId name : frame.shown) --frame.root->visible[name.index];
  const bool failed = reading_.diagnostics.error_count() > frame.errors_before ||
                      std::ranges::any_of(result.outputs, &Binding::poisoned);
  GraphFrame& owner = *stack_[stack_.size() - 2];
  owner.body_failed = owner.body_failed || failed;
  owner.results.push_back(std::move(result));
  stack_.pop_back();
}

bool Importer::is_called(const BodyRequest& request) const {
  if (stack_.empty()) return false;
  const GraphFrame& owner = *stack_.back();
  return owner.called || request.root != owner.root;
}

bool Importer::count_called(const BodyRequest& request) {
  if (!is_called(request)) return true;
  called_nodes_ += size_of_call(reading_.model.graphs[request.graph], request);
  return called_nodes_ <= kMaxCalledNodes;
}

void Importer::give_up() {
  for (const auto& open : stack_) {
    open->next = open->order.nodes.size();
    open->open = nullptr;
  }
}

void Importer::advance(GraphFrame& frame) {
  if (frame.open != nullptr) return continue_open(frame);
  read_node(frame, frame.order.nodes[frame.next++]);
}

void Importer::continue_open(GraphFrame& frame) {
  const std::uint32_t index = frame.order.nodes[frame.next - 1];
  const Step step = describe(frame, index);
  if (frame.next_body < frame.open->bodies.size()) {
    BodyRequest& request = frame.open->bodies[frame.next_body++];
    if (!count_called(request)) {
      fail_at(frame, step.location,
              fail(Code::limit_reached,
                   "function calls produce more than {} nodes and body values (long attributes "
                   "count as several)",
                   kMaxCalledNodes));
      return give_up();  // the model is rejected anyway
    }
    std::string label = fmt::format("the {} of {}", request.role, step.location);
    if (stack_.size() <= kMaxDepth) return push(std::move(request), std::move(label));
    fail_at(
        frame, step.location,
        fail(Code::limit_reached, "bodies and functions are nested more than {} deep", kMaxDepth));
    frame.body_failed = true;
    frame.next_body = frame.open->bodies.size();
    return;
  }
  const std::unique_ptr<OpenNode> open = std::move(frame.open);
  std::vector<BodyResult> results = std::move(frame.results);
  frame.results.clear();
  if (frame.body_failed) return poison_outputs(frame, step.facts);
  NodeCtx ctx(reading_, site(frame, step));
  if (Expected<void> done = open->finish(ctx, std::move(results)); !done) {
    fail_at(frame, step.location, std::move(done).error());
    return poison_outputs(frame, step.facts);
  }
  frame.open = ctx.take_open();
  frame.next_body = 0;
  if (frame.open == nullptr) bind_outputs(frame, step, ctx);
}

Importer::Step Importer::describe(const GraphFrame& frame, std::uint32_t index) const {
  const NodeProto& node = reading_.model.graphs[frame.graph].nodes[index];
  Step step{
      node, reading_.facts[frame.graph].nodes[index], index, functions_.find(node), nullptr, 0, {}};
  const std::string_view domain = normal_domain(node.domain);
  step.version = imported_version(*frame.root, domain).value_or(0);
  if (step.function == nullptr) step.converter = find_converter(domain, node.op_type);
  std::string kind = full_name(domain, node.op_type);
  if (step.converter != nullptr) kind += fmt::format("-{}", step.converter->since(step.version));
  step.location = describe_location(node, index, kind);
  return step;
}

NodeSite Importer::site(GraphFrame& frame, const Step& step) {
  const ir::LocationId location = reading_.module.add_location({{step.location}});
  frame.builder->set_location(location);
  const auto captures = frame.captures.find(step.index);
  return {.node = step.node,
          .facts = step.facts,
          .captures = captures == frame.captures.end() ? step.facts.captures : captures->second,
          .scope = frame.scope,
          .root = frame.root,
          .builder = *frame.builder,
          .location = location,
          .version = step.version};
}

Expected<void> Importer::check_version(const Step& step, const Root& root) const {
  const std::string_view domain = normal_domain(step.node.domain);
  if (!imported_version(root, domain))
    return invalid_model("the model imports no version of the operator set '{}'",
                         domain.empty() ? "ai.onnx" : domain);
  if (reading_.options.lenient) return {};
  const int first = step.converter->versions.front();
  if (step.version < first)
    return invalid_model("the operator exists since version {}, but the model imports version {}",
                         first, step.version);
  return {};
}

Expected<void> Importer::check_counts(const Step& step) const {
  const Converter& converter = *step.converter;
  const auto inputs = static_cast<int>(step.node.inputs.size());
  const auto outputs = static_cast<int>(step.node.outputs.size());
  if (inputs < converter.min_inputs)
    return invalid_model("it has {} inputs, but at least {} are needed", inputs,
                         converter.min_inputs);
  if (converter.max_inputs >= 0 && inputs > converter.max_inputs)
    return invalid_model("it has {} inputs, but at most {} are allowed", inputs,
                         converter.max_inputs);
  if (converter.max_outputs >= 0 && outputs > converter.max_outputs)
    return invalid_model("it has {} outputs, but at most {} are allowed", outputs,
                         converter.max_outputs);
  return {};
}

Expected<bool> Importer::inputs_are_ready(GraphFrame& frame, const Step& step) const {
  bool ready = true;
  for (std::size_t i = 0; i < step.facts.inputs.size(); ++i) {
    const NameId name = step.facts.inputs[i];
    if (!name.valid()) continue;
    const Binding* const binding = frame.scope.find(name);
    if (binding == nullptr)
      return invalid_model("input {} '{}' is not produced by any earlier node", i,
                           step.node.inputs[i]);
    ready = ready && !binding->poisoned;
  }
  return ready;
}

/// An unknown attribute might change what the operator does, so it is an error.
bool Importer::check_attributes(const GraphFrame& frame, const Step& step, const NodeCtx& ctx) {
  bool known = true;
  for (const std::string_view name : ctx.unread_attributes()) {
    if (name.starts_with("__")) continue;  // reserved for annotations by tools
    Error error = invalid_model("attribute '{}' is unknown", shown_name(name));
    if (reading_.options.lenient) {
      reading_.diagnostics.warning(
          fmt::format("onnx: {}: {} and ignored", step.location, error.text()));
      continue;
    }
    error.note("the option lenient ignores unknown attributes");
    fail_at(frame, step.location, std::move(error));
    known = false;
  }
  return known;
}

void Importer::read_node(GraphFrame& frame, std::uint32_t index) {
  const Step step = describe(frame, index);
  const auto give_up = [&](Error error) {
    fail_at(frame, step.location, std::move(error));
    poison_outputs(frame, step.facts);
  };
  // Unknown operators have already been reported together.
  if (step.function == nullptr && step.converter == nullptr)
    return poison_outputs(frame, step.facts);
  Expected<bool> ready = inputs_are_ready(frame, step);
  if (!ready) return give_up(std::move(ready).error());
  if (!*ready) return poison_outputs(frame, step.facts);
  if (step.converter != nullptr) {
    if (auto fits = check_version(step, *frame.root); !fits)
      return give_up(std::move(fits).error());
    if (auto fits = check_counts(step); !fits) return give_up(std::move(fits).error());
  }
  NodeCtx ctx(reading_, site(frame, step));
  auto converted =
      step.function != nullptr ? convert_call(ctx, *step.function) : step.converter->convert(ctx);
  if (!converted) return give_up(std::move(converted).error());
  if (step.function == nullptr && !check_attributes(frame, step, ctx))
    return poison_outputs(frame, step.facts);
  frame.open = ctx.take_open();
  frame.next_body = 0;
  frame.body_failed = false;
  if (frame.open == nullptr) bind_outputs(frame, step, ctx);
}

void Importer::bind_outputs(GraphFrame& frame, const Step& step, NodeCtx& ctx) {
  for (std::size_t i = 0; i < step.facts.outputs.size(); ++i) {
    const NameId name = step.facts.outputs[i];
    if (!name.valid()) continue;
    Binding binding = std::move(ctx.outputs()[i]);
    Expected<void> bound =
        binding.is_absent()
            ? Expected<void>(fail(Code::unsupported, "output {} is not available", i))
            : bind_output(frame, step, name, std::move(binding));
    if (bound) continue;
    fail_at(frame, step.location, std::move(bound).error());
    if (frame.scope.find(name) == nullptr) frame.scope.bind(name, Binding::poison());
  }
}

Expected<void> Importer::bind_output(GraphFrame& frame, const Step& step, NameId name,
                                     Binding binding) {
  if (frame.clashing.contains(name.index)) return {};
  const std::string_view text = reading_.names.text(name);
  const auto visible = frame.root->visible.find(name.index);
  if (visible != frame.root->visible.end() && visible->second > 0) {
    if (!reading_.options.lenient)
      return invalid_model("output '{}' has the same name as a value outside {}: {}", text,
                           frame.label, describe_outer(name));
    reading_.diagnostics.warning(fmt::format(
        "onnx: {}: output '{}' hides the value of that name outside", step.location, text));
  }
  if (binding.value.valid()) {
    ir::Value& value = reading_.module.value(binding.value);
    if (value.name.empty()) value.name = shown_name(text);
    SCANLOOM_CHECK_OK(check_declared(frame, name, binding.value));
  }
  frame.scope.bind(name, std::move(binding));
  show(frame, name);
  return {};
}

Expected<void> Importer::check_declared(GraphFrame& frame, NameId name, ValueId id) {
  const auto found = frame.declared.find(name.index);
  if (found == frame.declared.end()) return {};
  const std::string_view text = reading_.names.text(name);
  Expected<Type> declared = make_type(*found->second, reading_.module.dims);
  if (!declared) return std::move(declared).error().at(fmt::format("the type of '{}'", text));
  Type& actual = reading_.module.value(id).type;
  if (declared->dtype != actual.dtype || declared->wraps != actual.wraps) {
    Error error = invalid_model("output '{}' is declared {}, but the node produces {}", text,
                                describe_elements(*declared), describe_elements(actual));
    if (!reading_.options.lenient) return error;
    reading_.diagnostics.warning("onnx: " + error.text());
    return {};
  }
  if (!declared->ranked) return {};
  if (!actual.ranked)
    actual = *std::move(declared);
  else if (declared->rank() != actual.rank())
    reading_.diagnostics.warning(fmt::format("onnx: '{}' is declared with {} axes, but has {}",
                                             text, declared->rank(), actual.rank()));
  return {};
}

void Importer::poison_outputs(GraphFrame& frame, const NodeFacts& facts) {
  for (const NameId name : facts.outputs)
    if (name.valid()) frame.scope.bind(name, Binding::poison());
}

void Importer::show(GraphFrame& frame, NameId name) {
  if (!name.valid()) return;
  ++frame.root->visible[name.index];
  frame.shown.push_back(name);
}

}  // namespace scanloom::onnx
