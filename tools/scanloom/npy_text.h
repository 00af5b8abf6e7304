// Tensors of texts as numpy's files hold them without pickling: '<U5', each text in as many letters
// of four bytes, the shorter ones filled up with zeros.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <scanloom/value.h>

namespace scanloom::cli {

/// Letters of each text that "U5" names; 0 where `descr` is no such type.
std::size_t letters_of(std::string_view descr);

/// `name` says in errors where the data come from. Throws Failure, like format_texts.
View parse_texts(std::string_view data, std::size_t letters, std::vector<std::int64_t> shape,
                 const std::string& name);

struct FormattedTexts {
  std::string descr;  ///< "<U5"
  std::string data;
};
FormattedTexts format_texts(const View& tensor);

}  // namespace scanloom::cli
