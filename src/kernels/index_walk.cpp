#include "kernels/index_walk.h"

#include <algorithm>
#include <atomic>

#include "base/thread_pool.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::Status;

template <class Index>
class Walker {
 public:
  Walker(const IndexWalk& walk, const std::byte* indices, const IndexMove& move)
      : walk_(walk), indices_(indices), move_(move) {}

  /// Walks the tuples with these numbers along the first axis. Returns false at an index out of
  /// range.
  bool run(std::int64_t first, std::int64_t last) {
    auto dims = walk_.dims;
    dims[0] = last - first;
    tensor::RowCursor<3> rows({dims.data(), static_cast<std::size_t>(walk_.rank)});
    rows.add(walk_.index_strides.data());
    rows.add(walk_.indexed_strides.data());
    rows.add(walk_.other_strides.data());
    const std::int64_t index = first * walk_.index_strides[0];
    const std::int64_t indexed = first * walk_.indexed_strides[0];
    const std::int64_t other = first * walk_.other_strides[0];
    for (rows.start(); !rows.done(); rows.next()) {
      const bool inside = move_.elements != nullptr ? move_elements(rows, index, indexed, other)
                                                    : move_tuples(rows, index, indexed, other);
      if (!inside) return false;
    }
    return true;
  }
  [[nodiscard]] std::int64_t bad_index() const { return bad_index_; }
  [[nodiscard]] std::int64_t bad_size() const { return bad_size_; }

 private:
  /// The row that `rows` is at; the numbers are where its axes begin.
  bool move_elements(const tensor::RowCursor<3>& rows, std::int64_t index, std::int64_t indexed,
                     std::int64_t other) {
    const std::byte* const indices = indices_ + index + rows.offset(0);
    const std::int64_t moved = move_.elements({.indices = indices,
                                               .index_step = rows.step(0),
                                               .size = walk_.axes[0].size,
                                               .stride = walk_.axes[0].stride,
                                               .indexed = move_.indexed + indexed + rows.offset(1),
                                               .indexed_step = rows.step(1),
                                               .other = move_.other + other + rows.offset(2),
                                               .other_step = rows.step(2),
                                               .count = rows.length()});
    return moved == rows.length() || find_bad(indices + moved * rows.step(0), rows.step(0), 1);
  }

  bool move_tuples(const tensor::RowCursor<3>& rows, std::int64_t index, std::int64_t indexed,
                   std::int64_t other) {
    for (std::int64_t i = 0; i < rows.length(); i += IndexWalk::kTuples) {
      const std::int64_t count = std::min(IndexWalk::kTuples, rows.length() - i);
      if (!locate(indices_ + index + rows.offset(0) + i * rows.step(0), rows.step(0),
                  indexed + rows.offset(1) + i * rows.step(1), rows.step(1), count))
        return false;
      move_.row(move_.context, {.indexed = offsets_.data(),
                                .other = other + rows.offset(2) + i * rows.step(2),
                                .other_step = rows.step(2),
                                .count = count});
    }
    return true;
  }

  static std::int64_t at(const std::byte* from) {
    return static_cast<std::int64_t>(*reinterpret_cast<const Index*>(from));
  }

  bool locate(const std::byte* tuples, std::int64_t step, std::int64_t base, std::int64_t base_step,
              std::int64_t count) {
    for (int k = 0; k < walk_.length; ++k) {
      const IndexWalk::TupleAxis axis = walk_.axes[static_cast<std::size_t>(k)];
      const std::byte* const from = tuples + k * walk_.tuple_step;
      const bool inside = k == 0 ? locate_first(from, step, axis, base, base_step, count)
                                 : locate_next(from, step, axis, count);
      if (!inside) return find_bad(tuples, step, count);
    }
    if (walk_.length == 0)
      for (std::int64_t i = 0; i < count; ++i)
        offsets_[static_cast<std::size_t>(i)] = base + i * base_step;
    return true;
  }

  bool locate_first(const std::byte* from, std::int64_t step, IndexWalk::TupleAxis axis,
                    std::int64_t base, std::int64_t base_step, std::int64_t count) {
    bool outside = false;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t position = wrapped(at(from + i * step), axis.size);
      outside |= static_cast<std::uint64_t>(position) >= static_cast<std::uint64_t>(axis.size);
      offsets_[static_cast<std::size_t>(i)] = wrapping_offset(base + i * base_step, position, axis);
    }
    return !outside;
  }

  bool locate_next(const std::byte* from, std::int64_t step, IndexWalk::TupleAxis axis,
                   std::int64_t count) {
    bool outside = false;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t position = wrapped(at(from + i * step), axis.size);
      outside |= static_cast<std::uint64_t>(position) >= static_cast<std::uint64_t>(axis.size);
      std::int64_t& offset = offsets_[static_cast<std::size_t>(i)];
      offset = wrapping_offset(offset, position, axis);
    }
    return !outside;
  }

  static std::int64_t wrapped(std::int64_t index, std::int64_t size) {
    return index + (index < 0 ? size : 0);
  }
  /// Positions out of range are not used, but must not overflow.
  static std::int64_t wrapping_offset(std::int64_t offset, std::int64_t position,
                                      IndexWalk::TupleAxis axis) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(offset) +
                                     static_cast<std::uint64_t>(position) *
                                         static_cast<std::uint64_t>(axis.stride));
  }

  /// Notes the first index out of range.
  bool find_bad(const std::byte* tuples, std::int64_t step, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      for (int k = 0; k < walk_.length; ++k) {
        const std::int64_t index = at(tuples + i * step + k * walk_.tuple_step);
        const std::int64_t size = walk_.axes[static_cast<std::size_t>(k)].size;
        if (index >= -size && index < size) continue;
        bad_index_ = index;
        bad_size_ = size;
        return false;
      }
    return false;
  }

  const IndexWalk& walk_;
  const std::byte* indices_;
  const IndexMove& move_;
  std::int64_t bad_index_ = 0, bad_size_ = 0;
  std::array<std::int64_t, IndexWalk::kTuples> offsets_{};
};

/// Parts of the walk that take much longer than a poll.
std::int64_t parts_between_polls(const IndexWalk& walk) {
  constexpr std::int64_t kTuples = 1 << 18;
  return std::clamp<std::int64_t>(walk.tuples() / kTuples, 1,
                                  std::max<std::int64_t>(walk.dims[0], 1));
}

template <class Index>
Status walk_all(const IndexWalk& walk, const Call& call, const Operand& indices,
                const IndexMove& move) {
  Walker<Index> walker(walk, indices.data<const std::byte>(), move);
  const std::int64_t size = walk.dims[0], parts = parts_between_polls(walk);
  for (std::int64_t part = 0; part < parts; ++part) {
    if (parts > 1 && call.stop_requested()) return Status::stopped;
    if (walker.run(size * part / parts, size * (part + 1) / parts)) continue;
    return call.fail("index {} is outside an axis of {} elements", walker.bad_index(),
                     walker.bad_size());
  }
  return Status::ok;
}

}  // namespace

void IndexWalk::add_axis(std::int64_t dim, std::int64_t index, std::int64_t indexed,
                         std::int64_t other) {
  const auto i = static_cast<std::size_t>(rank++);
  dims[i] = dim;
  index_strides[i] = index;
  indexed_strides[i] = indexed;
  other_strides[i] = other;
}

std::int64_t IndexWalk::tuples() const {
  std::int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= dims[static_cast<std::size_t>(i)];
  return count;
}

Status walk_indices(const IndexWalk& walk, const Call& call, const Operand& indices,
                    const IndexMove& move) {
  return walk.wide ? walk_all<std::int64_t>(walk, call, indices, move)
                   : walk_all<std::int32_t>(walk, call, indices, move);
}

Status walk_indices_threaded(const IndexWalk& walk, const Call& call, const Operand& indices,
                             const IndexMove& move) {
  constexpr std::int64_t kShares = 32;
  const std::int64_t size = walk.dims[0];
  const std::int64_t shares = std::min(size, std::max(kShares, parts_between_polls(walk)));
  if (call.max_threads <= 1 || shares <= 1) return walk_indices(walk, call, indices, move);
  std::atomic<bool> fails = false;
  const auto run = [&]<class Index>(Index, std::int64_t share) {
    Walker<Index> walker(walk, indices.data<const std::byte>(), move);
    if (!walker.run(size * share / shares, size * (share + 1) / shares)) fails = true;
  };
  parallel_for(shares, call.max_threads, [&](std::int64_t share) {
    if (call.stop_requested()) return;
    walk.wide ? run(std::int64_t{}, share) : run(std::int32_t{}, share);
  });
  // Walks once more to report the first index out of range, whichever thread met one.
  return fails ? walk_indices(walk, call, indices, move) : call.ok_or_stopped();
}

}  // namespace scanloom::kernels
