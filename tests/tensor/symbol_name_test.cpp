#include "tensor/symbol_name.h"

#include <gtest/gtest.h>

namespace scanloom::tensor {
namespace {

TEST(SymbolName, IsThatOfTheModel) {
  DimTable dims;
  for (const char* name : {"T", "batch size", "N+1", "\"a\\b\"", "line\nfeed", "\\x41"})
    EXPECT_EQ(symbol_name(dims, dims.symbol(name)), name);
}

TEST(SymbolName, OtherSizesHaveNone) {
  DimTable dims;
  EXPECT_EQ(symbol_name(dims, 3), "");
  EXPECT_EQ(symbol_name(dims, dims.fresh()), "");
  EXPECT_EQ(symbol_name(dims, dims.add(dims.symbol("T"), 1)), "");
}

}  // namespace
}  // namespace scanloom::tensor
