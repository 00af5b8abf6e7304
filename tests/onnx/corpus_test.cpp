// The fuzzer's corpus, and damaged copies of it, through what the fuzzer runs.
#include "tests/fuzz/corpus.h"

#include <gtest/gtest.h>

namespace scanloom::onnx::test {
namespace {

TEST(Corpus, IsRead) {
  const std::vector<std::string> files = fuzz::corpus("corpus");
  EXPECT_GE(files.size(), 40u);
  for (const std::string& bytes : files) fuzz::read(bytes);
}

TEST(Corpus, DamagedCopiesAreErrorsOrModels) {
  RecordProperty("seed", static_cast<int>(fuzz::kSeed));
  fuzz::read_damaged(fuzz::corpus("corpus"));
}

}  // namespace
}  // namespace scanloom::onnx::test
