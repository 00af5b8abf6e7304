// Pooling with few taps per window. A small ring holds the rows of x that a line of the result
// reads. Each row is split into as many phases as the stride, with padding around, so that every
// tap of adjacent windows is a contiguous vector and all taps are folded in registers. Padding is
// the fold's neutral element and does not change a bit: no maximum is less, and no sum that began
// with 0 is -0. Where it saves work, the ring holds the maxima along each row, from left to right,
// so that the first of equal elements still wins. f16/bf16 are pooled as f32, as in the operators,
// which makes signalling NaN quiet.
#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <span>

#include "base/thread_pool.h"
#include "kernels/pool.h"
#include "tensor/half.h"

namespace scanloom::kernels::pool {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::PoolAxis;
using tensor::PoolGeometry;
using tensor::PoolWhole;
using tensor::Shape;
using tensor::Status;

constexpr std::int64_t kMaxTaps = 64, kMaxRows = 64, kMaxStride = 8, kMaxExtent = 4096;
// Upper bounds on the bytes of a kept row, and on the number of rows kept.
constexpr std::int64_t kRowBytes = 16 * 1024, kKeptBytes = 256 * 1024;
// Rings of rows: the number of threads that may work at once.
constexpr std::int64_t kMaxPoolSlots = 16;
constexpr std::int64_t kMinLines = 16;

template <class T>
using FoldFn = void (*)(const PoolFold<T>&);

template <class T>
struct PoolRowsSchedule {
  PoolGeometry outer;
  PoolAxis inner;
  PoolWhole whole;
  bool (*split)(const PoolSplit<T>&) = nullptr;
  FoldFn<T> fold = nullptr, fold_with_nan = nullptr;
  T neutral{};
  bool averages = false, with_padding = false;
  bool folds_rows = false;                      ///< the ring holds folds along each row
  ElementFn widen = nullptr, narrow = nullptr;  ///< for f16/bf16
  std::int64_t bytes = sizeof(T);               ///< per element of x and of the result
  std::int64_t planes = 1, lines = 1;           ///< lines of a plane
  std::int64_t block = 1, blocks = 1;           ///< windows of a line computed together
  std::int64_t part = 1, parts = 1;             ///< lines per task
  std::int64_t phase = 1;                       ///< elements per phase, and per line
  std::int64_t kept = 1;                        ///< rows: a power of 2
  std::array<std::int64_t, kMaxTaps> taps{};    ///< their offsets in a row of phases
  std::int64_t slots = 1, slot_bytes = 0;

  [[nodiscard]] std::int64_t split_row() const { return phase * inner.stride; }
  [[nodiscard]] std::int64_t kept_row() const { return folds_rows ? phase : split_row(); }
  [[nodiscard]] std::int64_t tasks() const { return planes * blocks * parts; }
};

std::int64_t whole_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// The memory of one slot.
template <class T>
class Kept {
 public:
  Kept(const PoolRowsSchedule<T>& plan, std::byte* memory) : plan_(plan), at_(memory) {
    numbers = take<std::int64_t>(plan.kept);
    rows = take<T>(plan.kept * plan.kept_row());
    split = plan.folds_rows ? take<T>(plan.split_row()) : nullptr;
    divisors = plan.averages ? take<T>(plan.phase) : nullptr;
    if (plan.widen != nullptr) {
      x = take<T>(plan.split_row());
      y = take<T>(plan.phase);
    }
  }
  [[nodiscard]] std::int64_t bytes() const { return taken_; }

  std::int64_t* numbers = nullptr;  ///< of the rows kept; -1: none
  T* rows = nullptr;
  T* split = nullptr;            ///< a row before it is folded
  T* divisors = nullptr;         ///< of a line
  T *x = nullptr, *y = nullptr;  ///< for f16/bf16

 private:
  template <class E>
  E* take(std::int64_t elements) {
    const std::int64_t bytes = whole_lines(elements * std::int64_t{sizeof(E)});
    std::byte* const taken = at_ == nullptr ? nullptr : at_ + taken_;
    taken_ += bytes;
    return reinterpret_cast<E*>(taken);
  }

  const PoolRowsSchedule<T>& plan_;
  std::byte* at_;
  std::int64_t taken_ = 0;
};

/// Runs the tasks of one slot, one after another.
template <class T>
class Worker {
 public:
  Worker(const PoolRowsSchedule<T>& plan, const Call& call, std::int64_t slot)
      : plan_(plan),
        call_(call),
        kept_(plan, *call.scratch + slot * plan.slot_bytes),
        poll_(call) {}

  void run(std::int64_t task) {
    const std::int64_t block = task % plan_.blocks, part = task / plan_.blocks % plan_.parts;
    begin(task / (plan_.blocks * plan_.parts), block);
    const std::int64_t last = std::min((part + 1) * plan_.part, plan_.lines);
    for (std::int64_t line = part * plan_.part; line < last; ++line)
      if (!make_line(line)) return;
  }

 private:
  void begin(std::int64_t plane, std::int64_t block) {
    const Operand &x = call_.in(0), &y = call_.out(0);
    x_ = x.data<const std::byte>() + plane_offset(x, plane) * plan_.bytes;
    y_ = y.data<std::byte>() + (plane_offset(y, plane) + block * plan_.block) * plan_.bytes;
    std::fill_n(kept_.numbers, plan_.kept, std::int64_t{-1});
    found_nan_ = false;
    if (block == block_) return;
    block_ = block;
    divisor_ = -1;
    first_ = block * plan_.block;
    count_ = std::min(plan_.block, plan_.inner.out - first_);
    const std::int64_t start = first_ * plan_.inner.stride - plan_.inner.pad;
    const std::int64_t seen =
        (count_ - 1) * plan_.inner.stride + (plan_.inner.kernel - 1) * plan_.inner.dilation + 1;
    from_ = std::clamp<std::int64_t>(start, 0, plan_.inner.in);
    until_ = std::clamp<std::int64_t>(start + seen, from_, plan_.inner.in);
    before_ = std::clamp<std::int64_t>(from_ - start, 0, seen);
    // All rows have the same padding: it is written once.
    if (plan_.folds_rows)
      std::fill_n(kept_.split, plan_.split_row(), plan_.neutral);
    else
      std::fill_n(kept_.rows, plan_.kept * plan_.split_row(), plan_.neutral);
  }

  /// Returns row `number` of the plane of x, from the ring.
  const T* row_at(std::int64_t number) {
    const std::int64_t entry = number & (plan_.kept - 1);
    T* const row = kept_.rows + entry * plan_.kept_row();
    if (kept_.numbers[entry] == number) return row;
    kept_.numbers[entry] = number;
    T* const split = plan_.folds_rows ? kept_.split : row;
    found_nan_ |= plan_.split({.x = elements(number * plan_.inner.in),
                               .count = until_ - from_,
                               .step = plan_.inner.stride,
                               .first = before_,
                               .to = split,
                               .phase = plan_.phase,
                               .neutral = plan_.neutral});
    const T* const rows[] = {split};
    if (plan_.folds_rows) fold(rows, plan_.inner.kernel, row);
    return row;
  }

  const T* elements(std::int64_t offset) {
    const std::byte* const from = x_ + (offset + from_) * plan_.bytes;
    if (plan_.widen == nullptr) return reinterpret_cast<const T*>(from);
    plan_.widen(reinterpret_cast<std::byte*>(kept_.x), from, nullptr, nullptr, until_ - from_);
    return kept_.x;
  }

  void fold(std::span<const T* const> rows, std::int64_t taps, T* y) const {
    const FoldFn<T> fn = found_nan_ ? plan_.fold_with_nan : plan_.fold;
    fn({.rows = rows.data(),
        .row_count = static_cast<std::int64_t>(rows.size()),
        .taps = plan_.taps.data(),
        .tap_count = taps,
        .count = count_,
        .y = y,
        .divisors = kept_.divisors});
  }

  /// Finds the rows that the line reads, and the number of rows to divide by. For images this is
  /// computed inline, since lines are short.
  std::size_t find_rows(std::int64_t line, const T** rows, double& divisor) {
    std::size_t seen = 0;
    const Operand& x = call_.in(0);
    if (plan_.outer.spatial == 1) {
      const PoolAxis& axis = plan_.outer.axes[0];
      const tensor::PoolTaps taps = tensor::taps_within(axis, line, 0, axis.in);
      const std::int64_t start = line * axis.stride - axis.pad;
      for (std::int64_t k = taps.first; k < taps.last; ++k)
        rows[seen++] = row_at(start + k * axis.dilation);
      if (plan_.averages)
        divisor = static_cast<double>(tensor::averaged_along(axis, line, plan_.with_padding));
      return seen;
    }
    const Shape position = line_position(plan_.outer, line);
    for_each_row(plan_.outer, x, tensor::window_at(plan_.outer, x, position),
                 [&](std::int64_t offset) { rows[seen++] = row_at(offset / plan_.inner.in); });
    if (plan_.averages)
      divisor = tensor::averaged_elements(plan_.outer, position, plan_.with_padding);
    return seen;
  }

  /// Returns false if the run is to stop.
  bool make_line(std::int64_t line) {
    std::array<const T*, kMaxRows> rows;
    double divisor = 1;
    const std::size_t seen = find_rows(line, rows.data(), divisor);
    const std::int64_t taps = plan_.folds_rows ? 1 : plan_.inner.kernel;
    if (poll_.stops_before(count_ * (1 + static_cast<std::int64_t>(seen) * taps))) return false;
    if (plan_.averages) divide_by(divisor);
    std::byte* const to = y_ + line * plan_.inner.out * plan_.bytes;
    fold(std::span(rows).first(seen), taps,
         plan_.narrow == nullptr ? reinterpret_cast<T*>(to) : kept_.y);
    if (plan_.narrow != nullptr)
      plan_.narrow(to, reinterpret_cast<const std::byte*>(kept_.y), nullptr, nullptr, count_);
    return true;
  }

  void divide_by(double divisor) {
    if (divisor == divisor_) return;
    divisor_ = divisor;
    const auto along = [&](std::int64_t o) {
      const std::int64_t count = tensor::averaged_along(plan_.inner, o, plan_.with_padding);
      return static_cast<T>(divisor * static_cast<double>(count));
    };
    const std::int64_t end = first_ + count_;
    const std::int64_t whole = std::clamp(plan_.whole.begin, first_, end);
    const std::int64_t whole_end = std::clamp(plan_.whole.end, whole, end);
    for (std::int64_t o = first_; o < whole; ++o) kept_.divisors[o - first_] = along(o);
    std::fill(kept_.divisors + (whole - first_), kept_.divisors + (whole_end - first_),
              static_cast<T>(divisor * static_cast<double>(plan_.inner.kernel)));
    for (std::int64_t o = whole_end; o < end; ++o) kept_.divisors[o - first_] = along(o);
  }

  const PoolRowsSchedule<T>& plan_;
  const Call& call_;
  Kept<T> kept_;
  StopPoll poll_;
  const std::byte* x_ = nullptr;
  std::byte* y_ = nullptr;
  bool found_nan_ = false;  ///< in a row of this task
  std::int64_t block_ = -1;
  std::int64_t first_ = 0, count_ = 0;              ///< windows
  std::int64_t from_ = 0, until_ = 0, before_ = 0;  ///< elements of a row, and padding before them
  double divisor_ = -1;  ///< of the line for which the divisors were computed
};

template <class T>
Status run_rows(const Call& call) noexcept {
  const PoolRowsSchedule<T>& plan = *static_cast<const PoolRowsSchedule<T>*>(call.prepared);
  const std::int64_t tasks = plan.tasks();
  const std::int64_t slots = call.max_threads > 1 ? plan.slots : 1;
  const auto work_of = [&](std::int64_t slot) {
    Worker<T> worker(plan, call, slot);
    for (std::int64_t task = slot; task < tasks && !call.stop_requested(); task += slots)
      worker.run(task);
  };
  if (slots > 1)
    parallel_for(slots, call.max_threads, work_of);
  else
    work_of(0);
  return call.ok_or_stopped();
}

/// Returns how many rows to keep: those that a line reads or, if windows overlap along more than
/// one outer axis, all rows of a plane. 0: too many.
std::int64_t rows_to_keep(const PoolGeometry& outer) {
  std::int64_t seen = 1, all = 1;
  for (int i = 0; i < outer.spatial; ++i) {
    const PoolAxis& axis = outer.axes[static_cast<std::size_t>(i)];
    seen *= std::min(axis.kernel, axis.in);
    all *= axis.in;
    if (seen > kMaxRows) return 0;
  }
  if (outer.spatial == 0) return 1;
  const PoolAxis& last = outer.axes[static_cast<std::size_t>(outer.spatial - 1)];
  const std::int64_t extent = (last.kernel - 1) * last.dilation + 1;
  const std::int64_t kept = outer.spatial == 1 ? std::min(extent, all) : all;
  if (kept > kKeptBytes) return 0;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(kept)));
}

std::optional<Refusal> why_not(const PoolGeometry& geometry) {
  const PoolAxis& inner = geometry.axes[static_cast<std::size_t>(geometry.spatial - 1)];
  if (inner.kernel > kMaxTaps) return "windows of many taps";
  if (inner.stride > kMaxStride) return "windows that are far apart";
  if ((inner.kernel - 1) * inner.dilation >= kMaxExtent) return "taps that are far apart";
  return std::nullopt;
}

template <class T>
void choose_sizes(const PrepareCtx& ctx, PoolRowsSchedule<T>& plan) {
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[0];
  const PoolAxis& axis = plan.inner;
  plan.planes = x.dims[0] * x.dims[1];
  for (int i = 2; i + 1 < y.rank; ++i) plan.lines *= y.dims[i];
  plan.block = std::min(axis.out, kRowBytes / (static_cast<std::int64_t>(sizeof(T)) * axis.stride));
  plan.blocks = (axis.out + plan.block - 1) / plan.block;
  const std::int64_t reach = (axis.kernel - 1) * axis.dilation;
  const std::int64_t phase = plan.block + reach / axis.stride + 1;
  plan.phase = whole_lines(phase * std::int64_t{sizeof(T)} + kPoolSlackBytes) /
               static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t k = 0; k < axis.kernel; ++k)
    plan.taps[static_cast<std::size_t>(k)] =
        k * axis.dilation % axis.stride * plan.phase + k * axis.dilation / axis.stride;
  // There are enough planes for threads to share, unless they are few and large.
  plan.part =
      plan.planes >= kMaxPoolSlots
          ? plan.lines
          : std::clamp(kThreadWork / plan.block, std::min(kMinLines, plan.lines), plan.lines);
  plan.parts = (plan.lines + plan.part - 1) / plan.part;
  const bool shares = plan.planes * plan.lines * axis.out > kThreadWork;
  plan.slots = shares ? std::min(plan.tasks(), kMaxPoolSlots) : 1;
}

template <class T>
Prepared prepare_typed(const PrepareCtx& ctx, const PoolGeometry& geometry, Fold fold) {
  const SimdTables& tables = simd_tables(ctx.isa);
  const PoolFns<T>& fns = fns_of<T>(tables);
  auto plan = std::make_shared<PoolRowsSchedule<T>>();
  plan->outer = outer_axes(geometry);
  plan->inner = geometry.axes[static_cast<std::size_t>(plan->outer.spatial)];
  plan->whole = tensor::whole_windows(plan->inner);
  plan->split = fns.split;
  plan->fold = folds_of(fns, fold).rows;
  plan->fold_with_nan = fold == Fold::maximum ? fns.maximum_or_nan.rows : plan->fold;
  plan->neutral = fold == Fold::maximum ? least<T>() : T{0};
  plan->averages = fold == Fold::average;
  plan->with_padding = plan->averages && ctx.attrs[tensor::kPoolOwn].integer() != 0;
  plan->folds_rows = pays_to_fold_rows(geometry, fold);
  const DType dtype = ctx.inputs[0].dtype;
  if (tensor::is_half(dtype)) {
    plan->widen = tables.conversion(dtype, DType::f32);
    plan->narrow = tables.conversion(DType::f32, dtype);
    if (plan->widen == nullptr || plan->narrow == nullptr)
      return Prepared::no("no conversions between this element type and f32");
    plan->bytes = static_cast<std::int64_t>(dtype_bytes(dtype));
  }
  choose_sizes(ctx, *plan);
  plan->kept = rows_to_keep(plan->outer);
  const std::int64_t row = plan->kept_row() * std::int64_t{sizeof(T)};
  if (plan->kept == 0 || plan->kept > kKeptBytes / row) return Prepared::no("windows of many rows");
  plan->slot_bytes = Kept<T>(*plan, nullptr).bytes();
  const std::int64_t scratch = plan->slots * plan->slot_bytes;
  return {.state = std::move(plan), .scratch_bytes = scratch, .run = run_rows<T>};
}

}  // namespace

Prepared prepare_rows(const PrepareCtx& ctx, const PoolGeometry& geometry, Fold fold) {
  if (auto why = why_not(geometry)) return Prepared::no(*std::move(why));
  const DType dtype = ctx.inputs[0].dtype;
  if (dtype == DType::f32 || tensor::is_half(dtype))
    return prepare_typed<float>(ctx, geometry, fold);
  if (dtype == DType::f64) return prepare_typed<double>(ctx, geometry, fold);
  if (fold == Fold::maximum && dtype == DType::u8)
    return prepare_typed<std::uint8_t>(ctx, geometry, fold);
  if (fold == Fold::maximum && dtype == DType::i8)
    return prepare_typed<std::int8_t>(ctx, geometry, fold);
  return Prepared::no("an element type that only the reference kernel takes");
}

}  // namespace scanloom::kernels::pool
