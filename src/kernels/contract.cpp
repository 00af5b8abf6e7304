// contract: einsum of two operands as matrix products (contract_plan.h), for f32, f64, 32-bit
// integers (contract_integers.h) and bytes (contract_bytes.h). B is packed once if constant, per
// call if its columns are not adjacent, and otherwise read in place.
#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "base/denormals.h"
#include "base/thread_pool.h"
#include "kernels/contract_bytes.h"
#include "kernels/contract_integers.h"
#include "kernels/contract_plan.h"
#include "kernels/kernel.h"
#include "kernels/pipelined_projection.h"
#include "kernels/scaled_product.h"
#include "kernels/simd.h"

namespace scanloom::kernels {
namespace {
namespace contract {

using tensor::Call;
using tensor::Status;

template <class T>
void one_product(const ContractSchedule<T>& plan, const Call& call, const Offsets& at, bool resume,
                 int max_threads) {
  Product<T> p = product_at(plan, call, at, resume);
  if (plan.packing == Packing::per_call) return packed_in_blocks(plan, call, p, max_threads);
  if (plan.packing == Packing::once) {
    p.packed = static_cast<const T*>(plan.packed.get()) + at.packed;
    p.packed_once = true;
  }
  multiply(*plan.fns, p, max_threads);
}

/// The same for one of several small products whose factors may be denormal.
template <class T>
void one_searched_product(const ContractSchedule<T>& plan, const Call& call, const Offsets& at,
                          bool resume, DenormalSearch& search) {
  if (search.is_on()) {
    if (multiply_scaled(*plan.fns, product_at(plan, call, at, resume))) return;
    search.note_missed();
    return one_product(plan, call, at, resume, 1);
  }
  forget_denormals();
  one_product(plan, call, at, resume, 1);
  if (met_denormals()) search.start();
}

/// `search`: null if the factors are not searched for denormals.
template <class T>
void with_depth(const ContractSchedule<T>& plan, const Call& call, std::int64_t index,
                int max_threads, DenormalSearch* search) {
  const Offsets outer = offsets_at(plan.outer, index);
  for (std::int64_t d = 0; d < plan.depth_count; ++d) {
    Offsets at = offsets_at(plan.depth, d);
    at.a += outer.a;
    at.b += outer.b;
    at.out += outer.out;
    at.packed += outer.packed;
    if (search != nullptr)
      one_searched_product(plan, call, at, d > 0, *search);
    else
      one_product(plan, call, at, d > 0, max_threads);
  }
}

template <class T>
Status run(const Call& call) noexcept {
  const ContractSchedule<T>& plan = *static_cast<const ContractSchedule<T>*>(call.prepared);
  if (plan.empty) return Status::ok;
  const std::int64_t each = plan.m * plan.n * plan.k * plan.depth_count;
  DenormalSearch search_of_all;
  const bool searches = plan.outer_count > 1 && plan.packing == Packing::none &&
                        each < kMinThreadWork && may_scale<T>(plan.m, plan.n, plan.k);
  DenormalSearch* const search = searches ? &search_of_all : nullptr;
  const bool over_outer = call.max_threads > 1 && plan.outer_count > 1 && each < kMinThreadWork &&
                          plan.packing != Packing::per_call &&
                          each * plan.outer_count > kMinThreadWork;
  if (over_outer) {
    const std::int64_t share =
        std::max<std::int64_t>(1, kMinThreadWork / 4 / std::max<std::int64_t>(each, 1));
    const std::int64_t chunks = (plan.outer_count + share - 1) / share;
    parallel_for(chunks, call.max_threads, [&](std::int64_t chunk) {
      const std::int64_t end = std::min((chunk + 1) * share, plan.outer_count);
      for (std::int64_t i = chunk * share; i < end; ++i) with_depth(plan, call, i, 1, search);
    });
    return call.ok_or_stopped();
  }
  for (std::int64_t i = 0; i < plan.outer_count; ++i)
    with_depth(plan, call, i, call.max_threads, search);
  return call.ok_or_stopped();
}

// One product without axes around it: the common case, and the one where overhead shows.
template <class T>
Status run_single(const Call& call) noexcept {
  one_product(*static_cast<const ContractSchedule<T>*>(call.prepared), call, {}, false,
              call.max_threads);
  return call.ok_or_stopped();
}

// A product of one strip, which needs no loops around it either.
template <class T>
struct StripPlan {
  void (*strip)(const Strip<T>&) = nullptr;
  Strip<T> shape;  ///< everything except the addresses that change
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

/// Whether multiply() would compute it on one thread as one strip.
template <class T>
bool is_strip(const ContractSchedule<T>& plan) {
  return plan.m <= plan.fns->rows && plan.packing != Packing::per_call &&
         plan.m * plan.n * plan.k <= kMinThreadWorkOfRow;
}

template <class T>
StripPlan<T> strip_of(const ContractSchedule<T>& plan) {
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

template <class T>
void pack_constant(const PrepareCtx& ctx, ContractSchedule<T>& plan) {
  pack_constant(
      ctx, plan, static_cast<std::int64_t>(sizeof(T)), packed_elements(*plan.fns, plan.k, plan.n),
      [&](const MatrixB<T>& matrix, T* to) { kernels::pack_constant(*plan.fns, matrix, to); });
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
  const ProductFns<T>& fns = product_fns<T>(ctx.isa);
  const std::string_view spec = ctx.attrs[0].present() ? ctx.attrs[0].text() : std::string_view();
  const auto contraction =
      tensor::contraction_of(spec, ctx.inputs[0], ctx.inputs[1], ctx.outputs[0]);
  if (!contraction) return Prepared::no("sizes do not fit the specification");
  const bool a_constant = ctx.constants[0] != nullptr, b_constant = ctx.constants[1] != nullptr;
  const bool swap = should_swap(*contraction, fns.panel / 2, a_constant, b_constant);
  auto plan = std::make_shared<ContractSchedule<T>>(plan_of<T>(*contraction, swap, fns));
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
  if (plan->packing == Packing::once) prepared.packed = 1U << (1 - plan->a_input);
  if (single && is_strip(*plan)) {
    prepared.state = std::make_shared<const StripPlan<T>>(strip_of(*plan));
    prepared.run = run_strip<T>;
    return prepared;
  }
  prepared.state = std::move(plan);
  prepared.run = single ? run_single<T> : run<T>;
  return prepared;
}

bool packs_unaligned(const PrepareCtx& ctx) {
  const DType dtype = ctx.outputs[0].dtype;
  return !ctx.attrs.empty() && (dtype == DType::f32 || dtype == DType::f64);
}

Prepared prepare(const PrepareCtx& ctx) {
  const DType dtype = ctx.outputs[0].dtype;
  // Operands of integer_matmul, which has no specification.
  if (ctx.attrs.empty()) return prepare_byte_product(ctx);
  if (ctx.inputs[0].dtype != dtype || ctx.inputs[1].dtype != dtype)
    return Prepared::no("operands of different element types");
  if (dtype == DType::f32) return prepare_typed<float>(ctx);
  if (dtype == DType::f64) return prepare_typed<double>(ctx);
  if (dtype == DType::i32 || dtype == DType::u32) return prepare_integer_product(ctx);
  return Prepared::no("only f32, f64, i32 and u32");
}

}  // namespace contract
}  // namespace

std::optional<PackedProduct> packed_product(const PrepareCtx& ctx) {
  const bool floats = ctx.inputs[0].dtype == DType::f32 && ctx.inputs[1].dtype == DType::f32 &&
                      ctx.outputs[0].dtype == DType::f32;
  if (!floats || ctx.packs == nullptr) return std::nullopt;
  const ProductFns<float>& fns = contract::product_fns<float>(ctx.isa);
  const std::string_view spec = ctx.attrs[0].present() ? ctx.attrs[0].text() : std::string_view();
  const auto contraction =
      tensor::contraction_of(spec, ctx.inputs[0], ctx.inputs[1], ctx.outputs[0]);
  if (!contraction) return std::nullopt;
  const bool a_constant = ctx.constants[0] != nullptr, b_constant = ctx.constants[1] != nullptr;
  const bool swap = should_swap(*contraction, fns.panel / 2, a_constant, b_constant);
  auto plan = plan_of<float>(*contraction, swap, fns);
  const bool plain = !plan.empty && plan.outer.empty() && plan.depth.empty();
  if (!plain || !(swap ? a_constant : b_constant) || !worth_packing_once(plan)) return std::nullopt;
  contract::pack_constant(ctx, plan);
  return PackedProduct{plan.a_input, plan.m,     plan.n,        plan.k,     plan.a_row,
                       plan.a_step,  plan.c_row, plan.c_column, plan.packed};
}

extern constinit const KernelDef contract_kernel{
    .name = "contract",
    .doc =
        "Products of matrices in register tiles, summed in order; constant operands packed once.",
    .prepare = contract::prepare,
    .run = contract::run<float>,
    .packs_unaligned = contract::packs_unaligned,
};

}  // namespace scanloom::kernels
