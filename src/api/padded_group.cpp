#include "api/padded_group.h"

#include <algorithm>
#include <bit>

#include "api/boxes.h"

namespace scanloom {
namespace {

using Kind = ir::StepFlow::Kind;
using tensor::Shape;
using tensor::Tensor;

/// Inputs and outputs of a run.
constexpr std::int64_t kBytesOfGroup = std::int64_t{128} << 20;
/// Runs of groups with more than this release their memory: there are many sizes of groups, and
/// each would keep as much.
constexpr std::int64_t kKeptBytes = std::int64_t{1} << 20;
/// A group grows while at most one step in so many is padding, and while sequences are this much
/// shorter than the longest: a run of few steps costs more than its padding.
constexpr std::int64_t kStepsOfPadding = 16, kShorter = 16;
/// Numbers of steps are rounded up to one of so many from one power of two to the next, because
/// each is bound on its own.
constexpr std::int64_t kNumbersOfSteps = 16;

std::int64_t rounded_steps(std::int64_t steps) {
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(steps)));
  const std::int64_t unit = std::max<std::int64_t>(1, power / kNumbersOfSteps);
  return (steps + unit - 1) / unit * unit;
}

/// Frees the memory of idle runs with arguments of these sizes.
void release_memory(const Session::Impl& model, const std::vector<Shape>& shapes) {
  std::shared_ptr<BoundEntry> entry;
  {
    const std::scoped_lock lock(model.mutex);
    for (const std::shared_ptr<BoundEntry>& each : model.bound)
      if (each->shapes == shapes) entry = each;
  }
  if (!entry) return;
  const std::scoped_lock lock(entry->mutex);
  entry->idle.clear();
}

/// One run of a group.
class PaddedRun {
 public:
  PaddedRun(ManyShared& shared, PaddedParts parts, std::int64_t lanes)
      : shared_(shared),
        program_(*shared.program),
        parts_(parts),
        width_(rounded_width(std::ssize(parts), lanes)) {}

  Expected<void> run(const RunOptions& options) {
    steps_ = rounded_steps(parts_[0]->steps());
    if (options.max_steps >= 0)
      steps_ = std::max(parts_[0]->steps(), std::min(steps_, options.max_steps));
    SCANLOOM_TRY(const std::vector<Tensor> arguments, make_arguments());
    const Arranged arranged = arranged_of(arguments);
    SCANLOOM_TRY(std::vector<Value> values, run_form(*program_.steps, arranged, options));
    for (std::size_t i = 0; i < program_.outputs.size(); ++i)
      if (shared_.wanted[i]) SCANLOOM_CHECK_OK(store(i, values[i]));
    count();
    if (program_.bytes_of_step * steps_ * width_ > kKeptBytes)
      release_memory(*program_.steps, arranged.shapes);
    return {};
  }

 private:
  /// The part that lane `lane` of the run has: its own, or the first if there are too few.
  [[nodiscard]] const ManyPart& part(std::int64_t lane) const {
    return *parts_[static_cast<std::size_t>(lane < std::ssize(parts_) ? lane : 0)];
  }

  [[nodiscard]] Expected<std::vector<Tensor>> make_arguments() const {
    std::vector<Tensor> arguments;
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const ManyInput& input = program_.inputs[i];
      const Tensor first = feed_of(*parts_[0]->job, shared_.model, program_, i, input.lane);
      Tensor& argument = arguments.emplace_back(first);
      if (!input.lane) continue;
      Shape shape = with_size(first.shape(), *input.lane, width_);
      if (input.steps) shape[program_.steps_in_lanes(*input.steps, input.lane)] = steps_;
      SCANLOOM_TRY(argument, Tensor::zeros(first.dtype(), shape));
      for (std::int64_t lane = 0; lane < width_; ++lane) pack(i, lane, argument);
    }
    SCANLOOM_TRY(Tensor lengths, Tensor::zeros(DType::i64, {width_}));
    auto* const length = static_cast<std::int64_t*>(lengths.mutable_data());
    for (std::int64_t lane = 0; lane < width_; ++lane) length[lane] = part(lane).steps();
    arguments.push_back(std::move(lengths));
    return arguments;
  }

  void pack(std::size_t index, std::int64_t lane, Tensor& argument) const {
    const ManyInput& input = program_.inputs[index];
    const ManyPart& from = part(lane);
    const Tensor own = feed_of(*from.job, shared_.model, program_, index, input.lane);
    Shape box = own.shape();
    Shape from_at = Shape::filled(box.rank(), 0);
    if (input.steps) {
      const int axis = program_.steps_in_lanes(*input.steps, input.lane);
      box[axis] = from.steps();
      from_at[axis] = from.begin;
    }
    copy_box(own.dtype(), box, {static_cast<const std::byte*>(own.data()), own.shape(), from_at},
             {static_cast<std::byte*>(argument.mutable_data()), argument.shape(),
              position_on(box.rank(), *input.lane, lane)});
  }

  Expected<void> store(std::size_t output, const Value& value) {
    const ManyOutput& declared = program_.outputs[output];
    const ManyValue from{program_, output, value};
    for (std::size_t lane = 0; lane < parts_.size(); ++lane) {
      const ManyPart& to = *parts_[lane];
      if (declared.kind == Kind::along)
        SCANLOOM_CHECK_OK(store_steps(from, static_cast<std::int64_t>(lane), to));
      else if (to.job->is_last(to))
        SCANLOOM_CHECK_OK(store_result(*to.job, from, static_cast<std::int64_t>(lane), 0));
    }
    return {};
  }

  /// The rows of a part, without those of its padding.
  Expected<void> store_steps(const ManyValue& from, std::int64_t lane, const ManyPart& part) {
    const ManyOutput& declared = program_.outputs[from.output];
    SCANLOOM_TRY(Tensor* const result, result_of(*part.job, from));
    const Shape shape{std::span<const std::int64_t>(from.value.shape())};
    const int axis = program_.steps_in_lanes(declared.steps, declared.lane);
    const std::int64_t rows = part.steps() * declared.each;
    Shape box = with_size(shape, *declared.lane, 1);
    box[axis] = rows;
    Shape from_at = position_on(shape.rank(), *declared.lane, lane);
    if (declared.pads_front) from_at[axis] = shape[axis] - rows;
    copy_box(from.value.dtype(), box,
             {static_cast<const std::byte*>(from.value.data()), shape, from_at},
             {static_cast<std::byte*>(result->mutable_data()),
              program_.in_lane(result->shape(), declared.lane),
              position_on(shape.rank(), axis, part.begin * declared.each)});
    return {};
  }

  void count() {
    ++shared_.runs;
    shared_.lane_steps += width_ * steps_;
    for (const ManyPart* const part : parts_) {
      shared_.filled_lane_steps += part->steps();
      shared_.steps += part->steps();
      part->job->steps_in_lanes += part->steps();
      shared_.finish(*part->job);
    }
  }

  ManyShared& shared_;
  const ManyProgram& program_;
  const PaddedParts parts_;
  const std::int64_t width_;  ///< lanes of the run
  std::int64_t steps_ = 0;    ///< of the run
};

}  // namespace

std::vector<PaddedParts> padded_groups(PaddedParts parts, const ManyProgram& program,
                                       std::int64_t lanes) {
  std::vector<PaddedParts> groups;
  for (PaddedParts rest = parts; !rest.empty(); rest = rest.subspan(groups.back().size())) {
    const std::int64_t longest = rest[0]->steps();
    const std::int64_t bytes =
        std::max<std::int64_t>(1, program.bytes_of_step) * rounded_steps(longest);
    // A run has a round number of lanes, which must not be more.
    const std::int64_t widest =
        rounded_down_width(std::max<std::int64_t>(kBytesOfGroup / bytes, 1), lanes);
    const std::int64_t most = std::min(widest, std::ssize(rest));
    std::int64_t count = 1, padding = 0;
    for (; count < most; ++count) {
      const std::int64_t more = longest - rest[static_cast<std::size_t>(count)]->steps();
      padding += more;
      if (more > kShorter && padding * kStepsOfPadding > longest * (count + 1)) break;
    }
    // Shorter sequences fill its other lanes for nothing.
    count = std::min(rounded_width(count, widest), most);
    groups.push_back(rest.first(static_cast<std::size_t>(count)));
  }
  return groups;
}

Expected<void> run_padded(ManyShared& shared, PaddedParts parts, std::int64_t lanes,
                          const std::function<Expected<RunOptions>()>& options_of_run) {
  std::vector<std::vector<const ManyPart*>> waiting{{parts.begin(), parts.end()}};
  while (!waiting.empty()) {
    std::vector<const ManyPart*> next = std::move(waiting.back());
    waiting.pop_back();
    std::erase_if(next, [&](const ManyPart* part) {
      if (!part->job->has_failed) return false;
      shared.finish(*part->job);
      return true;
    });
    if (next.empty()) continue;
    SCANLOOM_TRY(const RunOptions options, options_of_run());
    const Expected<void> done = PaddedRun(shared, next, lanes).run(options);
    if (done) continue;
    const Code code = done.error().code();
    if (code == Code::cancelled) return done;
    if ((code == Code::limit_reached || code == Code::out_of_memory) && next.size() > 1) {
      const auto middle = next.begin() + std::ssize(next) / 2;
      waiting.emplace_back(middle, next.end());
      waiting.emplace_back(next.begin(), middle);
      continue;
    }
    for (const ManyPart* const part : next) {
      part->job->has_failed = true;
      shared.finish(*part->job);
    }
  }
  return {};
}

}  // namespace scanloom
