#include <scanloom/from_onnx.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "api/fixed_inputs.h"
#include "api/guard.h"
#include "api/impl.h"
#include "api/plain_form.h"
#include "base/utf8.h"
#include "expr/raise.h"

namespace scanloom {
namespace {

SessionOptions plain_forms(SessionOptions options) {
  options.optimize = true;
  options.numerics = Numerics::exact;
  std::ranges::move(passes_beyond_gradients(), std::back_inserter(options.disabled_passes));
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
