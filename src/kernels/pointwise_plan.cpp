#include "kernels/pointwise_plan.h"

#include <algorithm>
#include <cstring>

namespace scanloom::kernels {
namespace {

using tensor::Call;

/// Elements between two polls: about 100 microseconds for a few instructions.
constexpr std::int64_t kElementsBetweenQuestions = 64 * 1024;

/// Copies `count` elements, `step` bytes apart from `at` on, to a column (gather) or from it.
template <class T, bool kGather>
void move_row(std::byte* at, std::int64_t step, std::int64_t count, T* column) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
  const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
  if (kGather && step == 0) {
    std::fill_n(column, count, *reinterpret_cast<const T*>(at));
  } else if (step == kBytes) {
    kGather ? std::memcpy(column, at, bytes) : std::memcpy(at, column, bytes);
  } else {
    for (std::int64_t k = 0; k < count; ++k, at += step) {
      if constexpr (kGather)
        column[k] = *reinterpret_cast<const T*>(at);
      else
        *reinterpret_cast<T*>(at) = column[k];
    }
  }
}

/// Copies elements [start, start + count) of the axes between an operand and a column.
template <class T, bool kGather>
void move(const ElementAxes& axes, std::byte* base, std::int64_t start, std::int64_t count,
          std::byte* column) {
  std::array<std::int64_t, tensor::kMaxRank> index{};
  std::int64_t rest = start;
  std::byte* at = base;
  for (int axis = axes.last - 1; axis >= axes.first; --axis) {
    const auto i = static_cast<std::size_t>(axis);
    index[i] = rest % axes.dims[i];
    rest /= axes.dims[i];
    at += index[i] * axes.strides[i];
  }
  T* values = reinterpret_cast<T*>(column);
  const auto last = static_cast<std::size_t>(axes.last - 1);
  const std::int64_t step = axes.strides[last];
  while (true) {
    const std::int64_t run = std::min(count, axes.dims[last] - index[last]);
    move_row<T, kGather>(at, step, run, values);
    at += run * step;
    values += run;
    count -= run;
    if (count == 0) return;
    index[last] += run;
    for (int axis = axes.last - 1; axis > axes.first; --axis) {
      const auto i = static_cast<std::size_t>(axis);
      if (index[i] < axes.dims[i]) break;
      at += axes.strides[i - 1] - axes.strides[i] * axes.dims[i];
      index[i] = 0;
      ++index[i - 1];
    }
  }
}

template <bool kGather>
void move(const ElementAxes& axes, std::byte* base, std::int64_t start, std::int64_t count,
          std::byte* column) {
  switch (axes.bytes) {
    case 1:
      return move<std::uint8_t, kGather>(axes, base, start, count, column);
    case 2:
      return move<std::uint16_t, kGather>(axes, base, start, count, column);
    case 4:
      return move<std::uint32_t, kGather>(axes, base, start, count, column);
    default:
      return move<std::uint64_t, kGather>(axes, base, start, count, column);
  }
}

ElementAxes window_of(const PointwisePlan& plan, const PointwiseOperand& operand) {
  return {plan.dims.data(), operand.strides.data(), plan.window, plan.rank, operand.bytes};
}

template <class T>
void spread_element(const std::byte* from, std::byte* to, std::int64_t count) {
  std::fill_n(reinterpret_cast<T*>(to), count, *reinterpret_cast<const T*>(from));
}

void spread(const Spread& what, std::byte* const* table, std::int64_t count) {
  fill_column(table[what.from], what.bytes, count, table[what.to]);
}

/// Fills in constants and columns: the table entries that stay the same for a whole call.
void fill_table(const PointwisePlan& plan, std::byte* scratch, std::byte** table) {
  for (std::size_t i = 0; i < plan.constants.size(); ++i)
    table[i] = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&plan.constants[i]));
  std::byte* column = scratch + plan.table_bytes();
  for (int i = plan.first_column; i < plan.first_operand; ++i, column += plan.column_bytes)
    table[i] = column;
}

class Run {
 public:
  Run(const PointwisePlan& plan, const Call& call, std::byte* scratch)
      : plan_(plan), call_(call), table_(reinterpret_cast<std::byte**>(scratch)) {
    fill_table(plan, scratch, table_);
  }

  /// Runs elements [first, last) of the window at this index of the outer axes. Returns false if
  /// the run is to stop.
  bool window(const std::array<std::int64_t, tensor::kMaxRank>& index, std::int64_t first,
              std::int64_t last) {
    point_singles(index);
    for (const Spread& what : plan_.spreads)
      spread(what, table_, std::min(last - first, plan_.block));
    for (std::int64_t start = first; start < last; start += plan_.block) {
      const std::int64_t count = std::min(plan_.block, last - start);
      if (stops_before(count)) return false;
      block(index, start, count);
    }
    return true;
  }

 private:
  /// Polls whether the run is to stop; does so only every few elements.
  bool stops_before(std::int64_t elements) {
    unasked_ += elements;
    if (unasked_ < kElementsBetweenQuestions) return false;
    unasked_ = 0;
    return call_.stop_requested();
  }

  std::byte* base(const PointwiseOperand& operand, const tensor::Operand& bound,
                  const std::array<std::int64_t, tensor::kMaxRank>& index) const {
    std::byte* at = bound.data<std::byte>();
    for (std::size_t i = 0; i < static_cast<std::size_t>(plan_.window); ++i)
      at += index[i] * operand.strides[i];
    return at;
  }

  void point_singles(const std::array<std::int64_t, tensor::kMaxRank>& index) {
    for (const PointwiseOperand& operand : plan_.inputs)
      if (operand.lie == Lie::single)
        table_[operand.value] = base(operand, call_.in(operand.index), index);
  }

  void block(const std::array<std::int64_t, tensor::kMaxRank>& index, std::int64_t start,
             std::int64_t count) {
    for (const PointwiseOperand& operand : plan_.inputs) {
      if (operand.lie == Lie::single) continue;
      std::byte* at = base(operand, call_.in(operand.index), index);
      if (operand.lie == Lie::row)
        table_[operand.value] = at + start * operand.bytes;
      else
        move<true>(window_of(plan_, operand), at, start, count, table_[operand.column]);
    }
    for (const PointwiseOperand& operand : plan_.outputs)
      if (operand.lie == Lie::row)
        table_[operand.value] =
            base(operand, call_.out(operand.index), index) + start * operand.bytes;
    for (const PointwiseStep& step : plan_.steps)
      step.fn(table_[step.out], table_[step.a], table_[step.b], table_[step.c], count);
    for (const PointwiseOperand& operand : plan_.outputs)
      if (operand.lie == Lie::strided)
        move<false>(window_of(plan_, operand), base(operand, call_.out(operand.index), index),
                    start, count, table_[operand.column]);
  }

  const PointwisePlan& plan_;
  const Call& call_;
  std::byte** table_;
  std::int64_t unasked_ = 0;  ///< elements since the last poll
};

}  // namespace

void gather(const ElementAxes& axes, std::byte* base, std::int64_t start, std::int64_t count,
            std::byte* column) {
  move<true>(axes, base, start, count, column);
}

void fill_column(const std::byte* from, int bytes, std::int64_t count, std::byte* to) {
  switch (bytes) {
    case 1:
      return spread_element<std::uint8_t>(from, to, count);
    case 2:
      return spread_element<std::uint16_t>(from, to, count);
    case 4:
      return spread_element<std::uint32_t>(from, to, count);
    default:
      return spread_element<std::uint64_t>(from, to, count);
  }
}

bool run_flat(const PointwisePlan& plan, const Call& call) noexcept {
  std::byte** const table = reinterpret_cast<std::byte**>(*call.scratch);
  const std::int64_t total = plan.window_elements;
  fill_table(plan, *call.scratch, table);
  for (const PointwiseOperand& operand : plan.inputs)
    table[operand.value] = call.in(operand.index).data<std::byte>();
  for (const PointwiseOperand& operand : plan.outputs)
    table[operand.value] = call.out(operand.index).data<std::byte>();
  for (const Spread& what : plan.spreads) spread(what, table, std::min(total, plan.block));
  for (std::int64_t start = 0;;) {
    if (start % kElementsBetweenQuestions < plan.block && start > 0 && call.stop_requested())
      return false;
    const std::int64_t count = std::min(plan.block, total - start);
    for (const PointwiseStep& step : plan.steps)
      step.fn(table[step.out], table[step.a], table[step.b], table[step.c], count);
    start += count;
    if (start >= total) return true;
    for (const PointwiseOperand& operand : plan.inputs)
      if (operand.lie == Lie::row) table[operand.value] += count * operand.bytes;
    for (const PointwiseOperand& operand : plan.outputs)
      table[operand.value] += count * operand.bytes;
  }
}

bool run_parts(const PointwisePlan& plan, const Call& call, std::byte* scratch, std::int64_t first,
               std::int64_t last) noexcept {
  const std::int64_t parts = plan.parts();
  if (parts == 0) return true;
  const auto element = [&](std::int64_t part) {
    return part / parts * plan.window_elements + part % parts * kShare;
  };
  return run_elements(plan, call, scratch, element(first), element(last));
}

bool run_elements(const PointwisePlan& plan, const Call& call, std::byte* scratch,
                  std::int64_t first, std::int64_t last) noexcept {
  if (plan.empty || first >= last) return true;
  const std::int64_t size = plan.window_elements;
  Run run(plan, call, scratch);
  std::array<std::int64_t, tensor::kMaxRank> index{};
  std::int64_t rest = first / size;
  for (int axis = plan.window - 1; axis >= 0; --axis) {
    const auto i = static_cast<std::size_t>(axis);
    index[i] = rest % plan.dims[i];
    rest /= plan.dims[i];
  }
  std::int64_t begin = first % size;
  for (std::int64_t left = last - first; left > 0; begin = 0) {
    const std::int64_t taken = std::min(size - begin, left);
    if (!run.window(index, begin, begin + taken)) return false;
    left -= taken;
    for (int axis = plan.window - 1; axis >= 0; --axis) {
      const auto i = static_cast<std::size_t>(axis);
      if (++index[i] < plan.dims[i]) break;
      index[i] = 0;
    }
  }
  return true;
}

}  // namespace scanloom::kernels
