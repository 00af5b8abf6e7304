#include "api/lane_group.h"

#include <algorithm>
#include <bit>

#include "api/boxes.h"

namespace scanloom {
namespace {

using Kind = ir::StepFlow::Kind;
using tensor::Shape;
using tensor::Tensor;

/// The inputs and outputs of a run stay in the second-level cache.
constexpr std::int64_t kBytesOfPiece = 512 * 1024;
constexpr std::int64_t kMinPiece = 16, kMaxPiece = 2048;
/// Vectors of 32-bit elements have at most this many.
constexpr std::int64_t kVector = 16;

/// The first values of the states that are computed, in one lane. Nothing that they are computed
/// from has steps, but a feed may be needed for its sizes: one step of it is enough.
Expected<std::vector<Value>> first_values(const ManyJob& job, const Session::Impl& model,
                                          const ManyProgram& program, const RunOptions& options) {
  std::vector<Feed> feeds;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    if (!program.inputs[i].initial) continue;
    const Shape& shape = job.arranged.shapes[i];
    const Shape strides = tensor::contiguous_strides(shape);
    View view{.dtype = model.inputs[i].dtype,
              .shape = {shape.begin(), shape.end()},
              .data = job.arranged.data[i],
              .strides = {strides.begin(), strides.end()}};
    if (const auto axis = program.inputs[i].steps) view.shape[static_cast<std::size_t>(*axis)] = 1;
    feeds.push_back({model.inputs[i].name, std::move(view)});
  }
  SCANLOOM_TRY(const Arranged arranged, program.initial->arrange(feeds));
  return run_form(*program.initial, arranged, options);
}

}  // namespace

std::int64_t rounded_width(std::int64_t lanes, std::int64_t most) {
  const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(lanes)));
  return std::min(most, lanes <= kVector ? power : (lanes + kVector - 1) / kVector * kVector);
}

std::int64_t rounded_down_width(std::int64_t lanes, std::int64_t most) {
  if (lanes >= most) return most;
  return lanes < kVector
             ? static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(lanes)))
             : lanes / kVector * kVector;
}

Expected<std::vector<Value>> run_form(const Session::Impl& form, const Arranged& arranged,
                                      const RunOptions& options) {
  RunReport report;
  return form.options.execution == Execution::interpreted
             ? form.run_interpreted(arranged, options, report)
             : form.run_bound(arranged, options, report);
}

Arranged arranged_of(std::span<const Tensor> arguments) {
  Arranged arranged;
  for (const Tensor& argument : arguments) {
    arranged.data.push_back(static_cast<const std::byte*>(argument.data()));
    arranged.shapes.push_back(argument.shape());
  }
  arranged.objects.resize(arguments.size());
  return arranged;
}

void copy_lane(const Tensor& from, std::int64_t from_lane, Tensor& to, std::int64_t to_lane,
               int axis) {
  const int rank = to.shape().rank();
  copy_box(
      to.dtype(), with_size(to.shape(), axis, 1),
      {static_cast<const std::byte*>(from.data()), from.shape(),
       position_on(rank, axis, from_lane)},
      {static_cast<std::byte*>(to.mutable_data()), to.shape(), position_on(rank, axis, to_lane)});
}

Tensor feed_of(const ManyJob& job, const Session::Impl& model, const ManyProgram& program,
               std::size_t input, std::optional<int> lane) {
  return {model.inputs[input].dtype, program.in_lane(job.arranged.shapes[input], lane), nullptr,
          job.arranged.data[input]};
}

void LaneGroup::refill() {
  while (std::ssize(lanes_) < max_lanes_) {
    const ManyPart* const part = waiting_.take();
    if (part == nullptr) break;
    if (part->job->has_failed) {
      shared_.finish(*part->job);
      continue;
    }
    lanes_.push_back({.part = part, .at = part->begin, .row = {}});
    has_changed_ = true;
  }
}

std::int64_t LaneGroup::piece() const {
  std::int64_t steps = kMaxPiece;
  for (const Lane& lane : lanes_) steps = std::min(steps, lane.part->end - lane.at);
  const std::int64_t bytes = std::max<std::int64_t>(1, program_.bytes_of_step * width_);
  steps = std::min(steps, std::clamp(kBytesOfPiece / bytes, kMinPiece, kMaxPiece));
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(steps)));
}

Expected<void> LaneGroup::run(const std::function<Expected<RunOptions>()>& options_of_run) {
  arguments_.resize(program_.steps->inputs.size());
  while (true) {
    refill();
    if (lanes_.empty()) return {};
    SCANLOOM_TRY(const RunOptions options, options_of_run());
    Expected<void> done = has_changed_ ? gather(options) : Expected<void>();
    has_changed_ = false;
    if (done) done = run_piece(piece(), options);
    if (done) continue;
    if (done.error().code() == Code::cancelled) return done;
    fail_all();
  }
}

void LaneGroup::fail_all() {
  for (const Lane& lane : lanes_) {
    lane.part->job->has_failed = true;
    shared_.finish(*lane.part->job);
  }
  lanes_.clear();
}

Expected<void> LaneGroup::gather(const RunOptions& options) {
  width_ = rounded_width(std::ssize(lanes_), max_lanes_);
  SCANLOOM_CHECK_OK(gather_states(options));
  SCANLOOM_CHECK_OK(gather_rows());
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) lanes_[lane].row = lane;
  return {};
}

Expected<void> LaneGroup::gather_states(const RunOptions& options) {
  std::vector<std::vector<Value>> computed(lanes_.size());
  for (std::size_t lane = 0; lane < lanes_.size() && program_.initial; ++lane) {
    if (lanes_[lane].row) continue;
    computed[lane] = common_first_;
    if (!common_first_.empty()) continue;
    SCANLOOM_TRY(computed[lane],
                 first_values(*lanes_[lane].part->job, shared_.model, program_, options));
    if (!program_.initial_varies) common_first_ = computed[lane];
  }
  const auto first_of = [&](const ManyState& state, std::size_t lane) -> Tensor {
    if (state.fed)
      return feed_of(*lanes_[lane].part->job, shared_.model, program_, *state.fed, state.lane);
    if (!state.computed) return state.initial;
    const Value& value = computed[lane][*state.computed];
    const Shape own{std::span<const std::int64_t>(value.shape())};
    return {value.dtype(), program_.in_lane(own, state.lane), value.owner(), value.data()};
  };
  for (const ManyState& state : program_.states) {
    Tensor& argument = arguments_[state.argument];
    const Tensor first = lanes_[0].row ? argument : first_of(state, 0);
    SCANLOOM_TRY(Tensor made,
                 Tensor::zeros(first.dtype(), with_size(first.shape(), state.lane, width_)));
    for (std::int64_t lane = 0; lane < width_; ++lane) {
      const std::size_t from = source(lane);
      const std::optional<std::size_t> row = lanes_[from].row;
      const Tensor begin = row ? argument : first_of(state, from);
      if (with_size(begin.shape(), state.lane, width_) != made.shape())
        return fail(Code::invalid_argument, "a state has sizes {}, in another sequence {}",
                    begin.shape().to_string(), made.shape().to_string());
      copy_lane(begin, static_cast<std::int64_t>(row.value_or(0)), made, lane, state.lane);
    }
    argument = std::move(made);
  }
  return {};
}

Expected<void> LaneGroup::gather_rows() {
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    const ManyInput& input = program_.inputs[i];
    const bool is_state = std::ranges::any_of(
        program_.states, [&](const ManyState& state) { return state.fed == i; });
    if (!input.argument || input.steps || is_state) continue;
    Tensor& argument = arguments_[*input.argument];
    const Tensor first = feed_of(*lanes_[0].part->job, shared_.model, program_, i, input.lane);
    if (!input.lane) {
      argument = first;
      continue;
    }
    SCANLOOM_TRY(argument,
                 Tensor::zeros(first.dtype(), with_size(first.shape(), *input.lane, width_)));
    for (std::int64_t lane = 0; lane < width_; ++lane)
      copy_lane(feed_of(*lanes_[source(lane)].part->job, shared_.model, program_, i, input.lane), 0,
                argument, lane, *input.lane);
  }
  return {};
}

/// Fills an argument along the steps with the next ones of each lane.
Expected<void> LaneGroup::pack(const ManyInput& input, std::size_t index, std::int64_t steps) {
  const Tensor first = feed_of(*lanes_[0].part->job, shared_.model, program_, index, input.lane);
  const int steps_axis = program_.steps_in_lanes(*input.steps, input.lane);
  const Shape box = with_size(first.shape(), steps_axis, steps);
  const Shape shape = with_size(box, *input.lane, width_);
  Tensor& argument = arguments_[*input.argument];
  if (!argument.defined() || argument.shape() != shape) {
    SCANLOOM_TRY(argument, Tensor::zeros(first.dtype(), shape));
  }
  auto* const rows = static_cast<std::byte*>(argument.mutable_data());
  if (const auto layout = interleaved(first.dtype(), shape, steps_axis, *input.lane)) {
    std::vector<const std::byte*> sequences;
    for (std::int64_t lane = 0; lane < width_; ++lane) {
      const Lane& from = lanes_[source(lane)];
      sequences.push_back(from.part->job->arranged.data[index] + from.at * layout->row);
    }
    interleave(*layout, steps, sequences, rows);
    return {};
  }
  for (std::int64_t lane = 0; lane < width_; ++lane) {
    const Lane& from = lanes_[source(lane)];
    const Arranged& arranged = from.part->job->arranged;
    copy_box(first.dtype(), box,
             {arranged.data[index], program_.in_lane(arranged.shapes[index], input.lane),
              position_on(box.rank(), steps_axis, from.at)},
             {rows, shape, position_on(box.rank(), *input.lane, lane)});
  }
  return {};
}

Expected<void> LaneGroup::run_piece(std::int64_t steps, const RunOptions& options) {
  for (std::size_t i = 0; i < program_.inputs.size(); ++i)
    if (program_.inputs[i].argument && program_.inputs[i].steps)
      SCANLOOM_CHECK_OK(pack(program_.inputs[i], i, steps));
  SCANLOOM_TRY(std::vector<Value> values,
               run_form(*program_.steps, arranged_of(arguments_), options));
  shared_.runs += 1;
  shared_.lane_steps += width_ * steps;
  shared_.filled_lane_steps += std::ssize(lanes_) * steps;
  shared_.steps += std::ssize(lanes_) * steps;
  for (const Lane& lane : lanes_) lane.part->job->steps_in_lanes += steps;
  return store(values, steps);
}

Expected<void> LaneGroup::store(const std::vector<Value>& values, std::int64_t steps) {
  for (std::size_t i = 0; i < program_.outputs.size(); ++i)
    if (shared_.wanted[i])
      SCANLOOM_CHECK_OK(program_.outputs[i].kind == Kind::along ? store_steps(i, values[i], steps)
                                                                : store_last(i, values[i], steps));
  return advance(values, steps);
}

/// The rows of the steps of one output, to the results of all lanes.
Expected<void> LaneGroup::store_steps(std::size_t output, const Value& value, std::int64_t steps) {
  const ManyOutput& declared = program_.outputs[output];
  const Shape shape{std::span<const std::int64_t>(value.shape())};
  const ManyValue from{program_, output, value};
  const auto layout = interleaved(
      value.dtype(), shape, program_.steps_in_lanes(declared.steps, declared.lane), *declared.lane);
  std::vector<std::byte*> sequences;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    ManyJob& job = *lanes_[lane].part->job;
    const std::int64_t at = lanes_[lane].at;
    if (!layout) {
      SCANLOOM_CHECK_OK(store_result(job, from, static_cast<std::int64_t>(lane), at));
      continue;
    }
    SCANLOOM_TRY(Tensor* const result, result_of(job, from));
    sequences.push_back(static_cast<std::byte*>(result->mutable_data()) +
                        at * declared.each * layout->row);
  }
  if (layout)
    separate(*layout, steps * declared.each, static_cast<const std::byte*>(value.data()),
             sequences);
  return {};
}

/// What belongs to the end of a sequence, to the results of those that end here.
Expected<void> LaneGroup::store_last(std::size_t output, const Value& value, std::int64_t steps) {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const ManyPart& part = *lanes_[lane].part;
    if (lanes_[lane].at + steps == part.end && part.job->is_last(part))
      SCANLOOM_CHECK_OK(
          store_result(*part.job, {program_, output, value}, static_cast<std::int64_t>(lane), 0));
  }
  return {};
}

/// Moves all lanes on, and takes those that have ended out of the group.
Expected<void> LaneGroup::advance(const std::vector<Value>& values, std::int64_t steps) {
  for (Lane& lane : lanes_) lane.at += steps;
  for (const ManyState& state : program_.states) {
    const Value& value = values[state.yield];
    arguments_[state.argument] =
        Tensor(value.dtype(), Shape(std::span<const std::int64_t>(value.shape())), value.owner(),
               value.data());
  }
  const auto left = std::erase_if(lanes_, [&](const Lane& lane) {
    if (lane.at < lane.part->end) return false;
    shared_.finish(*lane.part->job);
    return true;
  });
  has_changed_ |= left > 0;
  return {};
}

}  // namespace scanloom
