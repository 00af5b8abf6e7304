// Pooling of images and signals whose channels are last: a tap of all channels of a position is a
// run of adjacent elements, so vectors lie along the channels. Windows inside x along a line of the
// result are computed by one call of a vector function, the others one by one, from the taps that
// are inside x. Taps are folded in the order of pool_rows.cpp.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/pool.h"
#include "kernels/pool_layout.h"

namespace scanloom::kernels {
namespace pool {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::PoolAxis;
using tensor::PoolGeometry;
using tensor::PoolTaps;
using tensor::PoolWhole;
using tensor::Status;

constexpr std::int64_t kMaxTapsLast = 128, kLineBytes = 64, kMaxSlots = 16;

template <class T>
struct PoolLastSchedule {
  PoolAxis down, along;
  PoolWhole whole;  ///< the windows inside x along a line
  PoolFns<T> fns;
  void (*fold)(const PoolLines<T>&) = nullptr;
  bool maximum = false, averages = false, with_padding = false;
  std::int64_t images = 1, channels = 0;
  std::int64_t x_image = 0, x_row = 0, y_image = 0, y_row = 0;
  std::vector<std::int64_t> taps;  ///< offsets from the first element of a window
  std::int64_t slots = 1;

  [[nodiscard]] std::int64_t slot_size() const { return averages ? along.out * channels : 0; }
};

/// Computes lines of the result, with the memory of one slot.
template <class T>
class LineWorker {
 public:
  LineWorker(const PoolLastSchedule<T>& plan, const Call& call, std::int64_t slot)
      : plan_(plan), call_(call), poll_(call) {
    divisors_ = reinterpret_cast<T*>(*call.scratch) + slot * plan.slot_size();
  }

  /// Returns false if the run is to stop.
  bool run(std::int64_t number) {
    const std::int64_t image = number / plan_.down.out, line = number % plan_.down.out;
    const auto taps = static_cast<std::int64_t>(plan_.taps.size());
    if (poll_.stops_before(plan_.along.out * plan_.channels * taps)) return false;
    rows_ = tensor::taps_within(plan_.down, line, 0, plan_.down.in);
    x_ = call_.in(0).data<const T>() + image * plan_.x_image +
         (line * plan_.down.stride - plan_.down.pad) * plan_.x_row;
    y_ = call_.out(0).data<T>() + image * plan_.y_image + line * plan_.y_row;
    if (plan_.averages) set_divisors(line);
    fold_ = plan_.maximum && reads_nan() ? plan_.fns.maximum_or_nan.lines : plan_.fold;
    const auto [begin, end] = plan_.whole;
    for (std::int64_t o = 0; o < begin; ++o) compute_edge(o);
    if (begin < end)
      compute(begin, end - begin, plan_.taps.data() + rows_.first * plan_.along.kernel,
              (rows_.last - rows_.first) * plan_.along.kernel);
    for (std::int64_t o = end; o < plan_.along.out; ++o) compute_edge(o);
    return true;
  }

 private:
  [[nodiscard]] bool reads_nan() const {
    for (std::int64_t r = rows_.first; r < rows_.last; ++r)
      if (plan_.fns.may_have_nan(x_ + r * plan_.down.dilation * plan_.x_row, plan_.x_row))
        return true;
    return false;
  }

  void set_divisors(std::int64_t line) {
    const auto rows =
        static_cast<double>(tensor::averaged_along(plan_.down, line, plan_.with_padding));
    for (std::int64_t o = 0; o < plan_.along.out; ++o) {
      const auto along =
          static_cast<double>(tensor::averaged_along(plan_.along, o, plan_.with_padding));
      std::fill_n(divisors_ + o * plan_.channels, plan_.channels, static_cast<T>(rows * along));
    }
  }

  void compute(std::int64_t first, std::int64_t count, const std::int64_t* taps,
               std::int64_t tap_count) const {
    const std::int64_t step = plan_.along.stride * plan_.channels;
    fold_({.x = x_ + first * step - plan_.along.pad * plan_.channels,
           .x_line = step,
           .lines = count,
           .width = plan_.channels,
           .taps = taps,
           .tap_count = tap_count,
           .y = y_ + first * plan_.channels,
           .divisors = plan_.averages ? divisors_ + first * plan_.channels : nullptr});
  }

  void compute_edge(std::int64_t o) const {
    const PoolTaps columns = tensor::taps_within(plan_.along, o, 0, plan_.along.in);
    std::array<std::int64_t, kMaxTapsLast> taps;
    std::size_t count = 0;
    for (std::int64_t r = rows_.first; r < rows_.last; ++r)
      for (std::int64_t k = columns.first; k < columns.last; ++k)
        taps[count++] = plan_.taps[static_cast<std::size_t>(r * plan_.along.kernel + k)];
    compute(o, 1, taps.data(), static_cast<std::int64_t>(count));
  }

  const PoolLastSchedule<T>& plan_;
  const Call& call_;
  StopPoll poll_;
  T* divisors_ = nullptr;
  PoolTaps rows_;
  const T* x_ = nullptr;
  T* y_ = nullptr;
  void (*fold_)(const PoolLines<T>&) = nullptr;
};

template <class T>
Status run_last(const Call& call) noexcept {
  const auto& plan = *static_cast<const PoolLastSchedule<T>*>(call.prepared);
  const std::int64_t lines = plan.images * plan.down.out;
  const std::int64_t slots = call.max_threads > 1 ? plan.slots : 1;
  const auto work_of = [&](std::int64_t slot) {
    LineWorker<T> worker(plan, call, slot);
    for (std::int64_t line = lines * slot / slots; line < lines * (slot + 1) / slots; ++line)
      if (!worker.run(line)) return;
  };
  if (slots > 1)
    parallel_for(slots, call.max_threads, work_of);
  else
    work_of(0);
  return call.ok_or_stopped();
}

/// A signal is an image of one row.
PoolAxis rows_of(const PoolGeometry& geometry) {
  if (geometry.spatial == 2) return geometry.axes[0];
  return {.in = 1, .out = 1, .covered = 1};
}

std::optional<Refusal> why_not_last(const PoolGeometry& geometry, std::int64_t channels,
                                    DType dtype) {
  if (dtype != DType::f32 && dtype != DType::f64) return "only f32 and f64";
  if (geometry.spatial > 2) return "more than two axes";
  const PoolAxis down = rows_of(geometry);
  const PoolAxis& along = geometry.axes[static_cast<std::size_t>(geometry.spatial - 1)];
  if (down.kernel > kMaxTapsLast || along.kernel > kMaxTapsLast ||
      down.kernel * along.kernel > kMaxTapsLast)
    return "windows of many taps";
  // Nothing is read after the channels of a position then.
  if (channels * static_cast<std::int64_t>(dtype_bytes(dtype)) % kLineBytes != 0)
    return "channels that do not fill cache lines";
  return std::nullopt;
}

template <class T>
Prepared prepare_last_typed(const PrepareCtx& ctx, const PoolGeometry& geometry, Fold fold) {
  auto plan = std::make_shared<PoolLastSchedule<T>>();
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[0];
  plan->down = rows_of(geometry);
  plan->along = geometry.axes[static_cast<std::size_t>(geometry.spatial - 1)];
  plan->whole = tensor::whole_windows(plan->along);
  plan->fns = fns_of<T>(simd_tables(ctx.isa));
  plan->fold = folds_of(plan->fns, fold).lines;
  plan->maximum = fold == Fold::maximum;
  plan->averages = fold == Fold::average;
  plan->with_padding = plan->averages && ctx.attrs[tensor::kPoolOwn].integer() != 0;
  plan->images = x.dims[0];
  plan->channels = x.dims[1];
  plan->x_row = plan->along.in * plan->channels;
  plan->x_image = plan->down.in * plan->x_row;
  plan->y_row = plan->along.out * plan->channels;
  plan->y_image = plan->down.out * plan->y_row;
  for (std::int64_t r = 0; r < plan->down.kernel; ++r)
    for (std::int64_t k = 0; k < plan->along.kernel; ++k)
      plan->taps.push_back(r * plan->down.dilation * plan->x_row +
                           k * plan->along.dilation * plan->channels);
  const std::int64_t lines = plan->images * plan->down.out;
  plan->slots = y.elements() > kThreadWork ? std::min(lines, kMaxSlots) : 1;
  const std::int64_t bytes = plan->slots * plan->slot_size() * static_cast<std::int64_t>(sizeof(T));
  return {.state = std::move(plan), .scratch_bytes = bytes, .run = run_last<T>};
}

}  // namespace

Prepared prepare_channels_last(const PrepareCtx& ctx, const PoolGeometry& geometry, Fold fold) {
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[0];
  if (auto why = why_not_last(geometry, x.dims[1], x.dtype)) return Prepared::no(*std::move(why));
  if (x.empty() || y.empty()) return Prepared::no("nothing to pool");
  const bool one = y.elements() == y.dims[0] * y.dims[1] && y.contiguous;
  if (!one && !tensor::is_channels_last(y)) return Prepared::no("a result with its channels first");
  return x.dtype == DType::f32 ? prepare_last_typed<float>(ctx, geometry, fold)
                               : prepare_last_typed<double>(ctx, geometry, fold);
}

}  // namespace pool

bool pool_takes_channels_last(const tensor::Shape& x, DType dtype,
                              std::span<const tensor::Attr> attrs) {
  if (x.rank() < 3 || x.elements() == 0) return false;
  const auto geometry = tensor::pool_geometry(x, attrs);
  return geometry && !pool::why_not_last(*geometry, x[1], dtype);
}

}  // namespace scanloom::kernels
