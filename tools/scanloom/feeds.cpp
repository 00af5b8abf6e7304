#include "feeds.h"

#include <charconv>
#include <iostream>
#include <map>
#include <optional>
#include <random>

#include "element.h"
#include "failure.h"
#include "tensor_file.h"

namespace scanloom::cli {
namespace {

/// Sizes by the name of a dimension or by "input.axis".
using Sizes = std::map<std::string, std::int64_t, std::less<>>;

std::optional<double> whole_number(std::string_view text) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

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

/// The two sides of NAME=WHAT; a name may hold '=' only where no '=' stands before it.
std::pair<std::string, std::string> split(const std::string& option, const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0)
    fail(Code::invalid_argument, option + ": '" + text + "' is not of the form NAME=VALUE");
  return {text.substr(0, at), text.substr(at + 1)};
}

/// A size is for something that the model leaves open.
void expect_open(const Session& session, const std::string& name, std::int64_t size) {
  std::string open;
  for (const ValueInfo& input : session.inputs())
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      const ValueInfo::Dim& dim = input.shape[axis];
      const std::string place = input.name + "." + std::to_string(axis);
      if (dim.size >= 0 && name == place && dim.size != size)
        fail(Code::invalid_argument, "--dim: axis " + std::to_string(axis) + " of input '" +
                                         input.name + "' is " + std::to_string(dim.size) +
                                         ", not " + std::to_string(size));
      if (name == place || (!dim.name.empty() && name == dim.name)) return;
      if (dim.size >= 0) continue;
      const std::string& known = dim.name.empty() ? place : dim.name;
      if (open.find("'" + known + "'") == std::string::npos)
        open += (open.empty() ? "'" : ", '") + known + "'";
    }
  throw Failure(Error(Code::invalid_argument, "--dim: the model has no size '" + name + "'")
                    .note(open.empty() ? "all sizes of its inputs are fixed"
                                       : "the sizes that can be set are " + open));
}

Sizes read_sizes(const Session& session, const FeedArgs& args) {
  Sizes sizes;
  for (const std::string& text : args.dims) {
    const auto [name, value] = split("--dim", text);
    std::int64_t size = 0;
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (problem != std::errc() || end != value.data() + value.size() || size < 0)
      fail(Code::invalid_argument, "--dim: '" + value + "' in '" + text + "' is not a size");
    expect_open(session, name, size);
    sizes[name] = size;
  }
  return sizes;
}

/// Learns the sizes of named dimensions from a tensor that is fed, unless they were given.
void learn_sizes(const ValueInfo& input, const View& tensor, Sizes& sizes) {
  if (input.shape.size() != tensor.shape.size()) return;  // the run says what is wrong
  for (std::size_t axis = 0; axis < input.shape.size(); ++axis)
    if (!input.shape[axis].name.empty())
      sizes.try_emplace(input.shape[axis].name, tensor.shape[axis]);
}

std::vector<std::int64_t> resolve_shape(const ValueInfo& input, const Sizes& sizes) {
  std::vector<std::int64_t> shape;
  for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
    const ValueInfo::Dim& dim = input.shape[axis];
    const std::string place = input.name + "." + std::to_string(axis);
    const auto by_place = sizes.find(place);
    const auto by_name = sizes.find(dim.name);
    if (dim.size >= 0) {
      shape.push_back(dim.size);
    } else if (by_place != sizes.end()) {
      shape.push_back(by_place->second);
    } else if (!dim.name.empty() && by_name != sizes.end()) {
      shape.push_back(by_name->second);
    } else {
      std::cerr << "note: axis " << axis << " of input '" << input.name << "' is taken as 1 (--dim "
                << (dim.name.empty() ? place : dim.name) << "=SIZE sets it)\n";
      shape.push_back(1);
    }
  }
  return shape;
}

/// A tensor whose elements next() makes.
template <class Next>
View filled(const ValueInfo& input, const Sizes& sizes, Next next) {
  if (!is_number(input.dtype))
    fail(Code::invalid_argument, "--feed: input '" + input.name + "' is " + input.type +
                                     ": it can be fed from a file only");
  Fresh fresh = make_view(input.dtype, resolve_shape(input, sizes));
  const std::int64_t count = *count_elements(fresh.view.shape);
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(input.dtype));
  for (std::int64_t i = 0; i < count; ++i)
    write_number(input.dtype, next(), fresh.data + i * bytes);
  return fresh.view;
}

/// Reals in [-1, 1), integers and booleans 0 or 1, from the generator's bits: the same everywhere.
View random_tensor(const ValueInfo& input, const Sizes& sizes, std::mt19937_64& bits) {
  const bool real = is_real(input.dtype);
  return filled(input, sizes, [&] {
    const auto unit = static_cast<double>(bits() >> 11) * 0x1p-53;
    return real ? 2 * unit - 1 : static_cast<double>(unit >= 0.5);
  });
}

View from_npz(const std::string& path, const std::string& key) {
  std::string keys;
  for (const auto& [name, tensor] : read_npz(path)) {
    if (name == key) return tensor;
    keys += (keys.empty() ? "'" : ", '") + name + "'";
  }
  throw Failure(Error(Code::not_found, path + ": there is no '" + key + "' in it")
                    .note("it holds " + (keys.empty() ? "nothing" : keys)));
}

/// A tensor from a file, or nullopt when the text names none.
std::optional<View> from_file(const ValueInfo& input, const std::string& text) {
  if (text.ends_with(".npy")) return read_npy(text);
  if (text.ends_with(".pb")) return read_tensor_file(text).value;
  if (text.ends_with(".npz")) return from_npz(text, input.name);
  const std::size_t at = text.rfind(".npz:");
  if (at != std::string::npos) return from_npz(text.substr(0, at + 4), text.substr(at + 5));
  return std::nullopt;
}

View made_tensor(const ValueInfo& input, const std::string& text, const Sizes& sizes,
                 std::mt19937_64& bits) {
  if (text == "random") return random_tensor(input, sizes, bits);
  std::optional<double> number = whole_number(text);
  if (text == "zeros") number = 0;
  if (text == "ones") number = 1;
  if (!number)
    throw Failure(Error(Code::invalid_argument, "--feed: '" + text + "' for input '" + input.name +
                                                    "' is no number, zeros, ones or random")
                      .note("files end in .npy, .npz, .npz:KEY or .pb"));
  return filled(input, sizes, [&] { return *number; });
}

}  // namespace

std::vector<NamedView> make_feeds(const Session& session, const FeedArgs& args) {
  Sizes sizes = read_sizes(session, args);
  std::map<std::string, View, std::less<>> tensors;
  std::map<std::string, std::string, std::less<>> to_make;
  const auto take = [&](const ValueInfo& input, const View& tensor) {
    learn_sizes(input, tensor, sizes);
    tensors.insert_or_assign(input.name, tensor);
  };
  for (const std::string& text : args.feeds) {
    if (text.ends_with(".npz") && text.find('=') == std::string::npos) {
      for (const auto& [name, tensor] : read_npz(text)) take(input_named(session, name), tensor);
      continue;
    }
    const auto [name, what] = split("--feed", text);
    const ValueInfo& input = input_named(session, name);
    if (const auto tensor = from_file(input, what))
      take(input, *tensor);
    else
      to_make.insert_or_assign(name, what);
  }
  std::mt19937_64 bits(args.seed);
  std::vector<NamedView> feeds;
  for (const ValueInfo& input : session.inputs()) {
    const auto known = tensors.find(input.name);
    const auto made = to_make.find(input.name);
    if (known != tensors.end()) {
      feeds.emplace_back(input.name, known->second);
    } else if (made != to_make.end() || args.random) {
      const std::string what = made == to_make.end() ? "random" : made->second;
      feeds.emplace_back(input.name, made_tensor(input, what, sizes, bits));
    } else {
      throw Failure(
          Error(Code::invalid_argument,
                "input '" + input.name + "' (" + input.type + ") has no feed")
              .note("--feed " + input.name + "=... gives it one, --random all that lack one"));
    }
  }
  return feeds;
}

std::vector<Feed> as_feeds(const std::vector<NamedView>& tensors) {
  std::vector<Feed> feeds;
  for (const auto& [name, tensor] : tensors) feeds.push_back({name, tensor});
  return feeds;
}

}  // namespace scanloom::cli
