// Factorisations and solutions: the kernels give the bits of the reference operators, on every
// instruction set, for sizes around those of blocks and vectors.
#include <gtest/gtest.h>

#include <vector>

#include "ops/ops.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

constexpr std::int64_t kMatrixSizes[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 48, 65};
constexpr std::int64_t kColumns[] = {1, 2, 3, 5, 8, 17, 40};

template <class T>
void expect_same(Buffer& actual, Buffer& expected, const std::string& what) {
  std::vector<T> wanted;
  for (std::int64_t i = 0; i < expected.elements(); ++i) wanted.push_back(expected.at<T>(i));
  EXPECT_EQ(difference(actual, wanted), "") << what;
}

/// Random matrices whose diagonals make them positive definite.
template <class T>
void fill_definite(Buffer& x, std::int64_t size) {
  x.fill_random(3);
  for (std::int64_t i = 0; i < x.elements(); ++i)
    if (size > 0 && i % (size * size) % (size + 1) == 0) x.at<T>(i) += static_cast<T>(4 * size);
}

template <class T>
void expect_factors(std::int64_t size, Layout layout, Isa isa) {
  const Shape shape{2, size, size};
  Buffer x(dtype_of<T>, shape, layout), lu(dtype_of<T>, shape), plain(dtype_of<T>, shape);
  Buffer pivots(DType::i64, {2, size}), plain_pivots(DType::i64, {2, size});
  x.fill_random(1);
  const Use use{.id = KernelId::lu_factor, .inputs = {&x}, .outputs = {&lu, &pivots}};
  ASSERT_EQ(run(use, isa), "");
  ASSERT_EQ(run_reference(ops::lu_factor_op, {.inputs = {&x}, .outputs = {&plain, &plain_pivots}}),
            "");
  const std::string what = "size " + std::to_string(size);
  expect_same<T>(lu, plain, what);
  expect_same<std::int64_t>(pivots, plain_pivots, what);

  fill_definite<T>(x, size);
  for (const int lower : {0, 1}) {
    const Use triangle{
        .id = KernelId::cholesky, .inputs = {&x}, .outputs = {&lu}, .attrs = {Attr(lower)}};
    Use reference = triangle;
    reference.outputs = {&plain};
    ASSERT_EQ(run(triangle, isa), "");
    ASSERT_EQ(run_reference(ops::cholesky_op, reference), "");
    expect_same<T>(lu, plain, what);
  }
}

template <class T>
void expect_solutions(std::int64_t size, std::int64_t columns, Layout layout, Isa isa) {
  const Shape matrices{2, size, size}, sides{2, size, columns};
  Buffer a(dtype_of<T>, matrices, layout), lu(dtype_of<T>, matrices, layout);
  Buffer pivots(DType::i64, {2, size}), b(dtype_of<T>, sides, layout);
  Buffer x(dtype_of<T>, sides), plain(dtype_of<T>, sides);
  fill_definite<T>(a, size);
  b.fill_random(2);
  ASSERT_EQ(run_reference(ops::lu_factor_op, {.inputs = {&a}, .outputs = {&lu, &pivots}}), "");
  const std::string what = std::to_string(size) + " rows, " + std::to_string(columns) + " columns";
  const auto check = [&](const ir::OpDef& op, const Use& use) {
    Use reference = use;
    reference.outputs = {&plain};
    ASSERT_EQ(run(use, isa), "");
    ASSERT_EQ(run_reference(op, reference), "");
    expect_same<T>(x, plain, what);
  };
  for (const int transposed : {0, 1}) {
    check(ops::lu_solve_op, {.id = KernelId::lu_solve,
                             .inputs = {&lu, &pivots, &b},
                             .outputs = {&x},
                             .attrs = {Attr(transposed)}});
    if (columns == size)
      check(ops::lu_solve_op, {.id = KernelId::lu_solve,
                               .inputs = {&lu, &pivots},
                               .outputs = {&x},
                               .attrs = {Attr(transposed)}});
    for (const int lower : {0, 1})
      for (const int unit : {0, 1})
        check(ops::triangular_solve_op, {.id = KernelId::triangular_solve,
                                         .inputs = {&a, &b},
                                         .outputs = {&x},
                                         .attrs = {Attr(lower), Attr(transposed), Attr(unit)}});
  }
}

TEST(Matrices, FactorsHaveTheBitsOfTheReference) {
  for (const Isa isa : available_isas())
    for (const Layout layout : kLayouts)
      for (const std::int64_t size : kMatrixSizes) {
        expect_factors<float>(size, layout, isa);
        expect_factors<double>(size, layout, isa);
      }
}

TEST(Matrices, SolutionsHaveTheBitsOfTheReference) {
  for (const Isa isa : available_isas())
    for (const Layout layout : kLayouts)
      for (const std::int64_t size : kMatrixSizes) {
        std::vector<std::int64_t> all(std::begin(kColumns), std::end(kColumns));
        all.push_back(size);
        for (const std::int64_t columns : all) {
          expect_solutions<float>(size, columns, layout, isa);
          expect_solutions<double>(size, columns, layout, isa);
        }
      }
}

TEST(Matrices, OthersThanPositiveDefiniteAreFaults) {
  Buffer x(DType::f64, {40, 40}), y(DType::f64, {40, 40});
  fill_definite<double>(x, 40);
  x.at<double>(33 * 41) = -1;
  const Use use{.id = KernelId::cholesky, .inputs = {&x}, .outputs = {&y}, .attrs = {Attr(1)}};
  EXPECT_EQ(run(use, active_isa()), "the matrix is not positive definite: its pivot {} is {value}");
  EXPECT_EQ(run_reference(ops::cholesky_op, use), run(use, active_isa()));
}

TEST(Matrices, ResultsWithoutNeighboursAreLeftToTheReference) {
  Buffer x(DType::f32, {3, 3}), y(DType::f32, {3, 3}, Layout::transposed);
  EXPECT_EQ(run({.id = KernelId::cholesky, .inputs = {&x}, .outputs = {&y}, .attrs = {Attr(1)}},
                active_isa()),
            "columns of the result that are not adjacent in memory");
}

}  // namespace
}  // namespace scanloom::kernels::testing
