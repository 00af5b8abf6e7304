// Attributes: the `data` of a layer, which is text, as numbers and words. A missing attribute
// yields the fallback; a malformed one is an error naming it and its text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <scanloom/dtype.h>

#include "frontends/openvino/document.h"

namespace scanloom::openvino {

class Attributes {
 public:
  explicit Attributes(const Layer& layer) : layer_(&layer) {}

  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] Expected<std::int64_t> integer(std::string_view name) const;
  [[nodiscard]] Expected<std::int64_t> integer(std::string_view name, std::int64_t fallback) const;
  /// Any unsigned 64-bit number.
  [[nodiscard]] Expected<std::uint64_t> byte_count(std::string_view name) const;
  [[nodiscard]] Expected<double> real(std::string_view name) const;
  [[nodiscard]] Expected<double> real(std::string_view name, double fallback) const;
  /// Accepts true, false, 1 and 0, in any case.
  [[nodiscard]] Expected<bool> boolean(std::string_view name, bool fallback) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view fallback = {}) const;
  /// Returns one of `choices`, in lower case. Error: any other text; the message lists the choices.
  [[nodiscard]] Expected<std::string> choice(std::string_view name, std::string_view fallback,
                                             std::initializer_list<std::string_view> choices) const;
  /// Lists are separated by commas; empty if missing or empty.
  [[nodiscard]] Expected<std::vector<std::int64_t>> integers(std::string_view name) const;
  [[nodiscard]] Expected<std::vector<double>> floats(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  [[nodiscard]] Expected<DType> dtype(std::string_view name) const;
  [[nodiscard]] Expected<DType> dtype(std::string_view name, DType fallback) const;

 private:
  [[nodiscard]] const std::string* find(std::string_view name) const;
  [[nodiscard]] Expected<std::string_view> required(std::string_view name) const;

  const Layer* layer_;
};

}  // namespace scanloom::openvino
