#include "base/cpu.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>

namespace scanloom {
namespace {

// The environment is read once per process, so each value is tried in a process of its own: a death
// test in threadsafe style starts the binary again.
class IsaVariable : public testing::Test {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }

  [[noreturn]] static void exit_with_choice(const char* value, Isa wanted, bool warns) {
    setenv("SCANLOOM_ISA", value, 1);
    std::exit(active_isa() == wanted && isa_warning().empty() == !warns ? 0 : 1);
  }
  [[noreturn]] static void exit_with_best(const char* value, bool warns) {
    unsetenv("SCANLOOM_ISA");
    setenv("SCANLOOM_ISA", value, 1);
    const bool warned = !isa_warning().empty();
    mask_isa_for_test(Isa::baseline);  // what is not in force can still be lowered
    std::exit(warned == warns && active_isa() == Isa::baseline ? 0 : 1);
  }
};

TEST_F(IsaVariable, NamesALesserSet) {
  EXPECT_EXIT(exit_with_choice("baseline", Isa::baseline, false), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(exit_with_choice("sse4", Isa::baseline, false), testing::ExitedWithCode(0), "");
}

TEST_F(IsaVariable, EmptyMeansTheBest) {
  EXPECT_EXIT(exit_with_best("", false), testing::ExitedWithCode(0), "");
}

TEST_F(IsaVariable, UnknownValuesAreIgnoredAndReported) {
  EXPECT_EXIT(exit_with_best("altivec", true), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(exit_with_best("AVX2", true), testing::ExitedWithCode(0), "");
}

TEST_F(IsaVariable, SetsThatTheMachineLacksAreReported) {
#if defined(__x86_64__)
  EXPECT_EXIT(exit_with_best("neon", true), testing::ExitedWithCode(0), "");
#else
  EXPECT_EXIT(exit_with_best("avx2", true), testing::ExitedWithCode(0), "");
#endif
}

TEST(Cpu, OnlyBaselineOfX86DoesNotFuse) {
#if defined(__x86_64__)
  EXPECT_FALSE(fuses(Isa::baseline));
#else
  EXPECT_TRUE(fuses(Isa::baseline));
#endif
  for (const Isa isa : {Isa::avx2, Isa::avx512, Isa::neon}) EXPECT_TRUE(fuses(isa));
}

TEST(Cpu, MaskingLowersAndNeverRaises) {
  const Isa best = active_isa();
  mask_isa_for_test(Isa::baseline);
  EXPECT_EQ(active_isa(), Isa::baseline);
  EXPECT_EQ(has_fma(), fuses(Isa::baseline));
#if defined(__x86_64__)
  mask_isa_for_test(Isa::neon);
  EXPECT_EQ(active_isa(), Isa::baseline);
#endif
  mask_isa_for_test(best);
  EXPECT_EQ(active_isa(), best);
  EXPECT_EQ(has_fma(), fuses(best));
}

TEST(Cpu, Names) {
  EXPECT_EQ(isa_name(Isa::baseline), "baseline");
  EXPECT_EQ(isa_name(Isa::avx2), "avx2");
  EXPECT_EQ(isa_name(Isa::avx512), "avx512");
  EXPECT_EQ(isa_name(Isa::neon), "neon");
}

TEST(Cpu, CoresFollowTheAffinity) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  const int cores = available_cores();
  EXPECT_GE(cores, 1);
  EXPECT_LE(cores, CPU_COUNT(&all));
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(available_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(available_cores(), cores);
}

}  // namespace
}  // namespace scanloom
