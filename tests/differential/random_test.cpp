// Random loops, executed in every way. By default a few hundred fixed modules; for longer runs
//   SCANLOOM_FUZZ_SECONDS=60 differential_test --gtest_filter='RandomModules.*'
// begins elsewhere each time, or at SCANLOOM_FUZZ_SEED.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <string_view>

#include "api/jit_plugin.h"
#include "base/cpu.h"
#include "interp/interpreter.h"
#include "ir/op_def.h"
#include "ir/print.h"
#include "passes/run.h"
#include "tests/differential/random_module.h"
#include "tests/differential/ways.h"

namespace scanloom {
namespace {

using namespace differential;
using tensor::Tensor;

std::uint64_t number_of(const char* variable, std::uint64_t absent) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : absent;
}

void expect_all_identical(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted,
                          const std::string& where) {
  ASSERT_EQ(got.size(), wanted.size()) << where;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    expect_identical(got[i], wanted[i], where + ", output " + std::to_string(i));
}

/// Whether a stack of no rows differs only in sizes that nothing determined, which passes may have
/// found out (docs/ir.md).
bool is_empty_alike(const Tensor& got, const Tensor& wanted, const ir::Type& type) {
  if (got.elements() > 0 || wanted.elements() > 0 || got.shape().rank() != wanted.shape().rank())
    return false;
  for (int axis = 0; axis < wanted.shape().rank(); ++axis) {
    const bool open = !type.ranked || !type.dims[static_cast<std::size_t>(axis)].is_constant();
    if (got.shape()[axis] != wanted.shape()[axis] && !(open && wanted.shape()[axis] == 0))
      return false;
  }
  return got.dtype() == wanted.dtype();
}

/// The module after passes gives the results of the module before; a fault may be gone.
void check_passes(const ir::Module& before, const ir::Module& after, std::int64_t length) {
  const std::vector<Tensor> feeds = feeds_of(before, length);
  const auto wanted = interp::interpret(before, feeds, {});
  if (!wanted) return;
  const auto got = interp::interpret(after, feeds, {});
  ASSERT_TRUE(got) << "after passes: " << got.error().text();
  ASSERT_EQ(got->size(), wanted->size());
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    const ir::ValueId yield = before.region(before.top()).yields[i];
    if (is_empty_alike((*got)[i], (*wanted)[i], before.value(yield).type)) continue;
    expect_identical((*got)[i], (*wanted)[i],
                     "length " + std::to_string(length) + ", passes, output " + std::to_string(i));
  }
}

/// The planned module gives the interpreter's results: without machine code, with it, and with
/// steps that are computed ahead.
void check_plans(const ir::Module& module, std::span<const std::int64_t> lengths, Isa isa) {
  std::string why_not;
  const jit::Plugin* const compiler = jit_compiler(why_not);
  using Mode = plan::SpeculationMode;
  const std::vector plans = {plan_of(module, nullptr), plan_of(module, compiler, Mode::never),
                             plan_of(module, compiler, Mode::always)};
  for (const std::int64_t length : lengths) {
    const std::vector<Tensor> feeds = feeds_of(module, length);
    const auto wanted = interp::interpret(module, feeds, {});
    for (const auto& plan : plans) {
      std::string strategies;
      const BoundPlan binding = bind_planned(plan, feeds, strategies);
      for (const int threads : {1, 2}) {
        const auto got = run_bound(binding, feeds, threads);
        const std::string where = "length " + std::to_string(length) + ", " +
                                  std::to_string(threads) + " threads, " +
                                  std::string(isa_name(isa)) + "\n" + strategies;
        ASSERT_EQ(got.has_value(), wanted.has_value())
            << where << (got ? wanted.error().text() : got.error().text());
        if (wanted) expect_all_identical(*got, *wanted, where);
      }
    }
  }
}

/// Passes that take sums in another order, or exactly.
bool changes_sums(std::string_view pass) {
  return pass == "accumulate_as_product" || pass == "fuse_quantized";
}

/// The module after the passes that keep bits: all but those that change sums.
Expected<ir::Module> with_same_sums(ir::Module module) {
  SCANLOOM_CHECK_OK(passes::run(
      module, {.disabled = {"accumulate_as_product", "fuse_quantized"}, .verify_each = true}));
  return module;
}

void check_seed(std::uint64_t seed) {
  const ir::Module module = random_module(seed);
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + ir::print(module));
  ir::Module after = module;
  const auto report = passes::run(after, {.verify_each = true});
  ASSERT_TRUE(report) << report.error().text();
  const bool same_sums = std::ranges::none_of(report->timings, [](const auto& timing) {
    return changes_sums(timing.pass) && timing.changed > 0;
  });
  const Expected<ir::Module> exact = same_sums ? after : with_same_sums(module);
  ASSERT_TRUE(exact) << exact.error().text();
  constexpr std::int64_t kLengths[] = {0, 1, 2, 9, 40};
  for (const std::int64_t length : kLengths) {
    check_passes(module, *exact, length);
    if (testing::Test::HasFatalFailure()) return;
  }
  check_plans(seed % 2 == 0 ? module : after, kLengths, active_isa());
}

class RandomModules : public ::testing::Test {
 protected:
  ~RandomModules() override { mask_isa_for_test(best_); }

  /// One instruction set of this machine after the other.
  void check(std::uint64_t seed) {
    constexpr Isa kSets[] = {Isa::baseline, Isa::avx2, Isa::avx512, Isa::neon};
    const Isa isa = kSets[seed / 2 % std::size(kSets)];
    mask_isa_for_test(isa);
    if (active_isa() != isa) mask_isa_for_test(best_);
    check_seed(seed);
  }

  const Isa best_ = active_isa();
};

TEST_F(RandomModules, GiveTheSameBitsInEveryWay) {
  const std::uint64_t seconds = number_of("SCANLOOM_FUZZ_SECONDS", 0);
  const std::uint64_t first =
      number_of("SCANLOOM_FUZZ_SEED", seconds > 0 ? std::random_device()() : 1);
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  std::uint64_t count = 0;
#ifdef SCANLOOM_SANITIZED
  constexpr std::uint64_t kUsual = 40;
#else
  constexpr std::uint64_t kUsual = 100;
#endif
  const auto goes_on = [&] { return seconds > 0 ? Clock::now() < end : count < kUsual; };
  for (; goes_on() && !HasFailure(); ++count) check(first + count);
  std::printf("%llu modules, beginning with seed %llu\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(first));
}

// An operator whose nodes are all refused when added would be missing without notice.
TEST_F(RandomModules, HoldOperatorsOfEveryKind) {
  std::map<std::string, int> counts;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const ir::Module module = random_module(seed);
    for (std::uint32_t i = 0; i < module.node_count(); ++i)
      ++counts[std::string(module.node(ir::NodeId(i)).op->name)];
  }
  for (const char* name : {"add",
                           "argmax",
                           "average_pool",
                           "branch",
                           "cast",
                           "concat",
                           "contract",
                           "conv",
                           "cumsum",
                           "dequantize_linear",
                           "draw",
                           "exp",
                           "gather",
                           "gather_elements",
                           "gather_nd",
                           "loop",
                           "max_pool",
                           "mod",
                           "pad",
                           "pow",
                           "quantize_linear",
                           "reduce",
                           "reshape",
                           "scatter_elements",
                           "scatter_nd",
                           "scatter_slice",
                           "slice",
                           "softmax",
                           "where"})
    EXPECT_GE(counts[name], 5) << name;
}

}  // namespace
}  // namespace scanloom
