#include "ir/walk.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"
#include "tests/ir/read.h"
#include "tests/support/case_file.h"

namespace scanloom::ir {
namespace {

constexpr std::string_view kNested = R"(module "m" {
  graph(%0 "b": boolean[], %1 "n": i64[]) {
    branch(%0, %1) {
      then(%2: i64[]) {
        loop trip(%2) {
          body() {
            yield
          }
        }
        yield
      }
      else(%3: i64[]) {
        yield
      }
    }
    loop trip(%1) {
      body() {
        yield
      }
    }
    yield
  }
}
)";

std::vector<std::uint32_t> indices(const std::vector<RegionId>& ids) {
  std::vector<std::uint32_t> result;
  for (const RegionId id : ids) result.push_back(id.index);
  return result;
}

// Regions of the text: 0 graph, 1 then, 2 the loop in it, 3 else, 4 the last loop.
TEST(Walk, RegionOrders) {
  const Module module = read(kNested);
  using Indices = std::vector<std::uint32_t>;
  EXPECT_EQ(indices(regions_outer_first(module, module.top())), (Indices{0, 1, 2, 3, 4}));
  EXPECT_EQ(indices(regions_inner_first(module, module.top())), (Indices{2, 1, 3, 4, 0}));
  EXPECT_EQ(indices(regions_inner_first(module, RegionId(1u))), (Indices{2, 1}));
}

TEST(Walk, ValueMapFollowsChains) {
  Module module = read(R"(module { graph(%0: f32[2], %1: f32[2]) {
    %2 = neg(%0) : f32[2]
    %3 = neg(%2) : f32[2]
    yield %3 "y", %2 "z" } })");
  ValueMap map(module);
  EXPECT_TRUE(map.empty());
  map.set(ValueId(2u), ValueId(0u));
  map.set(ValueId(0u), ValueId(1u));
  EXPECT_EQ(map[ValueId(2u)], ValueId(1u));
  EXPECT_EQ(map[ValueId()], ValueId());
  map.apply(module);
  EXPECT_EQ(module.node(NodeId(1u)).inputs[0], ValueId(1u));
  EXPECT_EQ(module.region(module.top()).yields[1], ValueId(1u));
}

TEST(Walk, CountsUsesOfWhatIsReached) {
  Module module = read(R"(module { graph(%0: f32[2]) {
    %1 = add(%0, %0) : f32[2]
    %2 = neg(%0) : f32[2]
    yield %1 "y", %1 "z" } })");
  module.region(module.top()).nodes.pop_back();
  EXPECT_EQ(count_uses(module), (std::vector<std::uint32_t>{2, 2, 0}));
}

TEST(Walk, ClonesRegionsWithAllInside) {
  Module module = read(R"(module {
    graph(%0 "c": boolean[], %1 "n": i64[], %2 "x": f32[2]) {
      %3 = branch(%0, %1, %2) : f32[2] {
        then(%4: i64[], %5: f32[2]) {
          %6 = loop trip(%4) carried(%5) : f32[2] {
            body(%7: f32[2]) {
              %8 = neg(%7) : f32[2]
              yield %8
            }
          }
          yield %6
        }
        else(%9: i64[], %10: f32[2]) {
          yield %10
        }
      }
      yield %3 "y"
    } })");
  const RegionId then = module.node(NodeId(0u)).regions[0];
  const auto results = clone_region_into(module, then, module.top(), {ValueId(1u), ValueId(2u)});
  ASSERT_EQ(results.size(), 1u);
  module.region(module.top()).yields[0] = results[0];
  ASSERT_TRUE(verify(module)) << verify(module).error().message();
  const std::string text = print(module);
  EXPECT_NE(text.find("loop trip(%1) carried(%2) : f32[2] {\n      body(%12: f32[2]) {\n"
                      "        %13 = neg(%12) : f32[2]\n        yield %13\n"),
            std::string::npos)
      << text;
}

TEST(Walk, CompactPrintsTheSame) {
  for (const char* path : {"ir/round_trip.ir", "ir/round_trip_locations.ir"})
    for (const testing::Case& c : testing::read_cases(path)) {
      SCOPED_TRACE(c.name);
      const Module module = read(c.parts[0]);
      const Module copy = compact(module);
      EXPECT_EQ(print(copy, {.locations = true}), print(module, {.locations = true}));
      EXPECT_EQ(copy.value_count(), module.value_count());
    }
}

TEST(Walk, CompactLeavesOutWhatIsNotReached) {
  Module module = read(kNested);
  module.region(module.top()).nodes.erase(module.region(module.top()).nodes.begin());
  const Module copy = compact(module);
  EXPECT_EQ(copy.node_count(), 1u);
  EXPECT_EQ(copy.region_count(), 2u);
  EXPECT_EQ(copy.value_count(), 2u);
  EXPECT_EQ(print(copy), print(module));
}

}  // namespace
}  // namespace scanloom::ir
