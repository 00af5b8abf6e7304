#include "jit/emit_reduction.h"

#include <algorithm>

#include "jit/counting_loop.h"
#include "jit/reduction_accumulators.h"
#include "jit/reduction_forms.h"
#include "jit/reduction_terms.h"
#include "loopnest/access.h"

namespace scanloom::jit {

using loopnest::Nest;
using loopnest::Reduction;

namespace {

using Value = llvm::Value*;

/// Upper bound on the vectors of a block of lanes: independent chains hide the latency of
/// reductions.
constexpr std::size_t kMaxVectors = 8;
/// Functions hold many values, so fewer vectors stay in registers.
constexpr std::size_t kMaxVectorsOfMath = 4, kMaxVectorsOfPow = 2;
/// Blocks of fewer lanes are loaded one by one instead of transposed.
constexpr unsigned kMinOfTransposed = 4;

/// Emits reductions over the same axes in one loop.
class GroupEmitter {
 public:
  using Reductions = std::vector<std::size_t>;  ///< their indices in the nest

  GroupEmitter(llvm::IRBuilder<>& builder, const ReductionSite& site, Reductions reductions,
               ReductionMode mode)
      : builder_(builder),
        site_(site),
        terms_(builder, site),
        reductions_(std::move(reductions)),
        mode_(mode),
        accumulators_(builder, site.nest, site.target, site.width, reductions_, mode) {}

  /// Returns the results, in the order of the reductions.
  std::vector<Value> emit() {
    std::vector<Value> index(site_.index.begin(), site_.index.end());
    const std::vector<Value> first =
        accumulators_.start([&](std::size_t reduction) { return terms_.first_term(reduction); });
    const std::vector<Value> last = axis(index, 0, first);
    std::vector<Value> results;
    for (std::size_t i = 0; i < reductions_.size(); ++i)
      results.push_back(accumulators_.result(i, last));
    if (mode_ == ReductionMode::quick) mend(last, results);
    return results;
  }

 private:
  [[nodiscard]] const Reduction& reduction(std::size_t index) const {
    return site_.nest.reductions[index];
  }
  Value number(std::int64_t value) { return builder_.getInt64(static_cast<std::uint64_t>(value)); }

  // Loops

  const std::vector<std::int64_t>& sizes() const { return reduction(reductions_[0]).sizes; }

  std::vector<Value> axis(std::vector<Value>& index, std::size_t axis_index,
                          const std::vector<Value>& carried) {
    if (axis_index == sizes().size()) return element(index, carried);
    const std::int64_t size = sizes()[axis_index];
    const bool innermost = axis_index + 1 == sizes().size();
    const std::int64_t block = innermost ? transposed_lanes() : 1;
    const std::int64_t whole = block > 1 ? size / block * block : 0;
    const auto pass = [&](bool transposes) {
      return [&, transposes](Value i, const std::vector<Value>& so_far) {
        index.push_back(i);
        std::vector<Value> next =
            transposes ? elements(index, so_far) : axis(index, axis_index + 1, so_far);
        index.pop_back();
        return next;
      };
    };
    std::vector<Value> next = carried;
    if (whole > 0) next = counted(builder_, {0, whole, block}, next, pass(true));
    return whole < size ? counted(builder_, {whole, size, 1}, next, pass(false)) : next;
  }

  /// Returns how many elements are loaded at once and transposed; 1: none.
  [[nodiscard]] std::int64_t transposed_lanes() const {
    const bool across = std::ranges::any_of(
        reductions_, [&](std::size_t i) { return has_across(site_.nest, reduction(i)); });
    if (!across || site_.width < kMinOfTransposed || sizes().back() < site_.width) return 1;
    return site_.width;
  }

  std::vector<Value> element(const std::vector<Value>& index, const std::vector<Value>& carried) {
    std::vector<std::vector<Value>> inputs;
    for (const std::size_t i : reductions_) inputs.push_back(terms_.load(i, index));
    return combined(inputs, index.empty() ? nullptr : index.back(), carried);
  }

  /// Emits as many consecutive elements as there are lanes.
  std::vector<Value> elements(std::vector<Value>& index, std::vector<Value> carried) {
    // [reduction][read][element]; empty where it is loaded element by element
    std::vector<std::vector<std::vector<Value>>> columns;
    for (const std::size_t i : reductions_) {
      columns.emplace_back();
      for (std::size_t read = 0; read < reduction(i).reads.size(); ++read)
        columns.back().push_back(has_across(site_.nest, reduction(i)) &&
                                         is_across(site_.nest, reduction(i).reads[read])
                                     ? terms_.load_transposed(i, read, index)
                                     : std::vector<Value>{});
    }
    Value const first = index.back();
    for (unsigned at = 0; at < site_.width; ++at) {
      index.back() = builder_.CreateAdd(first, number(at));
      std::vector<std::vector<Value>> inputs;
      for (std::size_t i = 0; i < reductions_.size(); ++i) {
        inputs.emplace_back();
        for (std::size_t read = 0; read < columns[i].size(); ++read)
          inputs.back().push_back(columns[i][read].empty()
                                      ? terms_.load(reductions_[i], read, index)
                                      : columns[i][read][at]);
      }
      carried = combined(inputs, index.back(), carried);
    }
    index.back() = first;
    return carried;
  }

  // Combining

  /// Returns the next carried values. `inputs`: the reads of each reduction.
  std::vector<Value> combined(const std::vector<std::vector<Value>>& inputs, Value index,
                              const std::vector<Value>& carried) {
    std::vector<std::vector<Value>> found(site_.nest.reductions.size());
    for (std::size_t i = 0; i < reductions_.size(); ++i) {
      const auto same =
          std::find_if(reductions_.begin(), reductions_.begin() + static_cast<std::ptrdiff_t>(i),
                       [&](std::size_t other) {
                         return same_terms(reduction(other), reduction(reductions_[i]));
                       });
      found[reductions_[i]] =
          *same == reductions_[i] ? terms_.terms(reductions_[i], inputs[i]) : found[*same];
    }
    return accumulators_.combined(found, index, carried);
  }

  // Results

  /// Recomputes what the quick forms may have got wrong: the signs of zeros, or everything if there
  /// is a NaN.
  void mend(const std::vector<Value>& last, std::vector<Value>& results) {
    Value const has_nan = accumulators_.any_nan(last);
    if (has_nan == nullptr) return;
    Reductions min_max, quick;  // indices of results
    Value has_zero = nullptr;
    for (std::size_t i = 0; i < reductions_.size(); ++i) {
      if (!accumulators_.is_quick(reduction(reductions_[i]))) continue;
      quick.push_back(i);
      if (!finds_min_max(reduction(reductions_[i]))) continue;
      min_max.push_back(i);
      Value const here = is_zero(results[i]);
      has_zero = has_zero == nullptr ? here : builder_.CreateOr(has_zero, here);
    }
    if (has_zero != nullptr) {
      // With a NaN everything is recomputed anyway.
      Value const any_zero = builder_.CreateOrReduce(has_zero);
      mend_signs(builder_.CreateAnd(any_zero, builder_.CreateNot(has_nan)), min_max, results);
    }
    replace_where(has_nan, quick, results, [&] { return again(quick, ReductionMode::exact); });
  }

  void mend_signs(Value where, const Reductions& min_max, std::vector<Value>& results) {
    replace_where(where, min_max, results, [&] {
      std::vector<Value> mended = again(min_max, ReductionMode::signs);
      for (std::size_t i = 0; i < min_max.size(); ++i)
        mended[i] = with_sign(results[min_max[i]], mended[i]);
      return mended;
    });
  }

  Value is_zero(Value value) {
    return builder_.CreateFCmpOEQ(value, llvm::Constant::getNullValue(value->getType()));
  }

  std::vector<Value> again(const Reductions& chosen, ReductionMode mode) {
    Reductions reductions;
    for (const std::size_t i : chosen) reductions.push_back(reductions_[i]);
    return GroupEmitter(builder_, site_, std::move(reductions), mode).emit();
  }

  /// Gives zeros the sign of `bits`.
  Value with_sign(Value value, Value bits) {
    llvm::Type* const type = bits->getType();
    Value const sign = builder_.CreateAnd(
        bits, llvm::ConstantInt::get(type, llvm::APInt::getSignMask(type->getScalarSizeInBits())));
    return builder_.CreateSelect(is_zero(value), builder_.CreateBitCast(sign, value->getType()),
                                 value);
  }

  /// Replaces these results by what `found` appends, if the condition holds.
  template <class Found>
  void replace_where(Value any, const Reductions& chosen, std::vector<Value>& results,
                     Found&& found) {
    llvm::BasicBlock* const before = builder_.GetInsertBlock();
    const auto block = [&](const char* name) {
      return llvm::BasicBlock::Create(builder_.getContext(), name, before->getParent());
    };
    llvm::BasicBlock* const mending = block("mending");
    llvm::BasicBlock* const after = block("reduced");
    builder_.CreateCondBr(any, mending, after);
    builder_.SetInsertPoint(mending);
    const std::vector<Value> mended = found();
    llvm::BasicBlock* const last = builder_.GetInsertBlock();
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      Value& result = results[chosen[i]];
      llvm::PHINode* const joined = builder_.CreatePHI(result->getType(), 2);
      joined->addIncoming(result, before);
      joined->addIncoming(mended[i], last);
      result = joined;
    }
  }

  llvm::IRBuilder<>& builder_;
  const ReductionSite& site_;
  ReductionTerms terms_;
  Reductions reductions_;
  ReductionMode mode_;
  ReductionAccumulators accumulators_;
};

/// Groups reductions over the same axes. Those loaded by transposing take all registers, and so are
/// alone.
std::vector<GroupEmitter::Reductions> groups_of(const Nest& nest) {
  std::vector<GroupEmitter::Reductions> groups;
  for (std::size_t i = 0; i < nest.reductions.size(); ++i) {
    const auto takes = [&](const GroupEmitter::Reductions& group) {
      const Reduction& first = nest.reductions[group[0]];
      return first.sizes == nest.reductions[i].sizes && !has_across(nest, first) &&
             !has_across(nest, nest.reductions[i]);
    };
    const auto group = std::ranges::find_if(groups, takes);
    if (group == groups.end())
      groups.push_back({i});
    else
      group->push_back(i);
  }
  return groups;
}

/// Returns the registers that a vector of lanes takes while a reduction runs.
std::size_t registers_of(const Reduction& reduction) {
  if (!has_quick_form(reduction)) return finds_index(reduction) ? 4 : 2;
  return 4;
}

}  // namespace

std::vector<llvm::Value*> emit_reductions(llvm::IRBuilder<>& builder, const ReductionSite& site) {
  std::vector<llvm::Value*> results(site.nest.reductions.size());
  for (const GroupEmitter::Reductions& group : groups_of(site.nest)) {
    const std::vector<llvm::Value*> found =
        GroupEmitter(builder, site, group, ReductionMode::quick).emit();
    for (std::size_t i = 0; i < group.size(); ++i) results[group[i]] = found[i];
  }
  return results;
}

unsigned lanes_of_reductions(const Nest& nest, const NestTarget& target) {
  unsigned most = 0;
  for (const GroupEmitter::Reductions& group : groups_of(nest)) {
    std::size_t taken = 0, vectors = kMaxVectors;
    std::int64_t bytes = 4;
    for (const std::size_t i : group) {
      const Reduction& reduction = nest.reductions[i];
      taken += registers_of(reduction);
      bytes = std::max(bytes, static_cast<std::int64_t>(dtype_bytes(term_dtype(reduction))));
      if (has_math(reduction.program)) vectors = std::min(vectors, kMaxVectorsOfMath);
      if (has_pow(reduction.program)) vectors = std::min(vectors, kMaxVectorsOfPow);
      if (has_across(nest, reduction)) vectors = 1;
    }
    while (vectors > 1 && vectors * taken > target.registers) vectors /= 2;
    unsigned lanes =
        static_cast<unsigned>(vectors) * target.vector_bytes / static_cast<unsigned>(bytes);
    for (const std::size_t i : group)
      if (has_across(nest, nest.reductions[i]))
        while (lanes > nest.reductions[i].sizes.back() && lanes > kMinOfTransposed) lanes /= 2;
    most = most == 0 ? lanes : std::min(most, lanes);
  }
  return most;
}

}  // namespace scanloom::jit
