// What --json prints: numbers exactly, results as nested by name.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <scanloom/expected.h>
#include <scanloom/value.h>

namespace scanloom::cli {

/// Numbers as they are; infinities and not-a-numbers, which JSON lacks, as text.
nlohmann::ordered_json json_of(double number);
/// {"type", "shape", "values"}; values in row-major order, of numbers only.
nlohmann::ordered_json json_of(const View& tensor);
/// {"code", "text", "notes"}.
nlohmann::ordered_json json_of(const Error& error);

/// For printing. Names that are no UTF-8 are made so.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace scanloom::cli
