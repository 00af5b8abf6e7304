// Complex numbers in C++: what python/tests/theano/test_theano_complex*.py ask of functions,
// formulas and loops is not repeated.
#include <scanloom/function.h>
#include <scanloom/grad.h>
#include <scanloom/scan.h>

#include <complex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanloom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Number = std::complex<double>;

View complex_view(const Number& number) { return {.dtype = DType::c128, .data = &number}; }

/// Both parts of every element.
std::vector<double> parts(const Value& value) {
  const auto* first = static_cast<const double*>(value.view().data);
  std::int64_t count = 2;
  for (const std::int64_t size : value.view().shape) count *= size;
  return {first, first + count};
}

TEST(Complex, HasTwoParts) {
  const Expr z = input("z", DType::c128);
  EXPECT_EQ(real(z).dtype(), DType::f64);
  EXPECT_EQ(abs(z).dtype(), DType::f64);
  EXPECT_EQ(make_complex(number(1, DType::f32), number(2, DType::f32)).dtype(), DType::c64);
  const Function f =
      Function::compile({z}, {real(z), imag(z), conj(z), abs(z), z * z}).value_or_throw();
  const Number three(3, 4);
  const std::vector<Value> found = f({complex_view(three)}).value_or_throw();
  EXPECT_THAT(found[0].as<double>(), ElementsAre(3));
  EXPECT_THAT(found[1].as<double>(), ElementsAre(4));
  EXPECT_THAT(parts(found[2]), ElementsAre(3, -4));
  EXPECT_THAT(found[3].as<double>(), ElementsAre(5));
  EXPECT_THAT(parts(found[4]), ElementsAre(-7, 24));
}

TEST(Complex, OfFloatsIsTheRealPart) {
  const Expr x = input("x", DType::f32, {2});
  EXPECT_EQ(real(x), x);
  EXPECT_EQ(conj(x), x);
  EXPECT_EQ(imag(x).dtype(), DType::f32);
  EXPECT_EQ((x * complex_number(0, 1)).dtype(), DType::c64);
  EXPECT_EQ((x * complex_number(0, 1)).rank(), 1);
}

TEST(Complex, HasNoOrderAndNoOnePart) {
  const Expr z = input("z", DType::c64);
  EXPECT_THAT((z < z).error()->message(),
              HasSubstr("less does not support complex numbers; use real(x)"));
  EXPECT_THAT(max(z).error()->message(), HasSubstr("max does not support"));
  EXPECT_THAT(cast(z, DType::f32).error()->message(), HasSubstr("two parts, but f32 has one"));
  EXPECT_THAT(erf(z).error()->message(), HasSubstr("does not support complex numbers"));
  EXPECT_THAT(make_complex(z, z).error()->message(), HasSubstr("both parts must be real"));
  EXPECT_THAT(grad(z * z, z).error()->message(), HasSubstr("take real(x), imag(x) or abs(x)"));
}

TEST(Complex, IsCarriedByLoopsThatEndEarly) {
  const Expr c = input("c", DType::c128);
  const ScanResult orbit = scan({.initial = {complex_number(0, 0)}, .captured = {c}, .steps = 100},
                                [](const StepInputs& step) {
                                  const Expr z = step.state(0);
                                  return Step(z * z + step.captured(0)).until(abs(z) > 2);
                                });
  const Expr last = orbit.outputs[0][-1];
  const Function f = Function::compile({c}, {last, size(orbit.outputs[0], 0)}).value_or_throw();
  const Number two(2, 0);
  const std::vector<Value> found = f({complex_view(two)}).value_or_throw();
  EXPECT_THAT(parts(found[0]), ElementsAre(38, 0));
  EXPECT_THAT(found[1].as<std::int64_t>(), ElementsAre(3));
}

TEST(Complex, GradientsPointUphill) {
  const Expr z = input("z", DType::c128);
  const Expr w = z * z;
  const Expr cost = real(w) + 2 * imag(w);
  const Function f = Function::compile({z}, {grad(cost, z), grad(cost, w)}).value_or_throw();
  const Number at(1, 3);  // x^2 - y^2 + 4 x y
  const std::vector<Value> found = f({complex_view(at)}).value_or_throw();
  EXPECT_THAT(parts(found[0]), ElementsAre(14, -2));
  EXPECT_THAT(parts(found[1]), ElementsAre(1, 2));
}

TEST(Complex, IsSharedBetweenCalls) {
  const Number begun(0, 1);
  const Shared state("state", complex_view(begun));
  const Function f = Function::compile({}, {abs(state.variable())},
                                       {.updates = Updates{{state, state * complex_number(0, 2)}}})
                         .value_or_throw();
  EXPECT_THAT(f({}).value_or_throw()[0].as<double>(), ElementsAre(1));
  EXPECT_THAT(f({}).value_or_throw()[0].as<double>(), ElementsAre(2));
  EXPECT_THAT(parts(state.value()), ElementsAre(0, -4));
}

}  // namespace
}  // namespace scanloom
