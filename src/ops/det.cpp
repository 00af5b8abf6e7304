// Gaussian elimination, the greatest element of a column on top; the product of the pivots in order
// from 1, negated for each exchange of rows. f16 and bf16 are computed in f32 and rounded once.
#include <cmath>

#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {

using tensor::Operand;
using tensor::Type;

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  const DType wide = x.dtype == DType::f64 ? DType::f64 : DType::f32;
  if (!x.ranked) {
    ctx.set(0, Type::unranked(x.dtype));
    ctx.set(1, Type::unranked(wide));
    return {};
  }
  if (x.rank() < 2) return invalid_model("x has {} axes, two at least are needed", x.rank());
  const std::size_t last = x.dims.size() - 1;
  SCANLOOM_CHECK_OK(same_size(ctx, x.dims[last - 1], x.dims[last], "a matrix of x"));
  SCANLOOM_CHECK_OK(
      set_sizes(ctx, 0, x.dtype, std::vector<tensor::Dim>(x.dims.begin(), x.dims.end() - 2)));
  return set_sizes(ctx, 1, wide, x.dims);
}

template <class Real>
struct Matrix {
  Real* data;
  std::int64_t row, column, size;
  Real& at(std::int64_t i, std::int64_t k) const { return data[i * row + k * column]; }
};

/// Which row from `k` on has the greatest element in column k.
template <class Real>
std::int64_t pivot_row(const Matrix<Real>& m, std::int64_t k) {
  std::int64_t best = k;
  for (std::int64_t i = k + 1; i < m.size; ++i)
    if (std::fabs(m.at(i, k)) > std::fabs(m.at(best, k))) best = i;
  return best;
}

template <class Real>
Real eliminate(const Matrix<Real>& m) {
  Real det = 1;
  for (std::int64_t k = 0; k < m.size; ++k) {
    const std::int64_t pivot = pivot_row(m, k);
    if (pivot != k) {
      for (std::int64_t j = k; j < m.size; ++j) std::swap(m.at(k, j), m.at(pivot, j));
      det = -det;
    }
    if (m.at(k, k) == 0) return 0;
    det *= m.at(k, k);
    for (std::int64_t i = k + 1; i < m.size; ++i) {
      const Real factor = m.at(i, k) / m.at(k, k);
      for (std::int64_t j = k + 1; j < m.size; ++j) m.at(i, j) -= factor * m.at(k, j);
    }
  }
  return det;
}

template <class T>
void determinants(const tensor::Call& call) {
  using Real = decltype(tensor::widen(T{}));
  const Operand &x = call.in(0), &y = call.out(0), &work = call.out(1);
  const int outer = x.rank - 2;
  const std::int64_t size = x.dims[outer];
  tensor::for_each_element<3>(
      {x.dims, static_cast<std::size_t>(outer)}, {x.strides, y.strides, work.strides},
      [&](const auto& at) {
        const Matrix<Real> m{work.data<Real>() + at[2], work.strides[outer],
                             work.strides[outer + 1], size};
        for (std::int64_t i = 0; i < size; ++i)
          for (std::int64_t k = 0; k < size; ++k)
            m.at(i, k) = tensor::widen(
                x.data<const T>()[at[0] + i * x.strides[outer] + k * x.strides[outer + 1]]);
        y.data<T>()[at[1]] = tensor::narrow<T>(eliminate(m));
      });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::floating_point<T> || tensor::SmallFloatType<T>) determinants<T>(call);
  });
  return tensor::Status::ok;
}

}  // namespace

constinit const ir::OpDef det_op{
    .name = "det",
    .doc =
        "The determinants of the square matrices along the last two axes of x; `work` is what the "
        "elimination works in.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y", "work"},
    .infer = infer,
    .reference = reference,
};

}  // namespace scanloom::ops
