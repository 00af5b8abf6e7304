#include "api/saved_function.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <set>

#include "ir/infer.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "ops/ops.h"

namespace scanloom {
namespace {

using tensor::Tensor;

constexpr std::string_view kMagic = "scanloom function\n";
constexpr std::int64_t kFormat = 3;  // 1 had no checksum, 2 no sizes of types
constexpr std::string_view kChecksum = "checksum ";
constexpr std::int64_t kLongest = 16;  // elements of a constant written in the text
constexpr std::size_t kAlignment = 64;

/// FNV-1a over 8-byte words, without its sign bit: detects damage, not forgery.
std::int64_t checksum_of(std::string_view bytes) {
  constexpr std::uint64_t kPrime = 1099511628211u;
  std::uint64_t sum = 14695981039346656037u;
  for (; bytes.size() >= sizeof(sum); bytes.remove_prefix(sizeof(sum))) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    sum = (sum ^ word) * kPrime;
    sum ^= sum >> 32;  // a product carries only upwards
  }
  for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * kPrime;
  return static_cast<std::int64_t>((sum ^ (sum >> 32)) >> 1);
}

bool is_long(const Tensor& tensor) { return tensor.elements() > kLongest; }

/// Constants whose elements are not in the text, in its order.
std::vector<ir::NodeId> long_constants(const ir::Module& module) {
  std::vector<ir::NodeId> found;
  for (const ir::RegionId region : ir::regions_outer_first(module, module.top()))
    for (const ir::NodeId id : module.region(region).nodes)
      if (module.node(id).op == &ir::constant_op && is_long(module.node(id).attrs[0].tensor()))
        found.push_back(id);
  return found;
}

class Writer {
 public:
  void line(std::string_view word, std::int64_t number) {
    bytes_ += fmt::format("{} {}\n", word, number);
  }
  void text(std::string_view word, std::string_view content) {
    line(word, static_cast<std::int64_t>(content.size()));
    bytes_ += content;
    bytes_ += '\n';
  }
  void tensor(const Tensor& tensor) {
    bytes_ += fmt::format("{} {}", dtype_name(tensor.dtype()), tensor.shape().rank());
    for (const std::int64_t size : tensor.shape()) bytes_ += fmt::format(" {}", size);
    bytes_ += '\n';
    bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment, '\n');
    bytes_.append(static_cast<const char*>(tensor.data()), tensor.bytes());
    bytes_ += '\n';
  }
  std::string take() {
    line("checksum", checksum_of(bytes_));
    return std::move(bytes_);
  }

 private:
  std::string bytes_{kMagic};
};

/// Errors give the offset at which reading stopped.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Expected<void> magic() {
    if (!bytes_.starts_with(kMagic))
      return invalid_model("this is not a saved function: it does not begin with '{}'",
                           kMagic.substr(0, kMagic.size() - 1));
    at_ = kMagic.size();
    return {};
  }

  [[nodiscard]] bool is_at(std::string_view word) const {
    return bytes_.substr(at_).starts_with(word);
  }

  Expected<std::int64_t> line(std::string_view word, std::int64_t most, std::int64_t least = 0) {
    SCANLOOM_CHECK_OK(expect(word));
    SCANLOOM_CHECK_OK(expect(" "));
    SCANLOOM_TRY(const std::int64_t value, integer(least, most));
    SCANLOOM_CHECK_OK(expect("\n"));
    return value;
  }

  Expected<std::string_view> text(std::string_view word) {
    SCANLOOM_TRY(const std::int64_t size, line(word, left()));
    if (size < 0 || size > left()) return stopped("a string is truncated");
    const std::string_view content = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += content.size();
    SCANLOOM_CHECK_OK(expect("\n"));
    return content;
  }

  Expected<Tensor> tensor() {
    const std::size_t end = bytes_.find(' ', at_);
    if (end == std::string_view::npos) return stopped("a tensor is truncated");
    const auto dtype = dtype_from_name(bytes_.substr(at_, end - at_));
    if (!dtype || *dtype == DType::string) return stopped("unknown element type");
    at_ = end + 1;
    SCANLOOM_TRY(const std::int64_t rank, integer(0, tensor::kMaxRank));
    tensor::Shape shape;
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      SCANLOOM_CHECK_OK(expect(" "));
      SCANLOOM_TRY(const std::int64_t size, integer(0, std::int64_t{1} << 40));
      shape.push_back(size);
    }
    SCANLOOM_CHECK_OK(expect("\n"));
    const auto elements = shape.checked_elements();
    while (at_ < bytes_.size() && at_ % kAlignment != 0) SCANLOOM_CHECK_OK(expect("\n"));
    const auto width = static_cast<std::int64_t>(dtype_bytes(*dtype));
    if (!elements || *elements > left() / width)
      return stopped("the elements of a tensor are truncated");
    SCANLOOM_TRY(Tensor made, Tensor::copy_of(*dtype, shape, bytes_.data() + at_));
    at_ += made.bytes();
    SCANLOOM_CHECK_OK(expect("\n"));
    return made;
  }

  /// Compares the checksum line at the end with the bytes before it, and limits reading to those.
  Expected<void> checksum() {
    constexpr std::size_t kLongestLine = kChecksum.size() + 20;
    const std::size_t tail = bytes_.size() - std::min(bytes_.size(), kLongestLine);
    const std::size_t line = bytes_.find(kChecksum, std::max(tail, at_));
    if (line == std::string_view::npos)
      return invalid_model(
          "a damaged saved function: its {} bytes do not end with a checksum, so it is truncated",
          bytes_.size());
    Reader last(bytes_);
    last.at_ = line;
    SCANLOOM_TRY(const std::int64_t told,
                 last.line("checksum", std::numeric_limits<std::int64_t>::max()));
    SCANLOOM_CHECK_OK(last.end());
    bytes_ = bytes_.substr(0, line);
    if (const std::int64_t found = checksum_of(bytes_); found != told)
      return invalid_model(
          "a damaged saved function: its checksum is {}, but its {} bytes have the checksum {}",
          told, bytes_.size(), found);
    return {};
  }

  Expected<void> end() const {
    if (at_ == bytes_.size()) return {};
    return stopped("there is data after the end");
  }

 private:
  [[nodiscard]] std::int64_t left() const { return static_cast<std::int64_t>(bytes_.size() - at_); }
  [[nodiscard]] Error stopped(std::string_view why) const {
    return invalid_model("a damaged saved function: {}, at byte {} of its {}", why, at_,
                         bytes_.size());
  }
  Expected<void> expect(std::string_view word) {
    if (bytes_.substr(at_, word.size()) != word)
      return stopped(fmt::format("expected '{}'", word == "\n" ? "end of line" : word));
    at_ += word.size();
    return {};
  }
  Expected<std::int64_t> integer(std::int64_t least, std::int64_t most) {
    std::int64_t value = 0;
    const char* const begin = bytes_.data() + at_;
    const auto [end, error] = std::from_chars(begin, bytes_.data() + bytes_.size(), value);
    if (error != std::errc() || value < least || value > most)
      return stopped(fmt::format("expected a number from {} to {}", least, most));
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

/// Fills in the elements of long constants.
Expected<void> fill(ir::Module& module, Reader& reader) {
  for (const ir::NodeId id : long_constants(module)) {
    SCANLOOM_TRY(Tensor value, reader.tensor());
    const Tensor& shown = module.node(id).attrs[0].tensor();
    if (value.dtype() != shown.dtype() || !(value.shape() == shown.shape()))
      return invalid_model(
          "a damaged saved function: a constant is {}{} in the text, but {}{} in the data after it",
          dtype_name(shown.dtype()), shown.shape().to_string(), dtype_name(value.dtype()),
          value.shape().to_string());
    module.node(id).attrs[0] = std::move(value);
  }
  return {};
}

Expected<void> check(const SavedFunction& function) {
  const ir::Region& top = function.module.region(function.module.top());
  const auto shared = static_cast<std::int64_t>(function.shared.size());
  if (function.read > shared || std::ssize(top.args) != function.inputs + function.read)
    return invalid_model("a saved function of {} inputs and {} shared variables has {} arguments",
                         function.inputs, function.read, top.args.size());
  std::set<std::int64_t> updated;
  for (const SavedFunction::Variable& variable : function.shared)
    if (variable.update >= 0 && !updated.insert(variable.update).second)
      return invalid_model("result {} updates two shared variables", variable.update);
  const auto updates = std::ssize(updated);
  if (updates > 0 &&
      (*updated.begin() != function.outputs || *updated.rbegin() != function.outputs + updates - 1))
    return invalid_model("updates are results {} to {}, not those after the {} outputs",
                         *updated.begin(), *updated.rbegin(), function.outputs);
  if (std::ssize(top.yields) != function.outputs + updates)
    return invalid_model("a saved function of {} outputs and {} updates has {} results",
                         function.outputs, updates, top.yields.size());
  for (const SavedFunction::Variable& variable : function.shared) {
    const tensor::Shape& shape = variable.value.shape();
    if (!variable.sizes.empty() &&
        !std::ranges::equal(variable.sizes, shape, [](std::int64_t of_type, std::int64_t size) {
          return of_type < 0 || of_type == size;
        }))
      return invalid_model("the shared variable '{}' of {} axes is {}, which its type excludes",
                           variable.name, variable.sizes.size(), shape.to_string());
  }
  for (const SavedFunction::Variable& variable : function.shared) {
    if (variable.update < 0) continue;
    const tensor::Type& type =
        function.module.value(top.yields[static_cast<std::size_t>(variable.update)]).type;
    if (!type.is_tensor() || type.dtype != variable.value.dtype() || !type.ranked ||
        type.rank() != variable.value.shape().rank())
      return invalid_model("the shared variable '{}' is {}{}, its update {}", variable.name,
                           dtype_name(variable.value.dtype()), variable.value.shape().to_string(),
                           to_string(type, function.module.dims));
  }
  for (std::int64_t i = 0; i < function.read; ++i) {
    const Tensor& value = function.shared[static_cast<std::size_t>(i)].value;
    const tensor::Type& type =
        function.module.value(top.args[static_cast<std::size_t>(function.inputs + i)]).type;
    if (!type.is_tensor() || type.dtype != value.dtype() || type.rank() != value.shape().rank())
      return invalid_model("the shared variable '{}' is {}{}, its argument {}",
                           function.shared[static_cast<std::size_t>(i)].name,
                           dtype_name(value.dtype()), value.shape().to_string(),
                           to_string(type, function.module.dims));
  }
  return {};
}

}  // namespace

bool is_saved_function(std::string_view bytes) { return bytes.starts_with(kMagic); }

std::string to_bytes(const SavedFunction& function) {
  Writer writer;
  writer.line("format", kFormat);
  writer.text("note", function.note);
  writer.line("inputs", function.inputs);
  writer.line("outputs", function.outputs);
  writer.line("shared", static_cast<std::int64_t>(function.shared.size()));
  writer.line("read", function.read);
  writer.text("module", ir::print(function.module, {.locations = true, .max_elements = kLongest}));
  for (const SavedFunction::Variable& variable : function.shared) {
    writer.text("name", variable.name);
    writer.line("update", variable.update);
    for (const std::int64_t size : variable.sizes) writer.line("size", size);
    writer.tensor(variable.value);
  }
  for (const ir::NodeId id : long_constants(function.module))
    writer.tensor(function.module.node(id).attrs[0].tensor());
  return writer.take();
}

Expected<SavedFunction> function_of_bytes(std::string_view bytes) {
  constexpr std::int64_t kMany = std::int64_t{1} << 31;
  Reader reader(bytes);
  SCANLOOM_CHECK_OK(reader.magic());
  SCANLOOM_TRY(const std::int64_t format, reader.line("format", kMany));
  if (format > kFormat)
    return fail(Code::unsupported,
                "the function was saved in format {}, but this version reads formats up to {}: "
                "update scanloom",
                format, kFormat);
  if (format > 1) SCANLOOM_CHECK_OK(reader.checksum());
  SavedFunction function;
  SCANLOOM_TRY(function.note, reader.text("note"));
  SCANLOOM_TRY(function.inputs, reader.line("inputs", kMany));
  SCANLOOM_TRY(function.outputs, reader.line("outputs", kMany));
  SCANLOOM_TRY(const std::int64_t shared, reader.line("shared", kMany));
  SCANLOOM_TRY(function.read, reader.line("read", kMany));
  SCANLOOM_TRY(const std::string_view text, reader.text("module"));
  SCANLOOM_TRY(function.module, ir::parse(text, ops::find_op));
  for (std::int64_t i = 0; i < shared; ++i) {
    SavedFunction::Variable variable;
    SCANLOOM_TRY(variable.name, reader.text("name"));
    SCANLOOM_TRY(variable.update, reader.line("update", kMany, -1));
    while (reader.is_at("size ")) {
      SCANLOOM_TRY(const std::int64_t size, reader.line("size", std::int64_t{1} << 40, -1));
      variable.sizes.push_back(size);
    }
    SCANLOOM_TRY(variable.value, reader.tensor());
    function.shared.push_back(std::move(variable));
  }
  SCANLOOM_CHECK_OK(fill(function.module, reader));
  SCANLOOM_CHECK_OK(reader.end());
  // Whatever is wrong, the file is damaged; it is not a mistake of this library.
  if (const auto sound = ir::verify(function.module); !sound)
    return invalid_model("a damaged saved function: {}", sound.error().text());
  SCANLOOM_CHECK_OK(ir::infer_types(function.module, ir::Declared::ignore));
  SCANLOOM_CHECK_OK(check(function));
  return function;
}

}  // namespace scanloom
