#include "frontends/openvino/reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"
#include "frontends/openvino/check_port_maps.h"
#include "frontends/openvino/wide_sizes.h"

namespace scanloom::openvino {
namespace {

constexpr int kNewestOpset = 16;

/// Limit on the layers of a cycle that a message names.
constexpr std::size_t kNamedLayers = 5;

/// "it has 0, 2".
std::string listed(const std::vector<Port>& ports) {
  constexpr std::size_t kMax = 8;
  std::string text = ports.empty() ? "it has none" : "it has ";
  for (std::size_t i = 0; i < std::min(ports.size(), kMax); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ports[i].id);
  return ports.size() > kMax ? text + " and more" : text;
}

}  // namespace

Expected<int> opset_of(const Layer& layer) {
  if (layer.opset == "extension" || layer.opset == "experimental") return kNewestOpset;
  const std::string_view text = layer.opset;
  int opset = 0;
  if (text.starts_with("opset")) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 5, end, opset);
    if (error != std::errc() || stop != end) opset = 0;
  }
  if (opset < 1 || opset > kNewestOpset)
    return fail(Code::unsupported, "its operation set is '{}', not one of opset1 to opset{}",
                shortened(to_valid_utf8(text), 60), kNewestOpset);
  return opset;
}

Expected<VersionedConverter> versioned_converter(const Layer& layer) {
  const Converter* const converter = find_converter(layer.type);
  if (converter == nullptr) return VersionedConverter{};
  SCANLOOM_TRY(const int opset, opset_of(layer));
  const int version = converter->since(opset);
  if (version == 0)
    return fail(Code::unsupported, "{} was added in opset{}, but the layer is of opset{}",
                converter->type, converter->versions.front(), opset);
  const auto inputs = static_cast<int>(layer.inputs.size());
  if (inputs < converter->min_inputs ||
      (converter->max_inputs >= 0 && inputs > converter->max_inputs))
    return invalid_model(
        "it has {} inputs, but {} takes {}{}", inputs, converter->type, converter->min_inputs,
        converter->max_inputs == converter->min_inputs ? std::string()
        : converter->max_inputs < 0                    ? std::string(" or more")
                                    : fmt::format(" to {}", converter->max_inputs));
  return VersionedConverter{converter, version};
}

GraphReader::GraphReader(Reading& reading, GraphIndex graph, ir::Builder& builder,
                         std::string label, int depth)
    : reading_(reading),
      graph_(reading.document.graphs[graph]),
      builder_(builder),
      label_(std::move(label)),
      depth_(depth),
      index_(graph) {}

void GraphReader::fail_at(const std::string& location, Error error) {
  failed_ = true;
  // The builder's errors already name the location.
  if (!location.empty() && !error.text().starts_with(location))
    error = std::move(error).at(location);
  error = std::move(error).at("openvino");
  if (!label_.empty()) error.note(label_);
  reading_.diagnostics.error(std::move(error));
}

void GraphReader::enter() {
  reading_.graphs_read[index_] = true;
  const std::vector<Layer>& layers = graph_.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto [found, is_new] = by_id_.try_emplace(layers[i].id, i);
    if (!is_new)
      fail_at({}, invalid_model("{} has the same id as {}", describe(layers[i]),
                                describe(layers[found->second])));
    // No converter checks the operation set of these two.
    if (is_type(layers[i], "Parameter") || is_type(layers[i], "Result"))
      if (Expected<int> opset = opset_of(layers[i]); !opset)
        fail_at(describe(layers[i]), std::move(opset).error());
    sources_.emplace_back(layers[i].inputs.size());
    outputs_.emplace_back(layers[i].outputs.size());
    input_ports_.emplace_back(layers[i].inputs);
    output_ports_.emplace_back(layers[i].outputs);
  }
  for (const Edge& edge : graph_.edges) enter_edge(edge);
  input_ports_ = {};
  output_ports_ = {};
}

void GraphReader::enter_edge(const Edge& edge) {
  const std::string name =
      fmt::format("the edge from layer {} to layer {}", edge.from_layer, edge.to_layer);
  Expected<Source> source = source_of(edge);
  if (!source) fail_at({}, std::move(source).error());
  const auto to = by_id_.find(edge.to_layer);
  if (to == by_id_.end())
    return fail_at({}, invalid_model("{} enters a layer that does not exist", name));
  const Layer& reader = graph_.layers[to->second];
  const std::optional<std::size_t> input = input_ports_[to->second].find(edge.to_port);
  if (!input)
    return fail_at({}, invalid_model("{}: {} has no input port {}: {}", name, describe(reader),
                                     edge.to_port, listed(reader.inputs)));
  Source& own = sources_[to->second][*input];
  if (own.layer < graph_.layers.size())
    return fail_at({}, invalid_model("two edges lead to input port {} of {}, from layers {} and {}",
                                     edge.to_port, describe(reader), graph_.layers[own.layer].id,
                                     edge.from_layer));
  own = source ? *source : Source{kBroken, 0};
}

Expected<GraphReader::Source> GraphReader::source_of(const Edge& edge) const {
  const auto from = by_id_.find(edge.from_layer);
  if (from == by_id_.end())
    return invalid_model("the edge from layer {} to layer {} leaves a layer that does not exist",
                         edge.from_layer, edge.to_layer);
  const Layer& maker = graph_.layers[from->second];
  const std::optional<std::size_t> output = output_ports_[from->second].find(edge.from_port);
  if (!output)
    return invalid_model("the edge from layer {} to layer {}: {} has no output port {}: {}",
                         edge.from_layer, edge.to_layer, describe(maker), edge.from_port,
                         listed(maker.outputs));
  return is_null_node(maker) ? Source{kLeftOut, 0} : Source{from->second, *output};
}

std::vector<const Layer*> GraphReader::layers_of(std::string_view type) const {
  std::vector<const Layer*> found;
  for (const Layer& layer : graph_.layers)
    if (is_type(layer, type)) found.push_back(&layer);
  return found;
}

const Layer* GraphReader::find(std::int64_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &graph_.layers[found->second];
}

std::size_t GraphReader::index_of(const Layer& layer) const {
  return static_cast<std::size_t>(&layer - graph_.layers.data());
}

void GraphReader::bind_parameter(const Layer& parameter, Binding binding) {
  std::vector<Binding>& outputs = outputs_[index_of(parameter)];
  if (!outputs.empty()) outputs.front() = std::move(binding);
}

std::pair<const Layer*, std::size_t> GraphReader::source(const Layer& layer,
                                                         std::size_t input) const {
  const std::vector<Source>& sources = sources_[index_of(layer)];
  if (input >= sources.size() || sources[input].layer >= graph_.layers.size()) return {nullptr, 0};
  return {&graph_.layers[sources[input].layer], sources[input].output};
}

/// Whether a nested body assigns a variable that is read.
bool GraphReader::assigns(const Layer& layer) const {
  if (layer.bodies.empty()) return false;
  return std::ranges::any_of(reading_.variable_uses.of(layer), &VariableUses::Use::is_assigned);
}

std::vector<std::size_t> GraphReader::order() {
  enum class State : std::uint8_t { unseen, open, done };
  std::vector<State> states(graph_.layers.size(), State::unseen);
  std::vector<std::size_t> order;
  std::vector<std::pair<std::size_t, std::size_t>> stack;  // a layer and its next unvisited input
  for (std::size_t root = 0; root < graph_.layers.size(); ++root) {
    const Layer& layer = graph_.layers[root];
    if (!is_type(layer, "Result") && !is_type(layer, "Assign") && !assigns(layer)) continue;
    if (states[root] == State::unseen) stack.emplace_back(root, 0);
    while (!stack.empty()) {
      const std::size_t at = stack.back().first;
      states[at] = State::open;
      if (stack.back().second == sources_[at].size()) {
        states[at] = State::done;
        order.push_back(at);
        stack.pop_back();
        continue;
      }
      Source& source = sources_[at][stack.back().second++];
      if (source.layer >= states.size() || states[source.layer] == State::done) continue;
      if (states[source.layer] == State::unseen) {
        stack.emplace_back(source.layer, 0);
        continue;
      }
      report_cycle(stack, source.layer);
      source.layer = kBroken;
    }
  }
  return order;
}

/// Reports only the first cycle, since others may be parts of it. Layers below `closing` only lead
/// to it.
void GraphReader::report_cycle(std::span<const std::pair<std::size_t, std::size_t>> path,
                               std::size_t closing) {
  failed_ = true;
  if (std::exchange(has_cycle_, true)) return;
  std::string names;
  for (std::size_t i = path.size(), named = 0; i-- > 0 && named < kNamedLayers; ++named) {
    const std::size_t member = path[i].first;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", describe(graph_.layers[member]));
    if (member == closing) break;
  }
  fail_at({}, invalid_model("layers read each other in a cycle, among them {}", names));
}

bool GraphReader::run() {
  std::vector<bool> is_needed(graph_.layers.size());
  for (const std::size_t layer : order()) {
    is_needed[layer] = true;
    read_layer(layer);
  }
  for (std::size_t i = 0; i < graph_.layers.size(); ++i)
    if (!is_needed[i]) examine_unread(graph_.layers[i]);
  return !failed_;
}

void GraphReader::run_unbound() {
  for (const Layer* const parameter : layers_of("Parameter"))
    bind_parameter(*parameter, Binding::poison());
  // Reads in a separate scope, whose assignments are discarded. The enclosing layer cannot be read,
  // whatever run() returns.
  reading_.scopes.push_back({reading_.scopes.back().entered, {}});
  static_cast<void>(run());
  reading_.scopes.pop_back();
}

Binding* GraphReader::operand(const Source& source) {
  if (source.layer == kNone) return nullptr;
  if (source.layer == kBroken) return &broken_;
  return source.layer == kLeftOut ? &absent_ : &outputs_[source.layer][source.output];
}

void GraphReader::poison(std::size_t index) {
  std::ranges::fill(outputs_[index], Binding::poison());
  failed_ = true;
}

void GraphReader::read_parameter(std::size_t index) {
  if (left_out_.contains(index) || outputs_[index].size() != 1 ||
      !outputs_[index].front().is_absent())
    return;
  poison(index);
  fail_at(describe(graph_.layers[index]), invalid_model("no port_map entry refers to it"));
}

void GraphReader::read_layer(std::size_t index) {
  const Layer& layer = graph_.layers[index];
  if (is_type(layer, "Parameter")) return read_parameter(index);
  if (is_type(layer, "Result")) return;
  const auto is_poisoned = [&](const Source& source) {
    const Binding* const value = operand(source);
    return value != nullptr && value->poisoned;
  };
  const Expected<VersionedConverter> version = examine(layer);
  if (!version || version->converter == nullptr ||
      std::ranges::any_of(sources_[index], is_poisoned)) {
    poison(index);
  } else if (Expected<void> converted = convert(*version, layer, index); !converted) {
    poison(index);
    fail_at(describe(layer), std::move(converted).error());
  }
  if (failed_) explore(layer);
}

Expected<VersionedConverter> GraphReader::examine(const Layer& layer) {
  Expected<VersionedConverter> version = versioned_converter(layer);
  if (!version) {
    fail_at(describe(layer), version.error());
    return version;
  }
  std::vector<Error> errors = check_port_maps(reading_.document, layer);
  for (const Error& error : errors) fail_at(describe(layer), error);
  if (!errors.empty()) return errors.front();
  return version;
}

void GraphReader::examine_unread(const Layer& layer) {
  if (is_type(layer, "Parameter") || is_type(layer, "Result") || is_null_node(layer)) return;
  static_cast<void>(examine(layer));
  if (is_type(layer, "Const") || is_type(layer, "Constant"))
    if (Expected<void> checked = reading_.weights.check(layer); !checked)
      fail_at(describe(layer), std::move(checked).error());
  explore(layer);
}

// Reads the bodies into a separate module, which is discarded.
void GraphReader::explore(const Layer& layer) {
  if (layer.bodies.empty()) return;
  ir::Module spare;
  Reading apart{reading_.document, reading_.weights, reading_.options, reading_.diagnostics, spare};
  apart.graphs_read.swap(reading_.graphs_read);
  std::swap(apart.variable_uses, reading_.variable_uses);
  for (const BodyPart& part : layer.bodies) {
    if (apart.graphs_read[part.graph]) continue;
    ir::Builder builder(spare, spare.top());
    GraphReader reader(apart, part.graph, builder,
                       fmt::format("in the {} of {}", part.role, describe(layer)), depth_ + 1);
    reader.enter();
    reader.run_unbound();
  }
  apart.graphs_read.swap(reading_.graphs_read);
  std::swap(apart.variable_uses, reading_.variable_uses);
}

Expected<void> GraphReader::convert(const VersionedConverter& reader, const Layer& layer,
                                    std::size_t index) {
  const ir::LocationId location = reading_.module.add_location({{describe(layer)}});
  builder_.set_location(location);
  std::vector<Binding*> operands;
  for (const Source& source : sources_[index]) operands.push_back(operand(source));
  // An operand left out at the end is the same as one that is not there.
  const auto needed = static_cast<std::size_t>(reader.converter->min_inputs);
  while (operands.size() > needed && operands.back() == &absent_ && layer.bodies.empty())
    operands.pop_back();
  WideOperands wide(std::move(operands));
  SCANLOOM_CHECK_OK(wide.widen(reader.converter->type, builder_));
  LayerCtx ctx(reading_, {layer, reader.version, wide.operands(), builder_, location, depth_});
  SCANLOOM_CHECK_OK(reader.converter->convert(ctx));
  SCANLOOM_CHECK_OK(wide.narrow(ctx));
  for (std::size_t i = 0; i < ctx.outputs().size(); ++i) {
    Binding& output = ctx.outputs()[i];
    if (output.poisoned) failed_ = true;
    if (output.is_absent()) return fail(Code::unsupported, "output {} cannot be computed", i);
    if (output.value.valid() && reading_.module.value(output.value).name.empty())
      reading_.module.value(output.value).name = to_valid_utf8(layer.name);
    outputs_[index][i] = std::move(output);
  }
  return {};
}

Binding GraphReader::result(const Layer& result) {
  const std::vector<Source>& sources = sources_[index_of(result)];
  Binding* const value = sources.empty() ? nullptr : operand(sources.front());
  return value == nullptr ? Binding() : *value;
}

}  // namespace scanloom::openvino
