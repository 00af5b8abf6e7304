// Bytes to a module that is ready to plan: front-end, verifier, passes.
#include <algorithm>
#include <map>

#include "api/guard.h"
#include "api/impl.h"
#include "base/utf8.h"
#include "frontends/onnx/read.h"
#include "ir/op_def.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "passes/run.h"

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

CheckReport check_source(const Source& source, const SessionOptions& options) {
  CheckReport report;
  Diagnostics diagnostics;
  const Expected<Loaded> loaded = guard([&] { return load_module(source, options, diagnostics); });
  report.errors = diagnostics.errors();
  report.warnings = diagnostics.warnings();
  if (!loaded && report.errors.empty()) report.errors.push_back(loaded.error());
  return report;
}

}  // namespace

Expected<Loaded> load_module(const Source& source, const SessionOptions& options,
                             Diagnostics& diagnostics) {
  onnx::ReadOptions read_options;
  read_options.lenient = options.lenient;
  read_options.seed = options.seed;
  read_options.fed_defaults = options.fed_defaults;
  onnx::ModelInfo info;
  auto module = source.path.empty()
                    ? onnx::read_model(source.owner, source.bytes, read_options, diagnostics, &info)
                    : onnx::read_model_file(source.path, read_options, diagnostics, &info);
  if (!module) return std::move(module).error();
  Loaded loaded{
      .module = *std::move(module), .info = public_info(info), .defaults = {}, .text_before = {}};
  for (const onnx::DefaultInfo& value : info.defaults)
    loaded.defaults.push_back(describe_default(value));
  SCANLOOM_CHECK_OK(ir::verify(loaded.module));
  loaded.text_before = ir::print(loaded.module);
  if (!options.optimize) return loaded;
  passes::RunOptions pass_options;
  pass_options.disabled = options.disabled_passes;
  SCANLOOM_CHECK_OK(passes::run(loaded.module, pass_options));
  SCANLOOM_CHECK_OK(ir::verify(loaded.module));
  return loaded;
}

CheckReport check(const std::string& path, const SessionOptions& options) {
  return check_source({path, nullptr, {}}, options);
}

CheckReport check_bytes(std::span<const std::byte> bytes, const SessionOptions& options) {
  // The module, which may alias the bytes, does not outlive this call.
  const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return check_source({{}, nullptr, view}, options);
}

std::string Session::ir(bool optimized) const {
  return optimized ? ir::print(impl_->plan->module) : impl_->text_before;
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
