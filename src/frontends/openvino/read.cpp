#include "frontends/openvino/read.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/utf8.h"
#include "frontends/openvino/reader.h"
#include "ir/infer.h"
#include "ir/size_names.h"

namespace scanloom::openvino {

using ir::ValueId;
using tensor::Type;

namespace {

/// "layer 3 'a', layer 8 'b' and 2 more".
std::string listed(const std::vector<const Layer*>& layers) {
  constexpr std::size_t kMax = 5;
  std::string names;
  for (std::size_t i = 0; i < std::min(layers.size(), kMax); ++i)
    names += fmt::format("{}layer {} '{}'", i == 0 ? "" : ", ", layers[i]->id,
                         shortened(to_valid_utf8(layers[i]->name), 100));
  if (layers.size() > kMax) names += fmt::format(" and {} more", layers.size() - kMax);
  return names;
}

/// Reports unknown operations, with the layers that use them, in any graph.
void report_unknown(const Document& document, Diagnostics& diagnostics) {
  std::map<std::string, std::vector<const Layer*>> unknown;
  for (const Graph& graph : document.graphs)
    for (const Layer& layer : graph.layers)
      if (!layer.type.empty() && !is_type(layer, "Parameter") && !is_type(layer, "Result") &&
          !is_null_node(layer) && find_converter(layer.type) == nullptr)
        unknown[shortened(to_valid_utf8(layer.type), 100)].push_back(&layer);
  if (unknown.empty()) return;
  std::string names;
  for (const auto& [type, layers] : unknown)
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", type, listed(layers));
  diagnostics.error(fail(Code::unsupported, "openvino: {} operation{} cannot be read: {}",
                         unknown.size(), unknown.size() == 1 ? "" : "s", names));
}

void report_never_read(const Reading& reading) {
  for (const auto& [id, position] : reading.variable_uses.never_read()) {
    const Layer& layer = reading.document.graphs[position.graph].layers[position.layer];
    reading.diagnostics.error(
        invalid_model("variable '{}' is assigned, but no ReadValue reads it", id)
            .at(describe(layer))
            .at("openvino"));
  }
}

/// Reads the main graph. Its Parameters are inputs of the module, its Results outputs.
class MainGraph {
 public:
  MainGraph(Reading& reading, ModelInfo& info)
      : reading_(reading),
        info_(info),
        builder_(reading.module, reading.module.top()),
        reader_(reading, 0, builder_, {}, 0) {}

  void read() {
    reader_.enter();
    enter_parameters();
    const bool done = reader_.run();
    builder_.set_location({});
    const std::vector<const Layer*> results = reader_.layers_of("Result");
    if (results.empty()) reader_.fail_at({}, invalid_model("the model has no Result"));
    for (const Layer* const result : results) {
      if (reader_.result(*result).is_absent())
        reader_.fail_at(describe(*result), invalid_model("no edge leads to it"));
      else if (done)
        leave(*result);
    }
    if (done) leave_variables();
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
                        invalid_model("the name '{}' also belongs to another Parameter", name));
      info_.input_names.push_back(layer->outputs.empty() ? std::vector<std::string>()
                                                         : layer->outputs[0].names);
      reader_.bind_parameter(*layer, Binding::of(*argument));
    }
  }

  Expected<ValueId> add_parameter(const Layer& layer) {
    if (layer.outputs.size() != 1)
      return invalid_model("it has {} outputs, but one is needed", layer.outputs.size());
    if (!Attributes(layer).has("element_type"))
      return invalid_model("attribute 'element_type' is missing");
    SCANLOOM_TRY(DeclaredType declared, declared_type(reading_, layer));
    if (!declared.has_dtype)
      return invalid_model("attribute 'element_type' is '{}', the element type must be known",
                           Attributes(layer).text("element_type"));
    if (!Attributes(layer).has("shape"))
      reading_.diagnostics.warning(fmt::format(
          "openvino: {}: attribute 'shape' is missing, so the sizes of its port are used: {}",
          describe(layer), to_string(declared.type, reading_.module.dims)));
    info_.input_ranges.push_back(std::move(declared.ranges));
    const std::string name = layer.name.empty() ? fmt::format("layer_{}", layer.id) : layer.name;
    return reading_.module.add_argument(reading_.module.top(), std::move(declared.type), name);
  }

  void leave(const Layer& result) {
    Binding value = reader_.result(result);
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

  /// Adds the states of the module. A variable that is never read is not stored.
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
      if (variable.is_guessed ? kept.dtype != made.dtype : !may_be_equal(kept, made))
        reader_.fail_at({},
                        invalid_model("variable '{}' is {}, but is assigned {}", variable.id,
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

/// Returns the last-step rows whose sizes inference finds to differ between steps: on some axis,
/// the sizes of stack and row are not the same.
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

/// What learn_sizes opens: the changing sizes, all sizes, or even the rank.
enum class Opens : std::uint8_t { changing, all, ranks };

/// Opens sizes of variables that were guessed to be constant but may differ after a run. Returns
/// whether there are any.
bool learn_sizes(const Reading& reading, Opens opens, std::map<std::string, LearntSizes>& learnt) {
  const ir::Module& module = reading.module;
  const ir::Region& top = module.region(module.top());
  bool is_new = false;
  for (std::size_t i = 0; i < reading.variables.size(); ++i) {
    const Variable& variable = reading.variables[i];
    const Type& kept = module.value(variable.argument).type;
    const Type& next = module.value(top.yields[module.states[i].output]).type;
    if (!variable.is_guessed || !kept.ranked) continue;
    LearntSizes sizes;
    sizes.ranked = opens != Opens::ranks && (!next.ranked || next.rank() == kept.rank());
    bool changes = !sizes.ranked;
    for (std::size_t axis = 0; axis < kept.dims.size() && sizes.ranked; ++axis) {
      const bool was_open = !kept.dims[axis].is_constant();
      sizes.is_open.push_back(was_open || opens == Opens::all || !next.ranked ||
                              next.dims[axis] != kept.dims[axis]);
      changes |= sizes.is_open.back() && !was_open;
    }
    if (changes) learnt[variable.id] = std::move(sizes);
    is_new |= changes;
  }
  return is_new;
}

Expected<void> read_into(Reading& reading, ModelInfo& info) {
  report_unknown(reading.document, reading.diagnostics);
  reading.module.name = reading.document.name;
  reading.variable_uses = VariableUses(reading.document);
  report_never_read(reading);
  MainGraph(reading, info).read();
  if (!reading.diagnostics.ok()) return {};
  Expected<void> inferred = ir::infer_types(reading.module, ir::Declared::ignore);
  if (!inferred) return std::move(inferred).error().at("openvino");
  return {};
}

/// Reads repeatedly until nothing more is learnt that only a complete reading shows: which rows
/// cannot be stacked, and which variables change their sizes. Later rounds open more at once, so
/// that a file in which each of these follows from the previous one terminates as well.
Expected<void> read_until_known(const Document& document, const Weights& weights,
                                const ReadOptions& options, Diagnostics& diagnostics,
                                ir::Module& module, ModelInfo& info) {
  std::map<const PortEntry*, Type> changing;
  std::map<std::string, LearntSizes> learnt;
  constexpr int kRoundsOfDetail = 4, kMaxRounds = 8;
  for (int round = 1;; ++round) {
    diagnostics = {};
    module = {};
    info = {document.name, document.version, {}, {}, {}, {}};
    Reading reading{document, weights, options, diagnostics, module};
    reading.changing_rows = changing;
    reading.learnt_sizes = learnt;
    SCANLOOM_CHECK_OK(read_into(reading, info));
    if (!diagnostics.ok()) return {};
    const std::size_t before = changing.size();
    changing.merge(changing_rows(reading));
    const Opens opens = round < kRoundsOfDetail       ? Opens::changing
                        : round < kRoundsOfDetail + 2 ? Opens::all
                                                      : Opens::ranks;
    const bool learns = learn_sizes(reading, opens, learnt);
    if ((changing.size() == before && !learns) || round == kMaxRounds) return {};
  }
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
    Expected<Document> document = parse_document(xml, own);
    if (!document) return std::move(document).error().at("openvino");
    if (!own.ok()) {
      report_unknown(*document, own);
      return {};
    }
    const Weights file =
        weights.name.empty() ? Weights() : Weights(weights.owner, weights.bytes, weights.name);
    return read_until_known(*document, file, options, own, module, about);
  }();
  if (!done) own.error(done.error());
  for (const std::string& warning : own.warnings()) diagnostics.warning(warning);
  for (const Error& error : own.errors()) diagnostics.error(ir::with_size_names(error, module));
  if (!own.ok()) return ir::with_size_names(own.first(), module);
  if (info != nullptr) *info = std::move(about);
  return module;
}

}  // namespace scanloom::openvino
