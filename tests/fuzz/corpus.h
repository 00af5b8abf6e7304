// A fuzzer's corpus, and damaged copies of it, through what the fuzzer runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace scanloom::fuzz {

namespace fs = std::filesystem;

constexpr std::uint32_t kSeed = 20260615;
constexpr int kDamagedCopies = 40;

/// The files of a folder of tests/fuzz, in the order of their names.
inline std::vector<std::string> corpus(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(SCANLOOM_TEST_DIR) / "fuzz" / folder))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> files;
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return files;
}

inline void read(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

class Damage {
 public:
  /// One to four bytes changed, taken out or put in, or a piece of another file put over it.
  std::string of(std::string bytes, const std::vector<std::string>& others) {
    for (std::size_t count = 1 + below(4); count > 0 && !bytes.empty(); --count) {
      const std::size_t at = below(bytes.size());
      switch (below(4)) {
        case 0:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 1:
          bytes.erase(at, 1 + below(8));
          break;
        case 2:
          bytes.insert(at, 1, static_cast<char>(below(256)));
          break;
        default: {
          const std::string& other = others[below(others.size())];
          bytes.replace(at, below(32), other.substr(below(other.size() + 1), below(32)));
        }
      }
    }
    return bytes;
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }

  std::mt19937 random_{kSeed};
};

inline void read_damaged(const std::vector<std::string>& files) {
  Damage damage;
  for (const std::string& bytes : files)
    for (int copy = 0; copy < kDamagedCopies; ++copy) read(damage.of(bytes, files));
}

}  // namespace scanloom::fuzz
