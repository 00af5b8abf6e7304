// The C interface: many sequences through one session.
#include <deque>

#include <scanloom/many.h>

#include "api/c_api.h"
#include "plan/plan.h"

struct scanloom_many {
  scanloom::ManyRuns runs;
  size_t outputs = 0;
};

namespace scanloom::c_api {
namespace {

/// Copies of what the caller's memory may lose.
struct Kept {
  std::deque<std::string> names;
  std::vector<std::uint8_t> resets;
};

Expected<std::optional<SequenceFeeds>> read(scanloom_source_fn source, void* user) {
  scanloom_sequence given = {};
  const int answer = source(user, &given);
  if (answer == 0) return std::optional<SequenceFeeds>();
  if (answer != 1) return Error(Code::cancelled, "the source of the sequences cancelled");
  SCANLOOM_CHECK_OK(given.input_count > 0 ? require(given.input_names, "input_names")
                                          : Expected<void>());
  SCANLOOM_CHECK_OK(given.input_count > 0 ? require(given.inputs, "inputs") : Expected<void>());
  auto kept = std::make_shared<Kept>();
  SequenceFeeds made;
  for (size_t i = 0; i < given.input_count; ++i) {
    SCANLOOM_CHECK_OK(require(given.input_names[i], "an input name"));
    SCANLOOM_CHECK_OK(require(given.inputs[i], "an input"));
    made.feeds.push_back({kept->names.emplace_back(given.input_names[i]), given.inputs[i]->view});
  }
  if (given.resets != nullptr) {
    for (size_t i = 0; i < given.reset_count; ++i)
      kept->resets.push_back(given.resets[i] != 0 ? 1 : 0);
    made.reset =
        View{DType::boolean, {static_cast<std::int64_t>(given.reset_count)}, kept->resets.data()};
  }
  made.owner = std::move(kept);
  return std::optional(std::move(made));
}

std::string text_of(const ManyReport& report) {
  std::string text = plan::counted(report.sequences, "sequence");
  if (report.steps >= 0) text += " with " + plan::counted(report.steps, "step");
  text += fmt::format(" in {:.3g} s\n", report.seconds);
  if (!report.is_decided) return text;
  const std::string why = (report.node.empty() ? "" : report.node + ": ") + report.reason;
  if (!report.lanes && !report.padded) return text + fmt::format("one by one: {}\n", why);
  text += fmt::format("{}: {} x {}, {:.1f} % filled, {}\n",
                      report.padded ? "in padded batches" : "in lanes", report.threads,
                      report.batch, 100 * report.filled(), plan::counted(report.runs, "run"));
  if (report.padded) text += fmt::format("not in lanes: {}\n", why);
  if (report.alone > 0)
    text += fmt::format("{} ran alone, the last because {}\n", report.alone, report.why_alone);
  return text;
}

}  // namespace
}  // namespace scanloom::c_api

extern "C" {

scanloom_code scanloom_many_new(const scanloom_session* session,
                                const scanloom_run_options* options, scanloom_source_fn source,
                                void* user, int32_t batch, const char* const* output_names,
                                size_t output_count, scanloom_many** many, scanloom_error** error) {
  using namespace scanloom;
  if (many != nullptr) *many = nullptr;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(session, "session"));
    SCANLOOM_CHECK_OK(c_api::require(many, "many"));
    if (source == nullptr) return c_api::require(nullptr, "source");
    ManyOptions wanted{.batch = batch};
    if (options != nullptr) wanted.run = options->options;
    for (size_t i = 0; output_names != nullptr && i < output_count; ++i) {
      SCANLOOM_CHECK_OK(c_api::require(output_names[i], "an output name"));
      wanted.outputs.emplace_back(output_names[i]);
    }
    SCANLOOM_TRY(ManyRuns runs,
                 session->session.run_many([=] { return c_api::read(source, user); }, wanted));
    const size_t outputs = wanted.outputs.empty() ? session->outputs.size() : wanted.outputs.size();
    *many = new scanloom_many{std::move(runs), outputs};
    return {};
  });
}

void scanloom_many_free(scanloom_many* many) { delete many; }

scanloom_code scanloom_many_next(scanloom_many* many, scanloom_value** outputs, size_t output_count,
                                 int* found, scanloom_error** error) {
  using namespace scanloom;
  for (size_t i = 0; outputs != nullptr && i < output_count; ++i) outputs[i] = nullptr;
  if (found != nullptr) *found = 0;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(many, "many"));
    SCANLOOM_CHECK_OK(c_api::require(found, "found"));
    if (output_count > 0) SCANLOOM_CHECK_OK(c_api::require(outputs, "outputs"));
    if (output_count > many->outputs)
      return fail(Code::invalid_argument, "{} outputs are requested, but each sequence has {}",
                  output_count, many->outputs);
    SCANLOOM_TRY(std::optional<SequenceResult> next, many->runs.next());
    if (!next) return {};
    *found = 1;
    if (next->error) return *std::move(next->error);
    std::vector<std::unique_ptr<scanloom_value>> values;
    for (size_t i = 0; i < output_count; ++i)
      values.emplace_back(c_api::make_value(next->results[i]));
    for (size_t i = 0; i < output_count; ++i) outputs[i] = values[i].release();
    return {};
  });
}

char* scanloom_many_explain(const scanloom_many* many) {
  using namespace scanloom;
  return c_api::or_null([&] { return c_api::copy_of(c_api::text_of(many->runs.report())); });
}

}  // extern "C"
