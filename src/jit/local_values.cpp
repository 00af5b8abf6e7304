#include "jit/local_values.h"

#include <algorithm>
#include <utility>

namespace scanloom::jit {
namespace {

/// Shuffling more pieces than this together is no faster than loading them.
constexpr std::ptrdiff_t kMaxPieces = 4;

unsigned lanes_of(const llvm::Value* value) {
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? 1 : vector->getNumElements();
}

/// Returns `count` lanes of `value` from `first` on as lanes from `at` on of a vector of `width`,
/// whose other lanes are poison.
llvm::Value* spread(llvm::IRBuilder<>& builder, llvm::Value* value, unsigned first, unsigned count,
                    unsigned at, unsigned width) {
  if (!value->getType()->isVectorTy()) {
    auto* const type = llvm::FixedVectorType::get(value->getType(), width);
    return builder.CreateInsertElement(llvm::PoisonValue::get(type), value, at);
  }
  llvm::SmallVector<int> lanes(width, llvm::PoisonMaskElem);
  for (unsigned i = 0; i < count; ++i) lanes[at + i] = static_cast<int>(first + i);
  return builder.CreateShuffleVector(value, lanes);
}

/// Returns `a` with `count` lanes of `b` from `at` on.
llvm::Value* blended(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b, unsigned at,
                     unsigned count) {
  const unsigned width = lanes_of(a);
  llvm::SmallVector<int> lanes(width);
  for (unsigned i = 0; i < width; ++i)
    lanes[i] = static_cast<int>(i >= at && i < at + count ? width + i : i);
  return builder.CreateShuffleVector(a, b, lanes);
}

}  // namespace

void LocalValues::store(std::int32_t slot, DType dtype, std::int64_t offset, unsigned width,
                        llvm::Value* value) {
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(dtype));
  const std::int64_t end = offset + width * bytes;
  std::vector<Piece> pieces;
  for (const Piece& piece : std::exchange(pieces_[slot], {})) {
    const bool apart = piece.end <= offset || end <= piece.begin;
    if (apart) pieces.push_back(piece);
    // The rest of a partly overwritten piece stays known, in whole elements.
    if (apart || piece.dtype != dtype || (offset - piece.origin) % bytes != 0) continue;
    if (piece.begin < offset)
      pieces.push_back({dtype, piece.begin, offset, piece.origin, piece.value});
    if (end < piece.end) pieces.push_back({dtype, end, piece.end, piece.origin, piece.value});
  }
  if (dtype != DType::boolean) {  // a bit in registers, a byte in memory
    const auto after = std::ranges::upper_bound(pieces, offset, {}, &Piece::begin);
    pieces.insert(after, {dtype, offset, end, offset, value});
  }
  pieces_[slot] = std::move(pieces);
}

llvm::Value* LocalValues::load(llvm::IRBuilder<>& builder, std::int32_t slot, DType dtype,
                               std::int64_t offset, unsigned width) const {
  const auto known = pieces_.find(slot);
  if (known == pieces_.end()) return nullptr;
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(dtype));
  const std::int64_t end = offset + width * bytes;
  const std::vector<Piece>& pieces = known->second;
  const auto first = std::ranges::find_if(pieces, [&](const Piece& p) { return p.end > offset; });
  const auto last =
      std::find_if(first, pieces.end(), [&](const Piece& piece) { return piece.begin >= end; });
  if (last - first > kMaxPieces) return nullptr;
  std::int64_t reached = offset;
  for (auto piece = first; piece != last; ++piece) {
    if (piece->begin > reached || piece->dtype != dtype || (reached - piece->begin) % bytes != 0)
      return nullptr;
    reached = piece->end;
  }
  if (reached < end) return nullptr;
  const auto lanes = [&](std::int64_t size) { return static_cast<unsigned>(size / bytes); };
  if (width == 1)
    return first->value->getType()->isVectorTy()
               ? builder.CreateExtractElement(first->value, lanes(offset - first->origin))
               : first->value;
  if (first->origin == offset && first->end == end && lanes_of(first->value) == width)
    return first->value;
  llvm::Value* found = nullptr;
  for (auto piece = first; piece != last; ++piece) {
    const std::int64_t from = std::max(piece->begin, offset), to = std::min(piece->end, end);
    const unsigned at = lanes(from - offset), count = lanes(to - from);
    llvm::Value* const part =
        spread(builder, piece->value, lanes(from - piece->origin), count, at, width);
    found = found == nullptr ? part : blended(builder, found, part, at, count);
  }
  return found;
}

}  // namespace scanloom::jit
