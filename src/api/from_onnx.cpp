#include <scanloom/from_onnx.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "api/fixed_inputs.h"
#include "api/guard.h"
#include "api/impl.h"
#include "base/utf8.h"
#include "expr/raise.h"
#include "passes/run.h"

namespace scanloom {
namespace {

/// Operators in their plainest forms, which have gradients; loops as written.
SessionOptions plain_forms(SessionOptions options) {
  constexpr std::string_view kWanted[] = {"inline_branch", "sink_constants",       "simplify_ports",
                                          "canonicalise",  "decompose_reductions", "fold_constants",
                                          "merge_common",  "drop_dead_code"};
  options.optimize = true;
  for (const passes::PassDef& pass : passes::all_passes())
    if (std::ranges::find(kWanted, pass.name) == std::end(kWanted))
      options.disabled_passes.emplace_back(pass.name);
  return options;
}

Expected<ModelExpressions> expressions_of(const Source& source, const FromOnnxOptions& options) {
  Diagnostics diagnostics;
  SessionOptions as_written = options.session;
  as_written.optimize = false;
  SCANLOOM_TRY(Loaded loaded, load_module(source, as_written, diagnostics));
  SCANLOOM_CHECK_OK(fix_inputs(loaded, {options.sizes, options.values}));
  SCANLOOM_CHECK_OK(optimise(loaded, plain_forms(options.session)));
  SCANLOOM_TRY(expr::Raised raised, expr::raise(loaded.module));
  ModelExpressions made{std::move(raised.inputs), {}, std::move(raised.outputs)};
  for (const std::string& name : loaded.module.output_names)
    made.output_names.push_back(to_valid_utf8(name));
  return made;
}

}  // namespace

Expected<ModelExpressions> from_onnx(const std::string& path, const FromOnnxOptions& options) {
  return guard([&]() -> Expected<ModelExpressions> {
    SCANLOOM_TRY(const Source source, Source::of_file(path));
    return expressions_of(source, options);
  });
}

Expected<ModelExpressions> from_onnx_bytes(std::span<const std::byte> bytes,
                                           const FromOnnxOptions& options) {
  return guard([&]() -> Expected<ModelExpressions> {
    // Constants may point into the bytes as long as the expressions exist.
    const auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    const std::string_view view(reinterpret_cast<const char*>(copy->data()), copy->size());
    return expressions_of({copy, view, {}}, options);
  });
}

}  // namespace scanloom
