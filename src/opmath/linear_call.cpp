#include "opmath/linear_call.h"

#include <algorithm>

#include "base/thread_pool.h"

namespace scanloom::tensor {
namespace {

constexpr int kMaxRows = kMaxLinearStates;

/// Copies a matrix of at most two rows and columns.
std::array<double, kMaxRows * kMaxRows> elements_of(const Operand& matrix) {
  std::array<double, kMaxRows * kMaxRows> elements{};
  std::size_t i = 0;
  for (std::int64_t r = 0; r < matrix.dims[0]; ++r)
    for (std::int64_t c = 0; c < matrix.dims[1]; ++c)
      elements[i++] = matrix.data<const double>()[r * matrix.strides[0] + c * matrix.strides[1]];
  return elements;
}

/// Where line `index` of an operand begins; lines are along the last axis.
std::int64_t line_offset(const Operand& operand, std::int64_t index) {
  std::int64_t offset = 0;
  for (int axis = operand.rank - 2; axis >= 0; --axis) {
    offset += index % operand.dims[axis] * operand.strides[axis];
    index /= operand.dims[axis];
  }
  return offset;
}

std::int64_t line_count(const Operand& operand) {
  std::int64_t count = 1;
  for (int axis = 0; axis + 1 < operand.rank; ++axis) count *= operand.dims[axis];
  return count;
}

template <class T>
class LinearCall {
 public:
  LinearCall(const Call& call, LinearBlocksFn<T> blocks)
      : call_(call),
        blocks_(blocks),
        map_(map_of(call)),
        reverse_(call.attrs[LinearAttr::reverse].integer() != 0) {}

  void run_line(std::int64_t index, int max_threads, LinearState* scratch) const {
    LinearScan<T> scan{.map = &map_, .blocks = blocks_};
    scan.rows_before = call_.attrs[LinearAttr::before].integer() != 0;
    const Operand &x = call_.in(LinearInput::x), &initial = call_.in(LinearInput::initial);
    scan.steps = x.dims[x.rank - 1];
    for (int k = 0; k < map_.inputs; ++k)
      point(call_.in(k == 0 ? LinearInput::x : LinearInput::more), index, scan.x[k],
            scan.x_step[k]);
    if (map_.varies) point(call_.in(LinearInput::factor), index, scan.factor, scan.factor_step);
    for (int r = 0; r < map_.states; ++r) {
      scan.state[r] = initial.data<const T>()[r * initial.strides[0]];
      const int output = LinearOutput::first_row + r;
      if (output < call_.output_count && call_.out(output).present())
        point(call_.out(output), index, scan.rows[r], scan.row_step[r]);
    }
    run_linear_scan(scan, max_threads, scratch, call_.stop);
    const Operand& last = call_.out(LinearOutput::last);
    if (!last.present()) return;
    T* const to = last.data<T>() + line_offset(last, index);
    for (int r = 0; r < map_.states; ++r) to[r * last.strides[last.rank - 1]] = scan.state[r];
  }

 private:
  static LinearMap<T> map_of(const Call& call) {
    const Operand& gain = call.in(LinearInput::gain);
    const auto matrix = elements_of(call.in(LinearInput::matrix)), gains = elements_of(gain);
    return linear_map<T>(static_cast<int>(gain.dims[0]), static_cast<int>(gain.dims[1]),
                         call.has(LinearInput::factor), matrix, gains);
  }

  template <class Element>
  void point(const Operand& operand, std::int64_t index, Element*& first,
             std::int64_t& step) const {
    const std::int64_t steps = operand.dims[operand.rank - 1];
    step = operand.strides[operand.rank - 1];
    first = operand.data<Element>() + line_offset(operand, index);
    if (!reverse_ || steps == 0) return;
    first += (steps - 1) * step;
    step = -step;
  }

  const Call& call_;
  const LinearBlocksFn<T> blocks_;
  const LinearMap<T> map_;
  const bool reverse_;
};

}  // namespace

template <class T>
Status run_linear_call(const Call& call, LinearBlocksFn<T> blocks, LinearState* scratch) noexcept {
  const LinearCall<T> lines(call, blocks);
  const std::int64_t count = line_count(call.in(LinearInput::x));
  if (count == 1) {
    lines.run_line(0, call.max_threads, scratch);
    return call.ok_or_stopped();
  }
  constexpr std::int64_t kMinShared = 1 << 15;  // fewer elements are not worth sharing
  const int threads = call.in(LinearInput::x).elements() < kMinShared ? 1 : call.max_threads;
  parallel_for(threads > 1 ? count : 1, threads, [&](std::int64_t task) {
    const std::int64_t begin = threads > 1 ? task : 0, end = threads > 1 ? task + 1 : count;
    for (std::int64_t i = begin; i < end && !call.stop_requested(); ++i)
      lines.run_line(i, 1, nullptr);
  });
  return call.ok_or_stopped();
}

template Status run_linear_call(const Call&, LinearBlocksFn<float>, LinearState*) noexcept;
template Status run_linear_call(const Call&, LinearBlocksFn<double>, LinearState*) noexcept;

}  // namespace scanloom::tensor
