#include "frontends/openvino/read.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/utf8.h"
#include "frontends/openvino/reader.h"
#include "ir/infer.h"

namespace scanloom::openvino {

using ir::ValueId;
using tensor::Type;

namespace {

/// "layer 3 'a', layer 8 'b' and 2 more".
std::string listed(const std::vector<const Layer*>& layers) {
  constexpr std::size_t kMost = 5;
  std::string names;
  for (std::size_t i = 0; i < std::min(layers.size(), kMost); ++i)
    names += fmt::format("{}layer {} '{}'", i == 0 ? "" : ", ", layers[i]->id,
                         shortened(to_valid_utf8(layers[i]->name), 100));
  if (layers.size() > kMost) names += fmt::format(" and {} more", layers.size() - kMost);
  return names;
}

/// Operations that cannot be read, with the layers that have them, in any graph.
void report_unknown(const Document& document, Diagnostics& diagnostics) {
  std::map<std::string, std::vector<const Layer*>> unknown;
  for (const Graph& graph : document.graphs)
    for (const Layer& layer : graph.layers)
      if (!is_type(layer, "Parameter") && !is_type(layer, "Result") &&
          find_converter(layer.type) == nullptr)
        unknown[shortened(to_valid_utf8(layer.type), 100)].push_back(&layer);
  if (unknown.empty()) return;
  std::string names;
  for (const auto& [type, layers] : unknown)
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", type, listed(layers));
  diagnostics.error(fail(Code::unsupported, "openvino: {} operation{} cannot be read: {}",
                         unknown.size(), unknown.size() == 1 ? "" : "s", names));
}

/// The main graph: its Parameters are inputs of the module, its Results outputs.
class MainGraph {
 public:
  MainGraph(Reading& reading, ModelInfo& info)
      : reading_(reading),
        info_(info),
        builder_(reading.module, reading.module.top()),
        reader_(reading, 0, builder_, {}, 0) {}

  void read() {
    if (!reader_.enter()) return;
    enter_parameters();
    if (!reader_.run()) return;
    builder_.set_place({});
    for (const Layer* const result : reader_.layers_of("Result")) leave(*result);
    leave_variables();
    if (reading_.module.region(reading_.module.top()).yields.empty())
      reader_.fail_at({}, invalid_model("the model has no Result"));
  }

 private:
  void enter_parameters() {
    for (const Layer* const layer : reader_.layers_of("Parameter")) {
      Expected<ValueId> argument = add_parameter(*layer);
      if (!argument) {
        reader_.bind_parameter(*layer, Binding::poison());
        reader_.fail_at(describe(*layer), std::move(argument).error());
        continue;
      }
      std::string& name = reading_.module.value(*argument).name;
      if (!input_names_.insert(name).second)
        reader_.fail_at(describe(*layer),
                        invalid_model("the name '{}' is another Parameter's too", name));
      info_.input_names.push_back(layer->outputs.empty() ? std::vector<std::string>()
                                                         : layer->outputs[0].names);
      reader_.bind_parameter(*layer, Binding::of(*argument));
    }
  }

  Expected<ValueId> add_parameter(const Layer& layer) {
    if (layer.outputs.size() != 1)
      return invalid_model("it has {} outputs, one is needed", layer.outputs.size());
    SCANLOOM_TRY(Type type, declared_type(reading_, layer));
    const std::string name = layer.name.empty() ? fmt::format("layer_{}", layer.id) : layer.name;
    return reading_.module.add_argument(reading_.module.top(), std::move(type), name);
  }

  void leave(const Layer& result) {
    Binding value = reader_.result(result);
    if (value.is_absent())
      return reader_.fail_at(describe(result), invalid_model("no edge leads to it"));
    const auto [maker, output] = reader_.source(result, 0);
    std::vector<std::string> names = maker->outputs[output].names;
    std::string name = !names.empty()               ? names.front()
                       : maker->outputs.size() == 1 ? maker->name
                                                    : fmt::format("{}.{}", maker->name, output);
    if (name.empty()) name = result.name;
    while (!output_names_.insert(name).second) name += "_";
    info_.output_names.push_back(std::move(names));
    info_.output_layers.push_back({result.name, maker->name});
    ir::Module& module = reading_.module;
    module.region(module.top()).yields.push_back(value.materialise(builder_));
    module.output_names.push_back(std::move(name));
    module.declared_outputs.emplace_back();
  }

  /// The states of the module; what is assigned and never read is kept by nobody.
  void leave_variables() {
    ir::Module& module = reading_.module;
    ir::Region& top = module.region(module.top());
    const auto position = [&](ValueId argument) {
      const auto found = std::ranges::find(top.args, argument);
      return static_cast<std::uint32_t>(found - top.args.begin());
    };
    for (Variable& variable : reading_.variables) {
      ValueId next = variable.read.valid() ? variable.read : variable.argument;
      const auto& assigned = reading_.scopes.front().assigned;
      if (const auto found = assigned.find(variable.id); found != assigned.end())
        next = found->second;
      const Type &kept = module.value(variable.argument).type, &made = module.value(next).type;
      if (!may_be_equal(kept, made))
        reader_.fail_at({},
                        invalid_model("variable '{}' is {}, and is assigned {}", variable.id,
                                      to_string(kept, module.dims), to_string(made, module.dims)));
      ir::State state{variable.id, position(variable.argument),
                      static_cast<std::uint32_t>(top.yields.size()), std::move(variable.initial)};
      state.is_hidden = true;
      if (variable.is_kept.valid()) state.is_kept = position(variable.is_kept);
      std::string& name = module.value(variable.argument).name;
      while (!input_names_.insert(name).second) name += "/state";
      std::string output = variable.id + "/next";
      while (!output_names_.insert(output).second) output += "_";
      top.yields.push_back(next);
      module.output_names.push_back(std::move(output));
      module.declared_outputs.emplace_back();
      module.states.push_back(std::move(state));
    }
  }

  Reading& reading_;
  ModelInfo& info_;
  ir::Builder builder_;
  GraphReader reader_;
  std::set<std::string> input_names_, output_names_;
};

/// Rows of last steps whose sizes inference finds to differ between steps: along an axis of which
/// the stack does not say what the row says.
std::map<const PortEntry*, Type> changing_rows(const Reading& reading) {
  std::map<const PortEntry*, Type> changing;
  for (const LastRow& last : reading.last_rows) {
    const Type& row = reading.module.value(last.row).type;
    const Type& stack = reading.module.value(last.stack).type;
    const bool stays = row.ranked && stack.ranked &&
                       std::ranges::equal(row.dims, std::span(stack.dims).subspan(1));
    if (!stays) changing.emplace(last.port, row);
  }
  return changing;
}

Expected<void> read_into(Reading& reading, ModelInfo& info) {
  report_unknown(reading.document, reading.diagnostics);
  if (!reading.diagnostics.ok()) return {};
  reading.module.name = reading.document.name;
  reading.variable_uses = VariableUses(reading.document);
  MainGraph(reading, info).read();
  if (!reading.diagnostics.ok()) return {};
  Expected<void> inferred = ir::infer_types(reading.module, ir::Declared::ignore);
  if (!inferred) return std::move(inferred).error().at("openvino");
  return {};
}

}  // namespace

bool is_openvino(std::string_view bytes) { return looks_like_xml(bytes); }

Expected<ir::Module> read_model(std::string_view xml, const WeightsFile& weights,
                                const ReadOptions& options, Diagnostics& diagnostics,
                                ModelInfo* info) {
  Diagnostics own;
  ir::Module module;
  ModelInfo about;
  const Expected<void> done = [&]() -> Expected<void> {
    Expected<Document> document = parse_document(xml);
    if (!document) return std::move(document).error().at("openvino");
    about.name = document->name;
    about.version = document->version;
    const Weights file =
        weights.name.empty() ? Weights() : Weights(weights.owner, weights.bytes, weights.name);
    Reading reading{*document, file, options, own, module};
    SCANLOOM_CHECK_OK(read_into(reading, about));
    // Only now that all sizes are inferred it shows which rows cannot be stacked.
    auto changing = own.ok() ? changing_rows(reading) : std::map<const PortEntry*, Type>();
    if (changing.empty()) return {};
    own = {};
    module = {};
    about = {document->name, document->version, {}, {}};
    Reading again{*document, file, options, own, module};
    again.changing_rows = std::move(changing);
    return read_into(again, about);
  }();
  if (!done) own.error(done.error());
  for (const std::string& warning : own.warnings()) diagnostics.warning(warning);
  for (const Error& error : own.errors()) diagnostics.error(error);
  if (!own.ok()) return own.first();
  if (info != nullptr) *info = std::move(about);
  return module;
}

}  // namespace scanloom::openvino
