#include "api/many_job.h"

#include <algorithm>
#include <functional>
#include <ranges>

#include "api/boxes.h"
#include "plan/plan.h"
#include "tensor/view.h"

namespace scanloom {
namespace {

using Kind = ir::StepFlow::Kind;
using tensor::Shape;
using tensor::Tensor;

/// Returns the number of steps that all inputs along them have. Error: they differ.
Expected<std::int64_t> steps_of(const ManyJob& job, const Session::Impl& model,
                                const ManyProgram& program) {
  std::optional<std::size_t> first;
  std::int64_t steps = 0;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const auto axis = program.inputs[i].steps;
    if (!axis || *axis >= job.arranged.shapes[i].rank()) continue;
    const std::int64_t here = job.arranged.shapes[i][*axis];
    if (!first) {
      first = i;
      steps = here;
    } else if (here != steps) {
      return fail(Code::invalid_argument, "input '{}' has {}, input '{}' has {}",
                  model.inputs[*first].name, plan::counted(steps, "step"), model.inputs[i].name,
                  here);
    }
  }
  return steps;
}

/// `wanted`: -1: any; empty: nothing is wanted.
bool has_sizes(const Shape& shape, const std::vector<std::int64_t>& wanted) {
  const auto fits = [](std::int64_t size, std::int64_t other) {
    return other < 0 || size == other;
  };
  return wanted.empty() || std::ranges::equal(shape.dims(), wanted, fits);
}

/// Returns an empty text, or why the sequence does not fit into a lane.
std::string why_not_in_lane(const ManyJob& job, const Session::Impl& model,
                            const ManyProgram& program, const RunOptions& options) {
  if (job.steps == 0) return "it has no steps";
  if (options.max_steps >= 0 && job.steps > options.max_steps) return "it exceeds max_steps";
  if (find_contradiction(model.shared_sizes, job.arranged.shapes) != nullptr)
    return "its sizes contradict the names that the model gives them";
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const ManyInput& input = program.inputs[i];
    const Shape& shape = job.arranged.shapes[i];
    if (program.adds_axis) {
      if (!has_sizes(program.in_lane(shape, input.lane), input.sizes))
        return fmt::format("input '{}' has sizes {}, unlike those that share runs",
                           model.inputs[i].name, shape.to_string());
    } else if (input.lane && (*input.lane >= shape.rank() || shape[*input.lane] != 1)) {
      return fmt::format("input '{}' has sizes {}, not 1 on axis {}", model.inputs[i].name,
                         shape.to_string(), *input.lane);
    }
  }
  return {};
}

bool is_reset(const ManyJob& job) {
  return job.sequence.reset.data != nullptr || !job.sequence.reset.shape.empty();
}

/// Cuts the sequence where it is reset.
Expected<void> cut(ManyJob& job, const ManyProgram& program) {
  std::int64_t begin = 0;
  if (is_reset(job)) {
    if (job.sequence.reset.dtype != DType::boolean)
      return fail(Code::invalid_argument, "the resets are {}, not bool",
                  dtype_onnx_name(job.sequence.reset.dtype));
    SCANLOOM_TRY(const Tensor flags, tensor::tensor_of(job.sequence.reset, "the resets"));
    const std::span<const bool> resets = flags.as<bool>();
    // A sequence begins reset: the first flag changes nothing.
    const bool is_cut = std::ranges::any_of(resets | std::views::drop(1), std::identity());
    if (!program.has_steps && is_cut)
      return fail(Code::unsupported, "the sequence cannot be reset: {}", program.why_not_cut);
    if (program.has_steps && flags.elements() != job.steps)
      return fail(Code::invalid_argument, "the sequence has {}, but {}",
                  plan::counted(job.steps, "step"), plan::counted(flags.elements(), "reset"));
    for (std::int64_t step = 1; step < job.steps; ++step) {
      if (!resets[static_cast<std::size_t>(step)]) continue;
      job.parts.push_back({&job, begin, step});
      begin = step;
    }
  }
  job.parts.push_back({&job, begin, job.steps});
  job.parts_left = std::ssize(job.parts);
  return {};
}

Expected<void> prepare_or_fail(ManyJob& job, const Session::Impl& model, const ManyProgram& program,
                               const RunOptions& options) {
  if (program.has_steps) {
    Expected<std::int64_t> steps = steps_of(job, model, program);
    if (steps)
      job.steps = *steps;
    else if (is_reset(job))
      return std::move(steps).error();
    else if (job.why_alone.empty())  // the whole sequence may run even so: sizes of 1 broadcast
      job.why_alone = steps.error().message();
  }
  SCANLOOM_CHECK_OK(cut(job, program));
  job.outputs.resize(model.own_outputs);
  if (program.has_lanes() && job.why_alone.empty())
    job.why_alone = why_not_in_lane(job, model, program, options);
  return {};
}

/// The feeds of a part of a sequence, with the caller's memory.
std::vector<Feed> feeds_of(const ManyPart& part, const Session::Impl& model,
                           const ManyProgram& program) {
  std::vector<Feed> feeds;
  const Arranged& arranged = part.job->arranged;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const ValueInfo& info = model.inputs[i];
    const Shape& shape = arranged.shapes[i];
    View view{.dtype = info.dtype, .shape = {shape.begin(), shape.end()}, .data = arranged.data[i]};
    if (const auto axis = program.inputs[i].steps) {
      const Shape strides = tensor::contiguous_strides(shape);
      view.shape[static_cast<std::size_t>(*axis)] = part.steps();
      view.strides.assign(strides.begin(), strides.end());
      view.data = arranged.data[i] +
                  part.begin * strides[*axis] * static_cast<std::int64_t>(dtype_bytes(info.dtype));
    } else if (info.kind != ValueKind::tensor) {
      const auto feed = std::ranges::find_if(part.job->feeds, [&](const Feed& given) {
        return find_by_name({&info, 1}, given.name) == 0;
      });
      view = feed->value;
    }
    feeds.push_back({info.name, std::move(view)});
  }
  return feeds;
}

}  // namespace

void arrange(ManyJob& job, const Session::Impl& model) {
  Expected<Arranged> arranged = model.arrange(job.feeds);
  if (arranged)
    job.arranged = *std::move(arranged);
  else
    job.error = std::move(arranged).error();
}

void prepare(ManyJob& job, const Session::Impl& model, const ManyProgram& program,
             const RunOptions& options) {
  if (Expected<void> ready = prepare_or_fail(job, model, program, options); !ready)
    job.error = std::move(ready).error();
}

Expected<Tensor*> result_of(ManyJob& job, const ManyValue& from) {
  const std::scoped_lock lock(job.mutex);
  Tensor& result = job.outputs[from.output];
  if (result.defined()) return &result;
  const ManyOutput& declared = from.program.outputs[from.output];
  Shape shape{std::span<const std::int64_t>(from.value.shape())};
  if (from.in_lanes && declared.lane) {
    if (from.program.adds_axis)
      shape.erase(*declared.lane);
    else
      shape[*declared.lane] = 1;
  }
  if (declared.kind == Kind::along) shape[declared.steps] = job.steps * declared.each;
  SCANLOOM_TRY(result, Tensor::zeros(from.value.dtype(), shape));
  return &result;
}

Expected<void> store_result(ManyJob& job, const ManyValue& from, std::int64_t lane,
                            std::int64_t at) {
  const Shape shape{std::span<const std::int64_t>(from.value.shape())};
  SCANLOOM_TRY(Tensor* const result, result_of(job, from));
  const ManyProgram& program = from.program;
  const ManyOutput& declared = program.outputs[from.output];
  const std::optional<int> axis = from.in_lanes ? declared.lane : std::nullopt;
  const int rank = shape.rank();
  const Shape box = axis ? with_size(shape, *axis, 1) : shape;
  const Shape to_at =
      declared.kind == Kind::along
          ? position_on(rank, program.steps_in_lanes(declared.steps, axis), at * declared.each)
          : Shape::filled(rank, 0);
  const Shape from_at = axis ? position_on(rank, *axis, lane) : Shape::filled(rank, 0);
  copy_box(from.value.dtype(), box,
           {static_cast<const std::byte*>(from.value.data()), shape, from_at},
           {static_cast<std::byte*>(result->mutable_data()), program.in_lane(result->shape(), axis),
            to_at});
  return {};
}

Expected<void> run_alone(ManyJob& job, const Session::Impl& model, const ManyProgram& program,
                         const RunSequence& run, const RunOptions& options,
                         std::span<const std::string> wanted) {
  if (job.parts.size() == 1) {
    SCANLOOM_TRY(job.results, run(job.feeds, options, wanted, job.first_run));
    return {};
  }
  job.outputs.assign(model.own_outputs, {});
  std::uint64_t number = job.first_run;
  for (const ManyPart& part : job.parts) {
    SCANLOOM_TRY(const Results results, run(feeds_of(part, model, program), options, {}, number++));
    for (std::size_t i = 0; i < program.outputs.size(); ++i) {
      const ManyOutput& declared = program.outputs[i];
      if (declared.kind == Kind::along && declared.each < 1)
        return fail(Code::unsupported, "output '{}' has an unknown number of rows for each step",
                    model.outputs[i].name)
            .note("a sequence with resets is joined from parts");
      if (declared.kind == Kind::along || job.is_last(part))
        SCANLOOM_CHECK_OK(store_result(job, {program, i, results[i], false}, 0, part.begin));
    }
  }
  return {};
}

}  // namespace scanloom
