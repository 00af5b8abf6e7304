// Expr: a value that is still to be computed. Expressions are made of inputs, shared variables and
// constants by the functions below; Function (function.h) computes them, scan (scan.h) loops over
// them, grad (grad.h) differentiates them. A handle is cheap to copy and never changes; handles of
// one thread at a time may be combined.
//
// A misuse (sizes that cannot fit, an axis that is not there) does not throw: the result holds the
// first error, and so does whatever is made of it; Function::compile reports it.
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
  /// Nothing: an argument that is left out.
  Expr() = default;
  /// A number. Beside tensors of reals it takes their element type; beside integers, and alone, it
  /// is of the smallest type that holds it (1.0 is f32, 0.1 f64, 3 i8), so that an i8 plus 300 is
  /// i16.
  Expr(double value);
  Expr(float value) : Expr(static_cast<double>(value)) {}
  Expr(int value) : Expr(std::int64_t{value}) {}
  Expr(std::int64_t value);
  Expr(long long value) : Expr(static_cast<std::int64_t>(value)) {}
  explicit Expr(std::shared_ptr<expr::Node> node, std::uint32_t output = 0);

  [[nodiscard]] bool defined() const noexcept { return node_ != nullptr; }
  /// The error that it holds; nullptr where it holds none.
  [[nodiscard]] const Error* error() const noexcept;

  // Of an expression that is defined and holds no error.
  [[nodiscard]] DType dtype() const noexcept;
  [[nodiscard]] int rank() const noexcept;
  /// By axis: its size, or -1 where only a run knows it.
  [[nodiscard]] std::span<const std::int64_t> sizes() const noexcept;
  /// For messages and pictures; empty where none was given.
  [[nodiscard]] const std::string& name() const noexcept;
  /// Names the value, for whoever holds it; nothing stays nothing. Returns itself.
  Expr& named(std::string name);

  /// The element, row or slice of the first axis with that number; negative ones count from the
  /// end. An index that is outside is an error of the run.
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

/// An input of that element type. A size of -1 is known when a function is called.
[[nodiscard]] SCANLOOM_API Expr input(std::string name, DType dtype,
                                      std::vector<std::int64_t> sizes = {});
/// A tensor of fixed elements, which are copied.
[[nodiscard]] SCANLOOM_API Expr constant(const View& value);
template <class T>
[[nodiscard]] Expr constant(std::initializer_list<T> values) {
  return constant(view(values.begin(), {static_cast<std::int64_t>(values.size())}));
}
/// A number of that element type.
[[nodiscard]] SCANLOOM_API Expr number(double value, DType dtype);

// Element by element, with numpy's broadcasting and, between tensors, its promotion.

SCANLOOM_API Expr operator+(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator-(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator*(const Expr& a, const Expr& b);
/// Of integers a real.
SCANLOOM_API Expr operator/(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator-(const Expr& x);
/// Rounded towards minus infinity; the remainder has the sign of b.
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
/// Of booleans, or bit by bit of integers.
SCANLOOM_API Expr operator&(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator|(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator^(const Expr& a, const Expr& b);
SCANLOOM_API Expr operator~(const Expr& x);
/// a where the condition holds (is not 0), else b.
SCANLOOM_API Expr where(const Expr& condition, const Expr& a, const Expr& b);
SCANLOOM_API Expr clip(const Expr& x, const Expr& least, const Expr& greatest);
SCANLOOM_API Expr cast(const Expr& x, DType to);

// Functions; of integers they are taken as reals.

SCANLOOM_API Expr abs(const Expr& x);
SCANLOOM_API Expr sign(const Expr& x);
SCANLOOM_API Expr exp(const Expr& x);
SCANLOOM_API Expr log(const Expr& x);
/// exp(x) - 1 and log(1 + x), exact for small x.
SCANLOOM_API Expr expm1(const Expr& x);
SCANLOOM_API Expr log1p(const Expr& x);
SCANLOOM_API Expr sqrt(const Expr& x);
SCANLOOM_API Expr square(const Expr& x);
SCANLOOM_API Expr sin(const Expr& x);
SCANLOOM_API Expr cos(const Expr& x);
SCANLOOM_API Expr tan(const Expr& x);
SCANLOOM_API Expr asin(const Expr& x);
SCANLOOM_API Expr acos(const Expr& x);
SCANLOOM_API Expr atan(const Expr& x);
SCANLOOM_API Expr sinh(const Expr& x);
SCANLOOM_API Expr cosh(const Expr& x);
SCANLOOM_API Expr tanh(const Expr& x);
SCANLOOM_API Expr asinh(const Expr& x);
SCANLOOM_API Expr acosh(const Expr& x);
SCANLOOM_API Expr atanh(const Expr& x);
SCANLOOM_API Expr erf(const Expr& x);
SCANLOOM_API Expr sigmoid(const Expr& x);
SCANLOOM_API Expr softplus(const Expr& x);
SCANLOOM_API Expr relu(const Expr& x);
SCANLOOM_API Expr floor(const Expr& x);
SCANLOOM_API Expr ceil(const Expr& x);
SCANLOOM_API Expr round(const Expr& x);
SCANLOOM_API Expr is_nan(const Expr& x);
SCANLOOM_API Expr is_inf(const Expr& x);

// Complex numbers, c64 and c128. Arithmetic, equal and not_equal, exp, expm1, log, log1p, sqrt,
// pow, sin to atanh, abs, sums, means, products, indexing, shapes, scans and branches take them,
// with numpy's values and branch cuts (docs/numbers.md); what needs an order does not. Together
// with a complex tensor reals become complex.

/// re + i im, of reals of any type: c64 where f32 holds both, else c128.
SCANLOOM_API Expr make_complex(const Expr& re, const Expr& im);
/// length (cos angle + i sin angle).
SCANLOOM_API Expr from_polar(const Expr& length, const Expr& angle);
/// The real and the imaginary part; of reals x itself, and zeros.
SCANLOOM_API Expr real(const Expr& x);
SCANLOOM_API Expr imag(const Expr& x);
/// The complex conjugate; of reals x itself.
SCANLOOM_API Expr conj(const Expr& x);
/// The angle to the positive real axis, from -pi to pi; of reals 0 or pi.
SCANLOOM_API Expr angle(const Expr& x);
/// A complex number written in the program. It adapts as other numbers do: c64 with f32.
[[nodiscard]] SCANLOOM_API Expr complex_number(double re, double im);

/// Along one axis, the last one unless said.
SCANLOOM_API Expr softmax(const Expr& x, int axis = -1);
SCANLOOM_API Expr log_softmax(const Expr& x, int axis = -1);

// Reductions along axes; without any along all.

using Axes = std::vector<std::int64_t>;
SCANLOOM_API Expr sum(const Expr& x, const Axes& axes = {}, bool keepdims = false);
SCANLOOM_API Expr mean(const Expr& x, const Axes& axes = {}, bool keepdims = false);
SCANLOOM_API Expr prod(const Expr& x, const Axes& axes = {}, bool keepdims = false);
SCANLOOM_API Expr max(const Expr& x, const Axes& axes = {}, bool keepdims = false);
SCANLOOM_API Expr min(const Expr& x, const Axes& axes = {}, bool keepdims = false);
SCANLOOM_API Expr all(const Expr& x, const Axes& axes = {}, bool keepdims = false);
SCANLOOM_API Expr any(const Expr& x, const Axes& axes = {}, bool keepdims = false);
/// i64; without an axis of the elements in row-major order. The first NaN is the greatest, and the
/// least, of all.
SCANLOOM_API Expr argmax(const Expr& x, std::optional<int> axis = {}, bool keepdims = false);
SCANLOOM_API Expr argmin(const Expr& x, std::optional<int> axis = {}, bool keepdims = false);
SCANLOOM_API Expr cumsum(const Expr& x, int axis);
SCANLOOM_API Expr cumprod(const Expr& x, int axis);
/// In ascending order along an axis, NaN last; and where each element stood, i64, equal ones in
/// their order.
SCANLOOM_API Expr sort(const Expr& x, int axis = -1);
SCANLOOM_API Expr argsort(const Expr& x, int axis = -1);

// Products.

/// numpy.dot: of vectors their inner product, of matrices theirs, of tensors along the last axis of
/// a and the last but one of b; a number multiplies.
SCANLOOM_API Expr dot(const Expr& a, const Expr& b);
/// numpy.matmul.
SCANLOOM_API Expr matmul(const Expr& a, const Expr& b);
/// Sums over pairs of axes.
SCANLOOM_API Expr tensordot(const Expr& a, const Expr& b, const Axes& axes_a, const Axes& axes_b);
SCANLOOM_API Expr outer(const Expr& a, const Expr& b);
/// The filters w [filters, channels, height, width] at every place of x [batch, channels, height,
/// width] where they fit, not turned around; strides and dilations by axis.
SCANLOOM_API Expr conv2d(const Expr& x, const Expr& w, const Axes& strides = {1, 1},
                         const Axes& dilations = {1, 1});
/// As einsum says it: "ij,jk->ik".
SCANLOOM_API Expr contract(const Expr& a, const Expr& b, std::string_view spec);

// Matrices, along the last two axes; other axes are batches, which broadcast. Of integers in f64,
// of f16 and bf16 in f32. Sizes that are known to be wrong are errors at once, others when it runs;
// a matrix that cannot be factored or solved is an error of the run that names the pivot, from 0.
// Results have the same bits on every machine and for any number of threads; but for logarithms of
// determinants, which are log's. Gradients exist (Giles 2008; of cholesky Murray 2016), of any
// order; that of a determinant needs a matrix that is not singular.

/// L of L L^T = x, from the lower triangle of x; if not `lower` U of U^T U = x, from the upper one.
/// Error of the run: x is not positive definite.
SCANLOOM_API Expr cholesky(const Expr& x, bool lower = true);
/// The factors of a matrix by Gaussian elimination with row exchanges, for any number of solutions:
/// U, and below its diagonal L; row k was exchanged with row pivots[k]. Singular matrices have
/// some, too.
struct LuFactors {
  Expr lu, pivots;
  Expr matrix;  ///< what was factored: gradients are taken with respect to it; none through lu
};
[[nodiscard]] SCANLOOM_API LuFactors lu_factor(const Expr& x);
/// y of x y = b for the factors of x, or of x^T y = b; b is a vector, or has right sides as
/// columns. Error of the run: x is singular.
SCANLOOM_API Expr lu_solve(const LuFactors& factors, const Expr& b, bool transposed = false);
/// numpy.linalg.solve: lu_solve of lu_factor, so that in a loop what does not change is factored
/// once.
SCANLOOM_API Expr solve(const Expr& a, const Expr& b);
/// Which triangle of a matrix is read, and whether it stands for its transpose; `unit`: with 1 on
/// the diagonal.
struct TriangularForm {
  bool lower = true, transposed = false, unit = false;
};
/// y of x y = b for a triangular x. Error of the run: a 0 on the diagonal.
SCANLOOM_API Expr triangular_solve(const Expr& x, const Expr& b, const TriangularForm& form = {});
/// Error of the run: x is singular.
SCANLOOM_API Expr inverse(const Expr& x);
SCANLOOM_API Expr det(const Expr& x);
/// The sign of the determinant (0 of a singular matrix) and the logarithm of its magnitude.
struct SignAndLog {
  Expr sign, log;
};
[[nodiscard]] SCANLOOM_API SignAndLog slogdet(const Expr& x);
/// The elements on and below a diagonal, or on and above it, the others 0. Diagonals above the main
/// one have positive numbers.
SCANLOOM_API Expr lower_triangle(const Expr& x, std::int64_t diagonal = 0);
SCANLOOM_API Expr upper_triangle(const Expr& x, std::int64_t diagonal = 0);

// Shapes. A shape is a vector of integers; sizes may be computed.

/// The sizes of all axes, i64.
SCANLOOM_API Expr shape(const Expr& x);
/// The size of one axis, a scalar i64.
SCANLOOM_API Expr size(const Expr& x, int axis);
SCANLOOM_API Expr reshape(const Expr& x, const Expr& shape);
SCANLOOM_API Expr reshape(const Expr& x, std::vector<Expr> sizes);
/// Row-major elements as a vector, or as a tensor of that rank whose last axis is what is left.
SCANLOOM_API Expr flatten(const Expr& x, int rank = 1);
/// Axis i of the result is axis order[i] of x; -1 stands for a new axis of size 1. Axes of x that
/// are left out must be of size 1.
SCANLOOM_API Expr dimshuffle(const Expr& x, const Axes& order);
/// The axes in reverse order.
SCANLOOM_API Expr transpose(const Expr& x);
SCANLOOM_API Expr expand_dims(const Expr& x, const Axes& axes);
SCANLOOM_API Expr squeeze(const Expr& x, const Axes& axes);
SCANLOOM_API Expr broadcast_to(const Expr& x, const Expr& shape);
/// x summed over what broadcasting it from `shape` has added: the gradient of broadcasting.
SCANLOOM_API Expr sum_to(const Expr& x, const Expr& shape);
SCANLOOM_API Expr concatenate(const std::vector<Expr>& parts, int axis = 0);
/// Parts of one shape along a new axis.
SCANLOOM_API Expr stack(const std::vector<Expr>& parts, int axis = 0);
SCANLOOM_API Expr full(const Expr& shape, const Expr& value);
SCANLOOM_API Expr zeros(const Expr& shape, DType dtype = DType::f64);
SCANLOOM_API Expr zeros_like(const Expr& x);
SCANLOOM_API Expr ones_like(const Expr& x);
/// start, start + step, ... before stop; whole numbers as i64.
SCANLOOM_API Expr arange(const Expr& start, const Expr& stop, const Expr& step = 1);
/// Sizes, numbers or vectors of integers, one behind the other as a vector of i64.
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
/// The tensor that `part` = subtensor(x, ...) was taken from, with y in the place of that part, or
/// added to it: of indices that occur several times set writes one value, increment adds all.
SCANLOOM_API Expr set_subtensor(const Expr& part, const Expr& y);
SCANLOOM_API Expr increment_subtensor(const Expr& part, const Expr& y);

// Branches.

/// a where the condition, one element, holds, else b; only that one is computed. Their types
/// promote, their numbers of axes agree. A value that both sides read, or something else does, is
/// computed in any case.
SCANLOOM_API Expr if_else(const Expr& condition, const Expr& a, const Expr& b);
/// The same of lists: one branch of many results, so that what several of them read is computed in
/// the side, too.
SCANLOOM_API std::vector<Expr> if_else(const Expr& condition, const std::vector<Expr>& a,
                                       const std::vector<Expr>& b);

// Rewriting.

/// The expressions with each `from` replaced by its `to`; what they do not reach is shared. Errors,
/// held by all results: a `to` that is missing or of another element type, number of axes or known
/// size. A size that `from` has and of `to` only a run knows is checked by the run.
SCANLOOM_API std::vector<Expr> substitute(const std::vector<Expr>& outputs,
                                          const std::vector<std::pair<Expr, Expr>>& replacements);
/// The inputs and shared variables that the expressions read, in the order of their making.
[[nodiscard]] SCANLOOM_API std::vector<Expr> leaves(const std::vector<Expr>& outputs);
/// The inputs and shared variables that the expressions were built from, in the order of their
/// making: also those that a simplification, or a gradient, has removed.
[[nodiscard]] SCANLOOM_API std::vector<Expr> origins(const std::vector<Expr>& outputs);
/// a, one integer, if it equals b; otherwise the run fails with `text`, in which {} and {} stand
/// for both numbers, told of `where`.
SCANLOOM_API Expr checked_equal(const Expr& a, const Expr& b, std::string text,
                                std::string where = {});
/// x itself, whose gradient is taken as zero.
SCANLOOM_API Expr disconnected(const Expr& x);
/// x itself, whose gradient is cut to [least, greatest], element by element.
SCANLOOM_API Expr clip_gradient(const Expr& x, double least, double greatest);
/// x itself, whose gradient is multiplied by a factor; -1 reverses it.
SCANLOOM_API Expr scale_gradient(const Expr& x, double factor);
/// x itself; a gradient that passes through it is an error, which gives the reason.
SCANLOOM_API Expr without_gradient(const Expr& x, std::string reason);

}  // namespace scanloom
