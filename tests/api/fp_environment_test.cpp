// The floating-point settings of the caller's thread, such as those that libraries built with
// -ffast-math leave, change no result. This holds for what is computed when a model is loaded or
// bound and for what a run computes.
#include <gmock/gmock.h>
#include <scanloom/expr.h>
#include <scanloom/function.h>

#include <bit>
#include <cstdint>

#include "tests/api/models.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace scanloom::test {
namespace {

using namespace onnx::test;

#if defined(__x86_64__)
constexpr std::uint64_t kFlush = 0x8040;  // FTZ and DAZ
constexpr std::uint64_t kDownward = 0x2000;
std::uint64_t read_control() {
  return _mm_getcsr() & ~std::uint64_t{0x3f};
}  // without what happened
void write_control(std::uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
constexpr std::uint64_t kFlush = std::uint64_t{1} << 24;
constexpr std::uint64_t kDownward = std::uint64_t{2} << 22;
std::uint64_t read_control() {
  std::uint64_t value = 0;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void write_control(std::uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
#endif

/// While it lives, this thread is set otherwise than the library computes.
class Otherwise {
 public:
  explicit Otherwise(std::uint64_t bits) : saved_(read_control()), set_(saved_ | bits) {
    write_control(set_);
  }
  ~Otherwise() { write_control(saved_); }
  Otherwise(const Otherwise&) = delete;
  Otherwise& operator=(const Otherwise&) = delete;
  /// The library has left it as it was.
  [[nodiscard]] bool is_left_alone() const { return read_control() == set_; }

 private:
  std::uint64_t saved_, set_;
};

std::vector<std::uint32_t> bits_of(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

/// A model whose results are computed when it is loaded (folded), bound (sized), run (fed), and in
/// the steps of a loop (looped). Each result holds a denormal and a third.
std::string products() {
  GraphBytes body;
  body.inputs = {value_info("i", kInt64, {}), value_info("go", kBool, {}),
                 value_info("v", kFloat, {2})};
  body.outputs = {value_info("go_on"), value_info("w")};
  body.nodes = {NodeBytes("Identity", {"go"}, {"go_on"}), NodeBytes("Div", {"v", "three"}, {"w"})};
  ModelBytes model;
  model.graph.inputs = {value_info("x", kFloat, {"N"})};
  model.graph.initialisers = {float_tensor("tiny", {2}, {1e-20F, 1}),
                              float_tensor("small", {2}, {1e-20F, 1.0F / 3}),
                              float_tensor("three", {}, {3}), int64_tensor("steps", {}, {2000})};
  model.graph.outputs = {value_info("folded"), value_info("sized"), value_info("fed"),
                         value_info("looped")};
  model.graph.nodes = {
      NodeBytes("Mul", {"tiny", "small"}, {"folded"}),
      NodeBytes("Shape", {"x"}, {"shape"}),
      NodeBytes("Cast", {"shape"}, {"count"}).integer("to", kFloat),
      NodeBytes("Div", {"count", "three"}, {"thirds"}),
      NodeBytes("Mul", {"thirds", "tiny"}, {"tiny_thirds"}),
      NodeBytes("Mul", {"tiny_thirds", "small"}, {"sized"}),
      NodeBytes("Mul", {"x", "small"}, {"fed"}),
      NodeBytes("Loop", {"steps", "", "x"}, {"looped"}).graph("body", body.bytes())};
  return model.bytes();
}

std::vector<std::vector<std::uint32_t>> results_of(Execution execution) {
  const Session session = load(products(), {.execution = execution});
  const std::vector<float> x{1e-20F, 1};
  const auto results = session.run({{"x", view(x.data(), {2})}});
  EXPECT_TRUE(results);
  std::vector<std::vector<std::uint32_t>> bits;
  for (const char* name : {"folded", "sized", "fed", "looped"})
    bits.push_back(bits_of(results->at(name).as<float>()));
  return bits;
}

TEST(FpEnvironment, OfTheCallerChangesNoResult) {
  for (const Execution execution :
       {Execution::interpreted, Execution::stepped, Execution::compiled, Execution::automatic}) {
    const auto expected = results_of(execution);
    ASSERT_NE(expected[0][0], 0U) << "a denormal";
    for (const std::uint64_t bits : {kFlush, kDownward}) {
      const Otherwise otherwise(bits);
      EXPECT_EQ(results_of(execution), expected);
      EXPECT_TRUE(otherwise.is_left_alone());
    }
  }
}

TEST(FpEnvironment, OfTheCallerChangesNoConstantOfAFunction) {
  const auto computed = [] {
    const Expr tiny = number(1e-20, DType::f32);
    const Expr product = tiny * tiny + number(1e-40, DType::f32);
    const auto function = Function::compile({}, {product});
    EXPECT_TRUE(function);
    const auto results = function->call(std::span<const View>());
    EXPECT_TRUE(results);
    return bits_of((*results)[0].as<float>());
  };
  const auto expected = computed();
  ASSERT_NE(expected[0], 0U);
  const Otherwise otherwise(kFlush);
  EXPECT_EQ(computed(), expected);
  EXPECT_TRUE(otherwise.is_left_alone());
}

}  // namespace
}  // namespace scanloom::test
