// From bytes to a module that is ready to plan: front-end, verifier, passes.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>

#include "api/expand_gradients.h"
#include "api/foreign_file.h"
#include "api/function_module.h"
#include "api/guard.h"
#include "api/impl.h"
#include "api/model_format.h"
#include "api/plain_form.h"
#include "base/mapped_file.h"
#include "base/utf8.h"
#include "frontends/onnx/read_distinct.h"
#include "frontends/openvino/read.h"
#include "ir/op_def.h"
#include "ir/print.h"
#include "ir/size_names.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "passes/loops/keep_loop_states.h"
#include "passes/run.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom {
namespace {

ModelInfo public_info(const onnx::ModelInfo& read) {
  ModelInfo info;
  info.producer = to_valid_utf8(read.producer_name);
  info.producer_version = to_valid_utf8(read.producer_version);
  info.graph = to_valid_utf8(read.graph_name);
  info.graph_description = to_valid_utf8(read.graph_description);
  info.domain = to_valid_utf8(read.domain);
  info.description = to_valid_utf8(read.description);
  info.version = read.model_version;
  for (const auto& [key, value] : read.metadata)
    info.metadata.emplace_back(to_valid_utf8(key), to_valid_utf8(value));
  return info;
}

ValueInfo describe_default(const onnx::DefaultInfo& read) {
  ValueInfo info;
  info.name = to_valid_utf8(read.name);
  info.dtype = read.dtype;
  info.ranked = true;
  info.type = "tensor(" + std::string(dtype_onnx_name(read.dtype)) + ")";
  for (const std::int64_t size : read.sizes) info.shape.push_back({.size = size, .name = {}});
  return info;
}

/// Additional names of inputs and outputs (of tensors, and of outputs' layers), and the allowed
/// sizes of inputs.
struct Aliases {
  std::vector<std::vector<std::string>> inputs, outputs, layers;
  std::vector<InputRange> ranges;
};

/// The given weights, or the file next to the IR with the same name and .bin; none if there is no
/// such file.
Expected<openvino::WeightsFile> weights_of(const Source& source, const SessionOptions& options) {
  openvino::WeightsFile weights;
  if (options.weights.data() != nullptr) {
    const auto* const data = reinterpret_cast<const char*>(options.weights.data());
    const auto copy = std::make_shared<const std::string>(data, options.weights.size());
    return openvino::WeightsFile{copy, *copy, "the given weights"};
  }
  if (source.path.empty()) return weights;
  const std::filesystem::path path = std::filesystem::path(source.path).replace_extension(".bin");
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return weights;
  SCANLOOM_TRY(const std::shared_ptr<const MappedFile> file, MappedFile::open(path.string()));
  return openvino::WeightsFile{file, file->bytes(), path.filename().string()};
}

Expected<ir::Module> read_openvino(const Source& source, const SessionOptions& options,
                                   Diagnostics& diagnostics, onnx::ModelInfo& info,
                                   Aliases* aliases) {
  SCANLOOM_TRY(const openvino::WeightsFile weights, weights_of(source, options));
  openvino::ReadOptions read_options;
  read_options.seed = options.seed;
  openvino::ModelInfo about;
  SCANLOOM_TRY(ir::Module module,
               openvino::read_model(source.bytes, weights, read_options, diagnostics, &about));
  info.graph_name = about.name;
  info.ir_version = about.version;
  if (weights.owner != nullptr && options.weights.data() == nullptr)
    info.data_files = {std::filesystem::path(source.path).replace_extension(".bin").string()};
  if (aliases != nullptr) {
    *aliases = {std::move(about.input_names),
                std::move(about.output_names),
                std::move(about.output_layers),
                {}};
    for (std::size_t input = 0; input < about.input_ranges.size(); ++input)
      for (const openvino::SizeRange& range : about.input_ranges[input])
        aliases->ranges.push_back({input, range.axis, range.low, range.high});
  }
  return module;
}

Expected<void> expect_no_weights(const SessionOptions& options) {
  if (options.weights.data() == nullptr) return {};
  return fail(
      Code::invalid_argument,
      "{} bytes of weights are given, but the model is not an OpenVINO IR, which alone takes them",
      options.weights.size());
}

Expected<ir::Module> read_function(const Source& source, const SessionOptions& options,
                                   onnx::ModelInfo& info) {
  SCANLOOM_CHECK_OK(expect_no_weights(options));
  Expected<SavedFunction> function = function_of_bytes(source.bytes);
  if (!function && !source.path.empty())
    return std::move(function).error().at(
        fmt::format("'{}'", std::filesystem::path(source.path).filename().string()));
  if (!function) return std::move(function).error();
  info.producer_name = "scanloom";
  info.graph_name = function->module.name;
  return module_of(*std::move(function));
}

/// The module as written in the file, with the file's metadata.
Expected<ir::Module> read(const Source& source, const SessionOptions& options,
                          Diagnostics& diagnostics, onnx::ModelInfo& info,
                          Aliases* aliases = nullptr) {
  if (is_saved_function(source.bytes)) return read_function(source, options, info);
  SCANLOOM_TRY(const ModelFormat format, format_of(source.bytes, source.path));
  if (format == ModelFormat::openvino) {
    SCANLOOM_TRY(ir::Module module, read_openvino(source, options, diagnostics, info, aliases));
    SCANLOOM_CHECK_OK(ir::verify(module, ir::ResultTypes::trusted));
    return module;
  }
  SCANLOOM_CHECK_OK(expect_no_weights(options));
  onnx::ReadOptions read_options;
  read_options.lenient = options.lenient;
  read_options.seed = options.seed;
  read_options.fed_defaults = options.fed_defaults;
  read_options.folder = source.folder;
  read_options.name = source.path.empty() ? std::string() : described_file(source.path);
  read_options.otherwise = described_weights(source.path);
  SCANLOOM_TRY(ir::Module module,
               (source.distinct_sizes ? onnx::read_with_distinct_sizes : onnx::read_model)(
                   source.owner, source.bytes, read_options, diagnostics, &info));
  SCANLOOM_CHECK_OK(expand_gradients(module));
  SCANLOOM_CHECK_OK(ir::verify(module, ir::ResultTypes::trusted));
  return module;
}

Expected<void> to_low_latency(ir::Module& module, const SessionOptions& options) {
  if (!options.states.empty())
    return fail(Code::invalid_argument,
                "low_latency keeps all loop states: states ('{}') cannot be named as well",
                options.states.front().first);
  SCANLOOM_CHECK_OK(to_plain_form(module, options.disabled_passes));
  SCANLOOM_CHECK_OK(passes::keep_loop_states(module));
  return ir::verify(module, ir::ResultTypes::trusted);
}

/// The sizes of the module's inputs if they are the same in every run; nullopt if some are open.
/// Its own states have the sizes of their initial values.
std::optional<std::vector<tensor::Shape>> known_sizes(const ir::Module& module) {
  const ir::Region& top = module.region(module.top());
  std::vector<std::optional<tensor::Shape>> sizes(top.args.size());
  for (const ir::State& state : module.states) {
    if (!state.is_hidden) continue;
    sizes[state.input] = state.initial.shape();
    if (state.is_kept) sizes[*state.is_kept] = tensor::Shape();
  }
  std::vector<tensor::Shape> known;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const tensor::Type& type = module.value(top.args[i]).type;
    if (!sizes[i] && !type.is_static()) return std::nullopt;
    known.push_back(sizes[i] ? *sizes[i] : type.shape());
  }
  return known;
}

/// Binds a model whose inputs have known sizes, as its first run would. Error: what that run would
/// report before its first step.
Expected<void> bind_known_sizes(ir::Module module) {
  const auto sizes = known_sizes(module);
  if (!sizes) return {};
  plan::PlanOptions options;  // compiles nothing
  options.why_no_compiler = "the model is checked, not run";
  SCANLOOM_CHECK_OK(plan::bind(plan::make_plan(std::move(module), options), *sizes, {}));
  return {};
}

CheckReport check_source(const Expected<Source>& source, const SessionOptions& options) {
  CheckReport report;
  Diagnostics diagnostics;
  const Expected<void> loaded = guard([&]() -> Expected<void> {
    if (!source) return source.error();
    SCANLOOM_TRY(Loaded model, load_module(*source, options, diagnostics));
    return bind_known_sizes(std::move(model.module));
  });
  report.errors = diagnostics.errors();
  report.warnings = diagnostics.warnings();
  if (!loaded && report.errors.empty()) report.errors.push_back(loaded.error());
  return report;
}

}  // namespace

Expected<Source> Source::of_file(const std::string& path) {
  Expected<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  std::error_code failed;
  if (!file && file.error().code() == Code::invalid_argument &&
      std::filesystem::is_directory(path, failed))
    return fail(Code::invalid_argument, "cannot open '{}': it {}", path, describe_folder(path));
  if (!file) return std::move(file).error();
  return Source{*file, (*file)->bytes(), onnx::folder_of(path), path};
}

Expected<void> optimise(Loaded& loaded, const SessionOptions& options) {
  if (!options.optimize) return {};
  passes::RunOptions pass_options;
  pass_options.disabled = options.disabled_passes;
  pass_options.fast = options.numerics == Numerics::fast;
  Expected<passes::RunReport> ran = passes::run(loaded.module, pass_options);
  if (!ran) return ir::with_size_names(ran.error(), loaded.module);
  passes::RunReport report = *std::move(ran);
  loaded.for_streams = std::move(report.for_streams);
  loaded.summing_pass = passes::pass_that_sums(report);
  return ir::verify(loaded.module, ir::ResultTypes::trusted);
}

Expected<void> expect_valid(const SessionOptions& options) {
  if (options.threads >= 0) return {};
  return fail(Code::invalid_argument, "threads is {}, but must be at least 0", options.threads);
}

Expected<Loaded> load_module(const Source& source, const SessionOptions& options,
                             Diagnostics& diagnostics) {
  SCANLOOM_CHECK_OK(expect_valid(options));
  onnx::ModelInfo info;
  Aliases aliases;
  SCANLOOM_TRY(ir::Module module, read(source, options, diagnostics, info, &aliases));
  Loaded loaded{.module = std::move(module), .info = public_info(info), .defaults = {}};
  loaded.weights_files = std::move(info.data_files);
  loaded.input_aliases = std::move(aliases.inputs);
  loaded.input_ranges = std::move(aliases.ranges);
  loaded.output_tensors = std::move(aliases.outputs);
  loaded.output_aliases = loaded.output_tensors;
  for (std::size_t i = 0; i < aliases.layers.size(); ++i)
    std::ranges::move(aliases.layers[i], std::back_inserter(loaded.output_aliases[i]));
  for (const onnx::DefaultInfo& value : info.defaults)
    loaded.defaults.push_back(describe_default(value));
  if (options.low_latency) SCANLOOM_CHECK_OK(to_low_latency(loaded.module, options));
  SCANLOOM_CHECK_OK(optimise(loaded, options));
  return loaded;
}

CheckReport check(const std::string& path, const SessionOptions& options) {
  return check_source(guard([&] { return Source::of_file(path); }), options);
}

CheckReport check_bytes(std::span<const std::byte> bytes, const SessionOptions& options) {
  // The module may alias the bytes, but does not outlive this call.
  const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return check_source(Source{nullptr, view, {}, {}}, options);
}

// Rarely used, and large, so not kept. The bytes are the same; external data may be gone.
Expected<ir::Module> Session::Impl::read_again() const {
  Diagnostics heard_before;
  onnx::ModelInfo info;
  return guard([&] { return read(source, options, heard_before, info); });
}

Expected<ir::Module> Session::Impl::before_passes() const {
  if (written) return *written;
  SCANLOOM_TRY(ir::Module module, read_again());
  if (options.low_latency) SCANLOOM_CHECK_OK(to_low_latency(module, options));
  return module;
}

std::string Session::ir(bool optimized) const {
  const auto text_of = [](const ir::Module& module) {
    return ir::SizeNames(module).in(ir::print(module));
  };
  if (optimized) return text_of(impl_->plan->module);
  const Expected<ir::Module> module = impl_->read_again();
  return module ? text_of(*module) : "// it cannot be read again: " + module.error().message();
}

std::vector<std::pair<std::string, int>> Session::operators() const {
  std::map<std::string, int> counts;
  const ir::Module& module = impl_->plan->module;
  for (const ir::RegionId region : ir::regions_outer_first(module, module.top()))
    for (const ir::NodeId node : module.region(region).nodes)
      ++counts[std::string(module.node(node).op->name)];
  return {counts.begin(), counts.end()};
}

}  // namespace scanloom
