#include <scanloom/error.h>

#include <scanloom/expected.h>

#include "base/utf8.h"

namespace scanloom {

struct Error::Detail {
  Code code;
  std::string text;
  std::vector<std::string> notes;
};

std::string_view code_name(Code code) noexcept {
  switch (code) {
#define SCANLOOM_CODE(name, meaning) \
  case Code::name:                   \
    return #name;
#include <scanloom/codes.inc>
#undef SCANLOOM_CODE
  }
  return "unknown";
}

Error::Error(Code code, std::string text)
    : detail_(std::make_unique<Detail>(Detail{code, to_valid_utf8(text), {}})) {}
Error::Error(const Error& other) : detail_(std::make_unique<Detail>(*other.detail_)) {}
Error::Error(Error&& other) noexcept = default;
Error& Error::operator=(const Error& other) {
  if (this != &other) detail_ = std::make_unique<Detail>(*other.detail_);
  return *this;
}
Error& Error::operator=(Error&& other) noexcept = default;
Error::~Error() = default;

Code Error::code() const noexcept { return detail_->code; }
const std::string& Error::text() const noexcept { return detail_->text; }
std::span<const std::string> Error::notes() const noexcept { return detail_->notes; }

std::string Error::message() const {
  std::string all = detail_->text;
  for (const std::string& note : detail_->notes) all += "\n  note: " + note;
  return all;
}

Error& Error::note(std::string text) & {
  detail_->notes.push_back(to_valid_utf8(text));
  return *this;
}

Error&& Error::note(std::string text) && {
  detail_->notes.push_back(to_valid_utf8(text));
  return std::move(*this);
}

Error&& Error::at(std::string_view location) && {
  detail_->text.insert(0, to_valid_utf8(location) + ": ");
  return std::move(*this);
}

Failure::Failure(Error error) : std::runtime_error(error.message()), error_(std::move(error)) {}
Failure::Failure(const Failure& other) = default;
Failure::~Failure() = default;

}  // namespace scanloom
