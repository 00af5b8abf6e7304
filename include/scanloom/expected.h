// Expected<T>: a value or the Error that prevented it, shaped like C++23's std::expected.
#pragma once

#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

#include <scanloom/error.h>

namespace scanloom {

/// Exception that value_or_throw() throws, for callers who prefer exceptions.
class SCANLOOM_API Failure : public std::runtime_error {
 public:
  explicit Failure(Error error);
  Failure(const Failure& other);
  ~Failure() override;
  [[nodiscard]] const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

template <class T>
class [[nodiscard]] Expected {
 public:
  using value_type = T;
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  /// Precondition of the five functions below: has_value().
  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  /// Precondition: !has_value().
  Error& error() & noexcept { return *std::get_if<1>(&state_); }
  const Error& error() const& noexcept { return *std::get_if<1>(&state_); }
  Error&& error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

  /// Returns the value, or throws the error as Failure. On a named Expected, returns a reference to
  /// its value, which lives as long as the Expected.
  T& value_or_throw() & {
    if (!has_value()) throw Failure(error());
    return **this;
  }
  const T& value_or_throw() const& {
    if (!has_value()) throw Failure(error());
    return **this;
  }
  T value_or_throw() && {
    if (!has_value()) throw Failure(std::move(*this).error());
    return std::move(**this);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Expected<void> {
 public:
  using value_type = void;
  Expected() = default;
  Expected(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  void operator*() const noexcept {}
  Error& error() & noexcept { return *error_; }
  const Error& error() const& noexcept { return *error_; }
  Error&& error() && noexcept { return *std::move(error_); }
  /// Throws the error as Failure, if there is one.
  void value_or_throw() const& {
    if (!has_value()) throw Failure(error());
  }
  void value_or_throw() && {
    if (!has_value()) throw Failure(std::move(*this).error());
  }

 private:
  std::optional<Error> error_;
};

}  // namespace scanloom
