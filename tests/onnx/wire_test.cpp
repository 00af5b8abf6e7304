#include "frontends/onnx/wire.h"

#include <gmock/gmock.h>

#include <new>
#include <protozero/pbf_writer.hpp>
#include <string>

namespace scanloom::onnx {
namespace {

using ::testing::ElementsAre;

TEST(Wire, ReadsPackedAndSingleValues) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_int64(1, -5);
  const std::int64_t integers[] = {6, 7};
  writer.add_packed_int64(1, integers, integers + 2);
  writer.add_float(2, 1.5f);
  writer.add_string(3, "text");
  Wire wire(bytes);
  std::vector<std::int64_t> values;
  std::vector<float> floats;
  std::string_view text;
  while (wire.next()) {
    if (wire.field() == 1)
      wire.append(values);
    else if (wire.field() == 2)
      wire.append(floats);
    else
      text = wire.view();
  }
  EXPECT_TRUE(wire.ok());
  EXPECT_THAT(values, ElementsAre(-5, 6, 7));
  EXPECT_THAT(floats, ElementsAre(1.5f));
  EXPECT_EQ(text, "text");
  EXPECT_GE(text.data(), bytes.data());
}

TEST(Wire, LackOfMemoryIsNoMistakeOfTheMessage) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  const std::int64_t integers[] = {6, 7};
  const float floats[] = {1, 2};
  writer.add_packed_int64(1, integers, integers + 2);
  writer.add_packed_float(2, floats, floats + 2);
  writer.add_int64(1, 5);
  writer.add_float(2, 3);
  const auto no_room = [](auto) -> bool { throw std::bad_alloc(); };
  Wire wire(bytes);
  while (wire.next()) {
    if (wire.field() == 1)
      EXPECT_THROW(wire.each_integer(no_room), std::bad_alloc);
    else
      EXPECT_THROW(wire.each_real<float>(no_room), std::bad_alloc);
    EXPECT_TRUE(wire.ok());
  }
}

TEST(Wire, RemembersMistakesAndEnds) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_string(1, "abc");
  for (const auto read :
       {+[](Wire& wire) { (void)wire.integer(); }, +[](Wire& wire) { (void)wire.real(); },
        +[](Wire& wire) {
          std::vector<float> values;
          wire.append(values);  // three bytes are no floats
        }}) {
    Wire wire(bytes);
    ASSERT_TRUE(wire.next());
    read(wire);
    EXPECT_FALSE(wire.ok());
    EXPECT_FALSE(wire.next());
  }
  Wire truncated(std::string_view(bytes).substr(0, 3));
  EXPECT_TRUE(truncated.next());
  EXPECT_EQ(truncated.view(), "");
  EXPECT_FALSE(truncated.ok());
  EXPECT_EQ(truncated.mistake(), "at byte 2 of its 3: field 1 is 3 bytes long, but 1 are left");
  Wire group(std::string_view("\x0b", 1));
  EXPECT_FALSE(group.next());
  EXPECT_FALSE(group.ok());
  EXPECT_EQ(group.mistake(), "at byte 1 of its 1");
  Wire half_a_length(std::string_view("\x0a\x80", 2));
  EXPECT_TRUE(half_a_length.next());
  EXPECT_EQ(half_a_length.view(), "");
  EXPECT_EQ(half_a_length.mistake(), "at byte 1 of its 2");
}

}  // namespace
}  // namespace scanloom::onnx
