// pad: binding computes, axis by axis, where every element of the result comes from. A row is then
// a few single elements around one contiguous run.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"
#include "tensor/visit.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::Status;

enum Input : std::size_t { kX, kPads, kValue, kAxes };

/// Marks elements of the result without a source along this axis.
constexpr std::int64_t kOutside = -1;
/// Upper bound on the entries of all source tables; larger ones are left to the reference kernel.
/// The tables are built at binding, where no limit of a run counts them.
constexpr std::int64_t kMaxSources = std::int64_t{1} << 22;

struct PadAxis {
  std::vector<std::int64_t> source;  ///< index along x, or kOutside, per index of the result
  std::int64_t x = 0, y = 0;         ///< strides in elements
  std::int64_t begin = 0, end = 0;   ///< the indices of the result that map one to one to x
};

struct PadSchedule {
  std::vector<PadAxis> axes;  ///< at least one
  std::int64_t rows = 1;
};

/// Maps a position that may lie outside the axis to an element of it. Precondition: size > 0.
std::int64_t source_of(std::int64_t position, std::int64_t size, std::string_view mode) {
  if (position >= 0 && position < size) return position;
  if (mode == "constant") return kOutside;
  if (mode == "edge") return position < 0 ? 0 : size - 1;
  const std::int64_t period = mode == "wrap" ? size : std::max<std::int64_t>(2 * size - 2, 1);
  const std::int64_t rest = position % period, folded = rest < 0 ? rest + period : rest;
  return folded < size ? folded : period - folded;
}

template <class T>
void pad_row(const PadAxis& axis, const T* x, T value, T* y) {
  const auto single = [&](std::int64_t i) {
    const std::int64_t from = axis.source[static_cast<std::size_t>(i)];
    y[i * axis.y] = from == kOutside ? value : x[from * axis.x];
  };
  for (std::int64_t i = 0; i < axis.begin; ++i) single(i);
  if (axis.x == 1 && axis.y == 1 && axis.begin < axis.end)
    std::memcpy(y + axis.begin, x + axis.source[static_cast<std::size_t>(axis.begin)],
                static_cast<std::size_t>(axis.end - axis.begin) * sizeof(T));
  else
    for (std::int64_t i = axis.begin; i < axis.end; ++i) single(i);
  for (auto i = axis.end; i < static_cast<std::int64_t>(axis.source.size()); ++i) single(i);
}

template <class T>
void fill_row(const PadAxis& axis, T value, T* y) {
  for (std::size_t i = 0; i < axis.source.size(); ++i)
    y[static_cast<std::int64_t>(i) * axis.y] = value;
}

template <class T>
Status run(const Call& call) noexcept {
  const PadSchedule& plan = *static_cast<const PadSchedule*>(call.prepared);
  const T* x = call.in(kX).data<const T>();
  T* y = call.out(0).data<T>();
  const T value = call.has(kValue) ? *call.in(kValue).data<const T>() : T{};
  const PadAxis& last = plan.axes.back();
  for (std::int64_t row = 0; row < plan.rows; ++row) {
    std::int64_t rest = row, from = 0, to = 0;
    bool outside = false;
    for (std::size_t i = plan.axes.size() - 1; i-- > 0;) {
      const PadAxis& axis = plan.axes[i];
      const auto size = static_cast<std::int64_t>(axis.source.size());
      const std::int64_t source = axis.source[static_cast<std::size_t>(rest % size)];
      outside |= source == kOutside;
      from += source * axis.x;
      to += rest % size * axis.y;
      rest /= size;
    }
    if (outside)
      fill_row(last, value, y + to);
    else
      pad_row(last, x + from, value, y + to);
  }
  return Status::ok;
}

std::int64_t integer_at(const Operand& operand, const void* data, std::int64_t i) {
  const std::int64_t at = operand.rank == 0 ? 0 : i * operand.strides[0];
  return operand.dtype == DType::i32 ? static_cast<const std::int32_t*>(data)[at]
                                     : static_cast<const std::int64_t*>(data)[at];
}

/// Elements before the first one, per axis of x.
std::vector<std::int64_t> begins_of(const PrepareCtx& ctx, bool has_axes) {
  const int rank = ctx.inputs[kX].rank;
  std::vector<std::int64_t> begins(static_cast<std::size_t>(rank), 0);
  const std::int64_t count = ctx.inputs[kPads].elements() / 2;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t given =
        has_axes ? integer_at(ctx.inputs[kAxes], ctx.constants[kAxes], i) : i;
    begins[static_cast<std::size_t>(given < 0 ? given + rank : given)] =
        integer_at(ctx.inputs[kPads], ctx.constants[kPads], i);
  }
  return begins;
}

PadAxis axis_of(std::int64_t size, std::int64_t result, std::int64_t begin, std::string_view mode) {
  PadAxis axis;
  for (std::int64_t i = 0; i < result; ++i) axis.source.push_back(source_of(i - begin, size, mode));
  axis.begin = std::clamp<std::int64_t>(begin, 0, result);
  axis.end = std::clamp<std::int64_t>(begin + size, axis.begin, result);
  return axis;
}

Prepared prepare(const PrepareCtx& ctx) {
  const Operand &x = ctx.inputs[kX], &y = ctx.outputs[0];
  const auto has = [&](std::size_t i) { return i < ctx.inputs.size() && ctx.inputs[i].present(); };
  if (ctx.constants[kPads] == nullptr || (has(kAxes) && ctx.constants[kAxes] == nullptr))
    return Prepared::no("pads that are not constant");
  if (x.rank == 0 || x.empty()) return Prepared::no("nothing to pad");
  if (y.empty()) return Prepared::no("no elements to compute");
  std::int64_t sources = 0;
  for (int i = 0; i < y.rank; ++i) {
    if (y.dims[i] > kMaxSources - sources) return Prepared::no("very long axes");
    sources += y.dims[i];
  }
  const std::vector<std::int64_t> begins = begins_of(ctx, has(kAxes));
  auto plan = std::make_shared<PadSchedule>();
  for (int i = 0; i < x.rank; ++i) {
    plan->axes.push_back(
        axis_of(x.dims[i], y.dims[i], begins[static_cast<std::size_t>(i)], ctx.attrs[0].text()));
    plan->axes.back().x = x.strides[i];
    plan->axes.back().y = y.strides[i];
    if (i + 1 < x.rank) plan->rows *= y.dims[i];
  }
  const tensor::KernelFn fn = tensor::visit_bytes(
      y.dtype, []<class T>(std::type_identity<T>) -> tensor::KernelFn { return run<T>; });
  return {.state = std::move(plan), .run = fn};
}

}  // namespace

extern constinit const KernelDef pad_kernel{
    .name = "pad",
    .doc = "Rows of one run and a few elements around it, in all modes.",
    .prepare = prepare,
    .run = run<std::uint8_t>,
};

}  // namespace scanloom::kernels
