// Tensors of strings as numpy's files store them without pickling: '<U5' has five letters of four
// bytes per string, padded with zeros.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <scanloom/value.h>

namespace scanloom::cli {

/// Returns the number of letters per string, for example 5 for "U5"; 0 for other types.
std::size_t letters_of(std::string_view descr);

/// `name` names the source in errors. Throws Failure, as does format_texts.
View parse_texts(std::string_view data, std::size_t letters, std::vector<std::int64_t> shape,
                 const std::string& name);

struct FormattedTexts {
  std::string descr;  ///< "<U5"
  std::string data;
};
FormattedTexts format_texts(const View& tensor);

}  // namespace scanloom::cli
