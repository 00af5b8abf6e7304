#include "frontends/onnx/read.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/mapped_file.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/no_model.h"
#include "frontends/onnx/read_distinct.h"
#include "frontends/onnx/tensor_data.h"
#include "ir/infer.h"
#include "ir/size_names.h"

namespace scanloom::onnx {
namespace {

constexpr std::int64_t kNewestIr = 14;
constexpr std::int64_t kOldestOpset = 1;
constexpr std::int64_t kNewestOpset = 27;  // list.inc says what is missing of 28
constexpr std::int64_t kNewestMlOpset = 5;
constexpr std::int64_t kNewestMicrosoftOpset = 1;
/// How far beyond the newest known version a file may be, to allow for coming releases of ONNX.
/// Most operators stay the same in them, and new operators and attributes are errors anyway.
/// Anything newer is not a valid version.
constexpr std::int64_t kNextVersions = 5;

std::vector<DefaultInfo> defaults_of(const ModelProto& model) {
  std::vector<DefaultInfo> defaults;
  if (model.ir_version < kSeparateInitialisers) return defaults;
  const GraphProto& graph = model.graphs.front();
  struct Initialiser {
    std::int64_t data_type = 0;
    const std::vector<std::int64_t>* dims = nullptr;
  };
  std::map<std::string_view, Initialiser> initialisers;
  for (const TensorProto& tensor : graph.initialisers)
    initialisers[tensor.name] = {tensor.data_type, &tensor.dims};
  for (const SparseTensorProto& sparse : graph.sparse_initialisers)
    initialisers[sparse.values.name] = {sparse.values.data_type, &sparse.dims};
  for (const ValueInfoProto& input : graph.inputs) {
    const auto found = initialisers.find(input.name);
    if (found == initialisers.end()) continue;
    // An unknown type becomes an error when the initialiser is read.
    if (const auto dtype = dtype_of_number(found->second.data_type))
      defaults.push_back({std::string(input.name), *dtype, *found->second.dims});
  }
  return defaults;
}

Expected<void> check_fed_defaults(const ModelInfo& info, const ReadOptions& options) {
  for (const std::string& name : options.fed_defaults)
    if (std::ranges::find(info.defaults, name, &DefaultInfo::name) == info.defaults.end())
      return fail(Code::not_found, "the model has no input '{}' with a default value", name);
  return {};
}

ModelInfo info_of(const ModelProto& model) {
  ModelInfo info;
  info.ir_version = model.ir_version;
  info.model_version = model.model_version;
  info.producer_name = model.producer_name;
  info.producer_version = model.producer_version;
  info.domain = model.domain;
  info.description = model.doc_string;
  info.graph_name = model.graphs.front().name;
  info.graph_description = model.graphs.front().doc_string;
  for (const OpsetProto& opset : model.opsets)
    info.opsets.emplace_back(opset.domain, opset.version);
  for (const EntryProto& entry : model.metadata) info.metadata.emplace_back(entry.key, entry.value);
  info.defaults = defaults_of(model);
  return info;
}

/// Reports a violation that a lenient reading only warns about.
void report(Error error, const ReadOptions& options, Diagnostics& diagnostics) {
  if (options.lenient)
    diagnostics.warning(error.text());
  else
    diagnostics.error(std::move(error));
}

/// Reports a version `ahead` versions newer than the newest known one. If more than operators and
/// attributes was added, results could silently be wrong.
void report_newer(Error error, std::int64_t ahead, const ReadOptions& options,
                  Diagnostics& diagnostics) {
  if (ahead > kNextVersions && !options.lenient)
    return diagnostics.error(std::move(error).note("the option lenient treats it as the newest"));
  diagnostics.warning(error.text());
}

/// Returns 0 for a domain without operators that are read.
std::int64_t newest_version(std::string_view domain) {
  if (domain.empty()) return kNewestOpset;
  if (domain == "ai.onnx.ml") return kNewestMlOpset;
  return domain == "com.microsoft" ? kNewestMicrosoftOpset : 0;
}

void check_opset(const OpsetProto& opset, const ReadOptions& options, Diagnostics& diagnostics) {
  const std::string_view domain = normal_domain(opset.domain);
  const std::int64_t newest = newest_version(domain);
  if (newest == 0) return;
  const std::string_view name = domain.empty() ? "ai.onnx" : domain;
  if (opset.version > newest)
    report_newer(fail(Code::unsupported,
                      "onnx: version {} of the operator set '{}' is newer than {}, the newest that "
                      "is supported",
                      opset.version, name, newest),
                 opset.version - newest, options, diagnostics);
  if (opset.version < kOldestOpset)
    report(fail(Code::unsupported,
                "onnx: version {} of the operator set '{}' is older than {}, the oldest that is "
                "supported",
                opset.version, name, kOldestOpset)
               .note("the option lenient reads it all the same"),
           options, diagnostics);
}

/// Warns about sizes below -1. Exporters write -1 for unknown sizes; other negative sizes mean
/// nothing.
void check_declared_sizes(const ModelProto& model, Diagnostics& diagnostics) {
  for (const GraphProto& graph : model.graphs)
    for (const auto* const infos : {&graph.inputs, &graph.outputs, &graph.value_infos})
      for (const ValueInfoProto& info : *infos)
        for (std::size_t axis = 0; axis < info.type.dims.size(); ++axis)
          if (const std::int64_t size = info.type.dims[axis].value; size < -1)
            diagnostics.warning(fmt::format(
                "onnx: '{}' is declared with size {} on axis {}, which is treated as unknown",
                shown_name(info.name), size, axis));
}

Expected<void> check_header(const ModelProto& model, const ReadOptions& options,
                            Diagnostics& diagnostics) {
  if (model.opsets.empty())
    return invalid_model("onnx: the model imports no operator set: the file may be truncated");
  if (model.ir_version > kNewestIr)
    report_newer(fail(Code::unsupported,
                      "onnx: IR version {} is newer than {}, the newest that is supported",
                      model.ir_version, kNewestIr),
                 model.ir_version - kNewestIr, options, diagnostics);
  for (const OpsetProto& opset : model.opsets) check_opset(opset, options, diagnostics);
  check_declared_sizes(model, diagnostics);
  return {};
}

Error reported(Error error, Diagnostics& diagnostics) {
  diagnostics.error(error);
  return error;
}

/// Returns only errors that the diagnostics do not hold yet.
Expected<void> read_into(ir::Module& module, const ModelProto& model, TensorReader& tensors,
                         const ReadOptions& options, Diagnostics& diagnostics) {
  NameTable names;
  SCANLOOM_TRY(const std::vector<GraphFacts> facts, gather_facts(model, names));
  Reading reading{model, options, diagnostics, module, names, facts, tensors};
  module.name = model.graphs.front().name;
  Importer importer(reading);
  importer.run();
  if (!diagnostics.ok()) return {};
  Expected<void> inferred = ir::infer_types(module, ir::Declared::ignore);
  if (!inferred) return std::move(inferred).error().at("onnx");
  return {};
}

/// Removes the name of a size if an earlier size of an input has the same name.
void separate_sizes(ModelProto& model) {
  std::set<std::string_view> seen;
  for (ValueInfoProto& input : model.graphs.front().inputs)
    for (DimProto& dim : input.type.dims)
      if (dim.kind == DimProto::Kind::param && !seen.insert(dim.param).second) dim = {};
}

Expected<ir::Module> read(std::shared_ptr<const void> owner, std::string_view bytes,
                          const ReadOptions& options, bool distinct_sizes, Diagnostics& diagnostics,
                          ModelInfo* info) {
  // Kept separate from the errors of other readings that share the diagnostics.
  Diagnostics own;
  ir::Module module;
  const Expected<void> done = [&]() -> Expected<void> {
    Expected<ModelProto> parsed = parse_model(bytes);
    if (!parsed && is_whole_model(bytes)) return parsed.error();
    if (!parsed) return no_model(bytes, options, parsed.error());
    ModelProto model = *std::move(parsed);
    if (!model.has_graph)
      return no_model(bytes, options,
                      invalid_model("onnx: the model has no graph: the file may be truncated"));
    if (distinct_sizes) separate_sizes(model);
    ModelInfo about = info_of(model);
    SCANLOOM_CHECK_OK(check_fed_defaults(about, options));
    if (info != nullptr) *info = std::move(about);
    SCANLOOM_CHECK_OK(check_header(model, options, own));
    TensorReader tensors(std::move(owner), bytes, options.folder);
    Expected<void> read = read_into(module, model, tensors, options, own);
    if (!read) read = ir::with_size_names(read.error(), module);
    for (const std::string& warning : tensors.warnings()) own.warning("onnx: " + warning);
    if (info != nullptr) info->data_files = tensors.data_files();
    return read;
  }();
  if (!done) own.error(done.error());
  // Warnings about a node of a function are reported once, however often it is called.
  std::set<std::string_view> said;
  for (const std::string& warning : own.warnings())
    if (said.insert(warning).second) diagnostics.warning(warning);
  for (const Error& error : own.errors()) diagnostics.error(ir::with_size_names(error, module));
  if (!own.ok()) return ir::with_size_names(own.first(), module);
  return module;
}

}  // namespace

Expected<ir::Module> read_model(std::shared_ptr<const void> owner, std::string_view bytes,
                                const ReadOptions& options, Diagnostics& diagnostics,
                                ModelInfo* info) {
  return read(std::move(owner), bytes, options, false, diagnostics, info);
}

Expected<ir::Module> read_with_distinct_sizes(std::shared_ptr<const void> owner,
                                              std::string_view bytes, const ReadOptions& options,
                                              Diagnostics& diagnostics, ModelInfo* info) {
  return read(std::move(owner), bytes, options, true, diagnostics, info);
}

std::string folder_of(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Expected<ir::Module> read_model_file(const std::string& path, const ReadOptions& options,
                                     Diagnostics& diagnostics, ModelInfo* info) {
  Expected<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file) return reported(std::move(file).error(), diagnostics);
  ReadOptions complete = options;
  if (complete.folder.empty()) complete.folder = folder_of(path);
  const std::string_view bytes = (*file)->bytes();
  return read_model(*file, bytes, complete, diagnostics, info);
}

}  // namespace scanloom::onnx
