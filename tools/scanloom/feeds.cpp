#include "feeds.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <random>

#include <scanloom/shell_word.h>

#include "element.h"
#include "failure.h"
#include "fed_list.h"
#include "fed_number.h"
#include "feed_file.h"
#include "sizes.h"
#include "value_file.h"

namespace scanloom::cli {
namespace {

/// A limit for the generated feeds, so that a mistyped size does not fill the memory.
class Budget {
 public:
  explicit Budget(std::int64_t max_memory)
      : left_(static_cast<std::size_t>(max_memory > 0 ? max_memory : default_max_memory())),
        whole_(left_),
        given_(max_memory > 0) {}

  /// Reserves memory. Throws Failure if too little is left.
  void take(const std::string& what, const std::string& type, std::size_t bytes) {
    if (bytes <= left_) {
      left_ -= bytes;
      return;
    }
    throw Failure(Error(Code::limit_reached,
                        what + ": " + type + " needs " + std::to_string(bytes) + " bytes, " +
                            std::to_string(left_) + " of the memory budget of " +
                            std::to_string(whole_) + " bytes are left")
                      .note(given_ ? "raise it with --max-memory"
                                   : "it is 80 percent of the memory that is left"));
  }

 private:
  std::size_t left_, whole_;
  bool given_;
};

/// The state shared by the functions that make tensors.
struct Makers {
  Sizes sizes;
  Budget budget;
  std::mt19937_64 bits;
};

std::string list_of_inputs(const Session& session) {
  std::string text;
  for (const ValueInfo& input : session.inputs())
    text += (text.empty() ? "'" : ", '") + input.name + "'";
  return text;
}

const ValueInfo& input_named(const Session& session, std::string_view name) {
  for (const ValueInfo& input : session.inputs())
    if (input.name == name) return input;
  throw Failure(
      Error(Code::invalid_argument, "--feed: the model has no input '" + std::string(name) + "'")
          .note("its inputs are " + list_of_inputs(session)));
}

/// Returns where the name in NAME=WHAT ends: names may contain '=', so the longest name of an input
/// that fits counts; if none does, the first '=' that is not the first character.
std::size_t end_of_name(const Session& session, std::string_view text) {
  std::size_t end = 0;
  for (const ValueInfo& input : session.inputs())
    if (text.starts_with(input.name) && text.substr(input.name.size()).starts_with('='))
      end = std::max(end, input.name.size());
  return end > 0 ? end : text.find('=', 1);
}

/// Whether a --feed is an archive whose keys are names of inputs.
bool is_whole_archive(const std::string& text) {
  return text.ends_with(".npz") && text.find('=') == std::string::npos;
}

/// Returns the sizes of a new tensor and reserves its memory. Throws Failure.
std::vector<std::int64_t> made_sizes(const ValueInfo& input, Makers& makers) {
  std::vector<std::int64_t> shape = makers.sizes.shape_of(input);
  const std::string what = "input '" + input.name + "'";
  makers.budget.take(what, type_text(input.dtype, shape), bytes_needed(input.dtype, shape, what));
  return shape;
}

/// Makes a tensor; write(address) writes each element.
template <class Write>
View filled(const ValueInfo& input, Makers& makers, Write write) {
  const std::vector<std::int64_t> shape = made_sizes(input, makers);
  const std::string what = "input '" + input.name + "'";
  const std::size_t bytes = bytes_needed(input.dtype, shape, what);
  Fresh fresh = make_view(input.dtype, shape, what);
  for (std::size_t at = 0; at < bytes; at += dtype_bytes(input.dtype)) write(fresh.data + at);
  return fresh.view;
}

/// Makes a tensor whose elements are all the same string.
View filled_with_text(const ValueInfo& input, const std::string& text, Makers& makers) {
  std::vector<std::int64_t> shape = made_sizes(input, makers);
  const auto count = static_cast<std::size_t>(count_elements(shape).value_or(0));
  return strings(std::vector<std::string>(count, text), std::move(shape));
}

/// Makes a random tensor: floats in [-1, 1), integers and booleans 0 or 1. It is computed from the
/// generator's bits, so it is the same on all platforms.
View random_tensor(const ValueInfo& input, Makers& makers) {
  const bool real = is_floating_point(input.dtype);
  return filled(input, makers, [&](std::byte* to) {
    const auto unit = static_cast<double>(makers.bits() >> 11) * 0x1p-53;
    write_number(input.dtype, real ? 2 * unit - 1 : static_cast<double>(unit >= 0.5), to);
  });
}

/// Describes what can be fed to an input that is not a tensor of numbers.
std::string forms_of(const ValueInfo& input) {
  const auto feed = [&](const std::string& what) {
    return "--feed " + shell_word(input.name + "=" + what);
  };
  const bool is_text = input.dtype == DType::string;
  if (input.kind == ValueKind::tensor && is_text)
    return "a quoted string or a list of them, such as " + feed("[\"one\", \"two\"]") +
           ", or a file";
  if (!is_text && !is_fed_as_number(input.dtype)) return "a file: .npy, .npz or .pb";
  if (input.type.find("map(") != std::string::npos) return "a file that ends in .pb";
  const std::string list = is_text ? "[[\"one\"], [\"two\"]]" : "[[1, 2], [3]]";
  if (input.type.find("seq(") != std::string::npos)
    return "a list of its items, as in " + feed(list) + ", or a file that ends in .pb";
  return "a list or none, or a file that ends in .pb";
}

View made_tensor(const ValueInfo& input, const std::string& text, Makers& makers) {
  const bool is_tensor = input.kind == ValueKind::tensor;
  if (is_tensor && input.dtype == DType::string)
    if (const auto inside = quoted_text(input, text))
      return filled_with_text(input, *inside, makers);
  const bool random = text == "random";
  if (!is_tensor || !(random ? is_number(input.dtype) : is_fed_as_number(input.dtype)))
    throw Failure(Error(Code::invalid_argument, "--feed: '" + text +
                                                    "' is not a value for input '" + input.name +
                                                    "', which is " + input.type)
                      .note("it takes " + forms_of(input)));
  if (random) return random_tensor(input, makers);
  const auto element = fed_number(input, text == "zeros" ? "0" : text == "ones" ? "1" : text);
  if (!element)
    throw Failure(Error(Code::invalid_argument, "--feed: '" + text + "' for input '" + input.name +
                                                    "' is not a number, zeros, ones or random")
                      .note("lists are written [1, 2], files end in .npy, .npz, .npz:KEY or .pb"));
  return filled(input, makers,
                [&](std::byte* to) { std::memcpy(to, element->data(), dtype_bytes(input.dtype)); });
}

/// Reads a list or an empty optional; nullopt if the text is neither.
std::optional<View> written_out(const ValueInfo& input, const std::string& text) {
  if (input.kind == ValueKind::optional && text == "none") return none(input.dtype);
  return is_list(text) ? std::optional(fed_list(input, text)) : std::nullopt;
}

/// The --feed arguments: tensors from files, and texts that describe how to make the others.
struct Given {
  std::map<std::string, View, std::less<>> tensors;
  std::map<std::string, std::string, std::less<>> to_make;
};

Given read_given(const Session& session, const FeedArgs& args, Sizes& sizes) {
  Given given;
  const auto once = [&](const std::string& name) -> const ValueInfo& {
    const ValueInfo& input = input_named(session, name);
    if (given.tensors.contains(name) || given.to_make.contains(name))
      fail(Code::invalid_argument, "--feed: input '" + name + "' is fed twice");
    return input;
  };
  const auto take = [&](const ValueInfo& input, const View& tensor) {
    if (tensor.kind == ValueKind::tensor) sizes.learn(input, tensor);
    given.tensors.emplace(input.name, tensor);
  };
  for (const std::string& text : args.feeds) {
    if (is_whole_archive(text)) {
      for (const auto& [name, tensor] : read_npz(text)) {
        const ValueInfo& input = once(name);
        take(input, as_declared(tensor, input, text + ":" + name));
      }
      continue;
    }
    const auto [name, what] = split_assignment("--feed", text, end_of_name(session, text));
    const ValueInfo& input = once(name);
    if (const auto value = written_out(input, what))
      take(input, *value);
    else if (const auto file = feed_file(what))
      take(input, read_feed_file(*file, input));
    else
      given.to_make.emplace(name, what);
  }
  return given;
}

/// Returns the tensor that --feed gives to an input; nullopt if there is none.
std::optional<View> fed(const ValueInfo& input, const Given& given, Makers& makers) {
  if (const auto known = given.tensors.find(input.name); known != given.tensors.end())
    return known->second;
  if (const auto made = given.to_make.find(input.name); made != given.to_make.end())
    return made_tensor(input, made->second, makers);
  return std::nullopt;
}

}  // namespace

std::vector<NamedView> make_feeds(const Session& session, const FeedArgs& args,
                                  std::int64_t max_memory, MadeUp* made_up) {
  Makers makers{Sizes(session, args.dims), Budget(max_memory), std::mt19937_64(args.seed)};
  const Given given = read_given(session, args, makers.sizes);
  std::vector<NamedView> feeds;
  for (const ValueInfo& input : session.inputs()) {
    if (const auto tensor = fed(input, given, makers))
      feeds.emplace_back(input.name, *tensor);
    else if (args.random) {
      feeds.emplace_back(input.name, made_tensor(input, "random", makers));
      if (made_up != nullptr) made_up->values.push_back(input.name);
    } else
      throw Failure(Error(Code::invalid_argument,
                          "input '" + input.name + "' (" + input.type + ") has no feed")
                        .note("--feed " + shell_word(input.name + "=...") +
                              " feeds it, --random feeds all inputs without a feed"));
  }
  if (made_up != nullptr) made_up->sizes = makers.sizes.made_up();
  return feeds;
}

std::vector<NamedView> make_given_feeds(const Session& session, const FeedArgs& args) {
  Makers makers{Sizes(session, args.dims), Budget(0), std::mt19937_64(args.seed)};
  const Given given = read_given(session, args, makers.sizes);
  std::vector<NamedView> feeds;
  for (const ValueInfo& input : session.inputs())
    if (const auto tensor = fed(input, given, makers)) feeds.emplace_back(input.name, *tensor);
  return feeds;
}

std::vector<std::string> feed_files(const Session& session, const FeedArgs& args) {
  std::vector<std::string> files;
  for (const std::string& text : args.feeds) {
    if (is_whole_archive(text)) {
      files.push_back(text);
      continue;
    }
    const std::string what = split_assignment("--feed", text, end_of_name(session, text)).second;
    if (auto file = feed_file(what)) files.push_back(std::move(file->path));
  }
  return files;
}

std::vector<Feed> as_feeds(const std::vector<NamedView>& tensors) {
  std::vector<Feed> feeds;
  for (const auto& [name, tensor] : tensors) feeds.push_back({name, tensor});
  return feeds;
}

}  // namespace scanloom::cli
