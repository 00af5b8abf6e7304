#include "sizes.h"

#include <algorithm>
#include <iostream>

#include <scanloom/shell_word.h>

#include "failure.h"
#include "options.h"
#include "parse_number.h"
#include "plain_text.h"

namespace scanloom::cli {
namespace {

std::string place_of(const ValueInfo& input, std::size_t axis) {
  return input.name + "." + std::to_string(axis);
}

/// Fails unless the model leaves a size of that name open.
void expect_open(const Session& session, const std::string& name, std::int64_t size) {
  std::string open;
  for (const ValueInfo& input : session.inputs())
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      const ValueInfo::Dim& dim = input.shape[axis];
      const std::string position = place_of(input, axis);
      if (dim.size >= 0 && name == position && dim.size != size)
        fail(Code::invalid_argument, "--dim: axis " + std::to_string(axis) + " of input '" +
                                         input.name + "' is " + std::to_string(dim.size) +
                                         ", not " + std::to_string(size));
      if (name == position || (!dim.name.empty() && name == dim.name)) return;
      if (dim.size >= 0) continue;
      const std::string& known = dim.name.empty() ? position : dim.name;
      if (open.find("'" + known + "'") == std::string::npos)
        open += (open.empty() ? "'" : ", '") + known + "'";
    }
  throw Failure(Error(Code::invalid_argument, "--dim: the model has no size '" + name + "'")
                    .note(open.empty() ? "all sizes of its inputs are fixed"
                                       : "the sizes that can be set are " + open));
}

/// Returns the name in the quotes of the IR's text form, which --dim takes, too: `"batch size"`.
std::string unquoted(const std::string& text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return text;
  std::string name;
  for (std::size_t at = 1; at + 1 < text.size(); ++at) {
    if (text[at] == '\\') ++at;
    name += text[at];
  }
  return name;
}

bool is_dim(const Session& session, const std::string& name) {
  return std::ranges::any_of(session.inputs(), [&](const ValueInfo& input) {
    return std::ranges::find(input.shape, name, &ValueInfo::Dim::name) != input.shape.end();
  });
}

}  // namespace

Sizes::Sizes(const Session& session, const std::vector<std::string>& dims) {
  for (const std::string& text : dims) {
    const auto [given, value] = split_assignment("--dim", text, text.rfind('='));
    const std::string name = is_dim(session, given) ? given : unquoted(given);
    const auto size = parse_number<std::int64_t>(value);
    if (!size || *size < 0)
      fail(Code::invalid_argument, "--dim: '" + value + "' in '" + text + "' is not a size");
    expect_open(session, name, *size);
    const auto [known, fresh] = given_.try_emplace(name, *size);
    if (!fresh && known->second != *size)
      fail(Code::invalid_argument, "--dim: '" + name + "' is given as " +
                                       std::to_string(known->second) + " and as " +
                                       std::to_string(*size));
  }
}

std::vector<std::int64_t> Sizes::given_for(const ValueInfo& input) const {
  std::vector<std::int64_t> sizes;
  for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
    const auto* const given = given_for(input, axis);
    sizes.push_back(given == nullptr ? -1 : given->second);
  }
  return sizes;
}

const Sizes::ByName::value_type* Sizes::given_for(const ValueInfo& input, std::size_t axis) const {
  const auto by_position = given_.find(place_of(input, axis));
  const auto by_name =
      input.shape[axis].name.empty() ? given_.end() : given_.find(input.shape[axis].name);
  if (by_position == given_.end()) return by_name == given_.end() ? nullptr : &*by_name;
  if (by_name != given_.end() && by_name->second != by_position->second)
    fail(Code::invalid_argument, "--dim: '" + by_position->first + "' is " +
                                     std::to_string(by_position->second) + ", but '" +
                                     by_name->first + "', the same size, is " +
                                     std::to_string(by_name->second));
  return &*by_position;
}

void Sizes::learn(const ValueInfo& input, const View& tensor) {
  if (input.shape.size() != tensor.shape.size()) return;  // the run says what is wrong
  for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
    const auto* given = given_for(input, axis);
    if (given != nullptr && given->second != tensor.shape[axis])
      fail(Code::invalid_argument, "--dim: '" + given->first + "' is given as " +
                                       std::to_string(given->second) + ", but axis " +
                                       std::to_string(axis) + " of the tensor for input '" +
                                       input.name + "' is " + std::to_string(tensor.shape[axis]));
    if (!input.shape[axis].name.empty())
      learnt_.try_emplace(input.shape[axis].name, tensor.shape[axis]);
  }
}

std::vector<std::int64_t> Sizes::shape_of(const ValueInfo& input) {
  std::vector<std::int64_t> shape;
  for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
    const ValueInfo::Dim& dim = input.shape[axis];
    const auto* given = given_for(input, axis);
    const auto learnt = dim.name.empty() ? learnt_.end() : learnt_.find(dim.name);
    if (dim.size >= 0) {
      shape.push_back(dim.size);
    } else if (given != nullptr) {
      shape.push_back(given->second);
    } else if (learnt != learnt_.end()) {
      shape.push_back(learnt->second);
    } else {
      const std::string name = dim.name.empty() ? place_of(input, axis) : dim.name;
      if (std::ranges::find(made_up_, name) == made_up_.end()) made_up_.push_back(name);
      std::cerr << "note: axis " << axis << " of input '" << plain_line(input.name)
                << "' is taken as 1 (--dim " << shell_word(name + "=SIZE") << " sets it)\n";
      shape.push_back(1);
    }
  }
  return shape;
}

}  // namespace scanloom::cli
