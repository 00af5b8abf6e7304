#include <gtest/gtest.h>

#include <array>
#include <concepts>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/cache.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

// An einsum without ellipsis, label by label: the sum in the order of the labels of a, then of b.
struct Einsum {
  std::string a, b, out;
  std::map<char, std::int64_t> sizes;

  [[nodiscard]] std::string summed() const {
    std::string labels;
    for (const char label : a + b)
      if (out.find(label) == std::string::npos && labels.find(label) == std::string::npos)
        labels += label;
    return labels;
  }
  [[nodiscard]] Shape shape(const std::string& labels) const {
    Shape shape;
    for (const char label : labels) shape.push_back(sizes.at(label));
    return shape;
  }
  [[nodiscard]] std::int64_t count(const std::string& labels) const {
    std::int64_t product = 1;
    for (const char label : labels) product *= sizes.at(label);
    return product;
  }
};

// The position of each label, and the element offsets that follow from it.
class Position {
 public:
  explicit Position(const Einsum& e) {
    for (const auto& [label, size] : e.sizes) sizes_[index(label)] = size;
  }
  void place(const std::string& labels, std::int64_t number) {
    for (std::size_t i = labels.size(); i-- > 0;) {
      at_[index(labels[i])] = number % sizes_[index(labels[i])];
      number /= sizes_[index(labels[i])];
    }
  }
  [[nodiscard]] std::size_t number(const std::string& labels) const {
    std::int64_t number = 0;
    for (const char label : labels) number = number * sizes_[index(label)] + at_[index(label)];
    return static_cast<std::size_t>(number);
  }

 private:
  static std::size_t index(char label) { return static_cast<std::size_t>(label); }
  std::array<std::int64_t, 128> sizes_{}, at_{};
};

template <class T>
std::vector<T> elements_of(Buffer& buffer) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < buffer.elements(); ++i) values.push_back(buffer.at<T>(i));
  return values;
}

template <class T>
std::vector<T> naive_product(const Einsum& e, Buffer& a_buffer, Buffer& b_buffer, Isa isa) {
  const std::vector<T> a = elements_of<T>(a_buffer), b = elements_of<T>(b_buffer);
  std::vector<T> result;
  Position at(e);
  const std::string summed = e.summed();
  const std::int64_t count = e.count(summed);
  for (std::int64_t o = 0; o < e.count(e.out); ++o) {
    at.place(e.out, o);
    T sum = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      at.place(summed, k);
      const T x = a[at.number(e.a)], y = b[at.number(e.b)];
      if constexpr (std::integral<T>)
        sum = static_cast<T>(static_cast<std::uint32_t>(sum) +
                             static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(y));
      else
        sum = multiply_add(isa, x, y, sum);
    }
    result.push_back(sum);
  }
  return result;
}

struct How {
  Layout a = Layout::contiguous, b = Layout::contiguous, out = Layout::contiguous;
  bool a_constant = false, b_constant = false;
  int threads = 1;
  std::int64_t a_wide = -1, b_wide = -1;  ///< of integers: an element that 16 bits do not hold
};

template <class T>
void expect_product(const Einsum& e, const std::string& spec, const How& how) {
  for (const Isa isa : available_isas()) {
    Buffer a(dtype_of<T>, e.shape(e.a), how.a), b(dtype_of<T>, e.shape(e.b), how.b);
    Buffer out(dtype_of<T>, e.shape(e.out), how.out);
    a.fill_random(1);
    b.fill_random(2);
    if (how.a_wide >= 0) a.at<T>(how.a_wide % a.elements()) = static_cast<T>(-2'000'000'001);
    if (how.b_wide >= 0) b.at<T>(how.b_wide % b.elements()) = static_cast<T>(32'768);
    const Use use{.id = KernelId::contract,
                  .inputs = {&a, &b},
                  .outputs = {&out},
                  .attrs = {Attr(spec)},
                  .constant = {how.a_constant, how.b_constant}};
    ASSERT_EQ(run(use, isa, how.threads), "") << spec;
    EXPECT_EQ(difference(out, naive_product<T>(e, a, b, isa)), "")
        << spec << " m " << e.shape(e.a).to_string() << " " << e.shape(e.b).to_string() << " "
        << isa_name(isa) << " constant " << how.a_constant << how.b_constant;
  }
}

Einsum matmul(std::int64_t m, std::int64_t k, std::int64_t n) {
  return {"mk", "kn", "mn", {{'m', m}, {'k', k}, {'n', n}}};
}

TEST(Contract, MatricesOfAllSmallSizes) {
  for (const std::int64_t m : {0, 1, 2, 3, 5, 8, 9, 17})
    for (const std::int64_t k : {0, 1, 2, 7, 20})
      for (const std::int64_t n : {0, 1, 3, 4, 8, 15, 16, 17, 31, 32, 33, 65, 130})
        for (const bool constant : {false, true}) {
          expect_product<float>(matmul(m, k, n), "", {.b_constant = constant});
          if (n < 40) expect_product<double>(matmul(m, k, n), "", {.b_constant = constant});
        }
}

TEST(Contract, LargeMatricesGoThroughBlocks) {
  for (const bool constant : {false, true})
    for (const int threads : {1, 2, 7}) {
      expect_product<float>(matmul(40, 300, 530), "", {.b_constant = constant, .threads = threads});
      expect_product<double>(matmul(33, 270, 270), "",
                             {.b_constant = constant, .threads = threads});
      expect_product<float>(matmul(1, 700, 900), "", {.b_constant = constant, .threads = threads});
      expect_product<float>(matmul(900, 700, 1), "", {.a_constant = constant, .threads = threads});
    }
}

// Matrices of more than half of the L2 cache: constants are fetched while rows meet the columns
// before, others are multiplied in blocks of their rows.
TEST(Contract, MatricesBeyondTheCache) {
  const std::int64_t elements = l2_cache_bytes() / 8;
  for (const int threads : {1, 7}) {
    const auto expect = [&](std::int64_t m, std::int64_t n, bool constant) {
      const How how{.b_constant = constant, .threads = threads};
      expect_product<float>(matmul(m, elements / n + 3, n), "", how);
      expect_product<double>(matmul(m, elements / n / 2 + 3, n), "", how);
    };
    expect(13, 70, false);
    expect(13, 70, true);
    expect(14, 300, true);
  }
}

// Operands that are packed per call are packed one block at a time.
TEST(Contract, LongSumsArePackedInBlocks) {
  for (const std::int64_t k : {511, 512, 513, 1300})
    for (const int threads : {1, 7}) {
      const std::map<char, std::int64_t> sizes{{'m', 33}, {'n', 70}, {'k', k}};
      expect_product<float>({"km", "kn", "mn", sizes}, "km,kn->mn", {.threads = threads});
      expect_product<float>({"mk", "nk", "mn", sizes}, "mk,nk->mn", {.threads = threads});
      expect_product<double>({"km", "kn", "nm", sizes}, "km,kn->nm", {.threads = threads});
    }
}

// A row has the same bits whichever rows are computed with it.
template <class T>
void expect_rows_alone(std::int64_t k, std::int64_t n, bool constant, int threads) {
  constexpr std::int64_t kRows = 100;
  const auto row_of = [](Buffer& matrix, std::int64_t row, std::int64_t columns) {
    const std::vector<T> all = elements_of<T>(matrix);
    return std::vector<T>(all.begin() + row * columns, all.begin() + (row + 1) * columns);
  };
  for (const Isa isa : available_isas()) {
    Buffer many(dtype_of<T>, {kRows, k}), b(dtype_of<T>, {k, n}), rows(dtype_of<T>, {kRows, n});
    Buffer one(dtype_of<T>, {1, k}), row(dtype_of<T>, {1, n});
    many.fill_random(1);
    b.fill_random(2);
    const auto multiply = [&](Buffer& a, Buffer& out) {
      return run({.id = KernelId::contract,
                  .inputs = {&a, &b},
                  .outputs = {&out},
                  .attrs = {Attr("mk,kn->mn")},
                  .constant = {false, constant}},
                 isa, threads);
    };
    ASSERT_EQ(multiply(many, rows), "");
    for (const std::int64_t i : {std::int64_t{0}, std::int64_t{41}, kRows - 1}) {
      one.fill(row_of(many, i, k));
      ASSERT_EQ(multiply(one, row), "");
      EXPECT_EQ(difference(row, row_of(rows, i, n)), "") << k << " x " << n << ' ' << isa_name(isa);
    }
  }
}

TEST(Contract, ARowHasTheBitsThatItHasAmongAHundred) {
  for (const bool constant : {false, true})
    for (const int threads : {1, 2, 7})
      for (const auto& [k, n] : {std::pair{1, 1}, {7, 33}, {64, 256}, {300, 129}, {700, 900}}) {
        expect_rows_alone<float>(k, n, constant, threads);
        expect_rows_alone<double>(k, n, constant, threads);
      }
}

TEST(Contract, AnyLayout) {
  for (const Layout a : kLayouts)
    for (const Layout b : kLayouts)
      for (const Layout out : kLayouts)
        for (const bool constant : {false, true}) {
          const How how{.a = a, .b = b, .out = out, .b_constant = constant};
          expect_product<float>(matmul(7, 11, 40), "", how);
          expect_product<double>(matmul(30, 5, 3), "", how);
        }
}

TEST(Contract, VectorsAndTransposes) {
  const std::map<char, std::int64_t> sizes{{'m', 37}, {'n', 70}, {'k', 50}};
  const std::vector<Einsum> cases = {
      {"k", "k", "", sizes},     {"k", "kn", "n", sizes},   {"mk", "k", "m", sizes},
      {"m", "n", "mn", sizes},   {"km", "kn", "mn", sizes}, {"mk", "nk", "mn", sizes},
      {"km", "nk", "nm", sizes}, {"mk", "kn", "nm", sizes},
  };
  for (const Einsum& e : cases)
    for (const bool a_constant : {false, true})
      for (const bool b_constant : {false, true}) {
        const std::string spec = e.a + "," + e.b + "->" + e.out;
        expect_product<float>(e, spec, {.a_constant = a_constant, .b_constant = b_constant});
      }
}

TEST(Contract, SeveralAxesOfEveryClass) {
  const std::map<char, std::int64_t> sizes{{'a', 3},  {'b', 4}, {'m', 5}, {'p', 2},
                                           {'n', 19}, {'q', 3}, {'k', 6}, {'l', 3}};
  const std::vector<Einsum> cases = {
      {"amk", "akn", "amn", sizes},     {"abmk", "abkn", "abmn", sizes},
      {"mkl", "kln", "mn", sizes},      {"mlk", "kln", "mn", sizes},
      {"amk", "kn", "amn", sizes},      {"mpk", "nkq", "mnpq", sizes},
      {"kamlb", "blkn", "mabn", sizes}, {"amk", "ank", "anm", sizes},
      {"mak", "kan", "amn", sizes},
  };
  for (const Einsum& e : cases)
    for (const bool constant : {false, true})
      for (const int threads : {1, 2}) {
        const How how{.a_constant = constant, .b_constant = constant, .threads = threads};
        expect_product<float>(e, e.a + "," + e.b + "->" + e.out, how);
        expect_product<double>(e, e.a + "," + e.b + "->" + e.out, how);
      }
}

// One of several summed axes is empty: every sum is 0, whichever axis it is.
TEST(Contract, SumsOfNothingAreWritten) {
  for (const char none : {'k', 'l'}) {
    std::map<char, std::int64_t> sizes{{'m', 5}, {'n', 19}, {'k', 6}, {'l', 3}};
    sizes[none] = 0;
    for (const char* const a : {"mkl", "kml", "lmk"})
      expect_product<float>({a, "kln", "mn", sizes}, std::string(a) + ",kln->mn", {});
  }
}

TEST(Contract, ManySmallProductsAreSharedAmongThreads) {
  const Einsum e{"amk", "akn", "amn", {{'a', 700}, {'m', 5}, {'k', 12}, {'n', 20}}};
  for (const int threads : {1, 2, 7})
    expect_product<float>(e, "...mk,...kn->...mn", {.threads = threads});
}

TEST(Contract, InfinitiesAndNansPassThrough) {
  for (const Isa isa : available_isas()) {
    const Einsum e = matmul(2, 3, 20);
    Buffer a(DType::f32, {2, 3}), b(DType::f32, {3, 20}), out(DType::f32, {2, 20});
    a.fill<float>({INFINITY, 0, 1, -1, 2, 3e38f});
    b.fill<float>({0, 1, -1, INFINITY, NAN, 3e38f, 1e-40f});
    ASSERT_EQ(
        run({.id = KernelId::contract, .inputs = {&a, &b}, .outputs = {&out}, .attrs = {Attr("")}},
            isa),
        "");
    EXPECT_EQ(difference(out, naive_product<float>(e, a, b, isa)), "");
  }
}

TEST(Contract, OneConstantIsPackedOnceForAllUses) {
  PackCache packs;
  Buffer a(DType::f32, {2, 64}), b(DType::f32, {64, 64}), out(DType::f32, {2, 64});
  const std::vector<tensor::Operand> in{a.operand(), b.operand()}, outs{out.operand()};
  const std::vector<const void*> constants{nullptr, in[1].data<const void*>()};
  const std::vector<Attr> attrs{Attr("")};
  int made = 0;
  for (int i = 0; i < 2; ++i) {
    const Prepared prepared =
        kernel(KernelId::contract).prepare({in, outs, constants, attrs, nullptr, &packs});
    EXPECT_FALSE(prepared.refusal);
    EXPECT_EQ(prepared.scratch_bytes, 0);
    made += prepared.state != nullptr ? 1 : 0;
  }
  EXPECT_EQ(made, 2);
}

TEST(Contract, OneConstantReadInTwoWaysIsPackedForEach) {
  for (const Isa isa : available_isas()) {
    PackCache packs;
    const std::map<char, std::int64_t> sizes{{'m', 2}, {'k', 64}, {'n', 64}};
    Buffer a(DType::f32, {2, 64}), b(DType::f32, {64, 64}), out(DType::f32, {2, 64});
    a.fill_random(1);
    b.fill_random(2);
    for (const char* labels_of_b : {"kn", "nk", "kn"}) {
      const Einsum e{"mk", labels_of_b, "mn", sizes};
      ASSERT_EQ(run({.id = KernelId::contract,
                     .inputs = {&a, &b},
                     .outputs = {&out},
                     .attrs = {Attr(e.a + "," + e.b + "->" + e.out)},
                     .constant = {false, true},
                     .packs = &packs},
                    isa),
                "");
      EXPECT_EQ(difference(out, naive_product<float>(e, a, b, isa)), "") << labels_of_b;
    }
  }
}

TEST(Contract, IntegersOfAllSmallSizes) {
  for (const std::int64_t m : {0, 1, 2, 3, 4, 5, 8, 9, 17})
    for (const std::int64_t k : {0, 1, 2, 3, 7, 20, 33})
      for (const std::int64_t n : {0, 1, 3, 4, 8, 15, 16, 17, 31, 32, 33, 65, 130})
        for (const bool constant : {false, true})
          expect_product<std::int32_t>(matmul(m, k, n), "", {.b_constant = constant});
  expect_product<std::uint32_t>(matmul(9, 20, 33), "", {});
}

// They are multiplied in pairs where 16 bits hold them, else as they are.
TEST(Contract, WideIntegersBesideOthers) {
  for (const std::int64_t m : {1, 3, 7, 300})
    for (const std::int64_t n : {1, 5, 40, 70})
      for (const std::int64_t k : {2, 33, 600})
        for (const bool constant : {false, true})
          for (const int which : {1, 2, 3})
            expect_product<std::int32_t>(matmul(m, k, n), "",
                                         {.b_constant = constant,
                                          .a_wide = (which & 1) != 0 ? m * k / 2 : -1,
                                          .b_wide = (which & 2) != 0 ? n * k / 3 : -1});
}

TEST(Contract, LargeIntegerMatricesGoThroughBlocks) {
  for (const bool constant : {false, true})
    for (const int threads : {1, 7})
      for (const std::int64_t wide : {-1, 100 * 1300 + 5}) {
        const How how{.b_constant = constant, .threads = threads, .a_wide = wide};
        expect_product<std::int32_t>(matmul(230, 1301, 70), "", how);
        expect_product<std::int32_t>(matmul(1, 1301, 300), "", how);
      }
}

TEST(Contract, IntegersInAnyLayout) {
  const std::map<char, std::int64_t> sizes{{'a', 3},  {'b', 4}, {'m', 5}, {'p', 2},
                                           {'n', 19}, {'q', 3}, {'k', 6}, {'l', 3}};
  const std::vector<Einsum> cases = {
      {"k", "k", "", sizes},       {"k", "kn", "n", sizes},       {"mk", "k", "m", sizes},
      {"m", "n", "mn", sizes},     {"km", "nk", "nm", sizes},     {"amk", "akn", "amn", sizes},
      {"mkl", "kln", "mn", sizes}, {"mpk", "nkq", "mnpq", sizes}, {"kamlb", "blkn", "mabn", sizes},
  };
  for (const Einsum& e : cases)
    for (const bool a_constant : {false, true})
      for (const bool b_constant : {false, true})
        expect_product<std::int32_t>(e, e.a + "," + e.b + "->" + e.out,
                                     {.a_constant = a_constant, .b_constant = b_constant});
  for (const Layout a : kLayouts)
    for (const Layout b : kLayouts)
      for (const Layout out : kLayouts)
        for (const std::int64_t wide : {-1, 9}) {
          const How how{.a = a, .b = b, .out = out, .a_wide = wide};
          expect_product<std::int32_t>(matmul(7, 11, 40), "", how);
        }
}

TEST(Contract, ThreadsShareManySmallProductsOfIntegers) {
  const std::map<char, std::int64_t> sizes{{'b', 50}, {'m', 9}, {'k', 25}, {'n', 33}};
  for (const char* labels_of_b : {"bkn", "bnk", "kn"})
    for (const bool constant : {false, true})
      for (const std::int64_t wide : {-1, 25 * 9 * 30}) {
        const Einsum e{"bmk", labels_of_b, "bmn", sizes};
        for (const std::int64_t b_wide : {std::int64_t{-1}, wide})
          expect_product<std::int32_t>(
              e, e.a + "," + e.b + "->" + e.out,
              {.b_constant = constant, .threads = 7, .a_wide = wide, .b_wide = b_wide});
      }
}

// Products of two such numbers, -32768 each, do not fit 32 bits when they are added up.
TEST(Contract, SumsOfPairsWrap) {
  for (const Isa isa : available_isas())
    for (const bool constant : {false, true}) {
      const Einsum e = matmul(5, 7, 20);
      Buffer a(DType::i32, {5, 7}), b(DType::i32, {7, 20}), out(DType::i32, {5, 20});
      a.fill<std::int32_t>({-32'768});
      b.fill<std::int32_t>({-32'768, -32'768, 32'767});
      ASSERT_EQ(run({.id = KernelId::contract,
                     .inputs = {&a, &b},
                     .outputs = {&out},
                     .attrs = {Attr("")},
                     .constant = {false, constant}},
                    isa),
                "");
      EXPECT_EQ(difference(out, naive_product<std::int32_t>(e, a, b, isa)), "");
    }
}

// Constants of 8 bits are multiplied by rows whose elements lie within 255 of each other.
TEST(Contract, BytesByConstantBytes) {
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
  for (const Isa isa : available_isas())
    for (const std::int32_t least : {0, -128, -255, 70'000, kLowest})
      for (const std::int64_t m : {1, 2, 9})
        for (const std::int64_t k : {1, 3, 4, 17, 130})
          for (const std::int64_t n : {1, 5, 33, 70})
            for (const std::int64_t wide : {-1, 1}) {
              const Einsum e = matmul(m, k, n);
              Buffer a(DType::i32, {m, k}), b(DType::i32, {k, n}), out(DType::i32, {m, n});
              a.fill<std::int32_t>({least + 255, least, least + 3, least + 128, least + 77});
              b.fill<std::int32_t>({-128, 127, 5, -1, 64, -77, 0});
              // One row that does not fit among others that do.
              if (wide > 0) a.at<std::int32_t>((m / 2) * k + k / 2) = 1'000'000'007;
              ASSERT_EQ(run({.id = KernelId::contract,
                             .inputs = {&a, &b},
                             .outputs = {&out},
                             .attrs = {Attr("")},
                             .constant = {false, true}},
                            isa),
                        "");
              EXPECT_EQ(difference(out, naive_product<std::int32_t>(e, a, b, isa)), "")
                  << least << " " << m << " " << k << " " << n << " " << wide;
            }
}

TEST(Contract, DeclinesOtherTypes) {
  Buffer a(DType::i64, {2, 2}), out(DType::i64, {2, 2});
  EXPECT_EQ(
      run({.id = KernelId::contract, .inputs = {&a, &a}, .outputs = {&out}, .attrs = {Attr("")}},
          active_isa()),
      "only f32, f64, i32 and u32");
}

}  // namespace
}  // namespace scanloom::kernels::testing
