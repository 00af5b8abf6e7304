// The output of --json: exact numbers, nested results.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <scanloom/expected.h>
#include <scanloom/value.h>

namespace scanloom::cli {

/// Returns the number, or text for infinities and NaN, which JSON lacks.
nlohmann::ordered_json json_of(double number);
/// Returns {"type", "shape", "values"}; values are in row-major order, for numbers only.
nlohmann::ordered_json json_of(const View& tensor);
/// Returns {"code", "text", "notes"}.
nlohmann::ordered_json json_of(const Error& error);

/// Formats JSON for printing; invalid UTF-8 in names is replaced.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace scanloom::cli
