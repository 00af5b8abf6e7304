// Contraction of 32-bit integers. Most integers that are multiplied come from bytes and fit in 16
// bits; products of pairs (integer_pairs.h) then take a third of the time. Packing finds out
// whether an operand fits: constants once, others in each call. Rows that do not fit are multiplied
// as 32-bit integers. Both ways are exact modulo 2^32, like the reference, so results are the same.
#include "kernels/contract_integers.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/contract_plan.h"
#include "kernels/simd.h"

namespace scanloom::kernels {
namespace {
namespace contract_integers {

using tensor::Call;
using tensor::Status;

// Bytes of rows of A packed at a time, so that they stay in the L2 cache.
constexpr std::int64_t kPackedBytes = 256 * 1024;
// Rows from which pairing a B that changes per call pays.
constexpr std::int64_t kRowsToPair = 4;

// A B that changes per call may always take this many elements for its pairs.
constexpr std::int64_t kSmallPairs = 64 * 1024;
// Upper bound on the shares of the outer axes.
constexpr std::int64_t kMaxStripSlots = 16;

enum class Pairing : std::uint8_t { never, constant, per_call };

struct IntegerPlan {
  ContractSchedule<std::int32_t> wide;            ///< `packed` holds pairs if these are constant
  const ProductFns<std::int32_t>* fns = nullptr;  ///< for pairs
  PairFns pair;
  Pairing pairing = Pairing::never;
  std::int64_t pairs = 0;   ///< in a row of A: half its elements, rounded up
  std::int64_t rows = 0;    ///< of A, packed at a time
  std::int64_t packed = 0;  ///< elements of scratch for B if it is paired per call
  std::int64_t slots = 1;   ///< shares of the outer axes, each with its own scratch
  std::int64_t slot_bytes = 0;
};

bool pack_pairs(const IntegerPlan& plan, const MatrixB<std::int32_t>& b, std::int32_t* to) {
  const std::int64_t panel = plan.fns->panel, pairs = (b.k + 1) / 2;
  const auto at = [&](std::int64_t i, std::int64_t j) {
    return i < b.k ? b.data[i * b.step + j * b.column] : 0;
  };
  bool fits = true;
  for (std::int64_t first = 0; first < b.n; first += panel)
    for (std::int64_t i = 0; i < pairs; ++i, to += panel) {
      const std::int64_t count = std::min(panel, b.n - first);
      if (b.column == 1 && 2 * i + 1 < b.k) {
        const std::int32_t* row = b.data + 2 * i * b.step + first;
        fits &= plan.pair.of_rows(row, row + b.step, count, to);
      } else {
        for (std::int64_t j = 0; j < count; ++j) {
          const std::int32_t one = at(2 * i, first + j), two = at(2 * i + 1, first + j);
          fits &= fits_half(one) && fits_half(two);
          to[j] = pair_of(one, two);
        }
      }
      std::fill(to + count, to + panel, 0);
    }
  return fits;
}

bool pack_row(const IntegerPlan& plan, const std::int32_t* a, std::int32_t* to) {
  const std::int64_t whole = plan.wide.k / 2, step = plan.wide.a_step;
  bool fits = true;
  if (step == 1) {
    fits = plan.pair.of_neighbours(a, whole, to);
  } else {
    for (std::int64_t i = 0; i < whole; ++i) {
      const std::int32_t one = a[2 * i * step], two = a[(2 * i + 1) * step];
      fits &= fits_half(one) && fits_half(two);
      to[i] = pair_of(one, two);
    }
  }
  if (whole == plan.pairs) return fits;
  const std::int32_t last = a[2 * whole * step];
  to[whole] = pair_of(last, 0);
  return fits && fits_half(last);
}

bool pack_rows(const IntegerPlan& plan, const std::int32_t* a, std::int64_t rows,
               std::int32_t* to) {
  bool fits = true;
  for (std::int64_t r = 0; r < rows && fits; ++r)
    fits = pack_row(plan, a + r * plan.wide.a_row, to + r * plan.pairs);
  return fits;
}

void multiply_wide(const IntegerPlan& plan, const Call& call, const Product<std::int32_t>& p) {
  if (must_pack(plan.wide)) return packed_in_blocks(plan.wide, call, p, call.max_threads);
  multiply(*plan.wide.fns, p, call.max_threads);
}

/// Returns B in pairs, or null if it does not fit in 16 bits.
const std::int32_t* paired(const IntegerPlan& plan, const Product<std::int32_t>& p, std::int64_t at,
                           std::int32_t* scratch) {
  if (plan.pairing == Pairing::constant)
    return static_cast<const std::int32_t*>(plan.wide.packed.get()) + at;
  return pack_pairs(plan, p.b, scratch) ? scratch : nullptr;
}

void one_product(const IntegerPlan& plan, const Call& call, const Offsets& at, bool resume) {
  const Product<std::int32_t> whole = product_at(plan.wide, call, at, resume);
  auto* const scratch = reinterpret_cast<std::int32_t*>(*call.scratch);
  const std::int32_t* const b = paired(plan, whole, at.packed, scratch);
  if (b == nullptr) return multiply_wide(plan, call, whole);
  std::int32_t* const rows = scratch + plan.packed;
  for (std::int64_t row = 0; row < whole.m; row += plan.rows) {
    Product<std::int32_t> p = whole;
    p.m = std::min(plan.rows, whole.m - row);
    p.a += row * p.a_row;
    p.c += row * p.c_row;
    if (!pack_rows(plan, p.a, p.m, rows)) {
      multiply_wide(plan, call, p);
      // multiply_wide may have packed B over its pairs.
      if (plan.pairing == Pairing::per_call && must_pack(plan.wide))
        pack_pairs(plan, whole.b, scratch);
      continue;
    }
    p.a = rows;
    p.a_row = plan.pairs;
    p.a_step = 1;
    p.b.k = plan.pairs;
    p.packed = b;
    multiply(*plan.fns, p, call.max_threads);
  }
}

void one_wide_product(const IntegerPlan& plan, const Call& call, const Offsets& at, bool resume) {
  Product<std::int32_t> p = product_at(plan.wide, call, at, resume);
  if (plan.wide.packing != Packing::once) return multiply_wide(plan, call, p);
  p.packed = static_cast<const std::int32_t*>(plan.wide.packed.get()) + at.packed;
  multiply(*plan.wide.fns, p, call.max_threads);
}

void products(const IntegerPlan& plan, const Call& call, std::int64_t first, std::int64_t last) {
  const auto product = plan.pairing == Pairing::never ? one_wide_product : one_product;
  for (std::int64_t i = first; i < last; ++i) {
    const Offsets outer = offsets_at(plan.wide.outer, i);
    for (std::int64_t d = 0; d < plan.wide.depth_count; ++d) {
      Offsets at = offsets_at(plan.wide.depth, d);
      at.a += outer.a;
      at.b += outer.b;
      at.out += outer.out;
      at.packed += outer.packed;
      product(plan, call, at, d > 0);
    }
  }
}

Status run(const Call& call) noexcept {
  const IntegerPlan& plan = *static_cast<const IntegerPlan*>(call.prepared);
  if (plan.wide.empty) return Status::ok;
  const std::int64_t count = plan.wide.outer_count;
  if (call.max_threads > 1 && plan.slots > 1) {
    parallel_for(plan.slots, call.max_threads, [&](std::int64_t slot) {
      std::byte* own = *call.scratch + slot * plan.slot_bytes;
      Call share = call;
      share.scratch = &own;
      share.max_threads = 1;
      products(plan, share, count * slot / plan.slots, count * (slot + 1) / plan.slots);
    });
  } else {
    products(plan, call, 0, count);
  }
  return call.ok_or_stopped();
}

// Forms of packed constants, distinct from the element sizes that contract uses as forms.
constexpr std::int64_t kWideForm = 32, kPairForm = 16;
// Key of whether a constant fits: cached with the packed forms, for no instruction set.
constexpr std::int64_t kNoIsa = -1, kFitsForm = 1;

/// Whether the constant fits in 16 bits. Looked at once for all bindings that read it this way.
bool constant_b_fits(const PrepareCtx& ctx, const IntegerPlan& plan) {
  const void* const constant = ctx.constants[static_cast<std::size_t>(1 - plan.wide.a_input)];
  const ContractSchedule<std::int32_t>& wide = plan.wide;
  std::vector<std::int64_t> layout{kNoIsa, kFitsForm, wide.k, wide.n, wide.b_step, wide.b_column};
  for (const OuterAxis& axis : axes_of_b(wide.depth, wide.outer))
    layout.insert(layout.end(), {axis.size, axis.b});
  const auto look = [&]() -> std::shared_ptr<const void> {
    bool fits = true;
    for_each_matrix_of_b(wide, constant, [&](const MatrixB<std::int32_t>& b, std::int64_t) {
      for (std::int64_t i = 0; i < b.k; ++i)
        for (std::int64_t j = 0; j < b.n; ++j) fits &= fits_half(b.data[i * b.step + j * b.column]);
    });
    return std::make_shared<const bool>(fits);
  };
  const auto found =
      ctx.packs->get({constant, static_cast<int>(KernelId::contract), std::move(layout)}, look);
  return *static_cast<const bool*>(found.get());
}

void pack_constant_b(const PrepareCtx& ctx, IntegerPlan& plan) {
  if (constant_b_fits(ctx, plan)) {
    pack_constant(
        ctx, plan.wide, kPairForm, packed_elements(*plan.fns, plan.pairs, plan.wide.n),
        [&](const MatrixB<std::int32_t>& b, std::int32_t* to) { pack_pairs(plan, b, to); });
    plan.pairing = Pairing::constant;
  } else {
    pack_constant(ctx, plan.wide, kWideForm,
                  packed_elements(*plan.wide.fns, plan.wide.k, plan.wide.n),
                  [&](const MatrixB<std::int32_t>& b, std::int32_t* to) {
                    kernels::pack_constant(*plan.wide.fns, b, to);
                  });
  }
}

/// Whether the pairs of B, in whole panels, take no more memory than B. With few columns they may
/// take much more.
bool pairs_take_little(const IntegerPlan& plan) {
  const std::int64_t packed = packed_elements(*plan.fns, plan.pairs, plan.wide.n);
  return packed <= std::max(kSmallPairs, plan.wide.k * plan.wide.n);
}

/// Returns how many threads may share the outer axes. Threads share large products instead.
std::int64_t slots_of(const ContractSchedule<std::int32_t>& wide) {
  const std::int64_t each = wide.m * wide.n * wide.k * wide.depth_count;
  const bool shares = each < kMinThreadWork && each * wide.outer_count > kMinThreadWork;
  return shares ? std::min(wide.outer_count, kMaxStripSlots) : 1;
}

/// Bytes for what is packed per call: B and rows of A, or B alone.
std::int64_t scratch_bytes(IntegerPlan& plan) {
  const ContractSchedule<std::int32_t>& wide = plan.wide;
  std::int64_t elements = 0;
  if (plan.pairing != Pairing::never) {
    const std::int64_t row = plan.pairs * std::int64_t{sizeof(std::int32_t)};
    plan.rows = std::clamp<std::int64_t>(kPackedBytes / std::max<std::int64_t>(row, 1), 96,
                                         std::max<std::int64_t>(wide.m, 96));
    if (plan.pairing == Pairing::per_call)
      plan.packed = packed_elements(*plan.fns, plan.pairs, wide.n);
    elements = plan.packed + std::min(plan.rows, wide.m) * plan.pairs;
  }
  const bool may_be_wide = plan.pairing != Pairing::never || wide.packing != Packing::once;
  if (may_be_wide && must_pack(wide))
    elements =
        std::max(elements, packed_elements(*wide.fns, std::min(wide.k, kPackedDepth), wide.n));
  // Slots begin on a cache line.
  return (elements + 15) / 16 * 16 * std::int64_t{sizeof(std::int32_t)};
}

Prepared prepare(const PrepareCtx& ctx) {
  const SimdTables& tables = simd_tables(ctx.isa);
  const std::string_view spec = ctx.attrs[0].present() ? ctx.attrs[0].text() : std::string_view();
  const auto contraction =
      tensor::contraction_of(spec, ctx.inputs[0], ctx.inputs[1], ctx.outputs[0]);
  if (!contraction) return Prepared::no("sizes do not fit the specification");
  const bool a_constant = ctx.constants[0] != nullptr, b_constant = ctx.constants[1] != nullptr;
  const bool swap = should_swap(*contraction, tables.i32.panel / 2, a_constant, b_constant);
  auto plan = std::make_shared<IntegerPlan>();
  plan->wide = plan_of<std::int32_t>(*contraction, swap, tables.i32);
  plan->fns = &tables.i32_pairs;
  plan->pair = tables.pairs;
  plan->pairs = (plan->wide.k + 1) / 2;
  const bool constant = (swap ? a_constant : b_constant) && ctx.packs != nullptr;
  if (!plan->wide.empty && constant && worth_packing_once(plan->wide))
    pack_constant_b(ctx, *plan);
  else if (!plan->wide.empty && plan->wide.m >= kRowsToPair && plan->wide.k > 1 &&
           pairs_take_little(*plan))
    plan->pairing = Pairing::per_call;
  plan->slot_bytes = scratch_bytes(*plan);
  if (!plan->wide.empty) plan->slots = slots_of(plan->wide);
  const std::int64_t scratch = plan->slots * plan->slot_bytes;
  return {.state = std::move(plan), .scratch_bytes = scratch, .run = run};
}

}  // namespace contract_integers
}  // namespace

Prepared prepare_integer_product(const PrepareCtx& ctx) { return contract_integers::prepare(ctx); }

}  // namespace scanloom::kernels
