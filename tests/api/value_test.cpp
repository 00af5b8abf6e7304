// Elements of values as C++ types: the matching type is accepted, any other is an error.
#include <scanloom/value.h>

#include <array>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/api/models.h"

namespace scanloom::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

static_assert(Element<float> && Element<double> && Element<bool> && Element<StringRef>);
static_assert(Element<std::int8_t> && Element<std::uint64_t> && Element<long long>);
// Taken for strings, their bytes would be read as addresses.
static_assert(!Element<std::string> && !Element<char> && !Element<const char*> &&
              !Element<std::array<float, 2>>);

/// Two zeros of any type.
Value zeros(DType dtype) { return {dtype, {1, 2}, std::make_shared<std::array<std::byte, 64>>()}; }

Value of_floats(std::vector<float> elements) {
  const auto size = static_cast<std::int64_t>(elements.size());
  const auto owner = std::make_shared<std::vector<float>>(std::move(elements));
  return {DType::f32, {size}, std::shared_ptr<const void>(owner, owner->data())};
}

/// Returns the message that `read` throws, or "" if it throws nothing.
template <class Read>
std::string thrown(Read read) {
  try {
    (void)read();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.error().code(), Code::invalid_argument);
    EXPECT_EQ(failure.what(), failure.error().message());
    return failure.what();
  }
  return "";
}

/// Every type but T's is refused, in both ways, with both types.
template <Element T>
void expect_only_own() {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const Value value = zeros(dtype);
    const auto found = value.try_as<T>();
    ASSERT_EQ(found.has_value(), dtype == dtype_of<T>) << dtype_name(dtype);
    if (found) {
      EXPECT_EQ(found->size(), 2u);
      EXPECT_EQ(found->data(), value.data());
      EXPECT_EQ(value.as<T>().data(), value.data());
      continue;
    }
    EXPECT_EQ(found.error().code(), Code::invalid_argument);
    EXPECT_THAT(found.error().text(),
                HasSubstr("the value is " + std::string(dtype_name(dtype)) + "[1,2], not " +
                          std::string(dtype_name(dtype_of<T>)) + ": "));
    EXPECT_EQ(thrown([&] { return value.as<T>(); }), found.error().message());
  }
}

TEST(Value, IsReadAsItsOwnTypeAlone) {
  expect_only_own<float>();
  expect_only_own<double>();
  expect_only_own<bool>();
  expect_only_own<std::int8_t>();
  expect_only_own<std::int16_t>();
  expect_only_own<std::int32_t>();
  expect_only_own<std::int64_t>();
  expect_only_own<std::uint8_t>();
  expect_only_own<std::uint16_t>();
  expect_only_own<std::uint32_t>();
  expect_only_own<std::uint64_t>();
  expect_only_own<StringRef>();
}

TEST(Value, SaysWhatReadsIt) {
  const auto told = [](DType dtype) { return zeros(dtype).try_as<StringRef>().error().text(); };
  EXPECT_EQ(told(DType::f32), "the value is f32[1,2], not string: use as<float>() to read it");
  EXPECT_EQ(told(DType::i64),
            "the value is i64[1,2], not string: use as<std::int64_t>() to read it");
  EXPECT_EQ(told(DType::boolean),
            "the value is boolean[1,2], not string: use as<bool>() to read it");
  EXPECT_EQ(told(DType::bf16), "the value is bf16[1,2], not string: use data() to read it");
  EXPECT_EQ(zeros(DType::string).try_as<double>().error().text(),
            "the value is string[1,2], not f64: use strings() to read it");
}

TEST(Value, OfNoElementsIsReadAsWell) {
  const Value none = of_floats({});
  EXPECT_THAT(none.try_as<float>().value_or_throw(), IsEmpty());
  EXPECT_FALSE(none.try_as<double>());
  EXPECT_THAT(Value().as<float>(), IsEmpty());
  EXPECT_EQ(thrown([] { return Value().as<std::int32_t>(); }),
            "the value is f32[], not i32: use as<float>() to read it");
}

TEST(Value, OfSeveralTensorsIsReadByItem) {
  for (const auto& [kind, what] :
       {std::pair{ValueKind::sequence, "a sequence"}, {ValueKind::optional, "an optional"}}) {
    const Value value(kind, DType::f32, {of_floats({1, 2})});
    EXPECT_EQ(value.try_as<float>().error().text(),
              "the value is " + std::string(what) +
                  " of f32, not a tensor of f32: use items() for its tensors");
    EXPECT_THAT(thrown([&] { return value.as<double>(); }), HasSubstr("not a tensor of f64"));
    EXPECT_THAT(value.items()[0].as<float>(), ElementsAre(1, 2));
  }
}

TEST(Value, OfStringsIsReadAsStringsAlone) {
  const std::vector<std::string> texts{"a", ""};
  const View fed = strings(texts, {2});
  const Value value(DType::string, {2}, std::shared_ptr<const void>(fed.owner, fed.data));
  EXPECT_THAT(value.try_strings().value_or_throw(), ElementsAre("a", ""));
  EXPECT_THAT(value.strings(), ElementsAre("a", ""));
  EXPECT_EQ(value.as<StringRef>()[0].view(), "a");
  EXPECT_EQ(of_floats({1}).try_strings().error().text(),
            "the value is f32[1], not string: use as<float>() to read it");
  EXPECT_THAT(thrown([] { return of_floats({1}).strings(); }), HasSubstr("f32[1], not string"));
  EXPECT_THAT(thrown([] { return Value(ValueKind::sequence, DType::string, {}).strings(); }),
              HasSubstr("a sequence of string, not a tensor of string"));
}

TEST(Results, AreReleasedWithTheirNames) {
  const float start[] = {10, 20}, xs[] = {1, 2, 3, 4};
  const Session session = load(running_sums());
  const std::vector<std::string> asked{"last", "sums", "last"};
  const std::vector<Feed> feeds{{"start", view(start, {2})}, {"xs", view(xs, {2, 2})}};
  Results results = session.run(feeds, {}, asked).value_or_throw();
  const std::vector<Value> values = results.release();
  EXPECT_EQ(results.size(), 0U);
  ASSERT_EQ(values.size(), 3U);
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_EQ(values[i].name(), "last");
    EXPECT_THAT(values[i].as<float>(), ElementsAre(14, 26));
  }
  EXPECT_THAT(values[1].as<float>(), ElementsAre(11, 22, 14, 26));
}

TEST(Results, AreNamedByErrors) {
  const float start[] = {10, 20}, xs[] = {1, 2, 3, 4};
  const Session session = load(running_sums());
  const auto results = session.run({{"start", view(start, {2})}, {"xs", view(xs, {2, 2})}});
  ASSERT_TRUE(results) << results.error().message();
  EXPECT_THAT(results->try_as<float>("last").value_or_throw(), ElementsAre(14, 26));
  EXPECT_THAT(results->try_as<float>("sums").value_or_throw(), ElementsAre(11, 22, 14, 26));
  EXPECT_EQ(results->find("sums")->name(), "sums");

  const auto other = results->try_as<double>("sums");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), Code::invalid_argument);
  EXPECT_EQ(other.error().text(), "value 'sums' is f32[2,2], not f64: use as<float>() to read it");
  EXPECT_EQ(thrown([&] { return (*results)[1].as<double>(); }), other.error().text());
  EXPECT_EQ(thrown([&] { return results->at("last").as<bool>(); }),
            "value 'last' is f32[2], not boolean: use as<float>() to read it");

  const auto unknown = results->try_as<float>("sum");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Code::not_found);
  EXPECT_EQ(unknown.error().message(),
            "unknown result 'sum'\n  note: the results are 'last', 'sums'");
  EXPECT_EQ(results->find("sum"), nullptr);
  EXPECT_THROW((void)results->at("sum"), Failure);
  EXPECT_THAT(Results().try_as<float>("y").error().message(), HasSubstr("there are no results"));
}

}  // namespace
}  // namespace scanloom::test
