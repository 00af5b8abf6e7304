#include "feed_file.h"

#include "failure.h"
#include "fed_list.h"
#include "npy.h"
#include "value_file.h"

namespace scanloom::cli {
namespace {

View from_npz(const std::string& path, const std::string& key, const ValueInfo& input) {
  std::string keys;
  for (const auto& [name, tensor] : read_npz(path)) {
    if (name == key) return as_declared(tensor, input, path + ":" + name);
    keys += (keys.empty() ? "'" : ", '") + name + "'";
  }
  throw Failure(Error(Code::not_found, path + ": there is no '" + key + "' in it")
                    .note("it holds " + (keys.empty() ? "nothing" : keys)));
}

}  // namespace

std::optional<FeedFile> feed_file(const std::string& what) {
  if (is_list(what)) return std::nullopt;
  for (const char* const ending : {".npy", ".pb", ".npz"})
    if (what.ends_with(ending)) return FeedFile{what, std::nullopt};
  const std::size_t at = what.rfind(".npz:");
  if (at == std::string::npos) return std::nullopt;
  return FeedFile{what.substr(0, at + 4), what.substr(at + 5)};
}

View read_feed_file(const FeedFile& file, const ValueInfo& input) {
  if (file.path.ends_with(".npy")) return as_declared(read_npy(file.path), input, file.path);
  if (file.path.ends_with(".pb")) return read_value_file(file.path, input);
  return from_npz(file.path, file.key.value_or(input.name), input);
}

}  // namespace scanloom::cli
