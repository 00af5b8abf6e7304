// Text files of test cases: "// ==== name" begins a case and "// ----" its next part. In front of a
// case's first part, "// error: text" and "// option" lines state its expected outcome.
#pragma once

#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace scanloom::testing {

struct Case {
  std::string name;
  std::string error;               ///< expected; empty: none
  std::vector<std::string> parts;  ///< each with its final newline

  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

/// `path` below the tests' folder.
inline std::vector<Case> read_cases(const std::string& path) {
  std::ifstream file(std::string(SCANLOOM_TEST_DIR) + "/" + path);
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("// ==== ")) {
      cases.push_back({line.substr(8), "", {""}});
    } else if (cases.empty()) {
      continue;  // the head comment of the file
    } else if (line.starts_with("// error: ")) {
      cases.back().error = line.substr(10);
    } else if (line == "// ----") {
      cases.back().parts.emplace_back();
    } else if (!line.empty()) {
      cases.back().parts.back() += line + "\n";
    }
  }
  return cases;
}

/// A case's name as GoogleTest wants it.
inline std::string test_name(const std::string& name) {
  std::string result;
  for (const char c : name) result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return result;
}

}  // namespace scanloom::testing
