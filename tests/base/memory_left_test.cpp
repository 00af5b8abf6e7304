#include "base/memory_left.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/memory_budget.h"

namespace scanloom {
namespace {

namespace fs = std::filesystem;

/// Files of a system as the test wants them: memory is counted in KiB by meminfo, else in bytes.
class MemoryLeft : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / (std::string("scanloom_memory_") + info->name());
    fs::remove_all(folder_);
    write("proc/meminfo", "MemTotal:       8000 kB\nMemFree:  1 kB\nMemAvailable:   4000 kB\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  /// Mounts `root` of a hierarchy at the folder "cgroup".
  void mount(const std::string& root, const std::string& type, const std::string& options) const {
    write("proc/self/mountinfo", "24 1 8:1 / / rw - ext4 /dev/root rw\n30 24 0:26 " + root + " " +
                                     (folder_ / "cgroup").string() + " rw,nosuid shared:4 - " +
                                     type + " cgroup " + options + "\n");
  }
  [[nodiscard]] std::int64_t left() const { return memory_left((folder_ / "proc").string()); }

  fs::path folder_;
};

TEST_F(MemoryLeft, IsWhatTheMachineHasAvailable) { EXPECT_EQ(left(), 4000 * 1024); }

TEST_F(MemoryLeft, ACgroupOfVersion2HasItsOwnLimit) {
  write("proc/self/cgroup", "0::/jobs/mine\n");
  mount("/", "cgroup2", "rw");
  write("cgroup/jobs/mine/memory.max", "1000000\n");
  write("cgroup/jobs/mine/memory.current", "300000\n");
  EXPECT_EQ(left(), 700'000);
  write("cgroup/jobs/mine/memory.stat", "anon 1\ninactive_file 100000\nactive_file 7\n");
  EXPECT_EQ(left(), 800'000) << "pages of files can be dropped";
  write("cgroup/jobs/mine/memory.max", "max\n");
  EXPECT_EQ(left(), 4000 * 1024);
}

TEST_F(MemoryLeft, TheCgroupsAroundCountToo) {
  write("proc/self/cgroup", "0::/jobs/mine\n");
  mount("/", "cgroup2", "rw");
  write("cgroup/jobs/mine/memory.max", "1000000\n");
  write("cgroup/jobs/mine/memory.current", "300000\n");
  write("cgroup/jobs/memory.max", "900000\n");
  write("cgroup/jobs/memory.current", "850000\n");
  EXPECT_EQ(left(), 50'000);
}

TEST_F(MemoryLeft, ACgroupOfVersion1IsFoundAmongItsControllers) {
  write("proc/self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/jobs/mine\n0::/\n");
  mount("/", "cgroup", "rw,memory");
  write("cgroup/jobs/mine/memory.limit_in_bytes", "1000000\n");
  write("cgroup/jobs/mine/memory.usage_in_bytes", "600000\n");
  write("cgroup/jobs/mine/memory.stat", "inactive_file 5\ntotal_inactive_file 10000\n");
  EXPECT_EQ(left(), 410'000);
  write("cgroup/memory.limit_in_bytes", "9223372036854771712\n");  // no limit, as it is written
  write("cgroup/memory.usage_in_bytes", "600000\n");
  EXPECT_EQ(left(), 410'000);
}

TEST_F(MemoryLeft, AContainerSeesItsFolderAsTheRoot) {
  write("proc/self/cgroup", "0::/docker/abc/worker\n");
  mount("/docker/abc", "cgroup2", "rw");
  write("cgroup/memory.max", "500000\n");
  write("cgroup/memory.current", "100000\n");
  EXPECT_EQ(left(), 400'000);
  write("cgroup/worker/memory.max", "200000\n");
  write("cgroup/worker/memory.current", "150000\n");
  EXPECT_EQ(left(), 50'000);
  write("proc/self/cgroup", "0::/../elsewhere\n");
  EXPECT_EQ(left(), 400'000);
}

TEST_F(MemoryLeft, MoreThanTheLimitLeavesNothing) {
  write("proc/self/cgroup", "0::/\n");
  mount("/", "cgroup2", "rw");
  write("cgroup/memory.max", "1000\n");
  write("cgroup/memory.current", "2000\n");
  EXPECT_EQ(left(), 0);
}

TEST_F(MemoryLeft, FilesThatSayNothingLimitNothing) {
  for (const char* text : {"", "\n", "0:", "::::", "0::/jobs", "4:memory:", "\xff\xfe"}) {
    write("proc/self/cgroup", text);
    write("proc/self/mountinfo", text);
    EXPECT_EQ(left(), 4000 * 1024) << text;
  }
}

TEST(MemoryBudget, AGivenOneIsTaken) {
  MemoryBudget budget(1000);
  EXPECT_EQ(budget.bytes(), 1000);
  EXPECT_FALSE(budget.measure(0));
  EXPECT_EQ(budget.bytes(), 1000);
}

TEST(MemoryBudget, TheDefaultIsMeasuredOnce) {
  MemoryBudget budget;
  EXPECT_EQ(budget.bytes(), MemoryBudget::kUnmeasured);
  budget.measure(0);
  EXPECT_GE(budget.bytes(), MemoryBudget::kUnmeasured);
  const std::int64_t measured = budget.bytes();
  EXPECT_FALSE(budget.measure(std::int64_t{1} << 40));
  EXPECT_EQ(budget.bytes(), measured);
}

}  // namespace
}  // namespace scanloom
