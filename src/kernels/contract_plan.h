// How a contraction becomes matrix products, shared by contract's floating-point and integer
// kernels. One axis of the result lies along vectors (from either operand), one along the rows of
// tiles, and the innermost summed axis is the depth. Loops around that walk all other axes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/mapped_file.h"
#include "kernels/kernel.h"
#include "kernels/product.h"
#include "opmath/contraction.h"

namespace scanloom::kernels {

using tensor::Contraction;
using tensor::ContractionAxes;
using tensor::ContractionAxis;

// A large B that changes per call is packed first from this many rows on.
inline constexpr std::int64_t kRowsToPack = 32;
inline constexpr std::int64_t kLargeBytes = 128 * 1024;
// Rows of B packed at a time.
inline constexpr std::int64_t kPackedDepth = 512;

// An axis walked around the products. `packed` is its stride between packed copies of B.
struct OuterAxis {
  std::int64_t size = 1, a = 0, b = 0, out = 0, packed = 0;
};

enum class Packing : std::uint8_t { none, once, per_call };

template <class T>
struct ContractSchedule {
  const ProductFns<T>* fns = nullptr;
  int a_input = 0;  ///< the call's input whose elements are broadcast over vectors; the other is B
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t a_row = 0, a_step = 0, b_step = 0, b_column = 1, c_row = 0, c_column = 1;
  std::vector<OuterAxis> outer, depth;  ///< depth: the summed axes around the innermost one
  std::int64_t outer_count = 1, depth_count = 1;
  Packing packing = Packing::none;
  std::shared_ptr<const void> packed;
  bool empty = false;
};

struct Offsets {
  std::int64_t a = 0, b = 0, out = 0, packed = 0;
};

/// Returns where the matrices at `index` begin; `index` counts the axes in row-major order.
Offsets offsets_at(const std::vector<OuterAxis>& axes, std::int64_t index);

/// Returns the axes of one class, with the roles of a and b exchanged if `swap`.
std::vector<ContractionAxis> axes_of(const ContractionAxes& axes, bool swap);

/// Removes and returns the axis best walked by vectors (or by rows): one with adjacent elements,
/// otherwise the last.
ContractionAxis take_axis(std::vector<ContractionAxis>& axes, bool along_vectors);

/// Whether a's axes should lie along the vectors instead of b's.
bool should_swap(const Contraction& c, std::int64_t lanes, bool a_constant, bool b_constant);

void append_outer(std::vector<OuterAxis>& to, const std::vector<ContractionAxis>& axes);

/// The axes along which the matrix B changes; the products of the others share it.
std::vector<OuterAxis> axes_of_b(const std::vector<OuterAxis>& depth,
                                 const std::vector<OuterAxis>& outer);

/// The product at these offsets, with operands read in place.
template <class T>
Product<T> product_at(const ContractSchedule<T>& plan, const tensor::Call& call, const Offsets& at,
                      bool resume) {
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
  return p;
}

// Packs B and multiplies by this many of its rows at a time, so that the block is still cached.
template <class T>
void packed_in_blocks(const ContractSchedule<T>& plan, const tensor::Call& call, Product<T> p,
                      int max_threads) {
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
    if (done == plan.k) return;
  } while (p.stop == nullptr || !p.stop->stop_requested());
}

template <class T>
ContractSchedule<T> plan_of(const Contraction& c, bool swap, const ProductFns<T>& fns) {
  ContractSchedule<T> plan;
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
  if (plan.depth_count == 0) {  // an empty sum, which the innermost axis writes
    plan.k = 0;
    plan.depth.clear();
    plan.depth_count = 1;
  }
  plan.empty = plan.m * plan.n * plan.outer_count == 0;
  return plan;
}

// Packed copies of B, `each` elements apiece: one for every matrix that the outer axes reach.
template <class T>
std::int64_t number_packed(ContractSchedule<T>& plan, std::int64_t each) {
  std::int64_t count = 1;
  for (std::vector<OuterAxis>* axes : {&plan.depth, &plan.outer})
    for (std::size_t i = axes->size(); i-- > 0;)
      if (OuterAxis& axis = (*axes)[i]; axis.b != 0) {
        axis.packed = count * each;
        count *= axis.size;
      }
  return count * each;
}

/// Calls f(matrix, start of its packed copy) for each matrix of the constant B, which may be stored
/// at any address (kernels/any_address.h).
template <class T, class F>
void for_each_matrix_of_b(const ContractSchedule<T>& plan, const void* constant, const F& f) {
  const std::vector<OuterAxis> axes = axes_of_b(plan.depth, plan.outer);
  std::int64_t matrices = 1;
  for (const OuterAxis& axis : axes) matrices *= axis.size;
  for (std::int64_t i = 0; i < matrices; ++i) {
    const Offsets at = offsets_at(axes, i);
    f(MatrixB<T>{static_cast<const T*>(constant) + at.b, plan.k, plan.n, plan.b_step,
                 plan.b_column},
      at.packed);
  }
}

/// Packs the constant B once for all bindings: pack_one(matrix, to) writes the `each` elements of
/// a matrix. `form` distinguishes the ways of packing.
template <class T, class PackOne>
void pack_constant(const PrepareCtx& ctx, ContractSchedule<T>& plan, std::int64_t form,
                   std::int64_t each, const PackOne& pack_one) {
  const void* constant = ctx.constants[static_cast<std::size_t>(1 - plan.a_input)];
  const std::int64_t total = number_packed(plan, each);
  const std::vector<OuterAxis> axes = axes_of_b(plan.depth, plan.outer);
  std::vector<std::int64_t> layout{
      static_cast<std::int64_t>(ctx.isa), form, plan.k, plan.n, plan.b_step, plan.b_column};
  for (const OuterAxis& axis : axes) layout.insert(layout.end(), {axis.size, axis.b, axis.packed});
  const auto make = [&]() -> std::shared_ptr<const void> {
    std::shared_ptr<T> memory = packed_memory<T>(total);
    for_each_matrix_of_b(plan, constant, [&](const MatrixB<T>& matrix, std::int64_t at) {
      pack_one(matrix, memory.get() + at);
    });
    // From now on only the copy is read, unless another node reads the constant, too.
    const tensor::Operand& b = ctx.inputs[static_cast<std::size_t>(1 - plan.a_input)];
    if (b.contiguous)
      release_file_pages(constant, static_cast<std::size_t>(b.elements()) * sizeof(T));
    return memory;
  };
  plan.packed =
      ctx.packs->get({constant, static_cast<int>(KernelId::contract), std::move(layout)}, make);
  plan.packing = Packing::once;
}

// Packing many narrow matrices is mostly padding; packing a few small ones is worth it anyway.
template <class T>
bool worth_packing_once(const ContractSchedule<T>& plan) {
  std::int64_t matrices = 1;
  for (const OuterAxis& axis : axes_of_b(plan.depth, plan.outer)) matrices *= axis.size;
  const std::int64_t padded = packed_elements(*plan.fns, plan.k, plan.n);
  const bool small = padded <= 4096 && matrices <= 16;
  return plan.n > 1 && (small || padded <= 2 * plan.k * plan.n);
}

template <class T>
bool must_pack(const ContractSchedule<T>& plan) {
  if (plan.b_column != 1) return true;
  const bool large = plan.k * plan.n * static_cast<std::int64_t>(sizeof(T)) > kLargeBytes;
  return large && plan.m >= kRowsToPack;
}

}  // namespace scanloom::kernels
