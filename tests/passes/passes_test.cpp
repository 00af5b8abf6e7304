#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interp/interpreter.h"
#include "ir/constants.h"
#include "ir/infer.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "ops/ops.h"
#include "passes/former_names.h"
#include "passes/run.h"
#include "tests/support/case_file.h"

namespace scanloom::passes {
namespace {

using scanloom::testing::Case;
using scanloom::testing::read_cases;
using tensor::Tensor;

ir::Module read(std::string_view text) {
  auto module = ir::parse(text, ops::find_op);
  EXPECT_TRUE(module) << module.error().message();
  if (!module) return {};
  const auto sound = ir::verify(*module);
  EXPECT_TRUE(sound) << sound.error().message();
  return *std::move(module);
}

std::vector<Case> cases_of(const PassDef& pass) {
  return read_cases("passes/" + std::string(pass.name) + ".ir");
}

/// Small numbers for every input; sizes that are not numbers are 3, and so are integers.
std::vector<Tensor> small_feeds_of(const ir::Module& module) {
  std::vector<Tensor> feeds;
  for (const ir::ValueId arg : module.region(module.top()).args) {
    const ir::Type& type = module.value(arg).type;
    tensor::Shape shape;
    for (const ir::Dim dim : type.dims) shape.push_back(dim.is_constant() ? dim.value() : 3);
    if (!type.ranked) shape = {3, 3};
    Tensor feed = *Tensor::zeros(type.dtype, shape);
    for (std::int64_t i = 0; i < feed.elements(); ++i) {
      if (type.dtype == DType::f32)
        static_cast<float*>(feed.mutable_data())[i] = 0.25f * static_cast<float>(i % 7) - 0.625f;
      if (type.dtype == DType::i64) static_cast<std::int64_t*>(feed.mutable_data())[i] = 3;
      if (dtype_bytes(type.dtype) == 1) static_cast<std::uint8_t*>(feed.mutable_data())[i] = 1;
    }
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

/// Whether both have the same bits, with all NaNs taken as equal.
bool same_values(const Tensor& a, const Tensor& b) {
  if (identical(a, b)) return true;  // quick, as tests are not optimised
  if (a.dtype() != DType::f32 || b.dtype() != DType::f32) return false;
  const auto same = [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) ||
           (std::isnan(x) && std::isnan(y));
  };
  return a.shape() == b.shape() && std::ranges::equal(a.as<float>(), b.as<float>(), same);
}

/// Whether the last bits may change: a loop says so, or there is an inverse, in whose place
/// split_factorisation puts solutions.
bool may_round_otherwise(const ir::Module& module) {
  const std::vector<ir::RegionId> regions = ir::regions_inner_first(module, module.top());
  return std::ranges::any_of(regions, [&](ir::RegionId region) {
    return std::ranges::any_of(module.region(region).nodes, [&](ir::NodeId id) {
      const ir::Node& node = module.node(id);
      if (node.op == &ir::loop_op) return node.loop->reassociates;
      return node.op == &ops::lu_solve_op && (node.inputs.size() <= 2 || !node.inputs[2].valid());
    });
  });
}

/// Whether values are nearly equal, compared with the largest finite value.
bool close_values(const Tensor& a, const Tensor& b) {
  if (identical(a, b)) return true;
  if (a.dtype() != DType::f32 || b.dtype() != DType::f32) return false;
  float largest = 1;
  for (const float x : b.as<float>())
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  const auto close = [&](float x, float y) {
    return x == y || std::abs(x - y) <= 1e-5f * largest || (std::isnan(x) && std::isnan(y));
  };
  return a.shape() == b.shape() && std::ranges::equal(a.as<float>(), b.as<float>(), close);
}

/// Both modules give the same values: to the bit, unless something waives that.
void expect_same_results(const ir::Module& before, const ir::Module& after, bool fast = false) {
  const auto feeds = small_feeds_of(before);
  // A state that a rewired body doubles in each step is no test of a pass: it needs all memory.
  const auto expected = interp::interpret(before, feeds, {.max_memory = std::int64_t{1} << 28});
  if (!expected) return;  // it fails on these feeds, which a pass may delay or undo
  const auto actual = interp::interpret(after, feeds);
  ASSERT_TRUE(actual) << actual.error().message();
  ASSERT_EQ(actual->size(), expected->size());
  for (std::size_t i = 0; i < actual->size(); ++i)
    EXPECT_TRUE(fast || may_round_otherwise(before) ? close_values((*actual)[i], (*expected)[i])
                                                    : same_values((*actual)[i], (*expected)[i]))
        << "output " << i;
}

void run_case(const PassDef& pass, const Case& c) {
  ir::Module module = read(c.parts[0]);
  const ir::Module before = module;
  const auto change = pass.run(module);
  ASSERT_TRUE(change) << change.error().message();
  const bool fires = c.parts.size() > 1;
  EXPECT_EQ(change->changed, fires);
  EXPECT_EQ(ir::print(module), c.parts[fires ? 1 : 0]);
  const auto sound = ir::verify(module);
  EXPECT_TRUE(sound) << sound.error().message();
  expect_same_results(before, module, pass.is_fast);
}

class EachPass : public ::testing::TestWithParam<std::size_t> {};

TEST_P(EachPass, ChangesWhatItsCasesSay) {
  const PassDef& pass = all_passes()[GetParam()];
  int fires = 0, stays = 0;
  for (const Case& c : cases_of(pass)) {
    SCOPED_TRACE(c.name);
    run_case(pass, c);
    ++(c.parts.size() > 1 ? fires : stays);
  }
  EXPECT_GT(fires, 0) << "no case in which " << pass.name << " must fire";
  EXPECT_GT(stays, 0) << "no case in which " << pass.name << " must not fire";
}

// A pass that has run has nothing left to do, or ends after a few times.
TEST_P(EachPass, Settles) {
  const PassDef& pass = all_passes()[GetParam()];
  for (const Case& c : cases_of(pass)) {
    SCOPED_TRACE(c.name);
    ir::Module module = read(c.parts[0]);
    bool changed = true;
    for (int round = 0; changed && round < 4; ++round) {
      const auto change = pass.run(module);
      ASSERT_TRUE(change) << change.error().message();
      changed = change->changed;
    }
    EXPECT_FALSE(changed);
  }
}

// All passes over the cases of each.
TEST_P(EachPass, PipelineKeepsResults) {
  const PassDef& pass = all_passes()[GetParam()];
  for (const Case& c : cases_of(pass)) {
    SCOPED_TRACE(c.name);
    ir::Module module = read(c.parts[0]);
    const ir::Module before = module;
    const auto report =
        run(module, {.disabled = {}, .fast = pass.is_fast, .verify_each = true, .dump = {}});
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->settled);
    const auto sound = ir::verify(module);
    EXPECT_TRUE(sound) << sound.error().message();
    expect_same_results(before, module, pass.is_fast);
    const std::string text = ir::print(module);
    const auto again = ir::parse(text, ops::find_op);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(ir::print(*again), text);
  }
}

INSTANTIATE_TEST_SUITE_P(Passes, EachPass, ::testing::Range<std::size_t>(0, all_passes().size()),
                         [](const auto& info) {
                           return std::string(all_passes()[info.param].name);
                         });

/// Returns the text with one use of a value replaced by another value.
std::string rewired(const std::string& text, std::mt19937& random) {
  std::vector<std::pair<std::size_t, std::size_t>> tokens;  // where a value is named, and how long
  for (std::size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 1))
    tokens.emplace_back(at, text.find_first_not_of("0123456789", at + 1) - at);
  const auto [at, length] = tokens[random() % tokens.size()];
  const auto [from, from_length] = tokens[random() % tokens.size()];
  std::string result = text;
  return result.replace(at, length, text.substr(from, from_length));
}

/// Whether the interpreter takes long: a loop may take as many steps as an input has elements.
bool takes_long(const ir::Module& module) {
  return std::ranges::any_of(small_feeds_of(module),
                             [](const Tensor& feed) { return feed.elements() > 1000; });
}

// Cases with values exchanged at random: whatever is still a module keeps its results, or its
// fault.
TEST_P(EachPass, RewiredModulesKeepResults) {
#ifdef SCANLOOM_SANITIZED
  constexpr int kMax = 400, kUsual = 30, kOfLongLoops = 4;
#else
  constexpr int kMax = 400, kUsual = 200, kOfLongLoops = 200;
#endif
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  int sound = 0;
  for (const Case& c : cases_of(all_passes()[GetParam()])) {
    const int usual = takes_long(read(c.parts[0])) ? kOfLongLoops : kUsual;
    for (int i = 0; i < (sound > 20 ? usual : kMax); ++i) {
      std::string text = c.parts[0];
      for (int k = 0; k < 1 + i % 3; ++k) text = rewired(text, random);
      auto module = ir::parse(text, ops::find_op);
      if (!module || !ir::verify(*module) || !ir::infer_types(*module)) continue;
      SCOPED_TRACE(text);
      ++sound;
      const ir::Module before = *module;
      const auto report = run(*module, {.disabled = {}, .verify_each = true, .dump = {}});
      ASSERT_TRUE(report) << report.error().message();
      EXPECT_TRUE(report->settled);
      if (ir::print(*module) != ir::print(before)) expect_same_results(before, *module);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(sound, 20);
}

// A computation that would fail in a step must not fail if the loop takes no step.
TEST(HoistInvariant, LoopsOfNoRowsComputeNothing) {
  ir::Module module = read(R"(module {
  graph(%0 "x": f32[T], %1 "s": i64[1], %2 "h": f32[]) {
    %3 = constant i64[] [9223372036854775807]
    %4 = loop trip(%3) captured(%1, %2) carried(%2) scanned(%0 axis 0) : f32[] {
      body(%5: i64[1], %6: f32[], %7: f32[], %8: f32[]) {
        %9 = expand(%6, %5) : f32[?0]
        %10 = reduce(%9) {kind = "sum", keepdims = 0} : f32[]
        %11 = add(%7, %10) : f32[]
        yield %11
      }
    }
    yield %4 "y"
  } })");
  std::vector<Tensor> feeds{*Tensor::zeros(DType::f32, {0}), *Tensor::zeros(DType::i64, {1}),
                            *Tensor::zeros(DType::f32, {})};
  *static_cast<std::int64_t*>(feeds[1].mutable_data()) = -1;
  const auto expected = interp::interpret(module, feeds);
  ASSERT_TRUE(expected) << expected.error().message();
  ASSERT_TRUE(run(module, {.disabled = {}, .verify_each = true, .dump = {}}));
  const auto actual = interp::interpret(module, feeds);
  ASSERT_TRUE(actual) << actual.error().message();
  EXPECT_TRUE(same_values((*actual)[0], (*expected)[0]));
}

// Beyond that memory is what takes time. Not a case: to interpret them takes long.
TEST(AffineBackward, LeavesSequencesThatCachesDoNotHold) {
  const auto fires = [](int steps) {
    ir::Module module = read(fmt::format(
        R"(module {{
  graph(%0 "x": f32[{0}]) {{
    %1 = constant f32[] [0]
    %2, %3 = loop carried(%1) scanned(%0 axis 0) stacked(axis 0) reassociates : f32[], f32[{0}] {{
      body(%4: f32[], %5: f32[]) {{
        %6 = sign(%5) : f32[]
        %7 = mul(%4, %6) : f32[]
        %8 = add(%7, %5) : f32[]
        yield %8, %4
      }}
    }}
    yield %2 "last", %3 "rows"
  }} }})",
        steps));
    return affine_backward(module)->changed;
  };
  EXPECT_TRUE(fires(500'000));
  EXPECT_FALSE(fires(600'000));
}

/// A sum of products, of which `steps` are taken; "T": of which any number is.
std::string sum_of_products(std::string_view steps) {
  return fmt::format(R"(module {{
  graph(%0 "x": f32[{0},8], %1 "w0": f32[8,8]) {{
    %2 = loop carried(%1) scanned(%0 axis 0) : f32[8,8] {{
      body(%3: f32[8,8], %4: f32[8]) {{
        %5 = tanh(%4) : f32[8]
        %6 = contract(%4, %5) {{spec = "m,n->mn"}} : f32[8,8]
        %7 = add(%6, %3) : f32[8,8]
        yield %7
      }}
    }}
    yield %2 "w"
  }} }})",
                     steps);
}

/// An exponential mean, and states of several elements with products and sums: of the state, of
/// what is the same in all steps, and of a constant in the first.
std::string recurrences(std::string_view steps) {
  return fmt::format(R"(module {{
  graph(%0 "x": f32[{0},4], %1 "s0": f32[], %2 "c": f32[4]) {{
    %3 = constant f32[4] [0.3, 0.7, 0.9, 1.1]
    %4, %5, %6 = loop captured(%2) carried(%1, %3) scanned(%0 axis 0) stacked(axis 0) : f32[], f32[4], f32[{0},4] {{
      body(%7: f32[4], %8: f32[], %9: f32[4], %10: f32[4]) {{
        %11 = constant f32[] [0.9]
        %12 = mul(%8, %11) : f32[]
        %13 = reduce(%10) {{kind = "sum", keepdims = 0}} : f32[]
        %14 = add(%12, %13) : f32[]
        %15 = constant f32[4] [0.7, 0.1, 0.3, 0.9]
        %16 = mul(%9, %15) : f32[4]
        %17 = mul(%7, %7) : f32[4]
        %18 = add(%16, %17) : f32[4]
        %19 = add(%18, %10) : f32[4]
        yield %14, %19, %19
      }}
    }}
    yield %4 "mean", %5 "state", %6 "rows"
  }} }})",
                     steps);
}

// Otherwise a function's results would depend on the sizes of earlier calls, which decide what is
// known.
TEST(Pipeline, BitsDoNotDependOnWhetherFewStepsAreKnown) {
  for (const auto& [text, fast] : {std::pair{&sum_of_products, false}, {&recurrences, true}}) {
    ir::Module open = read(text("T"));
    const ir::Module before = open;
    ASSERT_TRUE(run(open, {.fast = fast}));
    EXPECT_NE(ir::print(open), ir::print(before));
    for (int steps = 0; steps < 10; ++steps) {
      SCOPED_TRACE(fmt::format("{} steps", steps));
      ir::Module known = read(text(std::to_string(steps)));
      const std::vector<Tensor> feeds = small_feeds_of(known);
      ASSERT_TRUE(run(known, {.fast = fast, .verify_each = true}));
      const auto expected = interp::interpret(open, feeds),
                 actual = interp::interpret(known, feeds);
      ASSERT_TRUE(expected && actual);
      for (std::size_t i = 0; i < expected->size(); ++i)
        EXPECT_TRUE(same_values((*actual)[i], (*expected)[i])) << "output " << i;
      if (steps <= 2) EXPECT_THAT(ir::print(known), ::testing::Not(::testing::HasSubstr(" loop ")));
    }
  }
}

constexpr std::string_view kPipeline = R"(module {
  graph(%0 "n": i64[], %1 "x": f32[2]) {
    %2 = constant f32[2] [1, 2]
    %3 = loop trip(%0) captured(%2) carried(%1) : f32[2] {
      body(%4: f32[2], %5: f32[2]) {
        %6 = neg(%4) : f32[2]
        %7 = neg(%6) : f32[2]
        %8 = add(%5, %7) : f32[2]
        %9 = identity(%8) : f32[2]
        yield %9
      }
    }
    yield %3 "y"
  } })";

TEST(Pipeline, PassesWorkTogether) {
  ir::Module module = read(kPipeline);
  const auto report = run(module);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(ir::print(module), R"(module {
  graph(%0 "n": i64[], %1 "x": f32[2]) {
    %2 = loop trip(%0) carried(%1) : f32[2] {
      body(%3: f32[2]) {
        %4 = constant f32[2] [1, 2]
        %5 = add(%3, %4) : f32[2]
        yield %5
      }
    }
    yield %2 "y"
  }
}
)");
  EXPECT_EQ(report->timings.size(), all_passes().size());
  EXPECT_GT(report->rounds, 1);
}

TEST(Pipeline, DisabledPassesDoNotRun) {
  ir::Module module = read(kPipeline);
  RunOptions options;
  for (const PassDef& pass : all_passes()) options.disabled.emplace_back(pass.name);
  const std::string before = ir::print(module);
  const auto report = run(module, options);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(ir::print(module), before);
  EXPECT_EQ(report->rounds, 1);
  options.disabled = {"canonicalize"};
  const auto refused = run(module, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("unknown pass 'canonicalize'"));
  ASSERT_EQ(refused.error().notes().size(), 1u);
  EXPECT_THAT(refused.error().notes()[0],
              ::testing::StartsWith("the passes are: inline_branch, unroll_short_loop, "));
  for (const PassDef& pass : all_passes())
    EXPECT_THAT(refused.error().notes()[0], ::testing::HasSubstr(pass.name));
}

TEST(Pipeline, AMisspelledPassIsAnsweredWithTheOneMeant) {
  ir::Module module = read(kPipeline);
  RunOptions options;
  options.disabled = {"inline_brunch"};
  const auto refused = run(module, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "unknown pass 'inline_brunch'; did you mean 'inline_branch'?");
  options.disabled = {"frobnicate"};
  EXPECT_EQ(run(module, options).error().text(), "unknown pass 'frobnicate'");
}

TEST(Pipeline, FormerNamesDisableThePassesThatTheyNamed) {
  for (const FormerName& row : kFormerNames) {
    EXPECT_EQ(current_name(row.current), row.current) << "names one pass alone";
    const PassDef* const pass = find_pass(row.former);
    ASSERT_NE(pass, nullptr) << row.former;
    EXPECT_EQ(pass->name, row.current);
    EXPECT_TRUE(is_named(row.current, {std::string(row.former)}));
  }
  ir::Module module = read(kPipeline);
  RunOptions options;
  for (const PassDef& pass : all_passes()) options.disabled.emplace_back(pass.name);
  for (std::string& name : options.disabled)
    for (const FormerName& row : kFormerNames)
      if (name == row.current) name = row.former;
  const std::string before = ir::print(module);
  const auto report = run(module, options);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(ir::print(module), before);
}

TEST(Pipeline, LastPassesAreWorthACopyWhereTheyFire) {
  int fire = 0;
  for (const PassDef& pass : all_passes()) {
    if (!pass.is_last()) continue;
    SCOPED_TRACE(pass.name);
    for (const Case& c : cases_of(pass)) {
      if (c.parts.size() == 1) continue;
      ++fire;
      EXPECT_TRUE(pass.may_change(read(c.parts[0]))) << c.name;
    }
    ir::Module divided = read(cases_of(pass)[0].parts[0]), whole = divided;
    const auto with = run(divided, {.fast = pass.is_fast}),
               without = run(whole, {.disabled = {std::string(pass.name)}, .fast = pass.is_fast});
    ASSERT_TRUE(with && without);
    EXPECT_TRUE(with->for_streams);
    EXPECT_FALSE(without->for_streams);
    EXPECT_FALSE(pass.may_change(read(kPipeline)));
  }
  EXPECT_GT(fire, 0);
}

TEST(Pipeline, ShowsWhatChanged) {
  ir::Module module = read(kPipeline);
  std::vector<std::string> shown;
  RunOptions options;
  options.dump = [&](const PassDef& pass, int round, const ir::Module&) {
    if (round == 0) shown.emplace_back(pass.name);
  };
  ASSERT_TRUE(run(module, options));
  EXPECT_THAT(shown, ::testing::ElementsAre("sink_constants", "canonicalise", "fold_constants",
                                            "drop_dead_code"));
}

// Large weights are computed once, compressed ones by unpack_constants alone.
TEST(FoldConstants, ComputesWeightsOfAnySize) {
  constexpr std::int64_t kSize = 1'500;
  const Tensor weights = *Tensor::zeros(DType::f16, {kSize, kSize});
  const auto nodes_left = [&](int transposes, bool unpacks) {
    ir::Module module;
    const auto add = [&](const ir::OpDef& op, std::vector<ir::ValueId> inputs,
                         std::vector<tensor::Attr> attrs, DType dtype) {
      const ir::NodeId id = module.add_node(module.top(), op, inputs, std::move(attrs),
                                            {ir::Type::of(dtype, {kSize, kSize})}, {});
      return module.node(id).outputs[0];
    };
    const ir::ValueId packed = add(ir::constant_op, {}, {weights}, DType::f16);
    ir::ValueId value = add(ops::cast_op, {packed}, {DType::f32}, DType::f32);
    for (int i = 0; i < transposes; ++i)
      value = add(ops::transpose_op, {value}, {std::vector<std::int64_t>{1, 0}}, DType::f32);
    module.region(module.top()).yields = {value};
    module.output_names = {"y"};
    RunOptions options;
    if (!unpacks) options.disabled = {"unpack_constants"};
    EXPECT_TRUE(run(module, options));
    return module.node_count();
  };
  EXPECT_EQ(nodes_left(1, true), 1u);
  EXPECT_EQ(nodes_left(0, false), 2u);
}

// Weights of one direction of a layer. A small part of a table is copied, so that the table can be
// freed.
TEST(FoldConstants, SharesLargeAdjacentParts) {
  const auto is_shared = [](std::int64_t parts, std::int64_t axis) {
    constexpr std::int64_t kSize = 512;
    const tensor::Shape whole =
        axis == 0 ? tensor::Shape{parts, kSize, kSize} : tensor::Shape{kSize, parts, kSize};
    Tensor weights = *Tensor::zeros(DType::i8, whole);
    auto* const bytes = static_cast<std::int8_t*>(weights.mutable_data());
    for (std::int64_t i = 0; i < weights.elements(); ++i)
      bytes[i] = static_cast<std::int8_t>(i % 101);
    ir::Module module;
    const auto add = [&](const ir::OpDef& op, std::vector<ir::ValueId> inputs,
                         std::vector<tensor::Attr> attrs, const ir::Type& type) {
      const ir::NodeId id =
          module.add_node(module.top(), op, std::move(inputs), std::move(attrs), {type}, {});
      return module.node(id).outputs[0];
    };
    const ir::ValueId all = add(ir::constant_op, {}, {weights}, ir::Type::of(DType::i8, whole));
    const ir::ValueId last =
        add(ir::constant_op, {}, {Tensor::scalar<std::int64_t>(-1)}, ir::Type::of(DType::i64, {}));
    module.region(module.top()).yields = {
        add(ops::gather_op, {all, last}, {axis}, ir::Type::of(DType::i8, {kSize, kSize}))};
    module.output_names = {"y"};
    EXPECT_TRUE(run(module, {}));
    const Tensor* part = ir::constant_of(module, module.region(module.top()).yields[0]);
    EXPECT_NE(part, nullptr);
    if (part == nullptr) return false;
    const std::int64_t step = axis == 0 ? 1 : parts;  // rows of the whole from one row to the next
    for (std::int64_t row = 0; row < kSize; ++row) {
      const std::int64_t from = axis == 0 ? (parts - 1) * kSize + row : row * step + parts - 1;
      EXPECT_EQ(
          std::memcmp(part->as<std::int8_t>().data() + row * kSize, bytes + from * kSize, kSize),
          0);
    }
    return part->owner() == weights.owner();
  };
  EXPECT_TRUE(is_shared(1, 0));
  EXPECT_TRUE(is_shared(2, 0));
  EXPECT_TRUE(is_shared(1, 1));
  EXPECT_FALSE(is_shared(2, 1));
  EXPECT_FALSE(is_shared(5, 0));
}

// Too large a case to compute.
TEST(FuseSiblingLoops, BoundsTheBytesOfStackedRows) {
  for (const auto& [rows, merges] : {std::pair("50000", true), std::pair("100000", false)}) {
    const std::string type = "f32[" + std::string(rows) + ",120]";
    const auto loop = [&](std::string_view op, int first) {
      return fmt::format(
          "%{0} = loop scanned(%{1} axis 0) stacked(axis 0) : {2} {{ body(%{3}: f32[120]) {{\n"
          "%{4} = {5}(%{3}) : f32[120]\nyield %{4}\n}} }}\n",
          first, first == 2 ? 0 : 1, type, first + 1, first + 2, op);
    };
    ir::Module module = read("module { graph(%0 \"x\": " + type + ", %1 \"y\": " + type + ") {\n" +
                             loop("neg", 2) + loop("exp", 5) + "yield %2 \"a\", %5 \"b\"\n} }");
    const auto change = fuse_sibling_loops(module);
    ASSERT_TRUE(change) << change.error().message();
    EXPECT_EQ(change->changed, merges) << rows;
  }
}

// So are these. The loop takes nothing that is scanned, so that both operands are to be stacked.
TEST(AccumulateAsProduct, BoundsTheBytesOfStackedRows) {
  for (const auto& [steps, fires] : {std::pair(131'072, true), std::pair(131'073, false)}) {
    ir::Module module = read(fmt::format(
        R"(module {{ graph(%0 "x": f32[64], %1 "w": f32[64,64]) {{
          %2 = constant i64[] [{}]
          %3, %4, %5 = loop trip(%2) carried(%0, %0, %1) fixed : f32[64], f32[64], f32[64,64] {{
            body(%6: f32[64], %7: f32[64], %8: f32[64,64]) {{
              %9 = neg(%6) : f32[64]
              %10 = contract(%6, %7) {{spec = "m,n->mn"}} : f32[64,64]
              %11 = add(%8, %10) : f32[64,64]
              yield %7, %9, %11
            }}
          }}
          yield %3 "h", %4 "g", %5 "w"
        }} }})",
        steps));
    const auto change = accumulate_as_product(module);
    ASSERT_TRUE(change) << change.error().message();
    EXPECT_EQ(change->changed, fires) << steps;
  }
}

/// A loop over `steps` steps with that many states, and sums of products of these and of what is
/// scanned.
ir::Module sums_of_products(int sums, std::string_view steps) {
  const int results = 3, states = results + 2 * sums, scanned = states + 2 * sums;
  int made = scanned + 1;
  std::string body = fmt::format(
      "%{} = reduce(%{}) {{kind = \"max\", axes = [0], keepdims = 0}} : f32[16]\n", made, scanned);
  const int gate = made++;
  std::vector<std::string> initial, types, args, next, yields;
  for (int i = 0; i < 2 * sums; ++i) {
    const bool is_state = i < sums;
    const std::string_view type = is_state ? "f32[16]" : "f32[16,16]";
    initial.emplace_back(is_state ? "%1" : "%2");
    types.emplace_back(type);
    args.push_back(fmt::format("%{}: {}", states + i, type));
    yields.push_back(fmt::format("%{} \"y{}\"", results + i, i));
    if (is_state) {
      body += fmt::format("%{} = sub(%{}, %{}) : f32[16]\n", made, gate, states + i);
    } else {
      body += fmt::format("%{} = contract(%{}, %{}) {{spec = \"m,n->mn\"}} : f32[16,16]\n", made,
                          states + i - sums, gate);
      ++made;
      body += fmt::format("%{} = add(%{}, %{}) : f32[16,16]\n", made, states + i, made - 1);
    }
    next.push_back(fmt::format("%{}", made++));
  }
  std::vector<std::string> outputs;
  for (int i = 0; i < 2 * sums; ++i) outputs.push_back(fmt::format("%{}", results + i));
  return read(fmt::format(
      "module {{ graph(%0 \"x\": f32[{},2,16], %1 \"h\": f32[16], %2 \"w\": f32[16,16]) {{\n"
      "{} = loop carried({}) scanned(%0 axis 0) fixed : {} {{ body({}, %{}: f32[2,16]) {{\n"
      "{}yield {}\n}} }}\nyield {}\n}} }}",
      steps, fmt::join(outputs, ", "), fmt::join(initial, ", "), fmt::join(types, ", "),
      fmt::join(args, ", "), scanned, body, fmt::join(next, ", "), fmt::join(yields, ", ")));
}

/// Returns the number of stacked outputs of all loops.
std::size_t count_stacks(const ir::Module& module) {
  std::size_t count = 0;
  for (const ir::NodeId id : module.region(module.top()).nodes)
    if (module.node(id).op == &ir::loop_op) count += module.node(id).loop->stacked.size();
  return count;
}

// Rows stacked by one round count against the limit of the next. Four times the 32 scanned elements
// are 8 rows of 16; 64 MiB are 10 stacks of 6.4 MB.
TEST(AccumulateAsProduct, BoundsTheStackedRowsOfAllRounds) {
  for (const auto& [steps, most] : {std::pair("T", 8U), std::pair("100000", 10U)}) {
    SCOPED_TRACE(steps);
    ir::Module module = sums_of_products(300, steps);
    const auto report = run(module);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->settled);
    EXPECT_GT(count_stacks(module), 4U);
    EXPECT_LE(count_stacks(module), most);
  }
}

// So many that looking through the body, or all others, for each of them would be noticed.
TEST(AccumulateAsProduct, TakesManySums) {
  ir::Module module = sums_of_products(8000, "16");
  const auto change = accumulate_as_product(module);
  ASSERT_TRUE(change) << change.error().message();
  EXPECT_TRUE(change->changed);
  EXPECT_EQ(count_stacks(module), 8001U);
}

// Too large a case to compute, again.
TEST(LoopToMap, BoundsTheBytesOfAllSteps) {
  for (const auto& [steps, fires] : {std::pair(60000, true), {80000, false}}) {
    ir::Module module = read(fmt::format(
        "module {{ graph(%0 \"x\": f32[{0},256]) {{\n"
        "%1 = loop scanned(%0 axis 0) stacked(axis 0) : f32[{0},256] {{ body(%2: f32[256]) {{\n"
        "%3 = softmax(%2) {{axis = 0}} : f32[256]\nyield %3\n}} }}\nyield %1 \"y\"\n}} }}",
        steps));
    const auto change = loop_to_map(module);
    ASSERT_TRUE(change) << change.error().message();
    EXPECT_EQ(change->changed, fires) << steps;
  }
}

/// A graph of the inputs x and h and of `body`: a chain of any number of loops and nodes.
ir::Module read_scans(const std::string& body) {
  return read("module { graph(%0 \"x\": f32[T,2], %1 \"h\": f32[2]) {\n" + body + "} }");
}

/// Scans `rows`, and stacks the sums with a captured value; its results are %first and %(first +
/// 1).
std::string scan_of(int first, const std::string& rows, int captured) {
  return fmt::format(
      "%{0}, %{1} = loop captured(%{6}) carried(%1) scanned({5}) stacked(axis 0) : f32[2], "
      "f32[T,2] {{ body(%{2}: f32[2], %{3}: f32[2], %{4}: f32[2]) {{\n"
      "%{7} = add(%{2}, %{4}) : f32[2]\n%{8} = mul(%{3}, %{7}) : f32[2]\nyield %{8}, %{7}\n}} }}\n",
      first, first + 1, first + 2, first + 3, first + 4, rows, captured, first + 5, first + 6);
}

/// Numbers of values that scan_of takes.
constexpr int kOfScan = 7;

// Each case is slow if the nodes between two loops are visited for every pair of loops.
TEST(FuseProducerLoop, TakesManyLoopsAndNodes) {
  constexpr int kLoops = 2000;
  const auto axis = [](int value, std::string_view more = "") {
    return fmt::format("%{} axis 0{}", value, more);
  };
  const auto at = [](int loop) { return 2 + loop * kOfScan; };
  struct Shape {
    std::string_view name;
    std::string body;
    bool fires;
  };
  std::vector<Shape> shapes;
  const auto add = [&](std::string_view name, std::string body, int last, bool fires) {
    shapes.push_back({name, std::move(body) + fmt::format("yield %{} \"y\"\n", last), fires});
  };

  std::string chain = scan_of(2, axis(0), 1);
  for (int i = 1; i < kLoops; ++i) chain += scan_of(at(i), axis(at(i - 1) + 1), 1);
  add("each scans the one before", chain, at(kLoops - 1), true);

  std::string pairs;
  for (int i = 0; i < kLoops; ++i)
    pairs += scan_of(at(i), axis(i < kLoops / 2 ? 0 : at(i - kLoops / 2) + 1), 1);
  add("each scans one far before", pairs, at(kLoops - 1), true);

  for (const auto& [name, captured, more] :
       {std::tuple("backwards", 1, " start -1 stride -1"), {"with the last state", 2, ""}}) {
    std::string many = scan_of(2, axis(0), 1);
    for (int i = 1; i < kLoops; ++i) many += scan_of(at(i), axis(3, more), captured);
    add(name, many, at(kLoops - 1), false);
  }

  // Loops that scan values made of the rows of all, after nodes that need their last states.
  constexpr int kProducers = 16;
  std::string after;
  int rows = 0, state = 1, next = at(kProducers);
  for (int i = 0; i < kProducers; ++i) after += scan_of(at(i), axis(0), 1);
  for (int i = 0; i < kProducers; ++i, rows = next++)
    after += fmt::format("%{} = add(%{}, %{}) : f32[T,2]\n", next, at(i) + 1, rows);
  for (int i = 0; i < kLoops; ++i, state = next++)
    after += fmt::format("%{} = add(%{}, %{}) : f32[2]\n", next, state, at(i % kProducers));
  for (int i = 0; i < kLoops / 10; ++i, next += kOfScan) after += scan_of(next, axis(rows), state);
  add("after nodes", after, next - kOfScan, false);

  for (const Shape& shape : shapes) {
    ir::Module module = read_scans(shape.body);
    const auto change = fuse_producer_loop(module);
    ASSERT_TRUE(change) << change.error().message();
    EXPECT_EQ(change->changed, shape.fires) << shape.name;
    const auto sound = ir::verify(module);
    EXPECT_TRUE(sound) << shape.name << ": " << sound.error().message();
  }
}

TEST(Pipeline, RoundsAreBounded) {
  ir::Module module = read(kPipeline);
  RunOptions options;
  options.max_rounds = 1;
  const auto report = run(module, options);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->settled);
}

// Every pass leaves a module unchanged if there is nothing to gain.
TEST(Pipeline, SizesThatBecomeKnownAreUsed) {
  ir::Module module = read(R"(module {
  graph(%0 "x": f32[T,4]) {
    %1 = shape(%0) {start = 1} : i64[1]
    %2 = constant i64[1] [-1]
    %3 = concat(%2, %1) {axis = 0} : i64[2]
    %4 = reshape(%0, %3) {allowzero = 0} : f32[*]
    yield %4 "y"
  } })");
  ASSERT_TRUE(run(module));
  EXPECT_EQ(ir::print(module), R"(module {
  graph(%0 "x": f32[T,4]) {
    yield %0 "y"
  }
}
)");
}

}  // namespace
}  // namespace scanloom::passes
