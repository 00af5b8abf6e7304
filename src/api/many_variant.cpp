#include "api/many_variant.h"

#include <cstring>
#include <utility>

#include "passes/streaming/stream_form.h"
#include "plan/check_feeds.h"

namespace scanloom {
namespace {

using tensor::Shape;

/// Whether lanes are rows of the batch, and the sequence has one.
bool has_one_row(const ManyJob& job, const ManyProgram& program) {
  if (program.adds_axis) return false;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const Shape& shape = job.arranged.shapes[i];
    const auto axis = program.inputs[i].lane;
    if (axis && (*axis >= shape.rank() || shape[*axis] != 1)) return false;
  }
  return true;
}

/// Whether the sequence can share runs with `other`: all sizes but the steps are equal, and what
/// lanes have in common has the same elements.
bool fits(const ManyJob& job, const ManyJob& other, const Session::Impl& model,
          const ManyProgram& program) {
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const ManyInput& input = program.inputs[i];
    Shape a = job.arranged.shapes[i], b = other.arranged.shapes[i];
    if (input.steps) a[*input.steps] = b[*input.steps] = 0;
    if (!(a == b)) return false;
    if (!input.argument || input.lane) continue;
    const auto bytes = static_cast<std::size_t>(a.elements()) * dtype_bytes(model.inputs[i].dtype);
    const std::byte *x = job.arranged.data[i], *y = other.arranged.data[i];
    if (x != y && bytes > 0 && std::memcmp(x, y, bytes) != 0) return false;
  }
  return true;
}

/// Whether an error about the sizes of a sequence leaves other sequences unharmed.
bool is_of_sequence(Code code) {
  return code == Code::invalid_argument || code == Code::invalid_model || code == Code::unsupported;
}

Error no_such_input(const Session::Impl& model, std::string_view name) {
  Error error(Code::invalid_argument, fmt::format("the model has no input '{}'", name));
  error.note("its inputs are: " + names_of(std::span(model.inputs).first(model.own_inputs)));
  if (!model.defaults.empty())
    error.note("inputs with default values: " + names_of(model.defaults));
  return error;
}

}  // namespace

Expected<ManyTarget> target_of(std::shared_ptr<const Session::Impl> model,
                               std::span<const Feed> shared) {
  const std::vector<bool> common = model->inputs_fed(shared);
  ManyTarget target{.model = model, .program = {}, .run = {}};
  SCANLOOM_TRY(target.program, model->many_program(common));
  target.run = [model](std::span<const Feed> feeds, const RunOptions& run,
                       std::span<const std::string> wanted, std::uint64_t number) {
    return model->run(feeds, run, wanted, false, number);
  };
  const bool has_steps = target.program->has_steps;
  const bool may_be_rows = target.program->carries_nothing() || target.program->walks_rows;
  const std::size_t tries = may_be_rows ? kTries
                            : has_steps ? 1
                                        : passes::open_walked_sizes(model->plan->module).size();
  if ((!target.program->has_lanes() || target.program->carries_nothing()) && tries > 0)
    target.for_sizes = [model, common, has_steps, tries](
                           const Arranged& first) -> Expected<std::shared_ptr<const ManyProgram>> {
      SCANLOOM_TRY(auto found, model->many_program_for(first.shapes, common, tries));
      return found->has_lanes() || !has_steps ? std::move(found) : nullptr;
    };
  return target;
}

Expected<std::vector<bool>> wanted_outputs(const Session::Impl& model,
                                           std::span<const std::string> names) {
  std::vector<bool> wanted(model.own_outputs, names.empty());
  const std::span outputs = std::span(model.outputs).first(model.own_outputs);
  for (const std::string& name : names) {
    const std::size_t found = find_by_name(outputs, name);
    if (found == outputs.size())
      return fail(Code::invalid_argument, "the model has no output '{}'", name)
          .note("its outputs are: " + names_of(outputs));
    wanted[found] = true;
  }
  return wanted;
}

Expected<void> check_shared(const Session::Impl& model, std::span<const Feed> shared) {
  const std::span inputs = std::span(model.inputs).first(model.own_inputs);
  std::vector<bool> fed(inputs.size());
  for (const Feed& feed : shared) {
    const std::size_t found = find_by_name(inputs, feed.name);
    if (found == inputs.size()) return no_such_input(model, feed.name);
    if (fed[found])
      return fail(Code::invalid_argument, "input '{}' is fed twice", inputs[found].name);
    fed[found] = true;
    Arranged arranged;
    arranged.objects.resize(inputs.size());
    SCANLOOM_CHECK_OK(model.arrange_one(found, with_axes(inputs[found], feed.value), arranged));
    SCANLOOM_CHECK_OK(plan::check_feed(model.plan->module, found, arranged.shapes[0]));
  }
  return {};
}

void add_report(ManyReport& all, const ManyReport& one) {
  if (one.sequences == 0 && all.sequences > 0) return;
  if (all.sequences == 0) {
    all = one;
    return;
  }
  const auto rank = [](const ManyReport& report) { return report.lanes ? 2 : report.padded; };
  const bool is_better = rank(one) > rank(all);
  ManyReport sum = is_better ? one : all;
  const ManyReport& other = is_better ? all : one;
  if (rank(sum) > 0 && rank(other) == 0) {
    sum.alone += other.sequences;
    sum.why_alone = (other.node.empty() ? "" : other.node + ": ") + other.reason;
  } else {
    sum.alone += other.alone;
    if (!other.why_alone.empty()) sum.why_alone = other.why_alone;
  }
  sum.is_decided |= other.is_decided;
  sum.sequences += other.sequences;
  sum.steps = sum.steps < 0 || other.steps < 0 ? -1 : sum.steps + other.steps;
  sum.runs += other.runs;
  sum.lane_steps += other.lane_steps;
  sum.filled_lane_steps += other.filled_lane_steps;
  all = std::move(sum);
}

Expected<void> ManyVariant::settle(ManyJob& job) {
  if (is_settled || !target.for_sizes) return {};
  const ManyProgram& program = *target.program;
  if (!program.has_lanes() || program.carries_nothing() || !has_one_row(job, program)) {
    auto found = target.for_sizes(job.arranged);
    if (!found && is_of_sequence(found.error().code())) {
      job.why_alone = "its sizes do not fit together: " + found.error().message();
      return {};
    }
    if (!found) return std::move(found).error();
    if (*found) target.program = *std::move(found);
    shared.program = target.program.get();
  }
  is_settled = true;
  return {};
}

bool ManyVariant::admit(ManyJob& job) {
  const ManyProgram& program = *target.program;
  if (!program.has_lanes()) return false;
  if (job.why_alone.empty() && reference != nullptr &&
      !fits(job, *reference, *target.model, program))
    job.why_alone = "it has other sizes or other common feeds than the sequences before it";
  if (!job.why_alone.empty()) return false;
  if (reference == nullptr) reference = &job;
  for (const ManyPart& part : job.parts) parts.push_back(&part);
  return true;
}

ManyReport ManyVariant::report() const {
  const ManyProgram& program = *target.program;
  ManyReport report;
  report.padded = program.pads;
  report.lanes = program.has_lanes() && !report.padded;
  report.is_decided = is_settled || !target.for_sizes;
  report.reason = program.reason;
  report.node = program.node;
  report.sequences = shared.sequences;
  if (report.is_decided && program.has_steps) report.steps = shared.steps;
  report.alone = alone;
  report.why_alone = why_alone;
  report.runs = shared.runs;
  report.lane_steps = shared.lane_steps;
  report.filled_lane_steps = shared.filled_lane_steps;
  return report;
}

}  // namespace scanloom
