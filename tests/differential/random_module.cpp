#include "tests/differential/random_module.h"

#include <gtest/gtest.h>

#include "ir/infer.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "tests/differential/random_maker.h"

namespace scanloom::differential {

ir::Module random_module(std::uint64_t seed) {
  ir::Module module = Maker(seed).run();
  const auto inferred = ir::infer_types(module);
  EXPECT_TRUE(inferred) << "seed " << seed << ": " << inferred.error().text() << ir::print(module);
  if (!inferred) return {};
  const auto sound = ir::verify(module);
  EXPECT_TRUE(sound) << "seed " << seed << ": " << sound.error().text();
  return module;
}

}  // namespace scanloom::differential
