// Internal helpers to create and pass on errors: fail(code, "format", ...) and SCANLOOM_TRY.
#pragma once

#include <fmt/format.h>

#include <scanloom/expected.h>

namespace scanloom {

/// An Error with a formatted message: lower case, no final period, both numbers.
template <class... Args>
[[nodiscard]] Error fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Error(code, fmt::format(format, std::forward<Args>(args)...));
}

/// fail(Code::invalid_model, ...): for rules of formats and of the IR, which most errors are about.
template <class... Args>
[[nodiscard]] Error invalid_model(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Code::invalid_model, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace scanloom

#define SCANLOOM_CONCAT_(a, b) a##b
#define SCANLOOM_CONCAT(a, b) SCANLOOM_CONCAT_(a, b)

/// SCANLOOM_TRY(declaration, expression): initialises the declaration, or returns the error.
#define SCANLOOM_TRY(declaration, expression) \
  SCANLOOM_TRY_(SCANLOOM_CONCAT(scanloom_try_, __LINE__), declaration, expression)
#define SCANLOOM_TRY_(name, declaration, expression) \
  auto name = (expression);                          \
  if (!name) [[unlikely]]                            \
    return std::move(name).error();                  \
  declaration = *std::move(name)

/// SCANLOOM_CHECK_OK(expression): returns the error of an Expected whose value is not needed. A
/// single statement, usable between `if` and `else`.
#define SCANLOOM_CHECK_OK(expression) \
  SCANLOOM_CHECK_OK_(SCANLOOM_CONCAT(scanloom_ok_, __LINE__), expression)
#define SCANLOOM_CHECK_OK_(name, expression)          \
  do {                                                \
    if (auto name = (expression); !name) [[unlikely]] \
      return std::move(name).error();                 \
  } while (false)
