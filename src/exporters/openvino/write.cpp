#include "exporters/openvino/write.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "exporters/openvino/element_types.h"
#include "exporters/openvino/region_writer.h"
#include "ir/nesting.h"
#include "ir/op_def.h"
#include "ir/walk.h"

namespace scanloom::exporters::openvino {

using ir::ValueId;
using tensor::Tensor;
using tensor::Type;

namespace {

constexpr const char* kVersion = "11";

class ModelWriter {
 public:
  ModelWriter(const ir::Module& module, const WriteOptions& options)
      : module_(module),
        options_(options),
        uses_(ir::count_uses(module)),
        writing_{module, {}, {}} {}

  Expected<WrittenModel> write() {
    pugi::xml_document document;
    pugi::xml_node net = document.append_child("net");
    net.append_attribute("name").set_value(module_.name.empty() ? "scanloom"
                                                                : xml_text(module_.name).c_str());
    net.append_attribute("version").set_value(kVersion);
    LayerGraph graph(net, writing_.weights);
    RegionWriter top(writing_, graph);
    find_begun();
    enter(graph, top);
    for (const ir::NodeId id : this->top().nodes) {
      const auto begun = begun_.find(id);
      if (begun == begun_.end())
        top.node(id);
      else
        top.set(module_.node(id).outputs[0], read_begun(*begun->second, id, top, graph));
    }
    leave(graph, top);
    if (!writing_.refused.empty()) return refused();
    std::ostringstream text;
    document.save(text, " ");
    WrittenModel model;
    model.xml = std::move(text).str();
    model.weights_size = writing_.weights.size();
    model.weights = writing_.weights.take();
    return model;
  }

 private:
  [[nodiscard]] const ir::Region& top() const { return module_.region(module_.top()); }

  const ir::State* state_of_input(std::size_t i) const {
    const auto found = std::ranges::find(module_.states, i, &ir::State::input);
    return found == module_.states.end() ? nullptr : &*found;
  }

  void enter(LayerGraph& graph, RegionWriter& region) {
    for (std::size_t i = 0; i < top().args.size(); ++i) {
      const Type& type = module_.value(top().args[i]).type;
      const std::string& name = options_.input_names[i];
      if (!type.is_tensor() || element_type(type.dtype).empty())
        writing_.refused.push_back(fmt::format("input '{}' is {}, for which an IR has no form",
                                               name, tensor::to_string(type, module_.dims)));
      if (is_begun(i))
        continue;
      else if (const ir::State* const state = state_of_input(i))
        region.set(top().args[i], read_state(*state, type, graph));
      else if (is_kept_flag(i))
        region.set(top().args[i], read_flag(name, graph));
      else if (options_.values[i].defined())
        region.set(top().args[i], graph.constant(options_.values[i], name));
      else {
        const Output parameter = graph.parameter(name, type);
        graph.name_tensor(parameter, tensor_names(options_.input_tensors, i, name));
        region.set(top().args[i], parameter);
      }
    }
  }

  static std::vector<std::string> tensor_names(const std::vector<std::vector<std::string>>& names,
                                               std::size_t i, const std::string& name) {
    return i < names.size() && !names[i].empty() ? names[i] : std::vector{name};
  }

  // --- states

  /// Returns the state if the node reads it as a ReadValue does: a branch that gives the stored
  /// value, or the node's last operand if there is none yet. nullptr if the node is no such branch,
  /// or if others also read the state.
  const ir::State* state_begun_by(ir::NodeId id) const {
    const ir::Node& node = module_.node(id);
    if (node.op != &ir::branch_op || node.inputs.size() != 3 || node.outputs.size() != 1)
      return nullptr;
    for (std::size_t side = 0; side < 2; ++side) {
      const ir::Region& region = module_.region(node.regions[side]);
      if (region.yields[0] != region.args[side]) return nullptr;
    }
    const auto reads = [&](std::size_t operand, std::size_t argument) {
      const ValueId value = top().args[argument];
      return node.inputs[operand] == value && uses_[value.index] == 1;
    };
    const auto found = std::ranges::find_if(module_.states, [&](const ir::State& state) {
      return state.is_kept && reads(0, *state.is_kept) && reads(1, state.input);
    });
    return found == module_.states.end() ? nullptr : &*found;
  }

  void find_begun() {
    const bool any = std::ranges::any_of(
        module_.states, [](const ir::State& state) { return state.is_kept.has_value(); });
    if (!any) return;
    for (const ir::NodeId id : top().nodes)
      if (const ir::State* const state = state_begun_by(id)) begun_.emplace(id, state);
  }

  /// Whether a node reads argument i that way, so that it needs no layer of its own.
  [[nodiscard]] bool is_begun(std::size_t i) const {
    return std::ranges::any_of(begun_, [&](const auto& entry) {
      return entry.second->input == i || entry.second->is_kept == i;
    });
  }

  Output read_begun(const ir::State& state, ir::NodeId branch, const RegionWriter& region,
                    LayerGraph& graph) {
    const Output first = region.output(module_.node(branch).inputs[2]);
    return read_variable(state.name, module_.value(top().args[state.input]).type, first, graph);
  }

  bool is_kept_flag(std::size_t i) const {
    return std::ranges::any_of(module_.states,
                               [&](const ir::State& state) { return state.is_kept == i; });
  }

  static Data variable_data(const std::string& name, const Type& type) {
    return {{"variable_id", name},
            {"variable_type", std::string(element_type(type.dtype))},
            {"variable_shape", shape_text(type)}};
  }

  static Output read_variable(const std::string& name, const Type& type, Output first,
                              LayerGraph& graph) {
    const int layer = graph.add({.type = "ReadValue",
                                 .opset = 6,
                                 .inputs = {first},
                                 .results = {type.dtype},
                                 .data = variable_data(name, type),
                                 .name = name});
    return {layer, 1};
  }

  Output read_state(const ir::State& state, const Type& type, LayerGraph& graph) {
    if (state.initial.defined())
      return read_variable(state.name, type, graph.constant(state.initial), graph);
    tensor::Shape sizes;
    for (const tensor::Dim dim : type.dims) sizes.push_back(dim.is_constant() ? dim.value() : 0);
    const Expected<Tensor> zeros = Tensor::zeros(type.dtype, sizes);
    if (zeros) return read_variable(state.name, type, graph.constant(*zeros), graph);
    writing_.refused.push_back(fmt::format("state '{}': {}", state.name, zeros.error().message()));
    return graph.parameter(state.name, type);
  }

  /// Whether a state has been assigned is a variable too: false at first, true after every run.
  Output read_flag(const std::string& name, LayerGraph& graph) {
    const Type type = Type::scalar(DType::boolean);
    flags_.push_back(name);
    return read_variable(name, type, graph.constant(Tensor::scalar(false)), graph);
  }

  // --- results

  void assign(const std::string& name, Output value, const Type& type, LayerGraph& graph) {
    graph.add({.type = "Assign",
               .opset = 6,
               .inputs = {value},
               .results = {type.dtype},
               .data = variable_data(name, type),
               .name = "assign " + name});
  }

  void leave(LayerGraph& graph, const RegionWriter& region) {
    for (const ir::State& state : module_.states) {
      const ValueId next = top().yields[state.output];
      assign(state.name, region.output(next), module_.value(top().args[state.input]).type, graph);
    }
    for (const std::string& flag : flags_)
      assign(flag, graph.constant(Tensor::scalar(true)), Type::scalar(DType::boolean), graph);
    for (std::size_t i = 0; i < top().yields.size(); ++i) {
      if (std::ranges::find(module_.states, i, &ir::State::output) != module_.states.end())
        continue;
      const ValueId yield = top().yields[i];
      const std::string& name = options_.output_names[i];
      if (is_input_named(yield, name)) {
        graph.result(region.output(yield), name + "/result");
        continue;
      }
      const Output value = own_tensor(region.output(yield), module_.value(yield).type, graph);
      graph.name_tensor(value, tensor_names(options_.output_tensors, i, name));
      graph.result(value, name + "/result");
    }
  }

  /// Whether `yield` is an input with that tensor name, so that the output needs no other tensor.
  [[nodiscard]] bool is_input_named(ValueId yield, const std::string& name) const {
    const auto arg =
        static_cast<std::size_t>(std::ranges::find(top().args, yield) - top().args.begin());
    if (arg == top().args.size()) return false;
    const auto names = tensor_names(options_.input_tensors, arg, options_.input_names[arg]);
    return std::ranges::find(names, name) != names.end();
  }

  /// Returns a tensor without a name, so that an output can name it: the value may be an input, or
  /// several outputs.
  static Output own_tensor(Output value, const Type& type, LayerGraph& graph) {
    if (!graph.is_named(value)) return value;
    // OpenVINO cannot convert strings.
    if (type.dtype == DType::string) return copy_of_texts(value, type, graph);
    const int copy =
        graph.add({.type = "Convert",
                   .inputs = {value},
                   .results = {type.dtype},
                   .data = {{"destination_type", std::string(element_type(type.dtype))}}});
    return {copy, 1};
  }

  static Output copy_of_texts(Output value, const Type& type, LayerGraph& graph) {
    if (!type.ranked || type.rank() > 0)
      return {graph.add({.type = "Concat",
                         .inputs = {value},
                         .results = {type.dtype},
                         .data = {{"axis", "0"}}}),
              1};
    const Output scalar = graph.constant(Tensor::of<std::int64_t>({0}, {}));
    return {graph.add({.type = "Reshape",
                       .inputs = {value, scalar},
                       .results = {type.dtype},
                       .data = {{"special_zero", "false"}}}),
            2};
  }

  Error refused() const {
    const std::size_t count = writing_.refused.size();
    Error error = fail(Code::unsupported, "{} of its inputs and nodes {} no form in an OpenVINO IR",
                       count, count == 1 ? "has" : "have");
    for (const std::string& each : writing_.refused) error.note(each);
    return error;
  }

  const ir::Module& module_;
  const WriteOptions& options_;
  const std::vector<std::uint32_t> uses_;         ///< by ValueId
  std::map<ir::NodeId, const ir::State*> begun_;  ///< written as a ReadValue that starts with a
                                                  ///< value
  Writing writing_;
  std::vector<std::string> flags_;
};

}  // namespace

Expected<WrittenModel> write_model(const ir::Module& module, const WriteOptions& options) {
  // Bodies are written recursively, and readers have a limit as well. Ours allows 64 levels, of
  // which the forms of some nodes need one or two.
  constexpr int kDeepest = 60;
  if (const int depth = ir::nesting(module); depth > kDeepest)
    return fail(Code::unsupported, "bodies are nested {} deep, at most {} are written", depth,
                kDeepest);
  return ModelWriter(module, options).write();
}

}  // namespace scanloom::exporters::openvino
