// The report on the build and the machine.
#include <scanloom/environment.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <scanloom/session.h>

#include "base/cpu.h"
#include "base/thread_pool.h"

namespace scanloom {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Environment, SaysWhatTheLibraryUses) {
  const Environment about = environment().value_or_throw();
  EXPECT_EQ(about.version, version());
  EXPECT_FALSE(about.library.empty());
  EXPECT_EQ(about.isa, isa_name(active_isa()));
  EXPECT_THAT(about.isas, Contains(about.isa));
  EXPECT_EQ(about.isas.front(), "baseline");
  EXPECT_EQ(about.threads, pool_threads());
  EXPECT_GE(about.cores, 1);
}

TEST(Environment, APlugInIsEitherThereOrExplained) {
  const Environment about = environment().value_or_throw();
  for (const Environment::Plugin& plugin : {about.loop_compiler, about.images}) {
    EXPECT_EQ(plugin.holds.empty(), plugin.path.empty());
    EXPECT_NE(plugin.holds.empty(), plugin.why_not.empty());
  }
}

TEST(Environment, TextHasALinePerSubject) {
  Environment about;
  about.version = "9.8.7";
  about.threads = 2;
  about.loop_compiler.why_not = "it was left at home";
  about.images = {.holds = "PNG", .path = "/plug-in.so", .why_not = {}};
  about.settings = {{"SCANLOOM_ISA", "avx2"}, {"SCANLOOM_THREADS", "2\n3"}};
  about.warnings = {"something is ignored"};
  const std::string text = to_text(about).value_or_throw();
  EXPECT_THAT(text, StartsWith("scanloom       9.8.7\n"));
  EXPECT_THAT(text, HasSubstr("\nloop compiler  none: it was left at home\n"));
  EXPECT_THAT(text, HasSubstr("\nimages         PNG, /plug-in.so\n"));
  EXPECT_THAT(text, HasSubstr("\nthreads        2, on 1 core\n"));
  EXPECT_THAT(text, HasSubstr("\ncalibration    none: there is no home folder\n"));
  EXPECT_THAT(text, HasSubstr("\nsettings       SCANLOOM_ISA=avx2, SCANLOOM_THREADS=2?3\n"));
  EXPECT_THAT(text, HasSubstr("\nwarning        something is ignored\n"));
}

}  // namespace
}  // namespace scanloom
