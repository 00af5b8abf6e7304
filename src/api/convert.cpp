#include <scanloom/convert.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include <scanloom/function.h>

#include "api/export_model.h"
#include "api/fixed_inputs.h"
#include "api/guard.h"
#include "api/impl.h"
#include "api/plain_form.h"
#include "api/saved_function.h"
#include "ir/op_def.h"
#include "ir/walk.h"
#include "passes/nodes/decompose_windows.h"

namespace scanloom {
namespace {

namespace fs = std::filesystem;

/// Whether both are the same existing file.
bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code none;
  return fs::equivalent(a, b, none);
}

/// Refuses to replace a file that is being read. `read`: the model and all files of its weights.
Expected<void> check_targets(const std::vector<std::string>& read, const fs::path& to,
                             Format format) {
  const fs::path companion = format == Format::openvino ? fs::path(to).replace_extension(".bin")
                                                        : fs::path(to.string() + ".data");
  for (const fs::path& file : {to, companion})
    for (const fs::path other : read)
      if (same_file(file, other))
        return fail(Code::invalid_argument,
                    "'{}' belongs to the model being read; choose another name", file.string());
  return {};
}

Expected<void> check_options(const std::string& to, Format format, const ConvertOptions& options) {
  if (format != Format::openvino || !options.external_data) return {};
  return fail(
      Code::invalid_argument,
      "external data is an option of ONNX models; the weights of '{}' are always written to "
      "a .bin next to it",
      to);
}

/// Warns of valid IR that OpenVINO's CPU plugin cannot run.
void warn_of_unknown_ranks(const ir::Module& module, const SessionOptions& options) {
  constexpr std::size_t kMax = 5;
  std::vector<std::string> nodes;
  for (const ir::RegionId region : ir::regions_outer_first(module, module.top()))
    for (const ir::NodeId id : module.region(region).nodes) {
      const auto is_unknown = [&](ir::ValueId value) {
        const tensor::Type& type = module.value(value).type;
        return type.is_tensor() && !type.ranked;
      };
      if (std::ranges::any_of(module.node(id).outputs, is_unknown))
        nodes.push_back(module.describe(id));
    }
  if (nodes.empty() || !options.on_warning) return;
  std::string text =
      "OpenVINO's CPU plugin may not run these nodes, whose results have unknown rank: ";
  for (std::size_t i = 0; i < std::min(nodes.size(), kMax); ++i)
    text += (i == 0 ? "" : ", ") + nodes[i];
  options.on_warning(text + (nodes.size() > kMax ? " and more" : ""));
}

Expected<void> convert_function(const std::string& from, const std::string& to, Format format,
                                const ConvertOptions& options) {
  if (options.stream)
    return fail(Code::unsupported,
                "'{}' is a saved function; loop states can be kept only for models", from)
        .note("a function keeps its shared variables between calls");
  if (!options.sizes.empty() || !options.values.empty())
    return fail(Code::unsupported, "'{}' is a saved function, whose inputs cannot be fixed", from)
        .note("give the variables their sizes and values where the function is built");
  SCANLOOM_TRY(const Function function, Function::load(from, options.session));
  if (format == Format::onnx) return function.to_onnx(to, options.external_data);
  return function.to_openvino(to);
}

Expected<void> convert_source(const Source& source, const std::string& to, Format format,
                              const ConvertOptions& options) {
  Diagnostics diagnostics;
  SessionOptions as_written = options.session;
  as_written.optimize = false;
  as_written.low_latency |= options.stream;
  Expected<Loaded> loaded = load_module(source, as_written, diagnostics);
  if (options.session.on_warning)
    for (const std::string& warning : diagnostics.warnings()) options.session.on_warning(warning);
  if (!loaded) return std::move(loaded).error();
  SCANLOOM_CHECK_OK(check_targets(loaded->weights_files, to, format));
  const Sequences sequences =
      format == Format::openvino ? Sequences::become_stacks : Sequences::stay;
  const FixedInputs fixed{options.sizes, options.values};
  SCANLOOM_CHECK_OK(fix_inputs(*loaded, fixed));
  SCANLOOM_CHECK_OK(passes::decompose_windows(loaded->module));
  SCANLOOM_CHECK_OK(to_plain_form(loaded->module, {}, sequences,
                                  fixed.any() ? KnownBranches::go : KnownBranches::stay));
  if (format == Format::openvino) warn_of_unknown_ranks(loaded->module, options.session);
  exporters::WriteOptions names = names_of(loaded->module);
  names.input_tensors = std::move(loaded->input_aliases);
  names.output_tensors = std::move(loaded->output_tensors);
  return export_model(loaded->module, names, to, format, options);
}

}  // namespace

Expected<void> convert(const std::string& from, const std::string& to,
                       const ConvertOptions& options) {
  return guard([&]() -> Expected<void> {
    SCANLOOM_TRY(const Format format, format_of(to));
    SCANLOOM_CHECK_OK(check_options(to, format, options));
    SCANLOOM_TRY(const Source source, Source::of_file(from));
    SCANLOOM_CHECK_OK(check_targets({from}, to, format));
    if (is_saved_function(source.bytes)) return convert_function(from, to, format, options);
    return convert_source(source, to, format, options);
  });
}

Expected<void> convert_bytes(std::span<const std::byte> bytes, const std::string& to,
                             const ConvertOptions& options) {
  return guard([&]() -> Expected<void> {
    SCANLOOM_TRY(const Format format, format_of(to));
    SCANLOOM_CHECK_OK(check_options(to, format, options));
    const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (is_saved_function(view))
      return fail(Code::invalid_argument, "to convert a saved function, pass its path");
    return convert_source({nullptr, view, {}, {}}, to, format, options);
  });
}

}  // namespace scanloom
