#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "ir/op_def.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/text.h"
#include "ops/ops.h"
#include "tests/support/case_file.h"

namespace scanloom::ir {
namespace {

using testing::Case;
using testing::read_cases;

std::string message(const Expected<Module>& module) {
  return module ? "" : module.error().message();
}

TEST(PrintParse, PrintsWhatItReads) {
  const auto cases = read_cases("ir/round_trip.ir");
  ASSERT_FALSE(cases.empty());
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto module = parse(c.parts[0], ops::find_op);
    ASSERT_TRUE(module) << message(module);
    EXPECT_EQ(print(*module), c.parts[0]);
  }
}

// The first block of docs/ir.md is a module as it is printed.
TEST(PrintParse, TheDocumentsExample) {
  std::ifstream file(SCANLOOM_TEST_DIR "/../docs/ir.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string document = text.str();
  const std::size_t begin = document.find("```\n") + 4;
  const std::string example = document.substr(begin, document.find("```", begin) - begin);
  ASSERT_EQ(example.substr(0, 6), "module");
  const auto module = parse(example, ops::find_op);
  ASSERT_TRUE(module) << message(module);
  EXPECT_EQ(print(*module), example);
}

TEST(PrintParse, NamesAndLocations) {
  const auto cases = read_cases("ir/round_trip_locations.ir");
  ASSERT_FALSE(cases.empty());
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto module = parse(c.parts[0], ops::find_op);
    ASSERT_TRUE(module) << message(module);
    EXPECT_EQ(print(*module, {.locations = true}), c.parts[0]);
    EXPECT_EQ(print(*module).find("loc("), std::string::npos);
  }
}

TEST(PrintParse, ErrorsNameTheLocation) {
  const auto cases = read_cases("ir/parse_errors.ir");
  ASSERT_FALSE(cases.empty());
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto module = parse(c.parts[0], ops::find_op);
    ASSERT_FALSE(module);
    EXPECT_EQ(module.error().code(), Code::invalid_model);
    EXPECT_NE(message(module).find(c.error), std::string::npos) << message(module);
  }
}

TEST(PrintParse, NumbersFollowTheText) {
  const char* text =
      "module { graph(%70: f32[2]) { // a comment\n %9 = neg(%70) : f32[2] yield %9 \"y\" } }";
  const auto module = parse(text, ops::find_op);
  ASSERT_TRUE(module) << message(module);
  EXPECT_NE(print(*module).find("%1 = neg(%0) : f32[2]"), std::string::npos) << print(*module);
}

TEST(PrintParse, AllElements) {
  const auto module =
      parse("module { graph() { %0 = constant i64[20] <20 elements> yield } }", ops::find_op);
  ASSERT_TRUE(module) << message(module);
  EXPECT_NE(print(*module, {.max_elements = -1}).find("[0, 0, 0"), std::string::npos);
}

// Every bit pattern of the narrow types, and random ones of the wide.
TEST(Text, ElementsKeepTheirBits) {
  std::mt19937_64 random(1);
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (dtype == DType::string) continue;
    const std::size_t width = dtype_bytes(dtype);
    const std::uint64_t count = width <= 2 ? std::uint64_t{1} << (8 * width) : 20000;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t bits[2] = {width <= 2 ? i : random(), random()};
      std::byte element[16], read[16] = {};
      std::memcpy(element, bits, width);
      std::string word;
      text::append_element(word, dtype, element);
      ASSERT_TRUE(text::read_element(word, dtype, read)) << dtype_name(dtype) << " " << word;
      ASSERT_EQ(std::memcmp(element, read, width), 0) << dtype_name(dtype) << " " << word;
    }
  }
}

TEST(Text, OtherSpellingsAreNoElements) {
  std::byte element[16];
  for (const char* word : {"", "-", "+1", "infinity", "NAN", "nan(1)", "0x1", "0x000000001", "1e",
                           "1e400", ".5", "1 "})
    EXPECT_FALSE(text::read_element(word, DType::f32, element)) << word;
  for (const char* word : {"256", "-1", "1.0", "0x1", "true"})
    EXPECT_FALSE(text::read_element(word, DType::u8, element)) << word;
  EXPECT_FALSE(text::read_element("8", DType::i4, element));
  EXPECT_FALSE(text::read_element("1", DType::boolean, element));
}

// Cut off or changed anywhere, a text is read or refused, never more.
TEST(PrintParse, BrokenTextsAreRefused) {
  std::mt19937 random(2);
  for (const Case& c : read_cases("ir/round_trip.ir")) {
    const std::string& text = c.parts[0];
    for (std::size_t length = 0; length < text.size(); length += 7)
      EXPECT_FALSE(parse(std::string_view(text).substr(0, length), ops::find_op));
    for (int i = 0; i < 300; ++i) {
      std::string changed = text;
      for (int k = 0; k < 3; ++k)
        changed[random() % changed.size()] = "%0,(){}[]\"\\:=_?9-"[random() % 17];
      if (const auto module = parse(changed, ops::find_op)) {
        const std::string printed = print(*module, {.locations = true});
        const auto again = parse(printed, ops::find_op);
        ASSERT_TRUE(again) << printed << message(again);
        EXPECT_EQ(print(*again, {.locations = true}), printed);
      }
    }
  }
}

// Whatever a module holds, printing it ends.
TEST(Print, BrokenModules) {
  Module module;
  const NodeId loop = module.add_node(module.top(), loop_op, {ValueId(99u), ValueId()}, {Attr(1)},
                                      {Type::scalar(DType::f32)}, LocationId(7u));
  module.node(loop).loop = LoopPorts{.captured = 0xffffffffu, .carried = 0xffffffffu};
  module.node(loop).regions = {module.top(), RegionId(55u), RegionId()};
  module.node(loop).outputs.push_back(ValueId(44u));
  const NodeId empty = module.add_node(module.top(), loop_op, {}, {}, {});
  module.node(empty).op = nullptr;
  module.region(module.top()).nodes.push_back(NodeId(77u));
  module.region(module.top()).nodes.push_back(loop);
  module.region(module.top()).yields = {ValueId(3u)};
  module.value(ValueId(0u)).type.dims = {Dim::from_expr(12)};
  module.states.push_back({"s", 4, 5, {}});
  const std::string text = print(module, {.locations = true});
  EXPECT_NE(text.find("loop(%?, _) ?ports("), std::string::npos) << text;
}

TEST(PrintParse, DeepNesting) {
  constexpr int kDepth = 2000;
  std::string text = "module { graph(%0: boolean[]) {";
  for (int i = 0; i < kDepth; ++i)
    text += " branch(%" + std::to_string(i) + ", %" + std::to_string(i) + ") { then(%" +
            std::to_string(i + 1) + ": boolean[]) {";
  for (int i = kDepth; i > 0; --i)
    text += " yield } else(%" + std::to_string(10000 + i) + ": boolean[]) { yield } }";
  text += " yield } }";
  const auto module = parse(text, ops::find_op);
  ASSERT_TRUE(module) << message(module);
  const std::string printed = print(*module);
  const auto again = parse(printed, ops::find_op);
  ASSERT_TRUE(again) << message(again);
  EXPECT_EQ(print(*again), printed);
}

}  // namespace
}  // namespace scanloom::ir
