// RunMemory: what counts against the budget of a run, and what is done before it is exceeded.
#include "runtime/run_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

namespace scanloom::runtime {
namespace {

using ::testing::HasSubstr;

plan::Binding with_needs(std::int64_t arena, std::int64_t scratch, std::int64_t results) {
  plan::Binding binding;
  binding.arena_bytes = arena;
  binding.scratch_bytes = scratch;
  binding.result_bytes = results;
  return binding;
}

std::shared_ptr<Storage> storage_of(std::int64_t bytes, RunMemory& memory) {
  return std::make_shared<Storage>(std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes)),
                                   bytes, memory.budget());
}

TEST(RunMemory, TheFixedNeedsAreCheckedFirst) {
  const plan::Binding binding = with_needs(100, 20, 30);
  RunMemory memory(binding);
  EXPECT_TRUE(memory.begin_run(150, 0));
  EXPECT_EQ(memory.left(), 0);
  const Expected<void> begun = memory.begin_run(149, 0);
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code(), Code::limit_reached);
  EXPECT_THAT(begun.error().message(), HasSubstr("needs 150 bytes (30 for results), but the memory "
                                                 "budget is 149 bytes"));
}

TEST(RunMemory, NeedsOfMoreThan63BitsAreAnError) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (const plan::Binding& binding : {with_needs(kMax, 1, 0), with_needs(kMax - 1, 1, 1)}) {
    RunMemory memory(binding);
    const Expected<void> begun = memory.begin_run(0, 0);
    ASSERT_FALSE(begun);
    EXPECT_THAT(begun.error().message(), HasSubstr("more than 2^63 bytes"));
  }
}

TEST(RunMemory, StorageCountsWhileItLives) {
  const plan::Binding binding = with_needs(100, 0, 0);
  RunMemory memory(binding);
  ASSERT_TRUE(memory.begin_run(1000, 0));
  std::shared_ptr<Storage> first = storage_of(600, memory);
  const std::shared_ptr<Storage> shared = first;
  EXPECT_EQ(memory.left(), 300);
  EXPECT_TRUE(memory.fits(300));
  EXPECT_FALSE(memory.fits(301));
  first.reset();
  EXPECT_EQ(memory.left(), 300);
}

TEST(RunMemory, ObjectsCountTowardsTheSameBudget) {
  const plan::Binding binding = with_needs(100, 0, 0);
  RunMemory memory(binding);
  ASSERT_TRUE(memory.begin_run(1000, 0));
  memory.set_release([] {});
  const std::shared_ptr<Storage> storage = storage_of(500, memory);
  EXPECT_FALSE(memory.update_account().check(401));
  const auto held = memory.update_account().hold(400);
  ASSERT_TRUE(held);
  EXPECT_EQ(memory.left(), 0);
}

TEST(RunMemory, KeptMemoryIsReleasedBeforeTheBudgetIsExceeded) {
  const plan::Binding binding = with_needs(0, 0, 0);
  RunMemory memory(binding);
  ASSERT_TRUE(memory.begin_run(1000, 0));
  std::shared_ptr<Storage> kept = storage_of(900, memory);
  memory.set_release([&] { kept.reset(); });
  EXPECT_TRUE(memory.make_room(100));
  EXPECT_NE(kept, nullptr);
  EXPECT_TRUE(memory.make_room(1000));
  EXPECT_EQ(kept, nullptr);
  EXPECT_FALSE(memory.make_room(1001));
}

TEST(RunMemory, ObjectsReleaseKeptMemoryToo) {
  const plan::Binding binding = with_needs(0, 0, 0);
  RunMemory memory(binding);
  ASSERT_TRUE(memory.begin_run(1000, 0));
  std::shared_ptr<Storage> kept = storage_of(900, memory);
  memory.set_release([&] { kept.reset(); });
  EXPECT_TRUE(memory.update_account().check(1000));
  EXPECT_EQ(kept, nullptr);
}

TEST(RunMemory, ThePeakIsOfOneRun) {
  const plan::Binding binding = with_needs(0, 0, 0);
  RunMemory memory(binding);
  ASSERT_TRUE(memory.begin_run(1000, 0));
  {
    const std::shared_ptr<Storage> storage = storage_of(300, memory);
    memory.note_taken(50);
  }
  memory.note_taken();
  EXPECT_EQ(memory.data_bytes(), 350);
  ASSERT_TRUE(memory.begin_run(1000, 0));
  EXPECT_EQ(memory.data_bytes(), 0);
}

// Two workers may take half of what is left together, so that the run itself can go on.
TEST(RunMemory, WorkersShareWhatIsLeft) {
  const plan::Binding binding = with_needs(0, 0, 0);
  RunMemory main(binding), worker(binding);
  ASSERT_TRUE(main.begin_run(1000, 0));
  const std::shared_ptr<Storage> of_main = storage_of(200, main);
  worker.begin_worker(main, 2);
  EXPECT_EQ(worker.left(), 200);
  const std::shared_ptr<Storage> of_worker = storage_of(200, worker);
  EXPECT_FALSE(worker.fits(1));
  EXPECT_EQ(main.left(), 800);
}

}  // namespace
}  // namespace scanloom::runtime
