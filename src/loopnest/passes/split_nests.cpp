// Splits nests that read a value assembled from pieces (a concat or a pad), so that they read the
// pieces instead. A nest becomes several, each of which reads one piece through every operand. The
// assembled value is then no longer written. All readers of such a value are split if that is
// possible and less work. Afterwards no part is a piece.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "loopnest/pass.h"
#include "loopnest/program.h"
#include "tensor/scalar_functions.h"
#include "tensor/shape.h"

namespace scanloom::loopnest {
namespace {

/// Upper bound on the parts of all readers of one value.
constexpr std::size_t kMaxParts = 32;
/// Bytes of a vector; the work of a function relative to an addition.
constexpr std::int64_t kVectorBytes = 32, kWorkOfFunction = 24;
/// Cost in operations of a load that covers two recent stores: it waits until both have reached the
/// cache.
constexpr std::int64_t kOperationsOfWait = 16;

std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(dtype_bytes(dtype)); }

/// Elements [first, first + size) on an axis of the whole, along axis `along` of a nest; -1: one
/// element.
struct Side {
  std::int64_t first = 0, size = 1;
  int along = -1;
};
using Box = std::vector<Side>;  // by axis of the whole

/// Returns the part of the whole that the operand walks over; nullopt if it is not a box.
std::optional<Box> box_of(const Whole& whole, const Access& operand,
                          const std::vector<std::int64_t>& sizes) {
  if (operand.slot != whole.slot || !operand.indices.empty() ||
      bytes_of(operand.dtype) != bytes_of(whole.dtype))
    return std::nullopt;
  const std::int64_t bytes = operand.offset - whole.offset;
  if (bytes < 0 || bytes % bytes_of(whole.dtype) != 0) return std::nullopt;
  std::int64_t rest = bytes / bytes_of(whole.dtype);
  Box box(whole.dims.size());
  // The whole is row-major in memory of its own.
  for (std::size_t axis = 0; axis < box.size(); ++axis) {
    if (whole.dims[axis] == 1) continue;
    box[axis].first = rest / whole.strides[axis];
    rest %= whole.strides[axis];
    if (box[axis].first >= whole.dims[axis]) return std::nullopt;
  }
  if (rest != 0) return std::nullopt;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (operand.strides[i] == 0 || sizes[i] == 1) continue;
    std::size_t axis = 0;
    while (axis < box.size() && (whole.dims[axis] == 1 || box[axis].along >= 0 ||
                                 whole.strides[axis] != operand.strides[i]))
      ++axis;
    if (axis == box.size() || box[axis].first + sizes[i] > whole.dims[axis]) return std::nullopt;
    box[axis].size = sizes[i];
    box[axis].along = static_cast<int>(i);
  }
  return box;
}

std::int64_t operations_of(const tensor::ScalarProgram& program) {
  std::int64_t operations = 0;
  for (const tensor::ScalarInstr& instr : program.instrs)
    operations += tensor::is_function(instr.op) ? kWorkOfFunction : 1;
  return operations;
}

/// Estimates the vector operations of a nest without reductions.
std::int64_t work_of(const Nest& nest) {
  const std::int64_t operations = 1 + operations_of(nest.program);
  const std::int64_t elements = tensor::Shape(nest.sizes).elements();
  const std::int64_t held = kVectorBytes / bytes_of(nest.writes[0].dtype);
  std::int64_t least = elements * (operations + std::ssize(nest.reads) + std::ssize(nest.writes));
  for (std::size_t axis = 0; axis < nest.sizes.size(); ++axis) {
    // The last vector of a row may overlap the one before it.
    const std::int64_t lanes = nest.sizes[axis], vectors = (lanes + held - 1) / held;
    std::int64_t row = operations * vectors;
    for (const auto* operands : {&nest.reads, &nest.writes})
      for (const Access& operand : *operands)
        row += operand.strides[axis] == 0 || operand.strides[axis] == 1 ? vectors : lanes;
    least = std::min(least, elements / lanes * row);
  }
  return least;
}

/// Collects the reads of a nest that is being rewritten: operands, or constants.
class Reads {
 public:
  explicit Reads(Nest& nest) : nest_(nest) {}

  void add(Access read) {
    const auto known = std::ranges::find(reads_, read);
    positions_.push_back(static_cast<std::int32_t>(known - reads_.begin()));
    if (known == reads_.end()) reads_.push_back(std::move(read));
  }
  void add(const tensor::ScalarInstr& constant) {
    positions_.push_back(-1 - static_cast<std::int32_t>(constants_.size()));
    constants_.push_back(constant);
  }

  void finish() {
    tensor::ScalarProgram program;
    for (const Access& read : reads_) program.inputs.push_back(read.dtype);
    std::vector<std::int32_t> constants, registers;
    for (const tensor::ScalarInstr& constant : constants_)
      constants.push_back(program.append(constant));
    for (const std::int32_t position : positions_)
      registers.push_back(position >= 0 ? position
                                        : constants[static_cast<std::size_t>(-1 - position)]);
    program.results = append_program(program, nest_.program, std::move(registers));
    nest_.program = std::move(program);
    nest_.reads = std::move(reads_);
  }

 private:
  Nest& nest_;
  std::vector<Access> reads_;
  std::vector<tensor::ScalarInstr> constants_;
  std::vector<std::int32_t> positions_;
};

/// A part that writes elements of the whole, as a copy or a constant.
struct Piece {
  const Part* part;
  Box box;
};

/// Splits the readers of one value.
class Cutter {
 public:
  Cutter(const Whole& whole, const std::vector<Piece>& pieces) : whole_(whole), pieces_(pieces) {}

  /// Returns the reader in parts; empty if a part reads elements of no piece, or of several.
  std::vector<Part> cut(const Part& reader) {
    const Nest& nest = reader.statement.nest;
    std::vector<std::vector<std::int64_t>> cuts(nest.sizes.size());
    for (const Access& read : nest.reads)
      if (!add_cuts(nest, read, cuts)) return {};
    std::size_t count = 1;
    for (std::size_t axis = 0; axis < cuts.size(); ++axis) {
      cuts[axis].push_back(0);
      std::ranges::sort(cuts[axis]);
      cuts[axis].erase(std::unique(cuts[axis].begin(), cuts[axis].end()), cuts[axis].end());
      count *= cuts[axis].size();
      if (count > kMaxParts) return {};
    }
    std::vector<Part> parts;
    for (std::size_t number = 0; number < count; ++number) {
      std::size_t rest = number;
      std::vector<std::int64_t> first(cuts.size()), sizes(cuts.size());
      for (std::size_t axis = cuts.size(); axis-- > 0;) {
        const std::size_t i = rest % cuts[axis].size();
        rest /= cuts[axis].size();
        first[axis] = cuts[axis][i];
        sizes[axis] =
            (i + 1 < cuts[axis].size() ? cuts[axis][i + 1] : nest.sizes[axis]) - first[axis];
      }
      auto made = part_at(nest, first, sizes);
      if (!made) return {};
      Part part = part_of(*std::move(made), reader.origins);
      part.whole = reader.whole;
      parts.push_back(std::move(part));
    }
    return parts;
  }

 private:
  [[nodiscard]] bool is_of_whole(const Access& read, const std::vector<std::int64_t>& sizes) const {
    const Use use = use_of(read, sizes);
    return std::ranges::any_of(
        pieces_, [&](const Piece& piece) { return use.overlaps(piece.part->writes[0]); });
  }

  bool add_cuts(const Nest& nest, const Access& read,
                std::vector<std::vector<std::int64_t>>& cuts) const {
    if (!is_of_whole(read, nest.sizes)) return true;
    const auto box = box_of(whole_, read, nest.sizes);
    if (!box) return false;
    for (const Piece& piece : pieces_)
      for (std::size_t axis = 0; axis < box->size(); ++axis) {
        const Side& side = (*box)[axis];
        if (side.along < 0) continue;
        for (const std::int64_t end :
             {piece.box[axis].first, piece.box[axis].first + piece.box[axis].size})
          if (end > side.first && end < side.first + side.size)
            cuts[static_cast<std::size_t>(side.along)].push_back(end - side.first);
      }
    return true;
  }

  /// Returns the nest restricted to the elements from `first` on.
  [[nodiscard]] std::optional<Nest> part_at(const Nest& nest,
                                            const std::vector<std::int64_t>& first,
                                            const std::vector<std::int64_t>& sizes) const {
    const auto moved = [&](Access operand) {
      for (std::size_t axis = 0; axis < first.size(); ++axis)
        operand.offset += first[axis] * operand.strides[axis] * bytes_of(operand.dtype);
      return operand;
    };
    Nest part;
    part.sizes = sizes;
    part.program = nest.program;
    for (const Access& write : nest.writes) part.writes.push_back(moved(write));
    Reads reads(part);
    for (const Access& given : nest.reads) {
      const Access read = moved(given);
      if (!is_of_whole(given, nest.sizes))
        reads.add(read);
      else if (!add_piece(read, sizes, reads))
        return std::nullopt;
    }
    reads.finish();
    drop_single_axes(part);
    return part;
  }

  [[nodiscard]] bool add_piece(const Access& read, const std::vector<std::int64_t>& sizes,
                               Reads& reads) const {
    const auto box = box_of(whole_, read, sizes);
    if (!box) return false;
    const auto found = std::ranges::find_if(pieces_, [&](const Piece& piece) {
      for (std::size_t axis = 0; axis < box->size(); ++axis) {
        const Side &inner = (*box)[axis], &outer = piece.box[axis];
        if (inner.first < outer.first || inner.first + inner.size > outer.first + outer.size)
          return false;
      }
      return true;
    });
    if (found == pieces_.end()) return false;
    const Nest& from = found->part->statement.nest;
    if (from.reads.empty()) {
      tensor::ScalarInstr constant = from.program.instrs[0];
      constant.dtype = read.dtype;
      if (read.dtype == DType::boolean) constant.bits = constant.bits != 0 ? 1 : 0;
      reads.add(constant);
      return true;
    }
    Access source = from.reads[0];
    source.dtype = read.dtype;
    std::vector<std::int64_t> strides(sizes.size(), 0);
    for (std::size_t axis = 0; axis < box->size(); ++axis) {
      const Side &inner = (*box)[axis], &outer = found->box[axis];
      if (outer.along < 0) continue;
      const std::int64_t stride = from.reads[0].strides[static_cast<std::size_t>(outer.along)];
      source.offset += (inner.first - outer.first) * stride * bytes_of(source.dtype);
      if (inner.along >= 0) strides[static_cast<std::size_t>(inner.along)] = stride;
    }
    source.strides = std::move(strides);
    reads.add(std::move(source));
    return true;
  }

  static void drop_single_axes(Nest& nest) {
    for (std::size_t axis = nest.sizes.size(); axis-- > 0;) {
      if (nest.sizes[axis] != 1) continue;
      const auto at = static_cast<std::ptrdiff_t>(axis);
      nest.sizes.erase(nest.sizes.begin() + at);
      for (auto* operands : {&nest.reads, &nest.writes})
        for (Access& operand : *operands) operand.strides.erase(operand.strides.begin() + at);
    }
  }

  const Whole& whole_;
  const std::vector<Piece>& pieces_;
};

class Splitter {
 public:
  explicit Splitter(BodyParts& body)
      : parts_(body.parts), is_buffer_(body.is_buffer), read_later_(body.read_later) {}

  void run() {
    std::vector<Whole> done;
    for (std::size_t at = 0; at < parts_.size(); ++at) {
      if (!parts_[at].whole || std::ranges::find(done, *parts_[at].whole) != done.end()) continue;
      done.push_back(*parts_[at].whole);
      split(done.back(), at);
    }
    for (Part& part : parts_) part.whole.reset();
  }

 private:
  /// Returns consecutive pieces from `first` on; empty if one does not have the form of a piece.
  std::vector<Piece> pieces_from(const Whole& whole, std::size_t first) const {
    std::vector<Piece> pieces;
    for (std::size_t at = first; at < parts_.size() && parts_[at].whole == whole; ++at) {
      const Nest& nest = parts_[at].statement.nest;
      const bool copies = nest.reads.size() == 1 && nest.program.instrs.empty();
      const bool fills = nest.reads.empty() && nest.program.instrs.size() == 1;
      auto box = box_of(whole, nest.writes[0], nest.sizes);
      if ((!copies && !fills) || nest.may_fail() || !box) return {};
      pieces.push_back({&parts_[at], *std::move(box)});
    }
    return pieces;
  }

  void split(const Whole& whole, std::size_t first) {
    const std::vector<Piece> pieces = pieces_from(whole, first);
    if (pieces.empty() || !is_buffer_(whole.slot)) return;
    for (const Use& use : read_later_)
      if (is_written(pieces, use)) return;
    Cutter cutter(whole, pieces);
    std::map<std::size_t, std::vector<Part>> cuts;  // by reader
    std::int64_t before = 0, after = 0;
    std::size_t made = 0;
    bool sources_changed = false, waits = false;
    for (const Piece& piece : pieces) before += work_of(piece.part->statement.nest);
    for (std::size_t at = first + pieces.size(); at < parts_.size(); ++at) {
      const Part& part = parts_[at];
      for (const Use& use : part.writes)
        if (is_written(pieces, use)) return;
      sources_changed |= std::ranges::any_of(
          pieces, [&](const Piece& piece) { return overlap(part.writes, piece.part->reads); });
      if (std::ranges::none_of(part.reads, [&](const Use& use) { return is_written(pieces, use); }))
        continue;
      const Nest& nest = part.statement.nest;
      if (sources_changed || !part.is_nest() || part.may_fail() || !nest.reductions.empty()) return;
      std::vector<Part> cut = cutter.cut(part);
      made += cut.size();
      if (cut.empty() || made > kMaxParts) return;
      waits |= cut.size() > 1;
      before += work_of(nest);
      for (const Part& piece : cut) after += work_of(piece.statement.nest);
      cuts.emplace(at, std::move(cut));
    }
    if (waits) before += kOperationsOfWait;
    if (made == 0 || after > before) return;
    replace(std::move(cuts));
  }

  /// The parts that write the pieces stay until it is known that nothing reads them.
  void replace(std::map<std::size_t, std::vector<Part>> cuts) {
    std::vector<Part> parts;
    for (std::size_t at = 0; at < parts_.size(); ++at) {
      const auto cut = cuts.find(at);
      if (cut == cuts.end())
        parts.push_back(std::move(parts_[at]));
      else
        std::ranges::move(cut->second, std::back_inserter(parts));
    }
    parts_ = std::move(parts);
  }

  static bool is_written(const std::vector<Piece>& pieces, const Use& use) {
    return std::ranges::any_of(
        pieces, [&](const Piece& piece) { return use.overlaps(piece.part->writes[0]); });
  }

  std::vector<Part>& parts_;
  const IsBuffer& is_buffer_;
  const std::vector<Use>& read_later_;
};

}  // namespace

void split_nests(BodyParts& body) {
  const bool has_pieces =
      std::ranges::any_of(body.parts, [](const Part& part) { return part.whole.has_value(); });
  if (!has_pieces) return;
  Splitter(body).run();
  // The copies of a program that splitting makes have fewer readers each.
  inline_nests(body);
}

}  // namespace scanloom::loopnest
