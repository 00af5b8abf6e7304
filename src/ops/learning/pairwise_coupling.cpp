// The second method of Wu, Lin and Weng, "Probability Estimates for Multi-class Classification by
// Pairwise Coupling" (2004), as in libsvm: minimises p' Q p by coordinate descent.
#include <cmath>
#include <memory>
#include <new>

#include "ops/matrix/matrices.h"
#include "ops/ops.h"

namespace scanloom::ops {
namespace {
namespace pairwise_coupling {

using tensor::Operand;
using tensor::Type;

constexpr int kMaxRounds = 100;

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& r = ctx.in(0);
  if (r.dtype != DType::f32 && r.dtype != DType::f64)
    return fail(Code::unsupported, "r is {}, but must be f32 or f64", dtype_name(r.dtype));
  if (!r.ranked) {
    ctx.set(0, ctx.fresh(r.dtype, 2));
    return {};
  }
  if (r.rank() != 3) return invalid_model("r has {} axes, but must have 3", r.rank());
  if (r.dims[1].is_constant() && r.dims[2].is_constant() && r.dims[1] != r.dims[2])
    return invalid_model("r compares {} classes with {}", r.dims[1].value(), r.dims[2].value());
  ctx.set(0, r.dtype, {r.dims[0], r.dims[1]});
  return {};
}

/// One row of r, p, and room for Q p.
template <class Real>
struct Coupling {
  const Real* r;
  std::int64_t r_row, r_column;
  Real* p;
  std::int64_t p_step;
  Real* products;
  std::int64_t classes;

  [[nodiscard]] Real chance(std::int64_t i, std::int64_t j) const {
    return r[i * r_row + j * r_column];
  }
  /// Q[i, j], where those on the diagonal are sums of squares.
  [[nodiscard]] Real q(std::int64_t i, std::int64_t j) const {
    if (i != j) return -chance(j, i) * chance(i, j);
    Real sum = 0;
    for (std::int64_t k = 0; k < classes; ++k)
      if (k != i) sum += chance(k, i) * chance(k, i);
    return sum;
  }
  Real& probability(std::int64_t i) const { return p[i * p_step]; }
};

/// Sets the products Q p and returns p' Q p.
template <class Real>
Real multiply(const Coupling<Real>& c) {
  Real all = 0;
  for (std::int64_t i = 0; i < c.classes; ++i) {
    c.products[i] = 0;
    for (std::int64_t j = 0; j < c.classes; ++j) c.products[i] += c.q(i, j) * c.probability(j);
    all += c.probability(i) * c.products[i];
  }
  return all;
}

template <class Real>
void couple(const Coupling<Real>& c) {
  const Real tolerance = Real(0.005f) / static_cast<Real>(c.classes);
  for (std::int64_t i = 0; i < c.classes; ++i)
    c.probability(i) = Real(1) / static_cast<Real>(c.classes);
  for (int round = 0; round < kMaxRounds; ++round) {
    Real all = multiply(c), largest = 0;
    for (std::int64_t i = 0; i < c.classes; ++i)
      largest = std::max(largest, std::fabs(c.products[i] - all));
    if (largest < tolerance) return;
    for (std::int64_t i = 0; i < c.classes; ++i) {
      const Real own = c.q(i, i);
      const Real change = (-c.products[i] + all) / own;
      const Real scale = 1 + change;
      c.probability(i) += change;
      all = (all + change * (change * own + 2 * c.products[i])) / scale / scale;
      for (std::int64_t j = 0; j < c.classes; ++j) {
        c.products[j] = (c.products[j] + change * c.q(i, j)) / scale;
        c.probability(j) /= scale;
      }
    }
  }
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return visit_real(call.out(0).dtype, [&]<class Real> {
    const Operand &r = call.in(0), &p = call.out(0);
    if (r.dims[1] != r.dims[2])
      return call.fail("r compares {} classes with {}", r.dims[1], r.dims[2]);
    const std::unique_ptr<Real[]> products(new (std::nothrow)
                                               Real[static_cast<std::size_t>(r.dims[1]) + 1]);
    if (!products) return call.fail("there is no memory for {} classes", r.dims[1]);
    for (std::int64_t row = 0; row < r.dims[0]; ++row)
      couple(Coupling<Real>{r.data<const Real>() + row * r.strides[0], r.strides[1], r.strides[2],
                            p.data<Real>() + row * p.strides[0], p.strides[1], products.get(),
                            r.dims[1]});
    return tensor::Status::ok;
  });
}

double products(const ir::CostCtx& ctx) { return kMaxRounds * ctx.elements(0) * ctx.size(0, 1); }

}  // namespace pairwise_coupling
}  // namespace

constinit const ir::OpDef pairwise_coupling_op{
    .name = "pairwise_coupling",
    .doc =
        "Probabilities of classes from those of pairs, as libsvm estimates them: r[row, i, j] is "
        "the probability of class i if only i and j are possible. The diagonal is not read. Stops "
        "when no condition is violated by more than 0.005 / classes, or after 100 rounds.",
    .inputs = {{"r", ir::Accept::real}},
    .outputs = {"p"},
    .effects = ir::Effects::may_fail,
    .infer = pairwise_coupling::infer,
    .reference = pairwise_coupling::reference,
    .recompute = ir::Recompute::expensive,
    .products = pairwise_coupling::products,
};

}  // namespace scanloom::ops
