#include "fed_list.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "element.h"
#include "failure.h"
#include "fed_number.h"

namespace scanloom::cli {
namespace {

/// The maximum number of axes of a tensor.
constexpr std::size_t kDeepest = 16;

constexpr std::string_view kBlanks = " \t\r\n";

[[noreturn]] void refuse(const ValueInfo& input, const std::string& why) {
  fail(Code::invalid_argument, "--feed: input '" + input.name + "': " + why);
}

std::string counted(std::int64_t items) {
  return std::to_string(items) + (items == 1 ? " item" : " items");
}

/// Tokenizes the text from the front.
class Reader {
 public:
  Reader(const ValueInfo& input, std::string_view text) : input_(input), text_(text) {}

  /// Whether only blanks are left.
  [[nodiscard]] bool at_end() {
    at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
    return at_ == text_.size();
  }
  /// Returns the next character that is not a blank. Throws Failure at the end.
  [[nodiscard]] char next() {
    if (!at_end()) return text_[at_];
    throw Failure(
        Error(Code::invalid_argument, "--feed: input '" + input_.name + "': '" +
                                          std::string(text_) +
                                          "' is not terminated: ']' is missing")
            .note("a feed with spaces needs quotes, as in --feed '" + input_.name + "=[1, 2]'"));
  }
  bool take(char wanted) {
    if (next() != wanted) return false;
    ++at_;
    return true;
  }
  /// Reads up to the next blank or list character. Throws Failure if that is nothing.
  std::string_view word() {
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n[],\"'", at_), text_.size());
    if (end == at_) refuse(input_, "an element is missing before '" + rest() + "'");
    return text_.substr(std::exchange(at_, end), end - at_);
  }
  [[nodiscard]] bool at_quotes() { return next() == '"' || next() == '\''; }
  /// Reads a string: "double-quoted" with JSON escapes, or 'single-quoted' without escapes.
  /// Precondition: at_quotes(). Throws Failure if it is unterminated or not valid text.
  std::string quoted() {
    const char quote = text_[at_];
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote)
      end += quote == '"' && text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) refuse(input_, "the text " + rest() + " has no end: " + quote);
    const std::string_view whole = text_.substr(at_, end + 1 - at_);
    at_ = end + 1;
    if (quote == '\'') return std::string(whole.substr(1, whole.size() - 2));
    const auto text = nlohmann::json::parse(whole, nullptr, false);
    if (text.is_discarded()) refuse(input_, std::string(whole) + " is not a JSON string");
    return text.get<std::string>();
  }
  /// Reads the ',' between items, unless the list ends. Throws Failure if neither follows.
  void separate() {
    if (next() == ']' || take(',')) return;
    refuse(input_, "',' or ']' is missing before '" + rest() + "'");
  }
  void expect_end() {
    if (!at_end()) refuse(input_, "'" + rest() + "' follows the value");
  }

 private:
  [[nodiscard]] std::string rest() const { return std::string(text_.substr(at_)); }

  const ValueInfo& input_;
  std::string_view text_;
  std::size_t at_ = 0;
};

/// Reads nested lists into a flat list of elements, and the size that all lists of the same depth
/// share.
class ListReader {
 public:
  ListReader(const ValueInfo& input, Reader& reader) : input_(input), reader_(reader) {}

  /// Reads one tensor from the current position.
  View tensor() {
    item();
    std::vector<std::int64_t> shape = sizes_;
    if (input_.dtype == DType::string) return strings(texts_, std::move(shape));
    Fresh fresh = make_view(input_.dtype, std::move(shape), "input '" + input_.name + "'");
    const std::size_t width = dtype_bytes(input_.dtype);
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      std::memcpy(fresh.data + i * width, numbers_[i].data(), width);
    return fresh.view;
  }

 private:
  // Recursion is limited: lists are at most kDeepest deep.
  void item() {
    if (reader_.next() == '[')
      list();
    else
      element();
  }

  void list() {
    const std::size_t depth = path_.size();
    if (depth == kDeepest)
      refuse(input_, "nested lists are " + std::to_string(depth) +
                         " deep at most, as many axes "
                         "as a tensor may have");
    if (has_elements_ && depth >= elements_at_) refuse_mixture();
    reader_.take('[');
    path_.push_back(0);
    std::int64_t items = 0;
    while (!reader_.take(']')) {
      path_.back() = items++;
      item();
      reader_.separate();
    }
    path_.pop_back();
    if (sizes_.size() <= depth) {
      sizes_.resize(depth + 1, -1);
      first_.resize(depth + 1);
    }
    if (sizes_[depth] < 0) {
      sizes_[depth] = items;
      first_[depth] = position();
    } else if (sizes_[depth] != items) {
      refuse(input_, "the list at " + position() + " has " + counted(items) + ", the one at " +
                         first_[depth] + " has " + std::to_string(sizes_[depth]));
    }
  }

  void element() {
    const std::size_t depth = path_.size();
    const bool is_list_elsewhere = depth < sizes_.size() && sizes_[depth] >= 0;
    if (is_list_elsewhere || (has_elements_ && depth != elements_at_)) refuse_mixture();
    has_elements_ = true;
    elements_at_ = depth;
    const bool is_text = reader_.at_quotes();
    const std::string text = is_text ? reader_.quoted() : std::string(reader_.word());
    if (is_text && input_.dtype == DType::string) {
      texts_.push_back(text);
      return;
    }
    const auto number =
        is_text || input_.dtype == DType::string ? std::nullopt : fed_number(input_, text);
    if (!number) refuse_element(text);
    numbers_.push_back(*number);
  }

  [[noreturn]] void refuse_element(const std::string& text) {
    const std::string what = "'" + text + "' at " + position() + " is not a ";
    if (input_.dtype == DType::string) refuse(input_, what + "quoted string");
    if (input_.dtype == DType::boolean) refuse(input_, what + "boolean: true or false");
    refuse(input_, what + "number, as " + numpy_name(input_.dtype) + " needs");
  }

  [[noreturn]] void refuse_mixture() {
    refuse(input_, "the item at " + position() + " is " +
                       (reader_.next() == '[' ? "a list" : "an element") + ", but " +
                       (reader_.next() == '[' ? "an element" : "a list") +
                       " elsewhere: all lists of a tensor must have the same depth");
  }

  /// Returns the current position as an index, for example "[1,0]".
  [[nodiscard]] std::string position() const {
    std::string text;
    for (const std::int64_t at : path_) text += (text.empty() ? "" : ",") + std::to_string(at);
    return "[" + text + "]";
  }

  const ValueInfo& input_;
  Reader& reader_;
  std::vector<std::int64_t> path_;
  std::vector<std::int64_t> sizes_;  ///< by depth; -1: no list of that depth has ended yet
  std::vector<std::string> first_;   ///< by depth: the list that later ones are compared with
  bool has_elements_ = false;
  std::size_t elements_at_ = 0;  ///< the depth of elements, if there are any
  std::vector<ElementBytes> numbers_;
  std::vector<std::string> texts_;
};

View sequence_of(const ValueInfo& input, Reader& reader) {
  if (!reader.take('[')) refuse(input, "a sequence is a list of its items");
  std::vector<View> items;
  while (!reader.take(']')) {
    items.push_back(ListReader(input, reader).tensor());
    reader.separate();
  }
  return sequence(std::move(items), input.dtype);
}

}  // namespace

bool is_list(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos || text[begin] != '[') return false;
  const std::size_t end = text.rfind(']');
  const std::string_view tail = end == std::string_view::npos ? text : text.substr(end);
  return !tail.ends_with(".npy") && !tail.ends_with(".pb") && !tail.ends_with(".npz") &&
         tail.find(".npz:") == std::string_view::npos;
}

std::optional<std::string> quoted_text(const ValueInfo& input, std::string_view text) {
  Reader reader(input, text);
  if (reader.at_end() || !reader.at_quotes()) return std::nullopt;
  std::string inside = reader.quoted();
  reader.expect_end();
  return inside;
}

View fed_list(const ValueInfo& input, std::string_view text) {
  if (!is_fed_as_number(input.dtype) && input.dtype != DType::string)
    refuse(input, "lists of " + numpy_name(input.dtype) + " can be fed only from files");
  Reader reader(input, text);
  const bool is_sequence =
      input.type.starts_with("seq(") || input.type.starts_with("optional(seq(");
  View value = is_sequence ? sequence_of(input, reader) : ListReader(input, reader).tensor();
  reader.expect_end();
  return value;
}

}  // namespace scanloom::cli
