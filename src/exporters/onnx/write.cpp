#include "exporters/onnx/write.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "exporters/onnx/forms.h"
#include "exporters/onnx/loop.h"
#include "exporters/onnx/model_writer.h"
#include "ir/nesting.h"
#include "ir/op_def.h"
#include "ir/walk.h"
#include "ops/ops.h"

namespace scanloom::exporters::onnx {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;
using tensor::Tensor;

namespace {

/// Replaces spaces and control characters, which other tools do not accept in names.
std::string without_spaces(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; }, '_');
  return name;
}

}  // namespace

ModelWriter::ModelWriter(const Module& module, const WriteOptions& options)
    : module_(module),
      options_(options),
      main_(parts_),
      names_(module.value_count()),
      uses_(ir::count_uses(module)),
      taken_(options.input_names.begin(), options.input_names.end()) {
  taken_.insert(options.output_names.begin(), options.output_names.end());
  for (const ValueId arg : module.region(module.top()).args)
    for (const tensor::Dim dim : type(arg).dims)
      if (!dim.is_constant()) outer_dims_.insert(dim.expr());
}

Expected<WrittenModel> ModelWriter::write(const DataFile& file) {
  SCANLOOM_CHECK_OK(choose_file(file));
  check_types();
  choose_versions();
  const ir::Region& top = module_.region(module_.top());
  for (std::size_t i = 0; i < top.args.size(); ++i) {
    name(top.args[i]) = options_.input_names[i];
    if (options_.values[i].defined())
      main_.initialiser(options_.input_names[i], options_.values[i]);
    else
      input(main_, options_.input_names[i], top.args[i]);
  }
  nodes(module_.top(), main_);
  write_results(top);
  if (missing_.empty())
    return parts_.model(main_, module_.name.empty() ? "scanloom" : module_.name);
  Error error = fail(Code::unsupported, "{} {} no ONNX form", missing_.size(),
                     missing_.size() == 1 ? "node has" : "nodes have");
  for (const std::string& each : missing_) error.note(each);
  return error;
}

void ModelWriter::write_results(const ir::Region& top) {
  Emitter results(*this, main_, "results");
  for (std::size_t i = 0; i < top.yields.size(); ++i) {
    const std::string& result = options_.output_names[i];
    if (name(top.yields[i]) != result) results.emit("Identity", {name(top.yields[i])}, {result});
    // If the type is known only at run time, the type declared in the original file is used.
    const tensor::Type& known = type(top.yields[i]);
    const bool is_declared = !known.ranked && i < module_.declared_outputs.size() &&
                             module_.declared_outputs[i].ranked &&
                             module_.declared_outputs[i].dtype == known.dtype &&
                             module_.declared_outputs[i].wraps == known.wraps;
    main_.output(result, is_declared ? module_.declared_outputs[i] : known, module_.dims);
  }
}

/// A message is limited to 2 GB, not counting data in a separate file.
Expected<void> ModelWriter::choose_file(const DataFile& file) {
  constexpr std::size_t kMax = std::numeric_limits<std::int32_t>::max() - (std::size_t{1} << 24);
  std::size_t bytes = 0;
  for (const Tensor& value : options_.values) bytes += value.defined() ? value.bytes() : 0;
  for (const RegionId region : ir::regions_outer_first(module_, module_.top()))
    for (const NodeId id : module_.region(region).nodes)
      if (module_.node(id).op == &ir::constant_op)
        bytes += module_.node(id).attrs[0].tensor().bytes();
  if (bytes <= kMax && !file.always) return {};
  if (file.name.empty())
    return fail(
        Code::unsupported,
        "the model has {} bytes of weights, more than fit into one ONNX file: write it to a "
        "path, with external data",
        bytes);
  parts_.use_file(file.name);
  return {};
}

/// Finds the opset the element types need, and refuses types ONNX does not have.
void ModelWriter::check_types() {
  for (const RegionId region : ir::regions_outer_first(module_, module_.top())) {
    std::vector<ValueId> values = module_.region(region).args;
    for (const NodeId id : module_.region(region).nodes)
      values.insert(values.end(), module_.node(id).outputs.begin(), module_.node(id).outputs.end());
    for (const ValueId value : values) {
      parts_.need_type(type(value).dtype);
      if (dtype_onnx_number(type(value).dtype) != 0) continue;
      const NodeId producer = module_.value(value).producer;
      refuse((producer.valid() ? module_.describe(producer) : module_.describe(value)) +
             ": ONNX has no elements of type " + std::string(dtype_name(type(value).dtype)));
    }
  }
}

/// Trees of f64 need a version whose operator for trees all trees of the model must then be written
/// with.
void ModelWriter::choose_versions() {
  for (const RegionId region : ir::regions_outer_first(module_, module_.top()))
    for (const NodeId id : module_.region(region).nodes) {
      const Node& node = module_.node(id);
      if (node.op == &ops::tree_ensemble_op && type(node.inputs[0]).dtype == DType::f64)
        parts_.use_machine_learning(ModelParts::kTreeEnsembleVersion);
    }
}

std::string ModelWriter::fresh() {
  std::string made;
  do {
    made = "v" + std::to_string(count_++);
  } while (!taken_.insert(made).second);
  return made;
}

std::string ModelWriter::value_name(ValueId value) {
  std::string own = without_spaces(to_valid_utf8(module_.value(value).name));
  if (own.empty()) return fresh();
  const ir::Region& top = module_.region(module_.top());
  const auto yielded = std::ranges::find(top.yields, value) - top.yields.begin();
  if (std::cmp_less(yielded, top.yields.size()) &&
      options_.output_names[static_cast<std::size_t>(yielded)] == own)
    return own;
  return taken_.insert(own).second ? own : fresh();
}

std::string ModelWriter::node_name(const std::string& label) {
  const int number = ++labels_[label];
  return number == 1 ? label : label + "/" + std::to_string(number);
}

std::string ModelWriter::label(NodeId id) const {
  const Node& node = module_.node(id);
  if (!node.location.valid() || module_.location(node.location).nodes.empty())
    return std::string(node.op->name);
  // In "node 'gru' (Scan-11)" the quoted part is the name in the original file.
  const std::string& text = module_.location(node.location).nodes.front();
  const std::size_t begin = text.find('\''), end = text.rfind("' (");
  if (begin != std::string::npos && end != std::string::npos && end > begin + 1)
    return text.substr(begin + 1, end - begin - 1);
  // Descriptions of expressions: "scan 'decoder'", "product of 'x' and 'w'".
  if (text.starts_with("scan '") && text.ends_with('\''))
    return without_spaces(text.substr(begin + 1, text.size() - begin - 2));
  std::string words = without_spaces(text);
  std::erase(words, '\'');
  return words;
}

void ModelWriter::nodes(RegionId region, GraphWriter& graph) {
  for (const NodeId id : module_.region(region).nodes) node(id, graph);
}

void ModelWriter::node(NodeId id, GraphWriter& graph) {
  const Node& node = module_.node(id);
  if (node.op == &ir::constant_op) {
    name(node.outputs[0]) = constant(node.attrs[0].tensor(), graph);
    return;
  }
  for (const ValueId output : node.outputs) name(output) = value_name(output);
  NodeEmitter emitter(*this, graph, id);
  if (node.loop)
    write_loop(emitter);
  else if (node.op == &ir::branch_op)
    branch(emitter);
  else
    write_form(emitter);
}

std::string ModelWriter::constant(const Tensor& value, GraphWriter& graph) {
  if (value.bytes() < ModelParts::kLarge || value.dtype() == DType::string) {
    std::string made = fresh();
    graph.initialiser(made, value);
    return made;
  }
  const auto found = large_.find(value.stored());
  if (found != large_.end() && tensor::identical(found->second.first, value))
    return found->second.second;
  const std::string made = fresh();
  main_.initialiser(made, value);
  large_.insert_or_assign(value.stored(), std::pair(value, made));
  return made;
}

void ModelWriter::input(GraphWriter& graph, const std::string& name, ValueId value) {
  graph.input(name, type(value), module_.dims);
}
void ModelWriter::output(GraphWriter& graph, const std::string& name, ValueId value) {
  graph.output(name, type(value), module_.dims);
}

bool ModelWriter::is_outer(tensor::Dim dim) const {
  if (dim.is_constant() || outer_dims_.contains(dim.expr())) return true;
  const tensor::DimNode& size = module_.dims.node(dim.expr());
  if (size.kind == tensor::DimKind::symbol || size.kind == tensor::DimKind::fresh) return false;
  return is_outer(size.left) && is_outer(size.right);
}

void ModelWriter::branch(NodeEmitter& emitter) {
  const Node& node = emitter.node();
  if (node.outputs.empty()) return;  // nothing reads its results
  Attributes sides;
  const char* const words[] = {"then_branch", "else_branch"};
  for (std::size_t side = 0; side < 2; ++side) {
    const ir::Region& region = module_.region(node.regions[side]);
    GraphWriter body(parts_);
    Emitter inside(*this, body, emitter.label());
    for (std::size_t i = 0; i < region.args.size(); ++i)
      name(region.args[i]) = name(node.inputs[i + 1]);
    nodes(node.regions[side], body);
    for (const ValueId yield : region.yields) {
      const std::string made = inside.op("Identity", {name(yield)});
      output(body, made, yield);
    }
    sides.push_back(attribute(words[side], body));
  }
  const bool is_scalar = emitter.in_type(0).ranked && emitter.in_type(0).rank() == 0;
  const std::string condition = is_scalar ? emitter.in(0) : emitter.scalar(emitter.in(0));
  emitter.emit("If", {condition}, emitter.outputs(), sides);
}

Expected<WrittenModel> write_model(const Module& module, const WriteOptions& options,
                                   const DataFile& file) {
  // Bodies are written recursively.
  constexpr int kDeepest = 128;
  if (const int depth = ir::nesting(module); depth > kDeepest)
    return fail(Code::unsupported, "bodies are nested {} deep, at most {} are written", depth,
                kDeepest);
  return ModelWriter(module, options).write(file);
}

}  // namespace scanloom::exporters::onnx
