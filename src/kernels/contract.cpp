// contract: einsum of two f32 or f64 operands as products of matrices. One axis of the result is
// laid along vectors (of either operand), one along rows of tiles, the innermost summed axis is the
// depth; all other axes are walked around that. B is packed once when constant, per call when it
// lies across, else read as it lies.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/contract_beside.h"
#include "kernels/kernel.h"
#include "kernels/simd.h"
#include "tensor/contraction.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Contraction;
using tensor::ContractionAxes;
using tensor::ContractionAxis;
using tensor::Status;

constexpr std::int64_t kThreadWork = 200'000;
// Of products that are one strip, which one thread makes: below what multiply() cuts up.
constexpr std::int64_t kStripWork = 100'000;
// Rows from which a large B that changes per call is worth packing first.
constexpr std::int64_t kRowsToPack = 32;
constexpr std::int64_t kLargeBytes = 128 * 1024;
// Rows of B that are packed at a time.
constexpr std::int64_t kPackedDepth = 512;

// An axis walked around the products; `packed`: its stride between packed copies of B.
struct OuterAxis {
  std::int64_t size = 1, a = 0, b = 0, out = 0, packed = 0;
};

enum class Packing : std::uint8_t { none, once, per_call };

template <class T>
struct Schedule {
  const ProductFns<T>* fns = nullptr;
  int a_input = 0;  ///< the call's input whose elements are spread over vectors; the other is B
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t a_row = 0, a_step = 0, b_step = 0, b_column = 1, c_row = 0, c_column = 1;
  std::vector<OuterAxis> outer, depth;  ///< depth: summed axes around the innermost one
  std::int64_t outer_count = 1, depth_count = 1;
  Packing packing = Packing::none;
  std::shared_ptr<const void> packed;
  bool empty = false;
};

struct Offsets {
  std::int64_t a = 0, b = 0, out = 0, packed = 0;
};

Offsets offsets_at(const std::vector<OuterAxis>& axes, std::int64_t index) {
  Offsets at;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::int64_t along = index % axes[i].size;
    index /= axes[i].size;
    at.a += along * axes[i].a;
    at.b += along * axes[i].b;
    at.out += along * axes[i].out;
    at.packed += along * axes[i].packed;
  }
  return at;
}

// B is packed and multiplied by so many of its rows at a time: a block is still in the cache then.
template <class T>
void packed_in_blocks(const Schedule<T>& plan, const Call& call, Product<T> p, int max_threads) {
  T* const to = reinterpret_cast<T*>(*call.scratch);
  p.packed = to;
  std::int64_t done = 0;
  do {
    p.b.k = std::min(plan.k - done, kPackedDepth);
    pack(*plan.fns, p.b, to, max_threads);
    multiply(*plan.fns, p, max_threads);
    done += p.b.k;
    p.a += p.b.k * p.a_step;
    p.b.data += p.b.k * p.b.step;
    p.resume = true;
  } while (done < plan.k);
}

template <class T>
void one_product(const Schedule<T>& plan, const Call& call, const Offsets& at, bool resume,
                 int max_threads) {
  Product<T> p;
  p.m = plan.m;
  p.a = call.in(plan.a_input).template data<const T>() + at.a;
  p.a_row = plan.a_row;
  p.a_step = plan.a_step;
  p.b = {call.in(1 - plan.a_input).template data<const T>() + at.b, plan.k, plan.n, plan.b_step,
         plan.b_column};
  p.c = call.out(0).template data<T>() + at.out;
  p.c_row = plan.c_row;
  p.c_column = plan.c_column;
  p.resume = resume;
  p.stop = call.stop;
  if (plan.packing == Packing::per_call) return packed_in_blocks(plan, call, p, max_threads);
  if (plan.packing == Packing::once)
    p.packed = static_cast<const T*>(plan.packed.get()) + at.packed;
  multiply(*plan.fns, p, max_threads);
}

template <class T>
void with_depth(const Schedule<T>& plan, const Call& call, std::int64_t index, int max_threads) {
  const Offsets outer = offsets_at(plan.outer, index);
  for (std::int64_t d = 0; d < plan.depth_count; ++d) {
    Offsets at = offsets_at(plan.depth, d);
    at.a += outer.a;
    at.b += outer.b;
    at.out += outer.out;
    at.packed += outer.packed;
    one_product(plan, call, at, d > 0, max_threads);
  }
}

template <class T>
Status run(const Call& call) noexcept {
  const Schedule<T>& plan = *static_cast<const Schedule<T>*>(call.prepared);
  if (plan.empty) return Status::ok;
  const std::int64_t each = plan.m * plan.n * plan.k * plan.depth_count;
  const bool over_outer = call.max_threads > 1 && plan.outer_count > 1 && each < kThreadWork &&
                          plan.packing != Packing::per_call &&
                          each * plan.outer_count > kThreadWork;
  if (over_outer) {
    const std::int64_t share =
        std::max<std::int64_t>(1, kThreadWork / 4 / std::max<std::int64_t>(each, 1));
    const std::int64_t chunks = (plan.outer_count + share - 1) / share;
    parallel_for(chunks, call.max_threads, [&](std::int64_t chunk) {
      const std::int64_t end = std::min((chunk + 1) * share, plan.outer_count);
      for (std::int64_t i = chunk * share; i < end; ++i) with_depth(plan, call, i, 1);
    });
    return call.ok_or_stopped();
  }
  for (std::int64_t i = 0; i < plan.outer_count; ++i) with_depth(plan, call, i, call.max_threads);
  return call.ok_or_stopped();
}

// One product without axes around it: the common case, and the one where overhead shows.
template <class T>
Status run_single(const Call& call) noexcept {
  one_product(*static_cast<const Schedule<T>*>(call.prepared), call, {}, false, call.max_threads);
  return call.ok_or_stopped();
}

// A product of one strip, which needs no loops around it either.
template <class T>
struct StripPlan {
  void (*strip)(const Strip<T>&) = nullptr;
  Strip<T> shape;  ///< all but the addresses that change
  int a_input = 0;
  std::int64_t rows = 1;
  std::shared_ptr<const void> packed;
};

template <class T>
Status run_strip(const Call& call) noexcept {
  const StripPlan<T>& plan = *static_cast<const StripPlan<T>*>(call.prepared);
  Strip<T> s = plan.shape;
  s.a = call.in(plan.a_input).template data<const T>();
  if (!s.padded) s.b = call.in(1 - plan.a_input).template data<const T>();
  s.c = call.out(0).template data<T>();
  if (plan.rows == 1)
    s.backwards = goes_backwards(s.b, s.columns * s.k * static_cast<std::int64_t>(sizeof(T)));
  plan.strip(s);
  return Status::ok;
}

template <class T>
bool is_strip(const Schedule<T>& plan) {
  return plan.m <= plan.fns->rows && plan.packing != Packing::per_call &&
         plan.m * plan.n * plan.k <= kStripWork;
}

template <class T>
StripPlan<T> strip_of(const Schedule<T>& plan) {
  StripPlan<T> result{plan.fns->strip[plan.m - 1], {}, plan.a_input, plan.m, plan.packed};
  Strip<T>& s = result.shape;
  s.columns = plan.n;
  s.k = plan.k;
  s.a_row = plan.a_row;
  s.a_step = plan.a_step;
  s.padded = plan.packing == Packing::once;
  s.b = static_cast<const T*>(plan.packed.get());
  s.b_step = s.padded ? plan.fns->panel : plan.b_step;
  s.b_panel = s.padded ? plan.fns->panel * plan.k : plan.fns->panel;
  s.c_row = plan.c_row;
  s.c_column = plan.c_column;
  return result;
}

ContractionAxis swapped(const ContractionAxis& axis) {
  return {axis.size, axis.b, axis.a, axis.out};
}

std::vector<ContractionAxis> axes_of(const ContractionAxes& axes, bool swap) {
  std::vector<ContractionAxis> list;
  for (const ContractionAxis& axis : axes.view()) list.push_back(swap ? swapped(axis) : axis);
  return list;
}

// Takes the axis that is best walked by vectors, resp. by rows: neighbours in memory, else the
// last.
ContractionAxis take_axis(std::vector<ContractionAxis>& axes, bool along_vectors) {
  if (axes.empty()) return {1, 0, 0, 0};
  auto best = axes.end() - 1;
  if (along_vectors)
    for (auto axis = axes.begin(); axis != axes.end(); ++axis)
      if (axis->b == 1 && axis->out == 1) best = axis;
  const ContractionAxis taken = *best;
  axes.erase(best);
  return taken;
}

// Whether a's axes should lie along the vectors instead of b's.
bool should_swap(const Contraction& c, std::int64_t lanes, bool a_constant, bool b_constant) {
  std::vector<ContractionAxis> rows = axes_of(c.m, false), columns = axes_of(c.n, false);
  std::vector<ContractionAxis> across = axes_of(c.m, true);
  const ContractionAxis m = take_axis(across, true), n = take_axis(columns, true);
  if (n.size < lanes && m.size > n.size) return true;
  if (n.size < 2 * lanes && a_constant && !b_constant && m.size >= 2 * lanes) return true;
  // B lies across, A the way vectors want it.
  return n.b != 1 && !b_constant && m.b == 1 && m.size >= lanes;
}

void append_outer(std::vector<OuterAxis>& to, const std::vector<ContractionAxis>& axes) {
  for (const ContractionAxis& axis : axes) to.push_back({axis.size, axis.a, axis.b, axis.out, 0});
}

template <class T>
Schedule<T> plan_of(const Contraction& c, bool swap, const ProductFns<T>& fns) {
  Schedule<T> plan;
  plan.fns = &fns;
  plan.a_input = swap ? 1 : 0;
  std::vector<ContractionAxis> rows = axes_of(swap ? c.n : c.m, swap);
  std::vector<ContractionAxis> columns = axes_of(swap ? c.m : c.n, swap);
  std::vector<ContractionAxis> depth = axes_of(c.k, swap);
  const ContractionAxis n = take_axis(columns, true), m = take_axis(rows, false);
  ContractionAxis k{1, 0, 0, 0};
  if (!depth.empty()) k = depth.back(), depth.pop_back();
  plan.m = m.size, plan.n = n.size, plan.k = k.size;
  plan.a_row = m.a, plan.a_step = k.a;
  plan.b_step = k.b, plan.b_column = n.size == 1 ? 1 : n.b;
  plan.c_row = m.out, plan.c_column = n.size == 1 ? 1 : n.out;
  append_outer(plan.outer, axes_of(c.batch, swap));
  append_outer(plan.outer, rows);
  append_outer(plan.outer, columns);
  append_outer(plan.depth, depth);
  for (const OuterAxis& axis : plan.outer) plan.outer_count *= axis.size;
  for (const OuterAxis& axis : plan.depth) plan.depth_count *= axis.size;
  if (plan.depth_count == 0) {  // sums of nothing, which the innermost axis writes
    plan.k = 0;
    plan.depth.clear();
    plan.depth_count = 1;
  }
  plan.empty = plan.m * plan.n * plan.outer_count == 0;
  return plan;
}

// Packed copies of B, one for each of its matrices that the outer axes lead to.
template <class T>
std::int64_t number_packed(Schedule<T>& plan) {
  const std::int64_t each = packed_elements(*plan.fns, plan.k, plan.n);
  std::int64_t count = 1;
  for (std::vector<OuterAxis>* axes : {&plan.depth, &plan.outer})
    for (std::size_t i = axes->size(); i-- > 0;)
      if (OuterAxis& axis = (*axes)[i]; axis.b != 0) {
        axis.packed = count * each;
        count *= axis.size;
      }
  return count * each;
}

// The axes that lead to other matrices B; the rest share theirs.
std::vector<OuterAxis> axes_of_b(const std::vector<OuterAxis>& depth,
                                 const std::vector<OuterAxis>& outer) {
  std::vector<OuterAxis> axes;
  for (const std::vector<OuterAxis>* list : {&depth, &outer})
    std::ranges::copy_if(*list, std::back_inserter(axes),
                         [](const OuterAxis& axis) { return axis.b != 0; });
  return axes;
}

template <class T>
void pack_constant(const PrepareCtx& ctx, Schedule<T>& plan) {
  const void* constant = ctx.constants[static_cast<std::size_t>(1 - plan.a_input)];
  const std::int64_t total = number_packed(plan);
  const std::vector<OuterAxis> axes = axes_of_b(plan.depth, plan.outer);
  std::vector<std::int64_t> layout{static_cast<std::int64_t>(ctx.isa),
                                   static_cast<std::int64_t>(sizeof(T)),
                                   plan.k,
                                   plan.n,
                                   plan.b_step,
                                   plan.b_column};
  for (const OuterAxis& axis : axes) layout.insert(layout.end(), {axis.size, axis.b, axis.packed});
  const auto make = [&]() -> std::shared_ptr<const void> {
    std::shared_ptr<T> memory = packed_memory<T>(total);
    std::int64_t matrices = 1;
    for (const OuterAxis& axis : axes) matrices *= axis.size;
    for (std::int64_t i = 0; i < matrices; ++i) {
      const Offsets at = offsets_at(axes, i);
      const MatrixB<T> matrix{static_cast<const T*>(constant) + at.b, plan.k, plan.n, plan.b_step,
                              plan.b_column};
      pack(*plan.fns, matrix, memory.get() + at.packed, 1);
    }
    return memory;
  };
  plan.packed =
      ctx.packs->get({constant, static_cast<int>(KernelId::contract), std::move(layout)}, make);
  plan.packing = Packing::once;
}

// Many narrow matrices would be mostly padding; a few small ones are worth it all the same.
template <class T>
bool worth_packing_once(const Schedule<T>& plan) {
  std::int64_t matrices = 1;
  for (const OuterAxis& axis : axes_of_b(plan.depth, plan.outer)) matrices *= axis.size;
  const std::int64_t padded = packed_elements(*plan.fns, plan.k, plan.n);
  const bool small = padded <= 4096 && matrices <= 16;
  return plan.n > 1 && (small || padded <= 2 * plan.k * plan.n);
}

template <class T>
bool must_pack(const Schedule<T>& plan) {
  if (plan.b_column != 1) return true;
  const bool large = plan.k * plan.n * static_cast<std::int64_t>(sizeof(T)) > kLargeBytes;
  return large && plan.m >= kRowsToPack;
}

template <class T>
const ProductFns<T>& product_fns(Isa isa) {
  if constexpr (sizeof(T) == sizeof(float))
    return simd_tables(isa).f32;
  else
    return simd_tables(isa).f64;
}

template <class T>
Prepared prepare_typed(const PrepareCtx& ctx) {
  if (!products_agree(ctx.isa)) return Prepared::no("the instruction set is masked");
  const ProductFns<T>& fns = product_fns<T>(ctx.isa);
  const std::string_view spec = ctx.attrs[0].present() ? ctx.attrs[0].text() : std::string_view();
  const auto contraction =
      tensor::contraction_of(spec, ctx.inputs[0], ctx.inputs[1], ctx.outputs[0]);
  if (!contraction) return Prepared::no("sizes do not fit the specification");
  const bool a_constant = ctx.constants[0] != nullptr, b_constant = ctx.constants[1] != nullptr;
  const bool swap = should_swap(*contraction, fns.panel / 2, a_constant, b_constant);
  auto plan = std::make_shared<Schedule<T>>(plan_of<T>(*contraction, swap, fns));
  Prepared prepared;
  const bool constant = (swap ? a_constant : b_constant) && ctx.packs != nullptr;
  if (!plan->empty && constant && worth_packing_once(*plan)) {
    pack_constant(ctx, *plan);
  } else if (!plan->empty && must_pack(*plan)) {
    plan->packing = Packing::per_call;
    prepared.scratch_bytes = packed_elements(fns, std::min(plan->k, kPackedDepth), plan->n) *
                             static_cast<std::int64_t>(sizeof(T));
  }
  const bool single = !plan->empty && plan->outer.empty() && plan->depth.empty();
  if (single && is_strip(*plan))
    return {.state = std::make_shared<const StripPlan<T>>(strip_of(*plan)), .run = run_strip<T>};
  prepared.state = std::move(plan);
  prepared.run = single ? run_single<T> : run<T>;
  return prepared;
}

Prepared prepare(const PrepareCtx& ctx) {
  const DType dtype = ctx.outputs[0].dtype;
  if (ctx.inputs[0].dtype != dtype || ctx.inputs[1].dtype != dtype)
    return Prepared::no("operands of different element types");
  if (dtype == DType::f32) return prepare_typed<float>(ctx);
  if (dtype == DType::f64) return prepare_typed<double>(ctx);
  return Prepared::no("only f32 and f64");
}

}  // namespace

std::optional<PackedProduct> packed_product(const PrepareCtx& ctx) {
  const bool floats = ctx.inputs[0].dtype == DType::f32 && ctx.inputs[1].dtype == DType::f32 &&
                      ctx.outputs[0].dtype == DType::f32;
  if (!floats || !products_agree(ctx.isa) || ctx.packs == nullptr) return std::nullopt;
  const ProductFns<float>& fns = product_fns<float>(ctx.isa);
  const std::string_view spec = ctx.attrs[0].present() ? ctx.attrs[0].text() : std::string_view();
  const auto contraction =
      tensor::contraction_of(spec, ctx.inputs[0], ctx.inputs[1], ctx.outputs[0]);
  if (!contraction) return std::nullopt;
  const bool a_constant = ctx.constants[0] != nullptr, b_constant = ctx.constants[1] != nullptr;
  const bool swap = should_swap(*contraction, fns.panel / 2, a_constant, b_constant);
  auto plan = plan_of<float>(*contraction, swap, fns);
  const bool plain = !plan.empty && plan.outer.empty() && plan.depth.empty();
  if (!plain || !(swap ? a_constant : b_constant) || !worth_packing_once(plan)) return std::nullopt;
  pack_constant(ctx, plan);
  return PackedProduct{plan.a_input, plan.m,     plan.n,        plan.k,     plan.a_row,
                       plan.a_step,  plan.c_row, plan.c_column, plan.packed};
}

extern constinit const KernelDef contract_kernel{
    .name = "contract",
    .doc =
        "Products of matrices in register tiles, summed in order; constant operands packed once.",
    .prepare = prepare,
    .run = run<float>,
};

}  // namespace scanloom::kernels
