// Expr: a value that is still to be computed. Inputs, shared variables and constants are combined
// into expressions by the functions below; Function (function.h) computes them, scan (scan.h) loops
// over them, grad (grad.h) differentiates them. A handle is immutable and cheap to copy. Only one
// thread at a time may combine handles.
//
// A misuse (sizes that cannot fit, an axis that does not exist) does not throw: the result holds
// the first error, and so does every expression made from it; Function::compile reports it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <scanloom/expected.h>
#include <scanloom/value.h>

namespace scanloom {

namespace expr {
struct Node;
}

class SCANLOOM_API Expr {
 public:
  /// An undefined expression: an omitted argument.
  Expr() = default;
  /// A number. Combined with floating-point tensors it takes their element type; with integers, or
  /// alone, it has the smallest type that holds it (1.0 is f32, 0.1 f64, 3 i8). For example, an i8
  /// tensor plus 300 is i16.
  Expr(double value);
  Expr(float value) : Expr(static_cast<double>(value)) {}
  Expr(int value) : Expr(std::int64_t{value}) {}
  Expr(std::int64_t value);
  Expr(long long value) : Expr(static_cast<std::int64_t>(value)) {}
  explicit Expr(std::shared_ptr<expr::Node> node, std::uint32_t output = 0);

  [[nodiscard]] bool defined() const noexcept { return node_ != nullptr; }
  /// The error that it holds, or nullptr.
  [[nodiscard]] const Error* error() const noexcept;

  // Precondition: the expression is defined and holds no error.
  [[nodiscard]] DType dtype() const noexcept;
  [[nodiscard]] int rank() const noexcept;
  /// The size of each axis, or -1 if only a run knows it.
  [[nodiscard]] std::span<const std::int64_t> sizes() const noexcept;
  /// The name in messages and pictures; empty if none was given.
  [[nodiscard]] const std::string& name() const noexcept;
  /// Names the value, for all its handles; does nothing on an undefined expression. Returns itself.
  Expr& named(std::string name);

  /// The element, row or slice of the first axis at this index; negative indices count from the
  /// end. An index out of range is an error of the run.
  [[nodiscard]] Expr operator[](Expr index) const;

  [[nodiscard]] const std::shared_ptr<expr::Node>& node() const noexcept { return node_; }
  [[nodiscard]] std::uint32_t output() const noexcept { return output_; }
  /// Whether both are the same value of the same graph; equal() compares elements.
  friend bool operator==(const Expr& a, const Expr& b) noexcept {
    return a.node_ == b.node_ && a.output_ == b.output_;
  }

 private:
  std::shared_ptr<expr::Node> node_;
  std::uint32_t output_ = 0;
};

// Leaves.

/// An input of this element type. A size of -1 is known only when a function is called.
[[nodiscard]] SCANLOOM_API Expr input(std::string name, DType dtype,
                                      std::vector<std::int64_t> sizes = {});
/// A tensor of fixed elements, which are copied.
[[nodiscard]] SCANLOOM_API Expr constant(const View& value);
template <class T>
[[nodiscard]] Expr constant(std::initializer_list<T> values) {
  return constant(view(values.begin(), {static_cast<std::int64_t>(values.size())}));
}
/// A number of this element type.
[[nodiscard]] SCANLOOM_API Expr number(double value, DType dtype);

// Elementwise operators, with numpy's broadcasting and, between tensors, its promotion.

SCANLOOM_API Expr operator+(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator-(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator*(const Expr& a, const Expr& b);
/// Integers give a floating-point result.
SCANLOOM_API Expr operator/(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator-(const Expr& x);
/// Rounds towards minus infinity; the remainder has the sign of b.
SCANLOOM_API Expr floor_divide(const Expr& a, const Expr& b);
SCANLOOM_API Expr remainder(const Expr& a, const Expr& b);
SCANLOOM_API Expr pow(const Expr& a, const Expr& b);
SCANLOOM_API Expr maximum(const Expr& a, const Expr& b);
SCANLOOM_API Expr minimum(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator<(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator<=(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator>(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator>=(const Expr& a, const Expr& b);
SCANLOOM_API Expr equal(const Expr& a, const Expr& b);
SCANLOOM_API Expr not_equal(const Expr& a, const Expr& b);
/// Logical on booleans, bitwise on integers.
SCANLOOM_API Expr operator&(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator|(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator^(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator~(const Expr& x);
/// a where the condition is not 0, else b.
SCANLOOM_API Expr where(const Expr& condition, const Expr& a, const Expr& b);
SCANLOOM_API Expr clip(const Expr& x, const Expr& least, const Expr& greatest);
SCANLOOM_API Expr cast(const Expr& x, DType to);

// Functions; integers are converted to floating point.

#define SCANLOOM_FUNCTION(name, python, doc) SCANLOOM_API Expr name(const Expr& x);
#include <scanloom/functions.inc>
#undef SCANLOOM_FUNCTION
SCANLOOM_API Expr abs(const Expr& x);
SCANLOOM_API Expr sign(const Expr& x);
SCANLOOM_API Expr square(const Expr& x);
SCANLOOM_API Expr tan(const Expr& x);
SCANLOOM_API Expr relu(const Expr& x);
SCANLOOM_API Expr is_inf(const Expr& x);

// Complex numbers, c64 and c128. Arithmetic, equal and not_equal, exp, expm1, log, log1p, sqrt,
// pow, sin to atanh, abs, sums, means, products, indexing, shapes, scans and branches accept them,
// with numpy's values and branch cuts (docs/numbers.md). Operations that need an order do not. A
// real tensor combined with a complex one becomes complex.

/// re + i im, from real numbers of any type: c64 if f32 holds both, else c128.
SCANLOOM_API Expr make_complex(const Expr& re, const Expr& im);
/// length (cos angle + i sin angle).
SCANLOOM_API Expr from_polar(const Expr& length, const Expr& angle);
/// The real and the imaginary part; for real x, x itself and zeros.
SCANLOOM_API Expr real(const Expr& x);
SCANLOOM_API Expr imag(const Expr& x);
/// The complex conjugate; for real x, x itself.
SCANLOOM_API Expr conj(const Expr& x);
/// The angle to the positive real axis, from -pi to pi; for real x, 0 or pi.
SCANLOOM_API Expr angle(const Expr& x);
/// A complex literal. It adapts as other numbers do: c64 with f32.
[[nodiscard]] SCANLOOM_API Expr complex_number(double re, double im);

/// Along one axis, by default the last.
SCANLOOM_API Expr softmax(const Expr& x, int axis = -1);
SCANLOOM_API Expr log_softmax(const Expr& x, int axis = -1);

// Reductions along the given axes; without any, along all.

using Axes = std::vector<std::int64_t>;
SCANLOOM_API Expr sum(const Expr& x, const Axes& axes = {}, bool keepdims = false);
SCANLOOM_API Expr mean(const Expr& x, const Axes& axes = {}, bool keepdims = false);
SCANLOOM_API Expr prod(const Expr& x, const Axes& axes = {}, bool keepdims = false);
SCANLOOM_API Expr max(const Expr& x, const Axes& axes = {}, bool keepdims = false);
SCANLOOM_API Expr min(const Expr& x, const Axes& axes = {}, bool keepdims = false);
SCANLOOM_API Expr all(const Expr& x, const Axes& axes = {}, bool keepdims = false);
SCANLOOM_API Expr any(const Expr& x, const Axes& axes = {}, bool keepdims = false);
/// An i64 index; without an axis, into the elements in row-major order. The first NaN counts as
/// both the greatest and the least element.
SCANLOOM_API Expr argmax(const Expr& x, std::optional<int> axis = {}, bool keepdims = false);
SCANLOOM_API Expr argmin(const Expr& x, std::optional<int> axis = {}, bool keepdims = false);
SCANLOOM_API Expr cumsum(const Expr& x, int axis);
SCANLOOM_API Expr cumprod(const Expr& x, int axis);
/// Sorts along an axis in ascending order, NaN last. argsort gives the original positions, i64;
/// equal elements keep their order.
SCANLOOM_API Expr sort(const Expr& x, int axis = -1);
SCANLOOM_API Expr argsort(const Expr& x, int axis = -1);

// Products.

/// numpy.dot: the inner product of vectors, the product of matrices; for tensors, along the last
/// axis of a and the last but one of b; a scalar multiplies.
SCANLOOM_API Expr dot(const Expr& a, const Expr& b);
/// numpy.matmul.
SCANLOOM_API Expr matmul(const Expr& a, const Expr& b);
/// Sums over pairs of axes.
SCANLOOM_API Expr tensordot(const Expr& a, const Expr& b, const Axes& axes_a, const Axes& axes_b);
SCANLOOM_API Expr outer(const Expr& a, const Expr& b);
/// Applies the filters w [filters, channels, height, width] at every position of x [batch,
/// channels, height, width] where they fit, without flipping them; strides and dilations per axis.
SCANLOOM_API Expr conv2d(const Expr& x, const Expr& w, const Axes& strides = {1, 1},
                         const Axes& dilations = {1, 1});
/// As in einsum: "ij,jk->ik".
SCANLOOM_API Expr contract(const Expr& a, const Expr& b, std::string_view spec);

// Linear algebra along the last two axes; other axes are batches, which broadcast. Integers are
// computed in f64, f16 and bf16 in f32. Sizes known to be wrong are immediate errors, others errors
// of the run; so is a matrix that cannot be factored or solved, naming the pivot, counted from 0.
// Results have the same bits on every machine and for any number of threads, except logarithms of
// determinants, which depend on log. Gradients of any order exist (Giles 2008; for cholesky Murray
// 2016); that of a determinant needs a non-singular matrix.

/// L such that L L^T = x, from the lower triangle of x; if not `lower`, U such that U^T U = x, from
/// the upper triangle. Error of the run: x is not positive definite.
SCANLOOM_API Expr cholesky(const Expr& x, bool lower = true);
/// Factors of a matrix by Gaussian elimination with row exchanges, for any number of solves: U, and
/// L below its diagonal; row k was exchanged with row pivots[k]. Singular matrices have factors,
/// too.
struct LuFactors {
  Expr lu, pivots;
  Expr matrix;  ///< the factored matrix, with respect to which gradients are taken; none flow
                ///< through lu
};
[[nodiscard]] SCANLOOM_API LuFactors lu_factor(const Expr& x);
/// y such that x y = b, given the factors of x, or x^T y = b; b is a vector, or has right-hand
/// sides as columns. Error of the run: x is singular.
SCANLOOM_API Expr lu_solve(const LuFactors& factors, const Expr& b, bool transposed = false);
/// numpy.linalg.solve: lu_solve of lu_factor, so that a loop factors an invariant matrix only once.
SCANLOOM_API Expr solve(const Expr& a, const Expr& b);
/// Which triangle of a matrix is read, and whether as its transpose; `unit`: the diagonal is taken
/// as 1.
struct TriangularForm {
  bool lower = true, transposed = false, unit = false;
};
/// y such that x y = b for a triangular x. Error of the run: a 0 on the diagonal.
SCANLOOM_API Expr triangular_solve(const Expr& x, const Expr& b, const TriangularForm& form = {});
/// Error of the run: x is singular.
SCANLOOM_API Expr inverse(const Expr& x);
SCANLOOM_API Expr det(const Expr& x);
/// The sign of the determinant (0 for a singular matrix) and the logarithm of its magnitude.
struct SignAndLog {
  Expr sign, log;
};
[[nodiscard]] SCANLOOM_API SignAndLog slogdet(const Expr& x);
/// The elements on and below a diagonal, or on and above it; the others are 0. Positive numbers
/// denote diagonals above the main one.
SCANLOOM_API Expr lower_triangle(const Expr& x, std::int64_t diagonal = 0);
SCANLOOM_API Expr upper_triangle(const Expr& x, std::int64_t diagonal = 0);

// Discrete Fourier transforms along one axis, by fast transforms of every length up to 2^24, as
// numpy.fft computes them. Integers are computed in f64, f16 and bf16 in f32. Results have the same
// bits on every machine; docs/numbers.md gives their errors. Gradients of any order exist.

/// Which transform is divided by what: the inverse by the length, the forward one by it, or both by
/// its square root.
enum class FourierNorm : std::uint8_t { backward, forward, ortho };
struct FourierForm {
  Expr length = {};  ///< a scalar integer; undefined: what the sizes of x say
  int axis = -1;
  FourierNorm norm = FourierNorm::backward;
};
/// The transform of real or complex numbers, and its inverse: c64 or c128. x is padded with zeros
/// or cut to the length. Errors: no such axis; a length below 1 or above 2^24, at once if it is
/// known, otherwise of the run.
SCANLOOM_API Expr fft(const Expr& x, const FourierForm& form = {});
SCANLOOM_API Expr ifft(const Expr& x, const FourierForm& form = {});
/// The first length / 2 + 1 elements of the transform of real numbers, which determine the others.
SCANLOOM_API Expr rfft(const Expr& x, const FourierForm& form = {});
/// The real signal of which x is such a half; without a length of 2 (size - 1) elements. The
/// imaginary part of the first element, and for an even length of the last one, is not read.
SCANLOOM_API Expr irfft(const Expr& x, const FourierForm& form = {});

// Shapes. A shape is a vector of integers; sizes may be computed.

/// The sizes of all axes, i64.
SCANLOOM_API Expr shape(const Expr& x);
/// The size of one axis, a scalar i64.
SCANLOOM_API Expr size(const Expr& x, int axis);
SCANLOOM_API Expr reshape(const Expr& x, const Expr& shape);
SCANLOOM_API Expr reshape(const Expr& x, std::vector<Expr> sizes);
/// The elements in row-major order as a vector, or as a tensor of this rank whose last axis takes
/// all remaining axes.
SCANLOOM_API Expr flatten(const Expr& x, int rank = 1);
/// Axis i of the result is axis order[i] of x; -1 inserts a new axis of size 1. Axes of x that are
/// omitted must have size 1.
SCANLOOM_API Expr dimshuffle(const Expr& x, const Axes& order);
/// The axes in reverse order.
SCANLOOM_API Expr transpose(const Expr& x);
SCANLOOM_API Expr expand_dims(const Expr& x, const Axes& axes);
SCANLOOM_API Expr squeeze(const Expr& x, const Axes& axes);
SCANLOOM_API Expr broadcast_to(const Expr& x, const Expr& shape);
/// x summed over the axes that broadcasting from `shape` would add: the gradient of broadcasting.
SCANLOOM_API Expr sum_to(const Expr& x, const Expr& shape);
SCANLOOM_API Expr concatenate(const std::vector<Expr>& parts, int axis = 0);
/// Joins parts of equal shape along a new axis.
SCANLOOM_API Expr stack(const std::vector<Expr>& parts, int axis = 0);
SCANLOOM_API Expr full(const Expr& shape, const Expr& value);
SCANLOOM_API Expr zeros(const Expr& shape, DType dtype = DType::f64);
SCANLOOM_API Expr zeros_like(const Expr& x);
SCANLOOM_API Expr ones_like(const Expr& x);
/// start, start + step, ... up to but excluding stop; i64 if all are integers.
SCANLOOM_API Expr arange(const Expr& start, const Expr& stop, const Expr& step = 1);
/// Concatenates sizes, numbers or vectors of integers into a vector of i64.
SCANLOOM_API Expr shape_of(const std::vector<Expr>& sizes);

// Indexing.

/// One item between the brackets of x[...].
struct Index {
  enum class Kind : std::uint8_t { at, slice, new_axis, ellipsis };
  Kind kind = Kind::at;
  Expr at = {};  ///< an integer or integers of any rank, or a boolean mask
  Expr start = {}, stop = {}, step = {};

  static Index of(Expr index) { return {.kind = Kind::at, .at = std::move(index)}; }
  static Index slice(Expr start = {}, Expr stop = {}, Expr step = {}) {
    return {Kind::slice, {}, std::move(start), std::move(stop), std::move(step)};
  }
  static Index all() { return slice(); }
  static Index new_axis() { return {.kind = Kind::new_axis}; }
  static Index ellipsis() { return {.kind = Kind::ellipsis}; }
};

/// numpy's indexing.
SCANLOOM_API Expr subtensor(const Expr& x, const std::vector<Index>& items);
/// The tensor that `part` = subtensor(x, ...) was taken from, with that part replaced by y, or y
/// added to it. For repeated indices, set writes one of the values; increment adds all of them.
SCANLOOM_API Expr set_subtensor(const Expr& part, const Expr& y);
SCANLOOM_API Expr increment_subtensor(const Expr& part, const Expr& y);

// Branches.

/// a if the condition, one element, holds, else b; only that one is computed. Their types promote;
/// their numbers of axes must agree. A value that both regions read, or that is also read
/// elsewhere, is computed in any case.
SCANLOOM_API Expr if_else(const Expr& condition, const Expr& a, const Expr& b);
/// Builds one branch with many results. A value that only results of one region read is computed
/// inside that region, even if several of them read it.
SCANLOOM_API std::vector<Expr> if_else(const Expr& condition, const std::vector<Expr>& a,
                                       const std::vector<Expr>& b);

// Rewriting.

/// The expressions with each `from` replaced by its `to`; parts that do not change are shared.
/// Errors, held by all results: a `to` that is undefined or has another element type, number of
/// axes or known size. If `from` has a known size that `to` has only in a run, the run checks it.
SCANLOOM_API std::vector<Expr> substitute(const std::vector<Expr>& outputs,
                                          const std::vector<std::pair<Expr, Expr>>& replacements);
/// The inputs and shared variables that the expressions read, in order of creation.
[[nodiscard]] SCANLOOM_API std::vector<Expr> leaves(const std::vector<Expr>& outputs);
/// The inputs and shared variables that the expressions were built from, in order of creation:
/// including those that a simplification or a gradient has removed.
[[nodiscard]] SCANLOOM_API std::vector<Expr> origins(const std::vector<Expr>& outputs);
/// a, one integer, if it equals b; otherwise the run fails with `text`, in which each {} stands for
/// one of the two numbers, at the location `where`.
SCANLOOM_API Expr checked_equal(const Expr& a, const Expr& b, std::string text,
                                std::string where = {});
/// x, with its gradient taken as zero.
SCANLOOM_API Expr disconnected(const Expr& x);
/// x, with its gradient clipped to [least, greatest], element by element.
SCANLOOM_API Expr clip_gradient(const Expr& x, double least, double greatest);
/// x, with its gradient multiplied by a factor; -1 reverses it.
SCANLOOM_API Expr scale_gradient(const Expr& x, double factor);
/// x; a gradient that passes through it is an error that gives `reason`.
SCANLOOM_API Expr without_gradient(const Expr& x, std::string reason);

}  // namespace scanloom
