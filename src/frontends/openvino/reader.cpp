#include "frontends/openvino/reader.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/utf8.h"
#include "frontends/openvino/wide_sizes.h"

namespace scanloom::openvino {
namespace {

constexpr int kNewestOpset = 16;

/// How many layers of a cycle a message names.
constexpr std::size_t kNamedLayers = 5;

/// "it has 0, 2".
std::string listed(const std::vector<Port>& ports) {
  constexpr std::size_t kMost = 8;
  std::string text = ports.empty() ? "it has none" : "it has ";
  for (std::size_t i = 0; i < std::min(ports.size(), kMost); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ports[i].id);
  return ports.size() > kMost ? text + " and more" : text;
}

}  // namespace

bool is_type(const Layer& layer, std::string_view type) {
  return equal_ignoring_case(layer.type, type);
}

Expected<int> opset_of(const Layer& layer) {
  if (layer.opset.empty() || layer.opset == "extension" || layer.opset == "experimental")
    return kNewestOpset;
  const std::string_view text = layer.opset;
  int opset = 0;
  if (text.starts_with("opset")) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 5, end, opset);
    if (error != std::errc() || stop != end) opset = 0;
  }
  if (opset < 1 || opset > kNewestOpset)
    return fail(Code::unsupported, "its operation set is '{}', none of opset1 to opset{}",
                shortened(to_valid_utf8(text), 60), kNewestOpset);
  return opset;
}

GraphReader::GraphReader(Reading& reading, GraphIndex graph, ir::Builder& builder,
                         std::string label, int depth)
    : reading_(reading),
      graph_(reading.document.graphs[graph]),
      builder_(builder),
      label_(std::move(label)),
      depth_(depth) {}

void GraphReader::fail_at(const std::string& place, Error error) {
  failed_ = true;
  // The builder names the place itself.
  if (!place.empty() && !error.text().starts_with(place)) error = std::move(error).at(place);
  error = std::move(error).at("openvino");
  if (!label_.empty()) error.note(label_);
  reading_.diagnostics.error(std::move(error));
}

bool GraphReader::enter() {
  const Expected<void> entered = enter_layers();
  if (!entered) fail_at({}, entered.error());
  return entered.has_value();
}

Expected<void> GraphReader::enter_layers() {
  const std::vector<Layer>& layers = graph_.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto [found, is_new] = by_id_.try_emplace(layers[i].id, i);
    if (!is_new)
      return invalid_model("{} has the id of {}", describe(layers[i]),
                           describe(layers[found->second]));
    sources_.emplace_back(layers[i].inputs.size());
    outputs_.emplace_back(layers[i].outputs.size());
    input_ports_.emplace_back(layers[i].inputs);
    output_ports_.emplace_back(layers[i].outputs);
  }
  for (const Edge& edge : graph_.edges) SCANLOOM_CHECK_OK(enter_edge(edge));
  input_ports_ = {};
  output_ports_ = {};
  return {};
}

Expected<void> GraphReader::enter_edge(const Edge& edge) {
  const auto find = [&](std::int64_t id, const char* end) -> Expected<std::size_t> {
    const auto found = by_id_.find(id);
    if (found == by_id_.end())
      return invalid_model("the edge from layer {} to layer {} {} a layer that does not exist",
                           edge.from_layer, edge.to_layer, end);
    return found->second;
  };
  SCANLOOM_TRY(const std::size_t from, find(edge.from_layer, "leaves"));
  SCANLOOM_TRY(const std::size_t to, find(edge.to_layer, "enters"));
  const Layer &maker = graph_.layers[from], &reader = graph_.layers[to];
  const std::optional<std::size_t> output =
      edge.from_port ? output_ports_[from].find(*edge.from_port) : std::size_t{0};
  if (!output || *output >= maker.outputs.size())
    return invalid_model("the edge from layer {} to layer {}: {} has no output port {}: {}",
                         edge.from_layer, edge.to_layer, describe(maker),
                         edge.from_port.value_or(0), listed(maker.outputs));
  const std::optional<std::size_t> input = input_ports_[to].find(edge.to_port);
  if (!input)
    return invalid_model("the edge from layer {} to layer {}: {} has no input port {}: {}",
                         edge.from_layer, edge.to_layer, describe(reader), edge.to_port,
                         listed(reader.inputs));
  Source& source = sources_[to][*input];
  if (source.layer != kNone)
    return invalid_model("two edges lead to input port {} of {}, from layers {} and {}",
                         edge.to_port, describe(reader), graph_.layers[source.layer].id,
                         edge.from_layer);
  source = {from, *output};
  return {};
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
  if (input >= sources.size() || sources[input].layer == kNone) return {nullptr, 0};
  return {&graph_.layers[sources[input].layer], sources[input].output};
}

/// Whether a body within it assigns a variable that is read.
bool GraphReader::assigns(const Layer& layer) const {
  if (layer.bodies.empty()) return false;
  return std::ranges::any_of(reading_.variable_uses.of(layer), &VariableUses::Use::is_assigned);
}

Expected<std::vector<std::size_t>> GraphReader::order() const {
  enum class State : std::uint8_t { unseen, open, done };
  std::vector<State> states(graph_.layers.size(), State::unseen);
  std::vector<std::size_t> order;
  std::vector<std::pair<std::size_t, std::size_t>> stack;  // a layer and its next input
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
      const std::size_t next = sources_[at][stack.back().second++].layer;
      if (next == kNone || states[next] == State::done) continue;
      if (states[next] == State::unseen) {
        stack.emplace_back(next, 0);
        continue;
      }
      std::string names;
      // Below `next` are those that lead to the cycle.
      for (std::size_t i = stack.size(), named = 0; i-- > 0 && named < kNamedLayers; ++named) {
        const std::size_t member = stack[i].first;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", describe(graph_.layers[member]));
        if (member == next) break;
      }
      return invalid_model("layers read each other in a cycle, among them {}", names);
    }
  }
  return order;
}

bool GraphReader::run() {
  const Expected<std::vector<std::size_t>> layers = order();
  if (!layers) {
    fail_at({}, layers.error());
    return false;
  }
  for (const std::size_t layer : *layers) read_layer(layer);
  return !failed_;
}

Binding* GraphReader::operand(const Source& source) {
  return source.layer == kNone ? nullptr : &outputs_[source.layer][source.output];
}

void GraphReader::read_layer(std::size_t index) {
  const Layer& layer = graph_.layers[index];
  if (is_type(layer, "Parameter")) {
    if (outputs_[index].size() == 1 && outputs_[index].front().is_absent()) {
      outputs_[index].front() = Binding::poison();
      fail_at(describe(layer), invalid_model("no port_map entry says what it stands for"));
    }
    return;
  }
  if (is_type(layer, "Result")) return;
  for (const Source& source : sources_[index]) {
    const Binding* const value = operand(source);
    if (value == nullptr || !value->poisoned) continue;
    std::ranges::fill(outputs_[index], Binding::poison());
    failed_ = true;
    return;
  }
  const std::string place = describe(layer);
  Expected<void> converted = convert(layer, index);
  if (converted) return;
  std::ranges::fill(outputs_[index], Binding::poison());
  fail_at(place, std::move(converted).error());
}

Expected<void> GraphReader::convert(const Layer& layer, std::size_t index) {
  const Converter* const converter = find_converter(layer.type);
  if (converter == nullptr)
    return fail(Code::unsupported, "operation {} cannot be read",
                shortened(to_valid_utf8(layer.type), 100));
  SCANLOOM_TRY(const int opset, opset_of(layer));
  const int version = converter->since(opset);
  if (version == 0)
    return fail(Code::unsupported, "{} came with opset{}, the layer is of opset{}", converter->type,
                converter->versions.front(), opset);
  const auto inputs = static_cast<int>(layer.inputs.size());
  if (inputs < converter->min_inputs ||
      (converter->max_inputs >= 0 && inputs > converter->max_inputs))
    return invalid_model(
        "it has {} inputs, {} takes {}{}", inputs, converter->type, converter->min_inputs,
        converter->max_inputs == converter->min_inputs ? std::string()
        : converter->max_inputs < 0                    ? std::string(" or more")
                                    : fmt::format(" to {}", converter->max_inputs));
  const ir::PlaceId place = reading_.module.add_place({{describe(layer)}});
  builder_.set_place(place);
  std::vector<Binding*> operands;
  for (const Source& source : sources_[index]) operands.push_back(operand(source));
  WideOperands wide(std::move(operands));
  SCANLOOM_CHECK_OK(wide.widen(converter->type, builder_));
  LayerCtx ctx(reading_, {layer, version, wide.operands(), builder_, place, depth_});
  SCANLOOM_CHECK_OK(converter->convert(ctx));
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
