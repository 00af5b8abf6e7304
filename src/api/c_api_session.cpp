// The C interface: options of sessions, sessions, and descriptions of inputs and outputs.
#include <cstdlib>
#include <cstring>

#include <scanloom/convert.h>

#include "api/c_api.h"

namespace scanloom::c_api {

char* copy_of(const std::string& text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

namespace {

Expected<SessionOptions> options_of(const scanloom_session_options* given) {
  if (given == nullptr) return SessionOptions{};
  SessionOptions options = given->options;
  switch (given->execution) {
    case SCANLOOM_AUTOMATIC:
      options.execution = Execution::automatic;
      break;
    case SCANLOOM_STEPPED:
      options.execution = Execution::stepped;
      break;
    case SCANLOOM_INTERPRETED:
      options.execution = Execution::interpreted;
      break;
    case SCANLOOM_COMPILED:
      options.execution = Execution::compiled;
      break;
    default:
      return fail(Code::invalid_argument, "execution is {}, but must be 0 to 3", given->execution);
  }
  if (given->numerics != SCANLOOM_EXACT && given->numerics != SCANLOOM_FAST)
    return fail(Code::invalid_argument, "numerics is {}, but must be 0 or 1", given->numerics);
  options.numerics = given->numerics == SCANLOOM_FAST ? Numerics::fast : Numerics::exact;
  return options;
}

scanloom_session* make_session(Session session) {
  std::vector<scanloom_info> inputs, outputs;
  for (const ValueInfo& info : session.inputs()) inputs.push_back({info});
  for (const ValueInfo& info : session.outputs()) outputs.push_back({info});
  return new scanloom_session{std::move(session), std::move(inputs), std::move(outputs)};
}

const scanloom_info* at(const std::vector<scanloom_info>& infos, size_t index) {
  return index < infos.size() ? &infos[index] : nullptr;
}

}  // namespace
}  // namespace scanloom::c_api

extern "C" {

scanloom_session_options* scanloom_session_options_new(void) {
  return scanloom::c_api::or_null([] { return new scanloom_session_options; });
}

void scanloom_session_options_free(scanloom_session_options* options) { delete options; }

void scanloom_session_options_set_threads(scanloom_session_options* options, int threads) {
  options->options.threads = threads;
}

void scanloom_session_options_set_execution(scanloom_session_options* options,
                                            scanloom_execution execution) {
  options->execution = execution;
}

void scanloom_session_options_set_numerics(scanloom_session_options* options,
                                           scanloom_numerics numerics) {
  options->numerics = numerics;
}

void scanloom_session_options_set_optimize(scanloom_session_options* options, int optimize) {
  options->options.optimize = optimize != 0;
}

void scanloom_session_options_set_seed(scanloom_session_options* options, int64_t seed) {
  options->options.seed = seed;
}

void scanloom_session_options_set_lenient(scanloom_session_options* options, int lenient) {
  options->options.lenient = lenient != 0;
}

void scanloom_session_options_set_strict(scanloom_session_options* options, int strict) {
  options->options.strict = strict != 0;
}

void scanloom_session_options_set_low_latency(scanloom_session_options* options, int low_latency) {
  options->options.low_latency = low_latency != 0;
}

void scanloom_session_options_set_speculate(scanloom_session_options* options, int speculate) {
  options->options.speculate = speculate != 0;
}

scanloom_code scanloom_session_options_set_weights(scanloom_session_options* options,
                                                   const void* bytes, size_t size,
                                                   scanloom_error** error) {
  using namespace scanloom;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(options, "options"));
    SCANLOOM_CHECK_OK(c_api::require(bytes, "bytes"));
    const auto* const first = static_cast<const std::byte*>(bytes);
    // One extra byte, so that even empty weights have an address.
    options->weights.assign(first, first + size);
    options->weights.push_back({});
    options->options.weights = std::span<const std::byte>(options->weights).first(size);
    return {};
  });
}

scanloom_code scanloom_session_options_add_state(scanloom_session_options* options,
                                                 const char* input, const char* output,
                                                 scanloom_error** error) {
  using namespace scanloom;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(options, "options"));
    SCANLOOM_CHECK_OK(c_api::require(input, "input"));
    SCANLOOM_CHECK_OK(c_api::require(output, "output"));
    options->options.states.emplace_back(input, output);
    return {};
  });
}

scanloom_code scanloom_session_options_add_fed_default(scanloom_session_options* options,
                                                       const char* name, scanloom_error** error) {
  using namespace scanloom;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(options, "options"));
    SCANLOOM_CHECK_OK(c_api::require(name, "name"));
    options->options.fed_defaults.emplace_back(name);
    return {};
  });
}

void scanloom_session_options_set_warning(scanloom_session_options* options,
                                          scanloom_warning_fn warning, void* user) {
  options->options.on_warning = nullptr;
  if (warning == nullptr) return;
  // Small enough for std::function to hold without allocating, so this cannot fail.
  options->options.on_warning = [warning, user](std::string_view text) {
    warning(user, std::string(text).c_str());
  };
}

scanloom_code scanloom_session_load(const char* path, const scanloom_session_options* options,
                                    scanloom_session** session, scanloom_error** error) {
  using namespace scanloom;
  if (session != nullptr) *session = nullptr;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(path, "path"));
    SCANLOOM_CHECK_OK(c_api::require(session, "session"));
    SCANLOOM_TRY(const SessionOptions checked, c_api::options_of(options));
    SCANLOOM_TRY(Session loaded, Session::load(path, checked));
    *session = c_api::make_session(std::move(loaded));
    return {};
  });
}

scanloom_code scanloom_session_load_bytes(const void* bytes, size_t size,
                                          const scanloom_session_options* options,
                                          scanloom_session** session, scanloom_error** error) {
  using namespace scanloom;
  if (session != nullptr) *session = nullptr;
  return c_api::protect(error, [&]() -> Expected<void> {
    if (size > 0) SCANLOOM_CHECK_OK(c_api::require(bytes, "bytes"));
    SCANLOOM_CHECK_OK(c_api::require(session, "session"));
    SCANLOOM_TRY(const SessionOptions checked, c_api::options_of(options));
    const std::span model(static_cast<const std::byte*>(bytes), size);
    SCANLOOM_TRY(Session loaded, Session::load_bytes(model, checked));
    *session = c_api::make_session(std::move(loaded));
    return {};
  });
}

scanloom_code scanloom_convert(const char* from, const char* to,
                               const scanloom_session_options* options, scanloom_error** error) {
  using namespace scanloom;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(from, "from"));
    SCANLOOM_CHECK_OK(c_api::require(to, "to"));
    ConvertOptions checked;
    SCANLOOM_TRY(checked.session, c_api::options_of(options));
    return convert(from, to, checked);
  });
}

void scanloom_session_free(scanloom_session* session) { delete session; }

size_t scanloom_session_input_count(const scanloom_session* session) {
  return session->inputs.size();
}

size_t scanloom_session_output_count(const scanloom_session* session) {
  return session->outputs.size();
}

const scanloom_info* scanloom_session_input(const scanloom_session* session, size_t index) {
  return scanloom::c_api::at(session->inputs, index);
}

const scanloom_info* scanloom_session_output(const scanloom_session* session, size_t index) {
  return scanloom::c_api::at(session->outputs, index);
}

const char* scanloom_info_name(const scanloom_info* info) { return info->info.name.c_str(); }

const char* scanloom_info_type(const scanloom_info* info) { return info->info.type.c_str(); }

scanloom_dtype scanloom_info_dtype(const scanloom_info* info) {
  return scanloom::dtype_onnx_number(info->info.dtype);
}

int scanloom_info_rank(const scanloom_info* info) {
  return info->info.ranked ? static_cast<int>(info->info.shape.size()) : -1;
}

int64_t scanloom_info_size(const scanloom_info* info, size_t axis) {
  return axis < info->info.shape.size() ? info->info.shape[axis].size : -1;
}

const char* scanloom_info_symbol(const scanloom_info* info, size_t axis) {
  return axis < info->info.shape.size() ? info->info.shape[axis].name.c_str() : "";
}

char* scanloom_session_explain(const scanloom_session* session) {
  return scanloom::c_api::or_null(
      [&] { return scanloom::c_api::copy_of(session->session.explain()); });
}

void scanloom_text_free(char* text) { std::free(text); }

}  // extern "C"
