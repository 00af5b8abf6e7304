// Error: why an operation failed, as a value: a code for programs, a message that names the user's
// node and both numbers for people, and notes that say what would help.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <scanloom/api.h>

namespace scanloom {

enum class Code : std::uint8_t {
#define SCANLOOM_CODE(name, meaning) name,
#include <scanloom/codes.inc>
#undef SCANLOOM_CODE
};

/// The code's name as written in the source, such as "invalid_model".
SCANLOOM_API std::string_view code_name(Code code) noexcept;

/// Cheap to move; copying copies the texts. Never empty.
class SCANLOOM_API Error {
 public:
  Error(Code code, std::string text);
  Error(const Error& other);
  Error(Error&& other) noexcept;
  Error& operator=(const Error& other);
  Error& operator=(Error&& other) noexcept;
  ~Error();

  [[nodiscard]] Code code() const noexcept;
  /// The first line, without notes.
  [[nodiscard]] const std::string& text() const noexcept;
  [[nodiscard]] std::span<const std::string> notes() const noexcept;
  /// The text and its notes, one per line ("  note: ...").
  [[nodiscard]] std::string message() const;

  /// Adds a note; returns itself so that notes can be added while returning.
  Error& note(std::string text) &;
  Error&& note(std::string text) &&;
  /// Puts "<location>: " before the text.
  Error&& at(std::string_view location) &&;

 private:
  struct Detail;
  std::unique_ptr<Detail> detail_;
};

}  // namespace scanloom
