#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/byte_product.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

struct ByteProductCase {
  std::int64_t batch, m, k, n;
  bool b_has_batch, per_column, constant;
};

template <class Y>
Y finished(std::int32_t sum, float scale, float bias) {
  if constexpr (std::is_same_v<Y, std::int32_t>) return sum;
  const float real = static_cast<float>(sum) * scale + bias;
  if constexpr (std::is_same_v<Y, float>) return real;
  using Limits = std::numeric_limits<Y>;
  const double value = std::nearbyint(static_cast<double>(real)) + 20;
  if (value != value) return 0;
  return value < Limits::min()   ? Limits::min()
         : value > Limits::max() ? Limits::max()
                                 : static_cast<Y>(value);
}

template <class A, class B, class Y>
void expect_byte_product(const ByteProductCase& c, Layout layout) {
  const std::int64_t count = c.per_column ? c.n : 1;
  Buffer a(dtype_of<A>, {c.batch, c.m, c.k}, layout);
  Buffer b(dtype_of<B>, c.b_has_batch ? Shape{c.batch, c.k, c.n} : Shape{c.k, c.n},
           c.constant ? Layout::contiguous : layout);
  Buffer az(dtype_of<A>, {}), bz(dtype_of<B>, {count}), yz(dtype_of<Y>, {});
  Buffer scale(DType::f32, {count}), bias(DType::f32, {count}), y(dtype_of<Y>, {c.batch, c.m, c.n});
  a.fill_random(1);
  b.fill_random(2);
  if (a.elements() > 0) a.at<A>(0) = std::numeric_limits<A>::max();
  if (b.elements() > 0) b.at<B>(0) = std::numeric_limits<B>::min();
  az.fill<A>({11});
  bz.fill<B>({3, 0, 120});
  scale.fill<float>({0.01f, 0.3f, INFINITY, NAN, 1e-4f});
  bias.fill<float>({0.5f, -7.3f, 100.0f});
  if constexpr (sizeof(Y) == 1) yz.fill<Y>({20});
  std::vector<Y> expected;
  for (std::int64_t i = 0; i < c.batch * c.m; ++i)
    for (std::int64_t j = 0; j < c.n; ++j) {
      const std::int64_t p = c.per_column ? j : 0, matrix = c.b_has_batch ? i / c.m : 0;
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < c.k; ++k)
        sum += (a.at<A>(i * c.k + k) - 11) * (b.at<B>((matrix * c.k + k) * c.n + j) - bz.at<B>(p));
      expected.push_back(finished<Y>(sum, scale.at<float>(p), bias.at<float>(p)));
    }
  const bool is_sum = std::is_same_v<Y, std::int32_t>;
  const Use use{.id = KernelId::contract,
                .inputs = {&a, &b, &az, &bz, is_sum ? nullptr : &scale, is_sum ? nullptr : &bias,
                           sizeof(Y) == 1 ? &yz : nullptr},
                .outputs = {&y},
                .constant = {false, c.constant}};
  for (const Isa isa : available_isas())
    for (const int threads : {1, 3}) {
      ASSERT_EQ(run(use, isa, threads), "");
      EXPECT_EQ(difference(y, expected), "")
          << isa_name(isa) << " " << c.batch << " " << c.m << " " << c.k << " " << c.n;
    }
}

TEST(ContractBytes, GivesTheNumbersOfTheNaiveLoop) {
  using U8 = std::uint8_t;
  using I8 = std::int8_t;
  const std::vector<ByteProductCase> cases = {
      {1, 1, 1, 1, false, false, true},     {1, 2, 3, 15, false, true, true},
      {1, 6, 4, 16, false, true, true},     {1, 7, 5, 17, false, false, false},
      {1, 13, 64, 63, false, true, true},   {1, 5, 66, 65, false, true, false},
      {3, 2, 8, 130, false, true, true},    {3, 2, 9, 20, true, true, true},
      {2, 3, 12, 33, true, false, false},   {1, 100, 36, 70, false, true, true},
      {2, 120, 260, 96, false, true, true}, {1, 1, 1030, 200, false, false, true},
      {1, 4, 0, 5, false, true, true},      {1, 9, 0, 5, false, true, true},
      {1, 97, 200, 50, false, true, true},  {2, 40, 64, 130, true, true, true},
      {1, 230, 67, 33, false, true, false}, {1, 20, 700, 64, false, false, true},
  };
  for (const ByteProductCase& c : cases)
    for (const Layout layout : kLayouts) {
      expect_byte_product<U8, I8, std::int32_t>(c, layout);
      expect_byte_product<I8, U8, float>(c, layout);
      expect_byte_product<U8, U8, U8>(c, layout);
      expect_byte_product<I8, I8, I8>(c, layout);
    }
}

// Four products of the greatest bytes exceed 16 bits, with which some instructions add pairs.
TEST(ContractBytes, DoesNotSaturate) {
  Buffer a(DType::u8, {7, 64}), b(DType::i8, {64, 40}), y(DType::i32, {7, 40});
  a.fill<std::uint8_t>({255});
  for (const std::int8_t value : {std::int8_t{127}, std::int8_t{-128}}) {
    b.fill<std::int8_t>({value});
    const std::vector<std::int32_t> expected(280, 64 * 255 * value);
    for (const Isa isa : available_isas()) {
      ASSERT_EQ(run({.id = KernelId::contract,
                     .inputs = {&a, &b, nullptr, nullptr, nullptr, nullptr, nullptr},
                     .outputs = {&y},
                     .constant = {false, true}},
                    isa),
                "");
      EXPECT_EQ(difference(y, expected), "") << isa_name(isa);
    }
  }
}

/// `strips`: by the number of rows - 1; A and B are the elements of the operands.
template <class A, class B>
void expect_strips(void (*const (&strips)[kMaxQuadRows])(const QuadStrip&), const char* isa,
                   int greatest = 255) {
  constexpr std::int64_t kQuads = 6, kDepth = kQuads * kQuad, kPanelBytes = kDepth * 16;
  constexpr std::int64_t kColumns = kMaxQuadPanels * kQuadColumns;
  std::vector<A> a(static_cast<std::size_t>(kMaxQuadRows * kDepth));
  std::vector<B> b(static_cast<std::size_t>(kMaxQuadPanels * kPanelBytes));
  std::mt19937 random(7);
  const auto number = [&] { return static_cast<int>(random() % 511) - 255; };
  for (A& each : a) each = static_cast<A>(number());
  for (B& each : b) each = static_cast<B>(number() % (greatest + 1));
  for (int rows = 1; rows <= kMaxQuadRows; ++rows)
    for (int panels = 1; panels <= kMaxQuadPanels; ++panels) {
      std::vector<std::int32_t> c(static_cast<std::size_t>(rows * kColumns), -1);
      strips[rows - 1]({.quads = kQuads,
                        .panels = panels,
                        .a = a.data(),
                        .a_row = kDepth * std::int64_t{sizeof(A)},
                        .b = b.data(),
                        .b_panel = kPanelBytes,
                        .c = c.data(),
                        .c_row = kColumns});
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < kColumns; ++j) {
          std::int32_t sum = j < panels * kQuadColumns ? 0 : -1;
          for (std::int64_t k = 0; k < kDepth && j < panels * kQuadColumns; ++k) {
            const std::int64_t at = j / 16 * kPanelBytes + k / 4 * 64 + j % 16 * 4 + k % 4;
            sum += a[static_cast<std::size_t>(r * kDepth + k)] * b[static_cast<std::size_t>(at)];
          }
          ASSERT_EQ(c[static_cast<std::size_t>(r * kColumns + j)], sum) << isa << rows << panels;
        }
    }
}

// Where a machine multiplies bytes, the products of its table are used nowhere else.
TEST(ContractBytes, StripsOfEveryTable) {
  for (const Isa isa : available_isas())
    for (const QuadProductFns* fns : {&byte_tables(isa).products, &quad_products(isa)}) {
      const char* const name = isa_name(isa).data();
      if (fns->wide_rows) {
        expect_strips<std::int16_t, std::int8_t>(fns->strip, name);
      } else {
        expect_strips<std::uint8_t, std::int8_t>(fns->strip, name);
        expect_strips<std::int8_t, std::uint8_t>(fns->signed_rows, name);
      }
    }
}

/// Of any number of rows and quads; what is around the sums stays.
template <class A, class B>
void expect_tall_strip(TallStripFn multiply, std::int64_t rows, std::int64_t quads, int panels,
                       TallTiles& tiles) {
  constexpr std::int64_t kColumns = kMaxQuadPanels * kQuadColumns;
  const std::int64_t depth = quads * kQuad, a_row = depth + 8;
  const std::int64_t b_step = panels * kQuadColumns * kQuad, b_panel = kQuadColumns * kQuad;
  std::vector<A> a(static_cast<std::size_t>(rows * a_row));
  std::vector<B> b(static_cast<std::size_t>(std::max<std::int64_t>(quads, 1) * b_step));
  std::mt19937 random(11);
  for (A& each : a) each = static_cast<A>(random());
  for (B& each : b) each = static_cast<B>(random());
  std::vector<std::int32_t> c(static_cast<std::size_t>((rows + 1) * kColumns), -1);
  multiply({.quads = quads,
            .panels = panels,
            .a = a.data(),
            .a_row = a_row,
            .b = b.data(),
            .b_step = b_step,
            .b_panel = b_panel,
            .c = c.data(),
            .c_row = kColumns},
           rows, tiles);
  for (std::int64_t r = 0; r <= rows; ++r)
    for (std::int64_t j = 0; j < kColumns; ++j) {
      const bool is_sum = r < rows && j < panels * kQuadColumns;
      std::int32_t sum = is_sum ? 0 : -1;
      for (std::int64_t k = 0; k < depth && is_sum; ++k)
        sum += a[static_cast<std::size_t>(r * a_row + k)] *
               b[static_cast<std::size_t>(k / kQuad * b_step + j * kQuad + k % kQuad)];
      ASSERT_EQ(c[static_cast<std::size_t>(r * kColumns + j)], sum)
          << rows << " " << quads << " " << panels << " at " << r << " " << j;
    }
}

TEST(ContractBytes, TallStripsOfAnySize) {
  for (const Isa isa : available_isas()) {
    const QuadProductFns& fns = quad_products(isa);
    if (fns.tall == nullptr) continue;
    TallTiles tiles;  // whose sizes change
    for (const std::int64_t rows : {1, 7, 8, 15, 16, 17, 31, 32, 33, 48, 50, 96})
      for (const std::int64_t quads : {0, 1, 5, 15, 16, 17, 32, 47})
        for (int panels = 1; panels <= kMaxQuadPanels; ++panels) {
          expect_tall_strip<std::uint8_t, std::int8_t>(fns.tall, rows, quads, panels, tiles);
          expect_tall_strip<std::int8_t, std::uint8_t>(fns.tall_signed_rows, rows, quads, panels,
                                                       tiles);
        }
  }
}

/// Multiplies at each poll, as a function of the user may.
class MultiplyingToken final : public tensor::StopToken {
 public:
  MultiplyingToken() {
    for (Buffer* const buffer : {&a_, &b_, &az_, &bz_})
      for (std::int64_t i = 0; i < buffer->elements(); ++i)
        *buffer->element(i) = static_cast<std::byte>(i % 5);
  }
  int polls = 0;

 private:
  bool poll() noexcept override {
    ++polls;
    const Use use{.id = KernelId::contract,
                  .inputs = {&a_, &b_, &az_, &bz_, nullptr, nullptr, nullptr},
                  .outputs = {&y_},
                  .constant = {false, true}};
    EXPECT_EQ(run(use, active_isa()), "");
    return false;
  }

  Buffer a_{DType::u8, {1, 8, 64}}, b_{DType::i8, {64, 32}}, y_{DType::i32, {1, 8, 32}};
  Buffer az_{DType::u8, {}}, bz_{DType::i8, {}};
};

TEST(ContractBytes, PollsMayMultiply) {
  Buffer a(DType::u8, {1, 600, 512}), b(DType::i8, {512, 700});
  Buffer az(DType::u8, {}), bz(DType::i8, {});
  Buffer y(DType::i32, {1, 600, 700}), polled(DType::i32, {1, 600, 700});
  std::mt19937 random(7);
  for (Buffer* const buffer : {&a, &b, &az, &bz})
    for (std::int64_t i = 0; i < buffer->elements(); ++i)
      *buffer->element(i) = static_cast<std::byte>(random());
  Use use{.id = KernelId::contract,
          .inputs = {&a, &b, &az, &bz, nullptr, nullptr, nullptr},
          .outputs = {&y},
          .constant = {false, true}};
  ASSERT_EQ(run(use, active_isa()), "");
  std::vector<std::int32_t> expected;
  for (std::int64_t i = 0; i < y.elements(); ++i) expected.push_back(y.at<std::int32_t>(i));
  MultiplyingToken token;
  use.outputs = {&polled};
  use.stop = &token;
  ASSERT_EQ(run(use, active_isa()), "");
  EXPECT_GT(token.polls, 1);
  EXPECT_EQ(difference(polled, expected), "");
}

// Sums of 16 bits reach 255 * 128 with them.
TEST(ContractBytes, StripsOfBoundedBytes) {
  for (const Isa isa : available_isas())
    if (const QuadProductFns& bounded = byte_tables(isa).bounded; bounded.strip[0] != nullptr)
      expect_strips<std::uint8_t, std::int8_t>(bounded.strip, isa_name(isa).data(), 32);
}

/// Compares products with B constant and changing, whose products are in another form.
template <class A, class B>
void expect_any_weights(const ByteProductCase& c, const std::function<int(std::int64_t)>& weight) {
  Buffer a(dtype_of<A>, {c.batch, c.m, c.k});
  Buffer b(dtype_of<B>, c.b_has_batch ? Shape{c.batch, c.k, c.n} : Shape{c.k, c.n});
  Buffer az(dtype_of<A>, {}), bz(dtype_of<B>, {}), y(DType::i32, {c.batch, c.m, c.n});
  std::mt19937 random(3);
  for (std::int64_t i = 0; i < a.elements(); ++i)
    a.at<A>(i) = static_cast<A>(random() % 4 == 0 ? std::numeric_limits<A>::max() : random());
  const int shift = std::is_same_v<B, std::uint8_t> ? 128 : 0;
  for (std::int64_t i = 0; i < b.elements(); ++i) b.at<B>(i) = static_cast<B>(weight(i) + shift);
  az.fill<A>({11});
  bz.fill<B>({3});
  std::vector<std::int32_t> expected;
  for (std::int64_t i = 0; i < c.batch * c.m; ++i)
    for (std::int64_t j = 0; j < c.n; ++j) {
      const std::int64_t matrix = c.b_has_batch ? i / c.m : 0;
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < c.k; ++k)
        sum += (a.at<A>(i * c.k + k) - 11) * (b.at<B>((matrix * c.k + k) * c.n + j) - 3);
      expected.push_back(sum);
    }
  for (const bool constant : {true, false})
    for (const Isa isa : available_isas())
      for (const int threads : {1, 3}) {
        ASSERT_EQ(run({.id = KernelId::contract,
                       .inputs = {&a, &b, &az, &bz, nullptr, nullptr, nullptr},
                       .outputs = {&y},
                       .constant = {false, constant}},
                      isa, threads),
                  "");
        EXPECT_EQ(difference(y, expected), "") << isa_name(isa) << constant << " " << c.batch << " "
                                               << c.m << " " << c.k << " " << c.n;
      }
}

// Small weights are bounded, a few great ones have excesses, many take the other form.
TEST(ContractBytes, WeightsOfAnyBound) {
  std::mt19937 random(5);
  const auto small = [&] { return static_cast<int>(random() % 41) - 20; };
  const std::vector<std::function<int(std::int64_t)>> weights = {
      [&](std::int64_t) { return small(); },
      [&](std::int64_t i) { return i % 301 == 0   ? 127
                                   : i % 211 == 0 ? -128
                                                  : small(); },
      [&](std::int64_t i) { return i % 1601 < 4   ? 127
                                   : i % 1901 < 4 ? -128
                                                  : small(); },
      [&](std::int64_t) { return static_cast<int>(random() % 256) - 128; },
      [&](std::int64_t) { return 127; },
      [&](std::int64_t) { return -128; },
  };
  for (const auto& weight : weights) {
    for (std::int64_t m = 1; m <= 7; ++m)
      expect_any_weights<std::uint8_t, std::int8_t>({1, m, 61, 75, false, false, true}, weight);
    for (const std::int64_t k : {1, 4, 5, 8, 63, 64, 200})
      expect_any_weights<std::int8_t, std::uint8_t>({1, 3, k, 40, false, false, true}, weight);
    expect_any_weights<std::uint8_t, std::int8_t>({3, 100, 72, 33, true, false, true}, weight);
    expect_any_weights<std::int8_t, std::int8_t>({2, 9, 30, 130, false, false, true}, weight);
    expect_any_weights<std::uint8_t, std::uint8_t>({2, 9, 32, 130, true, false, true}, weight);
  }
}

TEST(ContractBytes, BiasOfIntegersIsPartOfTheSum) {
  Buffer a(DType::u8, {7, 9}), b(DType::i8, {9, 40}), bias(DType::i32, {40});
  Buffer scale(DType::f32, {}), sums(DType::i32, {7, 40}), y(DType::f32, {7, 40});
  a.fill_random(1);
  b.fill_random(2);
  bias.fill_random(3);
  scale.fill<float>({0.37f});
  std::vector<std::int32_t> expected;
  std::vector<float> scaled;
  for (std::int64_t i = 0; i < 7; ++i)
    for (std::int64_t j = 0; j < 40; ++j) {
      auto sum = static_cast<std::uint32_t>(bias.at<std::int32_t>(j));
      for (std::int64_t k = 0; k < 9; ++k)
        sum += static_cast<std::uint32_t>(a.at<std::uint8_t>(i * 9 + k) *
                                          b.at<std::int8_t>(k * 40 + j));
      expected.push_back(static_cast<std::int32_t>(sum));
      scaled.push_back(static_cast<float>(expected.back()) * 0.37f);
    }
  for (const Isa isa : available_isas()) {
    Use use{.id = KernelId::contract,
            .inputs = {&a, &b, nullptr, nullptr, nullptr, &bias, nullptr},
            .outputs = {&sums},
            .constant = {false, true}};
    ASSERT_EQ(run(use, isa), "");
    EXPECT_EQ(difference(sums, expected), "") << isa_name(isa);
    use.inputs[4] = &scale;
    use.outputs = {&y};
    ASSERT_EQ(run(use, isa), "");
    EXPECT_EQ(difference(y, scaled), "") << isa_name(isa);
  }
}

}  // namespace
}  // namespace scanloom::kernels::testing
