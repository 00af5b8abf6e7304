// The C interface: runs and streams, their limits, progress and cancellation.
#include <algorithm>
#include <cmath>

#include "api/c_api.h"
#include "api/impl.h"

namespace scanloom::c_api {
namespace {

/// Checked options of one run. `own` is set by a progress function that ends the run, and counts as
/// set while the caller's flag is.
Expected<RunOptions> options_of(const scanloom_run_options* given, CancelFlag& own) {
  if (given == nullptr) return RunOptions{};
  RunOptions options = given->options;
  if (!(options.deadline >= 0 && std::isfinite(options.deadline)))
    return fail(Code::invalid_argument,
                "the deadline is {} s, but must be 0, or positive and finite", options.deadline);
  if (options.max_steps < -1)
    return fail(Code::invalid_argument, "max_steps is {}, but must be at least -1",
                options.max_steps);
  if (options.max_memory < 0)
    return fail(Code::invalid_argument, "max_memory is {}, but must be at least 0",
                options.max_memory);
  options.cancel = &own;
  if (given->progress != nullptr)
    options.progress = [given, &own](const Progress& now) {
      const std::string node(now.node);
      if (given->progress(given->user, node.c_str(), now.step, now.steps) != 0) own.cancel();
    };
  return options;
}

const CancelFlag* flag_of(const scanloom_run_options* given) {
  return given == nullptr ? nullptr : given->options.cancel;
}

/// The arguments shared by runs and pushes.
struct Call {
  const char* const* input_names;
  const scanloom_value* const* inputs;
  size_t input_count;
  const char* const* output_names;
  scanloom_value** outputs;
  size_t output_count;
};

Expected<void> check(const Call& call) {
  if (call.input_count > 0) SCANLOOM_CHECK_OK(require(call.inputs, "inputs"));
  if (call.output_count > 0) SCANLOOM_CHECK_OK(require(call.outputs, "outputs"));
  for (size_t i = 0; i < call.input_count; ++i) {
    SCANLOOM_CHECK_OK(require(call.inputs[i], fmt::format("inputs[{}]", i)));
    if (call.input_names != nullptr)
      SCANLOOM_CHECK_OK(require(call.input_names[i], fmt::format("input_names[{}]", i)));
  }
  for (size_t i = 0; call.output_names != nullptr && i < call.output_count; ++i)
    SCANLOOM_CHECK_OK(require(call.output_names[i], fmt::format("output_names[{}]", i)));
  return {};
}

std::vector<Feed> named_feeds(const Call& call) {
  std::vector<Feed> feeds;
  for (size_t i = 0; i < call.input_count; ++i)
    feeds.push_back({call.input_names[i], call.inputs[i]->view});
  return feeds;
}

Expected<std::vector<Feed>> feeds_of(const Call& call, const scanloom_session& session) {
  if (call.input_names != nullptr) return named_feeds(call);
  if (call.input_count != session.inputs.size())
    return fail(Code::invalid_argument, "{} values are passed, but the model has {} inputs",
                call.input_count, session.inputs.size());
  std::vector<Feed> feeds;
  for (size_t i = 0; i < call.input_count; ++i)
    feeds.push_back({session.inputs[i].info.name, call.inputs[i]->view});
  return feeds;
}

/// The indices of the requested outputs, found before anything runs.
Expected<std::vector<size_t>> wanted_outputs(const Call& call, const Session& session) {
  const std::span<const ValueInfo> outputs = session.outputs();
  std::vector<size_t> wanted;
  if (call.output_names == nullptr) {
    if (call.output_count > outputs.size())
      return fail(Code::invalid_argument, "{} outputs are requested, but the model has {}",
                  call.output_count, outputs.size());
    for (size_t i = 0; i < call.output_count; ++i) wanted.push_back(i);
    return wanted;
  }
  for (size_t i = 0; i < call.output_count; ++i) {
    const auto found = std::ranges::find(outputs, call.output_names[i], &ValueInfo::name);
    if (found == outputs.end())
      return fail(Code::invalid_argument, "the model has no output '{}'", call.output_names[i])
          .note("its outputs are: " + names_of(outputs));
    wanted.push_back(static_cast<size_t>(found - outputs.begin()));
  }
  return wanted;
}

/// Passes the results to the caller: all, or none if memory runs out.
void give(const Call& call, const Results& results, const std::vector<size_t>& wanted) {
  std::vector<std::unique_ptr<scanloom_value>> values;
  for (const size_t i : wanted) values.emplace_back(make_value(results[i]));
  for (size_t i = 0; i < wanted.size(); ++i) call.outputs[i] = values[i].release();
}

void clear(const Call& call) {
  for (size_t i = 0; call.outputs != nullptr && i < call.output_count; ++i)
    call.outputs[i] = nullptr;
}

ReportForm form_of(int as_data) { return as_data != 0 ? ReportForm::data : ReportForm::page; }

Expected<void> give_text(const std::string& made, char** text) {
  *text = copy_of(made);
  if (*text == nullptr) return fail(Code::out_of_memory, "the system is out of memory");
  return {};
}

Expected<std::string> report(const scanloom_session& session, const scanloom_run_options* options,
                             const Call& call, int as_data) {
  SCANLOOM_CHECK_OK(check(call));
  CancelFlag own(flag_of(options));
  ReportOptions report_options;
  report_options.form = form_of(as_data);
  SCANLOOM_TRY(report_options.run, options_of(options, own));
  if (call.inputs == nullptr && call.input_count == 0)
    return session.session.report(report_options);
  SCANLOOM_TRY(const std::vector<Feed> feeds, feeds_of(call, session));
  return session.session.report(std::span<const Feed>(feeds), report_options);
}

Expected<void> run(const scanloom_session& session, const scanloom_run_options* options,
                   const Call& call) {
  SCANLOOM_CHECK_OK(check(call));
  CancelFlag own(flag_of(options));
  SCANLOOM_TRY(const RunOptions run_options, options_of(options, own));
  SCANLOOM_TRY(const std::vector<Feed> feeds, feeds_of(call, session));
  SCANLOOM_TRY(const std::vector<size_t> wanted, wanted_outputs(call, session.session));
  SCANLOOM_TRY(const Results results, session.session.run(feeds, run_options));
  give(call, results, wanted);
  return {};
}

Expected<void> push(scanloom_stream& stream, const scanloom_run_options* options,
                    const Call& call) {
  if (call.input_count > 0) SCANLOOM_CHECK_OK(require(call.input_names, "input_names"));
  SCANLOOM_CHECK_OK(check(call));
  CancelFlag own(flag_of(options));
  SCANLOOM_TRY(const RunOptions run_options, options_of(options, own));
  SCANLOOM_TRY(const std::vector<size_t> wanted, wanted_outputs(call, stream.session));
  SCANLOOM_TRY(const Results results, stream.stream.push(named_feeds(call), run_options));
  give(call, results, wanted);
  return {};
}

}  // namespace
}  // namespace scanloom::c_api

extern "C" {

scanloom_cancel* scanloom_cancel_new(void) {
  return scanloom::c_api::or_null([] { return new scanloom_cancel; });
}

void scanloom_cancel_free(scanloom_cancel* cancel) { delete cancel; }
void scanloom_cancel_set(scanloom_cancel* cancel) { cancel->flag.cancel(); }
void scanloom_cancel_reset(scanloom_cancel* cancel) { cancel->flag.reset(); }

scanloom_run_options* scanloom_run_options_new(void) {
  return scanloom::c_api::or_null([] { return new scanloom_run_options; });
}

void scanloom_run_options_free(scanloom_run_options* options) { delete options; }

void scanloom_run_options_set_deadline(scanloom_run_options* options, double seconds) {
  options->options.deadline = seconds;
}

void scanloom_run_options_set_max_steps(scanloom_run_options* options, int64_t steps) {
  options->options.max_steps = steps;
}

void scanloom_run_options_set_max_memory(scanloom_run_options* options, int64_t bytes) {
  options->options.max_memory = bytes;
}

void scanloom_run_options_set_cancel(scanloom_run_options* options, const scanloom_cancel* cancel) {
  options->options.cancel = cancel == nullptr ? nullptr : &cancel->flag;
}

void scanloom_run_options_set_progress(scanloom_run_options* options, scanloom_progress_fn progress,
                                       void* user) {
  options->progress = progress;
  options->user = user;
}

scanloom_code scanloom_session_run(const scanloom_session* session,
                                   const scanloom_run_options* options,
                                   const char* const* input_names,
                                   const scanloom_value* const* inputs, size_t input_count,
                                   const char* const* output_names, scanloom_value** outputs,
                                   size_t output_count, scanloom_error** error) {
  using namespace scanloom;
  const c_api::Call call{input_names, inputs, input_count, output_names, outputs, output_count};
  c_api::clear(call);
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(session, "session"));
    return c_api::run(*session, options, call);
  });
}

scanloom_code scanloom_session_report(const scanloom_session* session,
                                      const scanloom_run_options* options,
                                      const char* const* input_names,
                                      const scanloom_value* const* inputs, size_t input_count,
                                      int as_data, char** text, scanloom_error** error) {
  using namespace scanloom;
  if (text != nullptr) *text = nullptr;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(session, "session"));
    SCANLOOM_CHECK_OK(c_api::require(text, "text"));
    const c_api::Call call{input_names, inputs, input_count, nullptr, nullptr, 0};
    SCANLOOM_TRY(const std::string made, c_api::report(*session, options, call, as_data));
    return c_api::give_text(made, text);
  });
}

scanloom_code scanloom_stream_new(const scanloom_session* session, scanloom_stream** stream,
                                  scanloom_error** error) {
  using namespace scanloom;
  if (stream != nullptr) *stream = nullptr;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(session, "session"));
    SCANLOOM_CHECK_OK(c_api::require(stream, "stream"));
    SCANLOOM_TRY(Stream made, session->session.stream());
    *stream = new scanloom_stream{session->session, std::move(made)};
    return {};
  });
}

void scanloom_stream_free(scanloom_stream* stream) { delete stream; }

scanloom_code scanloom_stream_push(scanloom_stream* stream, const scanloom_run_options* options,
                                   const char* const* input_names,
                                   const scanloom_value* const* inputs, size_t input_count,
                                   const char* const* output_names, scanloom_value** outputs,
                                   size_t output_count, scanloom_error** error) {
  using namespace scanloom;
  const c_api::Call call{input_names, inputs, input_count, output_names, outputs, output_count};
  c_api::clear(call);
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(stream, "stream"));
    return c_api::push(*stream, options, call);
  });
}

scanloom_code scanloom_stream_set(scanloom_stream* stream, const char* input,
                                  const scanloom_value* value, scanloom_error** error) {
  using namespace scanloom;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(stream, "stream"));
    SCANLOOM_CHECK_OK(c_api::require(input, "input"));
    SCANLOOM_CHECK_OK(c_api::require(value, "value"));
    return stream->stream.set(input, value->view);
  });
}

void scanloom_stream_reset(scanloom_stream* stream) { stream->stream.reset(); }

scanloom_code scanloom_stream_report(const scanloom_stream* stream, int as_data, char** text,
                                     scanloom_error** error) {
  using namespace scanloom;
  if (text != nullptr) *text = nullptr;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(stream, "stream"));
    SCANLOOM_CHECK_OK(c_api::require(text, "text"));
    ReportOptions options;
    options.form = c_api::form_of(as_data);
    SCANLOOM_TRY(const std::string made, stream->stream.report(options));
    return c_api::give_text(made, text);
  });
}

char* scanloom_stream_explain(const scanloom_stream* stream) {
  return scanloom::c_api::or_null(
      [&] { return scanloom::c_api::copy_of(stream->stream.explain()); });
}

}  // extern "C"
