// Reads modules with the operators of src/ops.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "ir/parse.h"
#include "ops/ops.h"

namespace scanloom::ir {

/// An empty module after a failure, which the test reports.
inline Module read(std::string_view text) {
  auto module = parse(text, ops::find_op);
  EXPECT_TRUE(module) << module.error().message();
  return module ? *std::move(module) : Module();
}

}  // namespace scanloom::ir
