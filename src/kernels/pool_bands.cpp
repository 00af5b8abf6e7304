// Pooling of planes in bands of lines, for images and signals whose windows have few taps. All rows
// of x that a band reads are split at once into a grid: as many phases as the stride along a line,
// each with rows of the same length, and with padding around them. A tap is then at the same
// distance from every window, and two calls of vector functions compute the band, however short its
// lines are. Padding and the order in which taps are folded are those of pool_rows.cpp, which takes
// longer lines.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/pool.h"

namespace scanloom::kernels::pool {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::PoolAxis;
using tensor::PoolGeometry;
using tensor::PoolWhole;
using tensor::Status;

constexpr std::int64_t kMaxBandTaps = 64, kMaxBandStride = 8, kMaxBandExtent = 4096;
// The bytes of a grid: wanted, so that it stays in L1, and at most.
constexpr std::int64_t kGridBytes = 24 * 1024, kMaxGridBytes = 256 * 1024;
// Grids: the number of threads that may work at once.
constexpr std::int64_t kMaxGrids = 16;

template <class T>
struct PoolBandsSchedule {
  PoolAxis down, along;
  PoolWhole whole;  ///< the windows inside x along a line
  bool (*split)(const PoolSplit<T>&) = nullptr;
  void (*fold)(const PoolLines<T>&) = nullptr;
  void (*fold_with_nan)(const PoolLines<T>&) = nullptr;
  T neutral{};
  bool averages = false, with_padding = false;
  bool folds_rows = false;  ///< along each row first, then down
  std::int64_t planes = 1;
  std::int64_t band = 1, bands = 1;    ///< lines of a band
  std::int64_t pitch = 1;              ///< elements of a row of a phase
  std::int64_t before = 0, count = 0;  ///< padding before a row, and its elements of x
  std::vector<std::int64_t> row_taps, window_taps;
  std::int64_t slots = 1;

  [[nodiscard]] std::int64_t reach_down() const { return (down.kernel - 1) * down.dilation; }
  [[nodiscard]] std::int64_t reach_along() const { return (along.kernel - 1) * along.dilation; }
  /// Rows of x, or of padding, that so many lines read.
  [[nodiscard]] std::int64_t rows(std::int64_t lines) const {
    return (lines - 1) * down.stride + reach_down() + 1;
  }
  /// Rows are written beyond their ends.
  [[nodiscard]] std::int64_t phase() const {
    return rows(band) * pitch + kPoolSlackBytes / std::int64_t{sizeof(T)};
  }
  /// Taps of the gaps between lines reach beyond the last row.
  [[nodiscard]] std::int64_t slack() const {
    return kPoolSlackBytes / std::int64_t{sizeof(T)} + reach_along();
  }
  [[nodiscard]] std::int64_t grid_size() const { return phase() * along.stride + slack(); }
  [[nodiscard]] std::int64_t folded_size() const { return folds_rows ? phase() + slack() : 0; }
  [[nodiscard]] std::int64_t slot_size() const {
    return grid_size() + folded_size() + (averages ? band * along.out + slack() : 0);
  }
};

/// Runs the tasks of one slot, one after another: a band of all planes before the next band.
template <class T>
class BandWorker {
 public:
  BandWorker(const PoolBandsSchedule<T>& plan, const Call& call, std::int64_t slot)
      : plan_(plan), call_(call), poll_(call) {
    grid_ = reinterpret_cast<T*>(*call.scratch) + slot * plan.slot_size();
    folded_ = grid_ + plan.grid_size();
    divisors_ = folded_ + plan.folded_size();
    // All rows have the same padding: it is written once.
    std::fill_n(grid_, plan.grid_size() + plan.folded_size(), plan.neutral);
  }

  /// Returns false if the run is to stop.
  bool run(std::int64_t task) {
    if (task / plan_.planes != band_) begin_band(task / plan_.planes);
    if (poll_.stops_before(lines_ * (plan_.along.out + plan_.along.in))) return false;
    const Operand &x = call_.in(0), &y = call_.out(0);
    const std::int64_t plane = task % plan_.planes;
    const T* const from = x.data<const T>() + plane_offset(x, plane);
    T* const to = y.data<T>() + plane_offset(y, plane) + first_ * plan_.along.out;
    const bool nan = split(from);
    const auto fold = nan ? plan_.fold_with_nan : plan_.fold;
    if (plan_.folds_rows)
      fold({.x = grid_,
            .width = plan_.rows(lines_) * plan_.pitch,
            .taps = plan_.row_taps.data(),
            .tap_count = plan_.along.kernel,
            .y = folded_});
    fold({.x = plan_.folds_rows ? folded_ : grid_,
          .x_line = plan_.down.stride * plan_.pitch,
          .lines = lines_,
          .width = plan_.along.out,
          .taps = plan_.window_taps.data(),
          .tap_count = static_cast<std::int64_t>(plan_.window_taps.size()),
          .y = to,
          .divisors = plan_.averages ? divisors_ : nullptr});
    return true;
  }

 private:
  void begin_band(std::int64_t band) {
    band_ = band;
    first_ = band * plan_.band;
    lines_ = std::min(plan_.band, plan_.down.out - first_);
    const std::int64_t rows = plan_.rows(lines_);
    row_ = first_ * plan_.down.stride - plan_.down.pad;
    begin_ = std::clamp<std::int64_t>(-row_, 0, rows);
    end_ = std::clamp<std::int64_t>(plan_.down.in - row_, begin_, rows);
    for (std::int64_t phase = 0; phase < plan_.along.stride; ++phase) {
      T* const at = grid_ + phase * plan_.phase();
      std::fill_n(at, begin_ * plan_.pitch, plan_.neutral);
      std::fill_n(at + end_ * plan_.pitch, (rows - end_) * plan_.pitch, plan_.neutral);
    }
    if (plan_.averages)
      for (std::int64_t line = 0; line < lines_; ++line) divide_line(line);
  }

  /// Returns whether any element is NaN.
  bool split(const T* x) const {
    const PoolAxis& along = plan_.along;
    if (begin_ == end_ || plan_.count == 0) return false;
    return plan_.split({.x = x + (row_ + begin_) * along.in,
                        .count = plan_.count,
                        .step = along.stride,
                        .first = plan_.before,
                        .to = grid_ + begin_ * plan_.pitch,
                        .phase = plan_.phase(),
                        .rows = end_ - begin_,
                        .x_row = along.in,
                        .to_row = plan_.pitch,
                        .neutral = plan_.neutral});
  }

  void divide_line(std::int64_t line) {
    T* const to = divisors_ + line * plan_.along.out;
    const auto rows =
        static_cast<double>(tensor::averaged_along(plan_.down, first_ + line, plan_.with_padding));
    const auto [whole, whole_end] = plan_.whole;
    const auto edges = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t o = first; o < last; ++o)
        to[o] = static_cast<T>(
            rows * static_cast<double>(tensor::averaged_along(plan_.along, o, plan_.with_padding)));
    };
    edges(0, whole);
    std::fill(to + whole, to + whole_end,
              static_cast<T>(rows * static_cast<double>(plan_.along.kernel)));
    edges(whole_end, plan_.along.out);
  }

  const PoolBandsSchedule<T>& plan_;
  const Call& call_;
  StopPoll poll_;
  T *grid_ = nullptr, *folded_ = nullptr, *divisors_ = nullptr;
  std::int64_t band_ = -1, first_ = 0, lines_ = 0;
  std::int64_t row_ = 0, begin_ = 0, end_ = 0;  ///< of the grid: the rows inside x
};

template <class T>
Status run_bands(const Call& call) noexcept {
  const PoolBandsSchedule<T>& plan = *static_cast<const PoolBandsSchedule<T>*>(call.prepared);
  const std::int64_t tasks = plan.planes * plan.bands;
  const std::int64_t slots = call.max_threads > 1 ? plan.slots : 1;
  const auto work_of = [&](std::int64_t slot) {
    BandWorker<T> worker(plan, call, slot);
    for (std::int64_t task = slot; task < tasks; task += slots)
      if (!worker.run(task)) return;
  };
  if (slots > 1)
    parallel_for(slots, call.max_threads, work_of);
  else
    work_of(0);
  return call.ok_or_stopped();
}

/// A signal is an image of one row.
PoolAxis axis_down(const PoolGeometry& geometry) {
  if (geometry.spatial == 2) return geometry.axes[0];
  return {.in = 1, .out = 1, .covered = 1};
}

std::optional<Refusal> why_no_bands(const PoolAxis& down, const PoolAxis& along) {
  for (const PoolAxis* axis : {&down, &along}) {
    if (axis->kernel > kMaxBandTaps) return "windows of many taps";
    if (axis->stride > kMaxBandStride) return "windows that are far apart";
    if ((axis->kernel - 1) * axis->dilation >= kMaxBandExtent) return "taps that are far apart";
  }
  if (down.stride > (down.kernel - 1) * down.dilation + 1) return "rows that no window reads";
  return std::nullopt;
}

/// Bands that fit into L1, unless the rows that two bands read are then a good part of them. False
/// if lines are too long.
template <class T>
bool choose_band(PoolBandsSchedule<T>& plan) {
  const PoolAxis& down = plan.down;
  const std::int64_t row =
      (plan.along.stride + (plan.folds_rows ? 1 : 0)) * static_cast<std::int64_t>(sizeof(T));
  if (plan.along.out > kMaxGridBytes) return false;
  plan.pitch = plan.along.out + plan.reach_along() / plan.along.stride;
  const std::int64_t fewest =
      std::min(down.out, std::max<std::int64_t>(4, 4 * plan.reach_down() / down.stride));
  const std::int64_t cached =
      (kGridBytes / (row * plan.pitch) - plan.reach_down() - 1) / down.stride + 1;
  plan.band = std::clamp(cached, fewest, down.out);
  const bool shares = plan.planes * down.out * plan.along.out > kThreadWork;
  if (shares && plan.planes < kMaxGrids) {
    const std::int64_t wanted = (kMaxGrids + plan.planes - 1) / plan.planes;
    plan.band = std::clamp((down.out + wanted - 1) / wanted, fewest, plan.band);
  }
  if (plan.rows(plan.band) > kMaxGridBytes / (row * plan.pitch)) return false;
  plan.bands = (down.out + plan.band - 1) / plan.band;
  plan.slots = shares ? std::min(plan.planes * plan.bands, kMaxGrids) : 1;
  return true;
}

template <class T>
void place_taps(PoolBandsSchedule<T>& plan) {
  const PoolAxis &down = plan.down, &along = plan.along;
  for (std::int64_t k = 0; k < along.kernel; ++k) {
    const std::int64_t tap = k * along.dilation;
    plan.row_taps.push_back(tap % along.stride * plan.phase() + tap / along.stride);
  }
  for (std::int64_t r = 0; r < down.kernel; ++r) {
    const std::int64_t row = r * down.dilation * plan.pitch;
    if (plan.folds_rows)
      plan.window_taps.push_back(row);
    else
      for (const std::int64_t tap : plan.row_taps) plan.window_taps.push_back(row + tap);
  }
}

template <class T>
Prepared prepare_bands_typed(const PrepareCtx& ctx, const PoolGeometry& geometry, Fold fold) {
  auto plan = std::make_shared<PoolBandsSchedule<T>>();
  const Operand& x = ctx.inputs[0];
  plan->down = axis_down(geometry);
  plan->along = geometry.axes[static_cast<std::size_t>(geometry.spatial - 1)];
  plan->whole = tensor::whole_windows(plan->along);
  const PoolFns<T>& fns = fns_of<T>(simd_tables(ctx.isa));
  plan->split = fns.split;
  plan->fold = folds_of(fns, fold).lines;
  plan->fold_with_nan = fold == Fold::maximum ? fns.maximum_or_nan.lines : plan->fold;
  plan->neutral = fold == Fold::maximum ? least<T>() : T{0};
  plan->averages = fold == Fold::average;
  plan->with_padding = plan->averages && ctx.attrs[tensor::kPoolOwn].integer() != 0;
  plan->folds_rows = pays_to_fold_rows(geometry, fold);
  plan->planes = x.dims[0] * x.dims[1];
  if (!choose_band(*plan)) return Prepared::no("long lines");
  const PoolAxis& along = plan->along;
  const std::int64_t seen = (along.out - 1) * along.stride + plan->reach_along() + 1;
  plan->before = std::clamp<std::int64_t>(along.pad, 0, seen);
  plan->count = std::min(along.in, seen - plan->before);
  place_taps(*plan);
  const std::int64_t bytes = plan->slots * plan->slot_size() * static_cast<std::int64_t>(sizeof(T));
  return {.state = std::move(plan), .scratch_bytes = bytes, .run = run_bands<T>};
}

}  // namespace

Prepared prepare_bands(const PrepareCtx& ctx, const PoolGeometry& geometry, Fold fold) {
  if (geometry.spatial > 2) return Prepared::no("more than two axes");
  const PoolAxis& along = geometry.axes[static_cast<std::size_t>(geometry.spatial - 1)];
  if (auto why = why_no_bands(axis_down(geometry), along)) return Prepared::no(*std::move(why));
  const DType dtype = ctx.inputs[0].dtype;
  if (dtype == DType::f32) return prepare_bands_typed<float>(ctx, geometry, fold);
  if (dtype == DType::f64) return prepare_bands_typed<double>(ctx, geometry, fold);
  if (fold == Fold::maximum && dtype == DType::u8)
    return prepare_bands_typed<std::uint8_t>(ctx, geometry, fold);
  if (fold == Fold::maximum && dtype == DType::i8)
    return prepare_bands_typed<std::int8_t>(ctx, geometry, fold);
  return Prepared::no("an element type that is pooled as another one");
}

}  // namespace scanloom::kernels::pool
