#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/math/log.h"
#include "base/math/scalar_domain.h"
#include "base/math/trig.h"
#include "base/philox.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

double unit(std::uint32_t first, std::uint32_t second) {
  return static_cast<double>((std::uint64_t{first} << 32 | second) >> 11) * 0x1p-53;
}

/// The numbers of a block, one after the other.
std::vector<double> numbers_of(const PhiloxCounter& bits, bool uniform, DType to) {
  std::vector<double> numbers;
  if (to == DType::f64) {
    numbers = {unit(bits[0], bits[1]), unit(bits[2], bits[3])};
  } else {
    for (const std::uint32_t word : bits)
      numbers.push_back(uniform ? (word >> 8) * 0x1p-24 : word * 0x1p-32);
  }
  for (std::size_t i = 0; i + 1 < numbers.size() && !uniform; i += 2) {
    const math::ScalarDomain<double, false> m;
    const double radius = std::sqrt(-2 * math::log(m, 1 - numbers[i]));
    const double angle = 6.28318530717958647692 * numbers[i + 1];
    numbers[i] = radius * math::cos(m, angle);
    numbers[i + 1] = radius * math::sin(m, angle);
  }
  return numbers;
}

template <class T>
std::vector<T> expected_numbers(const PhiloxBlocks& blocks, bool uniform, DType to,
                                std::int64_t count) {
  std::vector<T> all;
  for (std::uint64_t block = 0; std::ssize(all) < count; ++block)
    for (const double number : numbers_of(blocks.block(block), uniform, to))
      all.push_back(static_cast<T>(number));
  return all;
}

constexpr std::uint64_t kSeed = 0x123456789abcdef0, kStream = 0xfedcba9876543210;

/// Compares random numbers that are keyed by run and execution, or by an explicit key.
template <class T>
void expect_numbers(DType to, bool uniform, std::int64_t count, bool by_key, Isa isa) {
  Buffer shape(DType::i64, {1}), key(DType::u64, {2}), y(to, {count});
  shape.fill<std::int64_t>({count});
  key.fill<std::uint64_t>({kSeed, kStream});
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  PhiloxBlocks blocks;
  Use use{.id = KernelId::random,
          .inputs = {&shape},
          .outputs = {&y},
          .attrs = {Attr(std::string(uniform ? "uniform" : "normal")), Attr(to)}};
  if (by_key) {
    use.inputs = {&key, &shape};
    blocks.key = {low(kStream), low(kStream >> 32)};
    blocks.third = low(kSeed);
    blocks.fourth = low(kSeed >> 32);
  } else {
    use.attrs.emplace_back(static_cast<std::int64_t>(kSeed));
    use.attrs.emplace_back(static_cast<std::int64_t>(kStream));
    blocks.key = {low(kSeed) ^ low(kStream >> 32), low(kStream) ^ low(kSeed >> 32)};
  }
  ASSERT_EQ(run(use, isa), "");
  EXPECT_EQ(difference(y, expected_numbers<T>(blocks, uniform, to, count)), "")
      << count << " numbers";
}

TEST(Random, GivesTheNumbersOfEachBlockInOrder) {
  for (const Isa isa : available_isas())
    for (const bool uniform : {false, true})
      for (const bool by_key : {false, true})
        for (const std::int64_t count : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 31, 32, 33, 67, 1001}) {
          expect_numbers<float>(DType::f32, uniform, count, by_key, isa);
          expect_numbers<double>(DType::f64, uniform, count, by_key, isa);
        }
}

TEST(Random, DeclinesWhatIsNoRow) {
  Buffer shape(DType::i64, {2}), y(DType::f32, {3, 5}, Layout::transposed);
  const Use use{.id = KernelId::random,
                .inputs = {&shape},
                .outputs = {&y},
                .attrs = {Attr(std::string("uniform")), Attr(DType::f32), Attr(std::int64_t{0}),
                          Attr(std::int64_t{0})}};
  EXPECT_EQ(run(use, active_isa()), "numbers that are not adjacent in memory");
}

}  // namespace
}  // namespace scanloom::kernels::testing
