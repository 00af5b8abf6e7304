// Positions in the text of an XML document, for messages. Lines and columns count from 1, columns
// in UTF-8 characters. Used by the parser of documents.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace scanloom::openvino {

class XmlText {
 public:
  /// Refers to `bytes`, which must outlive it.
  explicit XmlText(std::string_view bytes) : bytes_(bytes) {}

  /// Returns "line 3, column 14" for a byte of the text; the end counts as a byte.
  [[nodiscard]] std::string position(std::size_t offset);
  /// Returns the name of the innermost element open before that byte; empty if there is none.
  [[nodiscard]] std::string open_element(std::size_t offset) const;

 private:
  std::string_view bytes_;
  std::vector<std::size_t> line_starts_;  // made on first use
};

}  // namespace scanloom::openvino
