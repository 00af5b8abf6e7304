// unique: groups equal elements, or slices along an axis, by sorting their ranks
// (opmath/unique_groups.h).
#include "opmath/unique_groups.h"

#include <memory>

#include "kernels/copy_plan.h"
#include "kernels/kernel.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::Shape;
using tensor::Status;

enum UniqueResult : int { kValues, kIndices, kInverse, kCounts };
enum UniqueAttribute : std::size_t { kUniqueAxis, kUniqueSorted };

struct UniqueSchedule {
  std::int64_t count = 0, step = 1;
  Shape dims, strides;  ///< of a slice
  bool sorted = true;
  CopyPlan block;                           ///< copies a slice
  std::int64_t from_step = 0, to_step = 0;  ///< in bytes, between slices
};

/// The results other than the values, each with one axis.
struct UniqueLists {
  explicit UniqueLists(const Call& call)
      : indices(call.out(kIndices)), inverse(call.out(kInverse)), counts(call.out(kCounts)) {}
  struct List {
    std::int64_t *data, step;
    explicit List(const Operand& operand)
        : data(operand.data<std::int64_t>()), step(operand.strides[0]) {}
    std::int64_t& operator[](std::int64_t i) const { return data[i * step]; }
  };
  List indices, inverse, counts;
};

/// Numbers the groups in order of their first slices. inverse[i] is the first slice equal to i.
void number_groups(const UniqueLists& lists, std::int64_t count) {
  std::int64_t groups = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool is_first = lists.inverse[i] == i;
    const std::int64_t group = is_first ? groups++ : lists.inverse[lists.inverse[i]];
    if (is_first) {
      lists.indices[group] = i;
      lists.counts[group] = 0;
    }
    lists.inverse[i] = group;
    ++lists.counts[group];
  }
}

template <class T>
void write_groups(const UniqueSchedule& plan, const SliceList<T>& slices,
                  const RankedSliceOf<T>* order, const UniqueLists& lists) {
  std::int64_t group = -1, first = 0;
  for (std::int64_t i = 0; i < plan.count; ++i) {
    const auto number = static_cast<std::int64_t>(order[i].number);
    if (i == 0 || !repeats(slices, order, i)) {
      ++group;
      first = number;
      if (plan.sorted) {
        lists.indices[group] = number;
        lists.counts[group] = 0;
      }
    }
    lists.inverse[number] = plan.sorted ? group : first;
    if (plan.sorted) ++lists.counts[group];
  }
  if (!plan.sorted) number_groups(lists, plan.count);
}

template <class T>
Status run_unique(const Call& call) noexcept {
  const auto& plan = *static_cast<const UniqueSchedule*>(call.prepared);
  const Operand &x = call.in(0), &y = call.out(kValues);
  const SliceList<T> slices{x.data<const T>(), plan.count, plan.step, plan.dims, plan.strides};
  auto* const list = reinterpret_cast<RankedSliceOf<T>*>(*call.scratch);
  const RankedSliceOf<T>* const order = sort_slices(slices, list, list + plan.count);
  const UniqueLists lists(call);
  write_groups(plan, slices, order, lists);
  const std::int64_t groups = call.out(kCounts).dims[0];
  const auto* const from = x.data<const std::byte>();
  auto* const to = y.data<std::byte>();
  for (std::int64_t i = 0; i < groups; ++i) {
    const std::byte* const at = from + lists.indices[i] * plan.from_step;
    if (plan.dims.rank() == 0)
      *reinterpret_cast<T*>(to + i * plan.to_step) = *reinterpret_cast<const T*>(at);
    else
      run_copy(plan.block, at, to + i * plan.to_step);
  }
  return Status::ok;
}

Prepared prepare_unique(const PrepareCtx& ctx) {
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[kValues];
  if (x.empty() || y.empty()) return Prepared::no("no elements to compute");
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(x.dtype));
  UniqueSchedule plan;
  plan.sorted = ctx.attrs[kUniqueSorted].integer() != 0;
  if (ctx.attrs[kUniqueAxis].present()) {
    const std::int64_t given = ctx.attrs[kUniqueAxis].integer();
    const auto axis = static_cast<int>(given < 0 ? given + x.rank : given);
    plan.dims = x.shape();
    plan.strides = Shape({x.strides, static_cast<std::size_t>(x.rank)});
    Shape to({y.strides, static_cast<std::size_t>(y.rank)});
    plan.count = plan.dims[axis];
    plan.step = plan.strides[axis];
    plan.to_step = to[axis] * bytes;
    plan.dims.erase(axis);
    plan.strides.erase(axis);
    to.erase(axis);
    plan.block = plan_copy(plan.dims.dims(), plan.strides.data(), to.data(),
                           static_cast<int>(bytes), ctx.isa);
  } else {
    if (!x.contiguous) return Prepared::no("elements with gaps");
    plan.count = x.elements();
    plan.to_step = y.strides[0] * bytes;
  }
  plan.from_step = plan.step * bytes;
  return tensor::visit_dtype(x.dtype, [&]<class T>(std::type_identity<T>) -> Prepared {
    if constexpr (Ranked<T>) {
      if (plan.count > kMaxRankedSlices<T>) return Prepared::no("very many slices");
      const auto entry = static_cast<std::int64_t>(sizeof(RankedSliceOf<T>));
      return {.state = std::make_shared<const UniqueSchedule>(plan),
              .scratch_bytes = 2 * plan.count * entry,
              .run = run_unique<T>};
    } else {
      return Prepared::no("elements without ranks");
    }
  });
}

}  // namespace

extern constinit const KernelDef unique_kernel{
    .name = "unique",
    .doc = "Equal elements, or slices, are found by sorting integers that order as they do.",
    .prepare = prepare_unique,
    .run = run_unique<float>,
};

}  // namespace scanloom::kernels
