// lstm: the ONNX layer for f32 with the usual activations, in the order of operations that
// ops/recurrent/lstm.cpp states. Rows of the batch and directions are independent: each task runs
// all steps of its rows, or as many as its longest sequence has. The products with x are computed
// for several steps at once where that saves reading W, or pipelined with the steps before
// (pipelined_tile.h).
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/lstm_weights.h"
#include "kernels/simd.h"

namespace scanloom::kernels {
namespace {
namespace lstm {

using Schedule = LstmSchedule;
using Weights = LstmWeights;
using tensor::Call;
using tensor::Operand;
using tensor::Status;

/// Rows of x in one product, so that W is read once for all of them. There are more if W and R are
/// large, since these evict each other from the L2 cache.
constexpr std::int64_t kProductRows = 64, kProductRowsOfLarge = 128;
constexpr std::int64_t kLargeFloats = 16 * 1024;
/// Weights of a one-row step from which the products with x are pipelined. A step does not wait for
/// smaller weights, which stay in the L1 cache.
constexpr std::int64_t kMinPipelinedFloats = 8 * 1024;
/// Multiply-adds between two polls: about 10 microseconds.
constexpr std::int64_t kWorkBetweenQuestions = 200'000;

/// All steps of some rows in one direction.
class Task {
 public:
  /// The rows of one direction that a task computes.
  struct Rows {
    std::int64_t direction, first, count;
  };
  Task(const Schedule& plan, const Call& call, const Weights& weights, Rows rows, float* scratch,
       int threads)
      : plan_(plan),
        call_(call),
        weights_(weights),
        d_(rows.direction),
        first_(rows.first),
        threads_(threads),
        rows_(rows.count),
        steps_(plan.steps) {
    const std::int64_t state = rows_ * plan.units;
    h_ = scratch;
    c_ = scratch + 2 * state;
    xw_ = scratch + 3 * state;
    pipelined_ = plan.pipelined && rows_ == 1 && (threads == 1 || shares_units());
    chunk_ = pipelined_ ? kRowsAhead : plan.chunk(rows_);
    next_xw_ = xw_ + kRowsAhead * 4 * plan.units;
    kept_c_ = scratch + plan.task_floats(rows_) - state;
    if (plan.has_lengths) read_lengths();
    step_ = {rows_,        plan.hidden, plan.units, nullptr,        weights.r,
             weights.bias, h_,          c_,         scratch + state};
    step_.last_block = 2 * plan.units / plan.simd->f32.panel;
  }

  void run() {
    load_state(kInitialH, h_);
    load_state(kInitialC, c_);
    for (std::int64_t first = 0; first < steps_; first += chunk_) {
      const std::int64_t count = std::min(chunk_, steps_ - first);
      if (stops_before(count)) return;
      if (step_.pipelined.a == nullptr) project(first, count);
      pipeline_projection(first + count);
      for (std::int64_t k = 0; k < count; ++k) {
        step_.pipelined.round = k;
        step(first + k, xw_ + (ascending_ ? count - 1 - k : k) * rows_ * 4 * plan_.units);
      }
      if (step_.pipelined.a != nullptr) std::swap(xw_, next_xw_);
    }
    for (std::int64_t time = steps_; time < plan_.steps; ++time)
      for (std::int64_t row = 0; row < rows_; ++row) clear_row(y_row(time, row));
    store_state(1, h_);
    store_state(2, c_);
  }

 private:
  /// Takes only the steps of the longest row.
  void read_lengths() {
    const Operand& lengths = call_.in(kLens);
    steps_ = 0;
    ends_.fill(0);
    for (std::int64_t row = 0; row < rows_; ++row) {
      ends_[static_cast<std::size_t>(row)] =
          lengths.data<const std::int32_t>()[(first_ + row) * lengths.strides[0]];
      steps_ = std::max(steps_, ends_[static_cast<std::size_t>(row)]);
    }
  }
  /// Whether the row has no input at that time.
  [[nodiscard]] bool is_over(std::int64_t time, std::int64_t row) const {
    return plan_.has_lengths && time >= ends_[static_cast<std::size_t>(row)];
  }

  /// Polls whether the run is to stop; does so only every few steps.
  bool stops_before(std::int64_t steps) {
    work_ += steps * rows_ * plan_.weights_floats;
    if (work_ < kWorkBetweenQuestions) return false;
    work_ = 0;
    return call_.stop_requested();
  }

  [[nodiscard]] std::int64_t time(std::int64_t k) const {
    return plan_.reverse || d_ == 1 ? steps_ - 1 - k : k;
  }
  [[nodiscard]] std::int64_t state_offset(const Operand& state, std::int64_t row) const {
    return plan_.batch_first ? row * state.strides[0] + d_ * state.strides[1]
                             : d_ * state.strides[0] + row * state.strides[1];
  }

  void load_state(int input, float* to) {
    std::fill_n(to, rows_ * plan_.units, 0.0f);
    if (!call_.has(input)) return;
    const Operand& from = call_.in(input);
    for (std::int64_t row = 0; row < rows_; ++row) {
      const float* data = from.data<const float>() + state_offset(from, first_ + row);
      for (std::int64_t j = 0; j < plan_.hidden; ++j)
        to[row * plan_.units + j] = data[j * from.strides[2]];
    }
  }
  void store_state(int output, const float* from) {
    const Operand& to = call_.out(output);
    for (std::int64_t row = 0; row < rows_; ++row)
      store_row(from + row * plan_.units, to.data<float>() + state_offset(to, first_ + row),
                to.strides[2]);
  }
  void store_row(const float* from, float* to, std::int64_t stride) const {
    if (stride == 1)
      std::memcpy(to, from, static_cast<std::size_t>(plan_.hidden) * sizeof(float));
    else
      for (std::int64_t j = 0; j < plan_.hidden; ++j) to[j * stride] = from[j];
  }

  /// Computes xw for `count` steps: one product if the rows of all of them are evenly spaced. Those
  /// of a batch are in ascending order of time, also where steps go backwards.
  void project(std::int64_t first, std::int64_t count) {
    const Operand& x = call_.in(kX);
    const std::int64_t step_stride = x.strides[plan_.batch_first ? 1 : 0];
    const std::int64_t row_stride = x.strides[plan_.batch_first ? 0 : 1];
    Product<float> p;
    p.a_step = x.strides[2];
    p.b = {nullptr, plan_.input, 4 * plan_.units, 0, 1};
    p.packed = weights_.w;
    p.c_row = 4 * plan_.units;
    const float* data = x.data<const float>() + first_ * row_stride;
    const bool evenly = rows_ > 1 && step_stride == rows_ * row_stride;
    ascending_ = evenly && count > 1 && time(first + 1) < time(first);
    if (rows_ == 1 || evenly) {
      const std::int64_t begin = time(ascending_ ? first + count - 1 : first);
      p.m = rows_ * count;
      p.a = data + begin * step_stride;
      p.a_row = evenly       ? row_stride
                : count == 1 ? 0
                             : (time(first + 1) - time(first)) * step_stride;
      p.c = xw_;
      return multiply(plan_.simd->f32, p, threads_);
    }
    for (std::int64_t k = 0; k < count; ++k) {
      p.m = rows_;
      p.a = data + time(first + k) * step_stride;
      p.a_row = row_stride;
      p.c = xw_ + k * rows_ * 4 * plan_.units;
      multiply(plan_.simd->f32, p, threads_);
    }
  }

  /// Lets the steps compute in advance what project() would compute for the chunk from `first` on.
  void pipeline_projection(std::int64_t first) {
    if (!pipelined_ || steps_ - first < kRowsAhead) {
      step_.pipelined = {};
      return;
    }
    const Operand& x = call_.in(kX);
    const std::int64_t step_stride = x.strides[plan_.batch_first ? 1 : 0];
    const std::int64_t row_stride = x.strides[plan_.batch_first ? 0 : 1];
    step_.pipelined = {.a = x.data<const float>() + first_ * row_stride + time(first) * step_stride,
                       .a_row = (time(first + 1) - time(first)) * step_stride,
                       .b = weights_.w,
                       .k = plan_.input,
                       .c = next_xw_,
                       .c_row = 4 * plan_.units,
                       .panels = 4 * plan_.units / plan_.simd->f32.panel};
  }

  /// Whether threads share the units of a step. The products with x are shared by all threads
  /// anyway.
  [[nodiscard]] bool shares_units() const { return threads_ > 1 && plan_.shares_units(); }
  /// Splits the units so that each thread keeps the weights of its units in its own cache.
  void take_step() const {
    if (!shares_units()) return plan_.simd->lstm_step(step_);
    parallel_for((step_.last_block + 1) / 2, threads_, [&](std::int64_t pair) {
      LstmStep part = step_;
      part.first_block = 2 * pair;
      part.last_block = std::min(2 * pair + 2, step_.last_block);
      plan_.simd->lstm_step(part);
    });
  }

  /// Updates only what changes between steps: filling step_ anew would cost a fifth of a small
  /// step.
  void step(std::int64_t k, const float* xw) {
    step_.xw = xw;
    // Reads first what is left of R in the caches. With several rows each block is read for all
    // rows.
    step_.backwards = rows_ == 1 && k % 2 != 0;
    const std::int64_t now = time(k);
    for (std::int64_t row = 0; row < rows_; ++row)
      if (is_over(now, row)) copy_units(c_, row, kept_c_);
    take_step();
    for (std::int64_t row = 0; row < rows_; ++row)
      if (is_over(now, row)) {
        copy_units(kept_c_, row, c_);
        copy_units(h_, row, step_.next_h);
      }
    std::swap(h_, step_.next_h);
    step_.h = h_;
    const std::int64_t stride = call_.out(0).strides[3];
    for (std::int64_t row = 0; row < rows_; ++row)
      if (is_over(now, row))
        clear_row(y_row(now, row));
      else
        store_row(h_ + row * plan_.units, y_row(now, row), stride);
  }

  void copy_units(const float* from, std::int64_t row, float* to) const {
    std::copy_n(from + row * plan_.units, plan_.units, to + row * plan_.units);
  }
  [[nodiscard]] float* y_row(std::int64_t time, std::int64_t row) const {
    const Operand& y = call_.out(0);
    const std::int64_t* s = y.strides;
    return y.data<float>() + (first_ + row) * s[plan_.batch_first ? 0 : 2] +
           time * s[plan_.batch_first ? 1 : 0] + d_ * s[plan_.batch_first ? 2 : 1];
  }
  void clear_row(float* to) const {
    const std::int64_t stride = call_.out(0).strides[3];
    for (std::int64_t j = 0; j < plan_.hidden; ++j) to[j * stride] = 0;
  }

  const Schedule& plan_;
  const Call& call_;
  Weights weights_;
  std::int64_t d_, first_;
  int threads_;
  std::int64_t rows_, steps_;
  std::array<std::int64_t, kMaxLstmTaskRows> ends_;  ///< by row, if there are lengths
  std::int64_t work_ = 0;                            ///< multiply-adds since the last poll
  bool pipelined_ = false;
  bool ascending_ = false;  ///< whether xw_ begins with the last step
  std::int64_t chunk_ = 1;
  float *h_, *c_, *xw_, *next_xw_;
  float* kept_c_;  ///< of rows whose sequence is over
  LstmStep step_;
};

Status check_lengths(const Schedule& plan, const Call& call) noexcept {
  const Operand& lengths = call.in(kLens);
  for (std::int64_t row = 0; row < plan.batch; ++row) {
    const std::int64_t length = lengths.data<const std::int32_t>()[row * lengths.strides[0]];
    if (length < 0 || length > plan.steps)
      return call.fail("sequence length {} is outside the {} steps of X", length, plan.steps);
  }
  return Status::ok;
}

Status run(const Call& call) noexcept {
  const Schedule& plan = *static_cast<const Schedule*>(call.prepared);
  if (plan.has_lengths)
    if (const Status checked = check_lengths(plan, call); checked != Status::ok) return checked;
  if (plan.batch == 0) return Status::ok;
  float* scratch = reinterpret_cast<float*>(*call.scratch);
  const float* all = static_cast<const float*>(plan.packed.get());
  if (all == nullptr) {
    const auto source = [&](int i) {
      return call.has(i) ? LstmSource{call.in(i).data<const float>(), &call.in(i)} : LstmSource{};
    };
    pack_lstm_weights(plan, source(kW), source(kR), source(kB), scratch);
    all = scratch;
    scratch += plan.directions * plan.weights_floats;
  }
  const bool is_large = plan.steps * plan.batch * plan.weights_floats > kMinThreadWork;
  // prepare() counted on no more threads than the pool has.
  const int sharing = is_large ? std::min<int>(call.max_threads, pool_threads()) : 1;
  const std::int64_t each = plan.tasks_per_direction(sharing);
  const std::int64_t tasks = plan.directions * each;
  const std::int64_t task_floats = plan.task_floats((plan.batch + each - 1) / each);
  const auto work = [&](std::int64_t task, int threads) {
    const std::int64_t d = task / each, first = task % each * plan.batch / each;
    const std::int64_t end = (task % each + 1) * plan.batch / each;
    Task(plan, call, plan.weights(all, d), {d, first, end - first}, scratch + task * task_floats,
         threads)
        .run();
  };
  if (call.max_threads > 1 && tasks > 1 && is_large) {
    // Rows end at their own lengths: the caller polls while it waits for the longest, because only
    // in its thread can handlers of signals run.
    parallel_for_attended(
        tasks, call.max_threads, [&](std::int64_t task) { work(task, 1); },
        [&] { static_cast<void>(call.stop_requested()); });
  } else {
    for (std::int64_t task = 0; task < tasks; ++task) work(task, call.max_threads);
  }
  return call.ok_or_stopped();
}

bool usual_activations(const tensor::Attr& names, std::int64_t directions) {
  if (!names.present()) return true;
  std::string expected = "Sigmoid,Tanh,Tanh";
  if (directions == 2) expected += "," + expected;
  return names.text() == expected;
}

std::optional<Refusal> why_not(const PrepareCtx& ctx) {
  const auto has = [&](std::size_t i) { return i < ctx.inputs.size() && ctx.inputs[i].present(); };
  if (ctx.outputs[0].dtype != DType::f32) return "only f32";
  if (has(kLens) && ctx.inputs[kLens].dtype != DType::i32) return "lengths that are not i32";
  if (has(kP)) return "peepholes";
  if (ctx.attrs[kInputForget].integer() != 0) return "coupled gates";
  if (ctx.attrs[kClip].present() && ctx.attrs[kClip].real() > 0) return "a clip";
  if (!usual_activations(ctx.attrs[kActivations], ctx.inputs[kW].dims[0]))
    return "other activations";
  return std::nullopt;
}

Schedule plan_of(const PrepareCtx& ctx) {
  Schedule plan;
  plan.simd = &simd_tables(ctx.isa);
  plan.batch_first = ctx.attrs[kLayout].integer() == 1;
  plan.reverse = ctx.attrs[kDirection].text() == "reverse";
  plan.hidden = ctx.attrs[kHidden].integer();
  const Operand& x = ctx.inputs[kX];
  plan.steps = x.dims[plan.batch_first ? 1 : 0];
  plan.batch = x.dims[plan.batch_first ? 0 : 1];
  plan.input = x.dims[2];
  plan.directions = ctx.inputs[kW].dims[0];
  plan.has_lengths = ctx.inputs.size() > kLens && ctx.inputs[kLens].present();
  const std::int64_t lanes = plan.simd->f32.panel / 2;
  plan.units = round_up(plan.hidden, lanes);
  plan.weights_floats = round_up(4 * plan.units * (plan.input + plan.hidden + 1), 16);
  plan.product_rows = plan.weights_floats > kLargeFloats ? kProductRowsOfLarge : kProductRows;
  // Two chunks of rows replace one.
  static_assert(kProductRows >= 2 * kRowsAhead);
  plan.pipelined = plan.simd->pipelined_strip != nullptr && plan.steps >= 2 * kRowsAhead &&
                   x.strides[2] == 1 && 4 * plan.units * plan.hidden >= kMinPipelinedFloats;
  return plan;
}

/// Returns the scratch of all tasks, for as many threads as a call may have.
std::int64_t task_floats(const Schedule& plan) {
  std::int64_t most = 0;
  for (int threads = 1; threads <= pool_threads(); ++threads) {
    const std::int64_t each = plan.tasks_per_direction(threads);
    most = std::max(most, each * plan.task_floats((plan.batch + each - 1) / each));
  }
  return plan.directions * most;
}

Prepared prepare(const PrepareCtx& ctx) {
  if (auto why = why_not(ctx)) return Prepared::no(*std::move(why));
  auto plan = std::make_shared<Schedule>(plan_of(ctx));
  std::int64_t floats = task_floats(*plan);
  plan->packed = constant_lstm_weights(ctx, *plan);
  if (!plan->packed) floats += plan->directions * plan->weights_floats;
  const std::uint32_t packed = plan->packed ? 1U << kW | 1U << kR | 1U << kB : 0;
  return {.state = std::move(plan),
          .scratch_bytes = floats * static_cast<std::int64_t>(sizeof(float)),
          .packed = packed};
}

bool packs_unaligned(const PrepareCtx& ctx) { return weights_are_constant(ctx); }

}  // namespace lstm
}  // namespace

extern constinit const KernelDef lstm_kernel{
    .name = "lstm",
    .doc =
        "The ONNX layer for f32: weights packed once, gates made from registers, rows of the batch "
        "in parallel.",
    .prepare = lstm::prepare,
    .run = lstm::run,
    .packs_constants = true,
    .packs_unaligned = lstm::packs_unaligned,
};

}  // namespace scanloom::kernels
