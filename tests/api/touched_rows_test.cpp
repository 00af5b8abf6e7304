#include "api/touched_rows.h"

#include <gtest/gtest.h>

#include "ir/parse.h"
#include "ir/verify.h"
#include "ops/ops.h"

namespace scanloom {
namespace {

/// The variables of a function that sets table %0 to the last value of the table that a loop
/// carries. The body may use the table %5, one of the rows %6, one of the indices %7, and the
/// matrix %4.
std::size_t touched_tables(const std::string& body) {
  const std::string text =
      R"(module "update" {
  graph(%0 "table": f32[900,2], %1 "rows": f32[9,2], %2 "at": i64[9], %3 "m": f32[2,2]) {
    %30 = constant i64[] [9]
    %8 = loop trip(%30) captured(%3) carried(%0) scanned(%1 axis 0, %2 axis 0) : f32[900,2] {
      body(%4: f32[2,2], %5: f32[900,2], %6: f32[2], %7: i64[]) {
)" + body +
      R"(
      }
    }
    yield %8 "table"
  }
}
)";
  Expected<ir::Module> module = ir::parse(text, ops::find_op);
  EXPECT_TRUE(module) << module.error().message();
  if (!module) return 0;
  const TouchedForm form = touched_form(*std::move(module), {.first = 0, .arguments = {0}});
  const Expected<void> fine = ir::verify(form.module);
  EXPECT_TRUE(fine) << fine.error().message();
  return form.tables.size();
}

constexpr const char* kWrite = R"(
        %20 = unsqueeze(%19) {axes = [0]} : i64[1]
        %21 = scatter_nd(%5, %20, %6) {reduction = "none"} : f32[900,2]
        yield %21)";

TEST(TouchedRows, IndicesMayBeComputed) {
  EXPECT_EQ(touched_tables(std::string("%19 = add(%7, %7) : i64[]") + kWrite), 1U);
  EXPECT_EQ(touched_tables(std::string(R"(
        %9 = reduce(%6) {kind = "sum", keepdims = 0} : f32[]
        %19 = cast(%9) {to = i64} : i64[])") +
                           kWrite),
            1U);
}

// The loop that collects the indices would draw others.
TEST(TouchedRows, IndicesAreNotDrawnTwice) {
  EXPECT_EQ(touched_tables(std::string(R"(
        %9 = constant i64[0] []
        %10 = random(%9) {kind = "uniform", to = f32, seed = 1, stream = 2} : f32[]
        %19 = cast(%10) {to = i64} : i64[])") +
                           kWrite),
            0U);
}

TEST(TouchedRows, ProductsAreNotComputedTwice) {
  EXPECT_EQ(touched_tables(std::string(R"(
        %9 = contract(%6, %4) {spec = "a,ab->b"} : f32[2]
        %10 = constant i64[] [0]
        %11 = gather(%9, %10) {axis = 0} : f32[]
        %19 = cast(%11) {to = i64} : i64[])") +
                           kWrite),
            0U);
}

TEST(TouchedRows, ATableThatIsOnlyHandedOnHasNone) {
  EXPECT_EQ(touched_tables(R"(
        %9 = identity(%5) : f32[900,2]
        yield %9)"),
            0U);
}

}  // namespace
}  // namespace scanloom
