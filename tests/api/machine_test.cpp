// Calibration: which measurements are kept and trusted, and how explain() uses them.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/machine.h"
#include "base/cpu.h"

namespace scanloom {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Machine : public ::testing::Test {
 protected:
  Machine()
      : path_(fs::temp_directory_path() / ("scanloom_machine_" + std::to_string(::getpid()))) {
    setenv("SCANLOOM_MACHINE", path_.c_str(), 1);
  }
  ~Machine() override {
    unsetenv("SCANLOOM_MACHINE");
    fs::remove_all(path_);
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  [[nodiscard]] static std::string header() {
    return "cpu " + cpu_name() + "\nisa " + std::string(isa_name(active_isa())) + "\n";
  }

  fs::path path_;
};

TEST_F(Machine, FiguresAreKept) {
  EXPECT_FALSE(known_figures());
  const auto measured = calibrate();
  ASSERT_TRUE(measured) << measured.error().text();
  EXPECT_GT(measured->operations_per_second, 1e6);  // of any machine, even with sanitizers
  const auto known = known_figures();
  ASSERT_TRUE(known);
  EXPECT_EQ(known->cpu, measured->cpu);
  ASSERT_EQ(known->levels.size(), measured->levels.size());
  for (std::size_t i = 1; i < known->levels.size(); ++i)
    EXPECT_LE(known->levels[i].bytes_per_second, known->levels[i - 1].bytes_per_second);
}

TEST_F(Machine, DamagedFiguresAndThoseOfOtherMachinesAreNot) {
  write(header() + "operations 1e9\nread 1024 1e10\n");
  EXPECT_TRUE(known_figures());
  for (const char* const bad :
       {"", "operations 1e9\n", "operations x\nread 1024 1e10\n", "operations 1e9\nread 1024\n",
        "operations -1\nread 1024 1e10\n", "operations 1e9\nread 1024 nan\n",
        "operations 1e9\nread 9 1e9\nread 8 1e9\n"}) {
    write(header() + bad);
    EXPECT_FALSE(known_figures()) << bad;
  }
  write("cpu another\nisa " + std::string(isa_name(active_isa())) +
        "\noperations 1e9\nread 1024 1e10\n");
  EXPECT_FALSE(known_figures());
}

TEST_F(Machine, FiguresThatCannotBeSavedHoldForThisProcess) {
  setenv("SCANLOOM_MACHINE", "/dev/null/machine", 1);
  const auto measured = calibrate();
  ASSERT_TRUE(measured);
  EXPECT_THAT(measured->why_not_saved, HasSubstr("/dev/null/machine"));
  const auto known = known_figures();
  ASSERT_TRUE(known);
  EXPECT_EQ(known->operations_per_second, measured->operations_per_second);
  setenv("SCANLOOM_MACHINE", path_.c_str(), 1);
  EXPECT_FALSE(known_figures());
}

TEST_F(Machine, NoHomeFolderIsCreated) {
  const char* const variables[] = {"SCANLOOM_MACHINE", "XDG_CACHE_HOME", "HOME"};
  std::vector<std::optional<std::string>> before;
  for (const char* const name : variables) {
    const char* const value = std::getenv(name);
    before.push_back(value == nullptr ? std::nullopt : std::optional<std::string>(value));
    unsetenv(name);
  }
  const fs::path home = path_.string() + "_home";
  setenv("HOME", home.c_str(), 1);
  const auto measured = calibrate();
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->why_not_saved, "the home folder '" + home.string() + "' does not exist");
  EXPECT_FALSE(fs::exists(home));
  fs::create_directory(home);
  ASSERT_TRUE(calibrate());
  EXPECT_TRUE(fs::exists(home / ".cache" / "scanloom" / "machine.txt"));
  fs::remove_all(home);
  for (std::size_t i = 0; i < before.size(); ++i) {
    unsetenv(variables[i]);
    if (before[i]) setenv(variables[i], before[i]->c_str(), 1);
  }
}

TEST(LeastSeconds, TakeTheSlowerOfReadingAndComputing) {
  const MachineFigures figures{.operations_per_second = 100, .levels = {{10, 50}, {100, 5}}};
  EXPECT_DOUBLE_EQ(min_seconds(figures, 5, 1), 0.1);
  EXPECT_DOUBLE_EQ(min_seconds(figures, 50, 1), 1);
  EXPECT_DOUBLE_EQ(min_seconds(figures, 1000, 1), 200);
  EXPECT_DOUBLE_EQ(min_seconds(figures, 5, 1000), 10);
}

}  // namespace
}  // namespace scanloom
