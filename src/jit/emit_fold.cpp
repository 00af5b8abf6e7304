#include "jit/emit_fold.h"

#include <algorithm>

#include "jit/counting_loop.h"
#include "jit/emit_math.h"
#include "jit/emit_memory.h"
#include "jit/emit_program.h"

namespace scanloom::jit {
namespace {

using Value = llvm::Value*;

/// Vectors that one block of lanes spans at most: independent chains hide the latency of folds.
constexpr std::size_t kMostVectors = 8;
/// Of functions one vector holds many instructions already.
constexpr std::size_t kMostVectorsOfMath = 2;
/// Folds of fewer elements are not worth the further loops of the quicker form.
constexpr std::int64_t kLeastOfQuick = 16;
/// Instructions of a fold's program up to which it may be written out many times.
constexpr std::size_t kMostOfLight = 8;
/// Blocks of fewer lanes are loaded one by one rather than transposed.
constexpr unsigned kLeastOfTransposed = 4;

std::int64_t count_of(const Fold& fold) {
  std::int64_t count = 1;
  for (const std::int64_t size : fold.sizes) count *= size;
  return count;
}

bool finds_index(const Fold& fold) {
  return fold.kind == Fold::Kind::argmax || fold.kind == Fold::Kind::argmin;
}
bool finds_extreme(const Fold& fold) {
  return fold.kind == Fold::Kind::max || fold.kind == Fold::Kind::min;
}
bool finds_greatest(const Fold& fold) {
  return fold.kind == Fold::Kind::max || fold.kind == Fold::Kind::argmax;
}

/// The type of what is folded.
DType term_dtype(const Fold& fold) { return fold.program.register_dtype(fold.program.results[0]); }

bool has_math(const tensor::ScalarProgram& program) {
  return std::ranges::any_of(program.instrs, [](const tensor::ScalarInstr& instr) {
    return tensor::is_function(instr.op);
  });
}

/// Whether it pays, as code and as time to compile it, to write the fold's program out more often.
bool is_light(const Fold& fold) {
  return fold.program.instrs.size() <= kMostOfLight && !has_math(fold.program);
}

/// Whether blocks of its reads are transposed.
bool has_across(const Nest& nest, const Fold& fold) {
  return is_light(fold) && std::ranges::any_of(fold.reads, [&](const NestOperand& read) {
           return is_across(nest, read);
         });
}

/// Extremes of floats may be found in a form that is wrong where a NaN, or the sign of a zero,
/// decides; it notices that.
bool has_quick_form(const Fold& fold) {
  return (finds_index(fold) || finds_extreme(fold)) && is_real(term_dtype(fold)) &&
         count_of(fold) >= kLeastOfQuick && is_light(fold);
}

/// Folds over the same axes, in one loop.
class GroupEmitter {
 public:
  using Folds = std::vector<std::size_t>;  ///< their indices in the nest
  /// `signs`: of extremes that are known to be zeros. `exact`: no quick forms.
  enum class Mode : std::uint8_t { quick, signs, exact };

  GroupEmitter(llvm::IRBuilder<>& builder, const FoldSite& site, Folds folds, Mode mode)
      : builder_(builder), site_(site), folds_(std::move(folds)), mode_(mode) {
    for (const std::size_t fold : folds_) add_accumulators(fold);
  }

  /// The results, in the order of the folds.
  std::vector<Value> emit() {
    std::vector<Value> index(site_.index.begin(), site_.index.end());
    const std::vector<Value> last = axis(index, 0, start());
    std::vector<Value> results;
    for (std::size_t i = 0; i < folds_.size(); ++i)
      results.push_back(finished(accumulators_[result_at_[i]], last[result_at_[i]]));
    if (mode_ == Mode::quick) mend(last, results);
    return results;
  }

 private:
  enum class Kind : std::uint8_t {
    plain,  ///< the result itself
    // Quick forms, without regard to NaN.
    best,   ///< the extreme, but for the sign of a zero
    probe,  ///< the sum of all terms: NaN where a term is
    place,  ///< the index of `best`
    signs,  ///< the sign is that of an extreme which is zero: -0 counts as below 0
    // Exact forms of indices.
    exact_best,
    exact_place,
  };
  /// One carried value. Functions of the terms only, they are shared by all folds that need them.
  struct Accumulator {
    Kind kind;
    std::size_t fold;      ///< whose terms it is of, and how they are compared
    std::size_t best = 0;  ///< of `place` and `exact_place`: where that extreme is
  };

  [[nodiscard]] const Fold& fold(std::size_t index) const { return site_.nest.folds[index]; }
  [[nodiscard]] bool is_quick(const Fold& fold) const {
    return mode_ == Mode::quick && site_.width > 1 && has_quick_form(fold);
  }

  Value number(std::int64_t value) { return builder_.getInt64(static_cast<std::uint64_t>(value)); }

  // What is carried

  static bool same_terms(const Fold& a, const Fold& b) {
    return a.program == b.program && a.reads == b.reads;
  }

  std::size_t shared(Kind kind, std::size_t index) {
    const auto same = [&](const Accumulator& other) {
      return other.kind == kind && same_terms(fold(other.fold), fold(index)) &&
             (kind == Kind::probe ||
              finds_greatest(fold(other.fold)) == finds_greatest(fold(index)));
    };
    const auto known = std::ranges::find_if(accumulators_, same);
    const auto at = static_cast<std::size_t>(known - accumulators_.begin());
    if (known == accumulators_.end()) accumulators_.push_back({kind, index});
    return at;
  }

  void add(Accumulator accumulator) {
    result_at_.push_back(accumulators_.size());
    accumulators_.push_back(accumulator);
  }

  void add_accumulators(std::size_t index) {
    const Fold& added = fold(index);
    if (mode_ == Mode::signs) return add({Kind::signs, index});
    if (!is_quick(added)) {
      if (!finds_index(added)) return add({Kind::plain, index});
      accumulators_.push_back({Kind::exact_best, index});
      return add({Kind::exact_place, index, accumulators_.size() - 1});
    }
    shared(Kind::probe, index);
    const std::size_t best = shared(Kind::best, index);
    if (finds_index(added)) return add({Kind::place, index, best});
    result_at_.push_back(best);
  }

  /// Lanes of indices are as wide as those of the terms, so that one mask serves both. The planner
  /// bounds how many elements a nest has, far below 2^31.
  llvm::Type* place_type(const Fold& of) {
    const bool wide = dtype_bytes(term_dtype(of)) == 8;
    return register_type(builder_.getContext(), wide ? DType::i64 : DType::i32, site_.width);
  }

  llvm::Type* bits_type(llvm::Type* type) {
    llvm::Type* const lane = builder_.getIntNTy(type->getScalarSizeInBits());
    auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector == nullptr ? lane : llvm::FixedVectorType::get(lane, vector->getNumElements());
  }

  std::vector<Value> start() {
    std::vector<Value> carried;
    for (const Accumulator& accumulator : accumulators_)
      carried.push_back(start(accumulator.kind, fold(accumulator.fold), accumulator.fold));
    return carried;
  }

  Value start(Kind kind, const Fold& of, std::size_t index) {
    llvm::Type* const type = register_type(builder_.getContext(), term_dtype(of), site_.width);
    switch (kind) {
      case Kind::probe:
        return llvm::Constant::getNullValue(type);
      case Kind::place:
        return llvm::Constant::getNullValue(place_type(of));
      case Kind::exact_place:
        return llvm::Constant::getNullValue(
            register_type(builder_.getContext(), of.dtype, site_.width));
      case Kind::signs:
        return builder_.CreateBitCast(first_term(index), bits_type(type));
      case Kind::best:
      case Kind::exact_best:
        return first_term(index);
      case Kind::plain:
        break;
    }
    if (finds_extreme(of)) return first_term(index);
    if (of.kind != Fold::Kind::prod) return llvm::Constant::getNullValue(type);
    return type->isFPOrFPVectorTy() ? llvm::ConstantFP::get(type, 1.0)
                                    : llvm::ConstantInt::get(type, 1);
  }

  Value first_term(std::size_t fold_index) {
    std::vector<Value> first(site_.index.begin(), site_.index.end());
    first.resize(first.size() + fold(fold_index).sizes.size(), number(0));
    return terms(fold_index, loaded(fold_index, first))[0];
  }

  // Elements

  /// The reads of a fold at one element.
  std::vector<Value> loaded(std::size_t fold_index, std::span<const Value> index) {
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < fold(fold_index).reads.size(); ++i)
      inputs.push_back(load(fold_index, i, index));
    return inputs;
  }

  Value load(std::size_t fold_index, std::size_t i, std::span<const Value> index) {
    const NestOperand& read = fold(fold_index).reads[i];
    return load_lanes(builder_, read.dtype, address(fold_index, i, index), lane_stride(read),
                      site_.width);
  }

  Value address(std::size_t fold_index, std::size_t i, std::span<const Value> index) {
    return element_address(builder_, fold(fold_index).reads[i], site_.bases[fold_index][i], index);
  }

  [[nodiscard]] std::int64_t lane_stride(const NestOperand& operand) const {
    return site_.nest.sizes.empty() ? 0 : operand.strides[site_.nest.sizes.size() - 1];
  }

  std::vector<Value> terms(std::size_t fold_index, const std::vector<Value>& inputs) {
    const tensor::ScalarProgram& program = fold(fold_index).program;
    const std::vector<Value> registers = emit_program(builder_, program, inputs, site_.width);
    std::vector<Value> results;
    for (const std::int32_t result : program.results)
      results.push_back(registers[static_cast<std::size_t>(result)]);
    return results;
  }

  // Loops

  const std::vector<std::int64_t>& sizes() const { return fold(folds_[0]).sizes; }

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

  /// How many elements are taken at once, to be transposed; 1: none.
  [[nodiscard]] std::int64_t transposed_lanes() const {
    const bool across =
        std::ranges::any_of(folds_, [&](std::size_t i) { return has_across(site_.nest, fold(i)); });
    if (!across || site_.width < kLeastOfTransposed || sizes().back() < site_.width) return 1;
    return site_.width;
  }

  std::vector<Value> element(const std::vector<Value>& index, const std::vector<Value>& carried) {
    std::vector<std::vector<Value>> inputs;
    for (const std::size_t i : folds_) inputs.push_back(loaded(i, index));
    return combined(inputs, index.empty() ? nullptr : index.back(), carried);
  }

  /// As many elements as there are lanes, one after the other.
  std::vector<Value> elements(std::vector<Value>& index, std::vector<Value> carried) {
    // [fold][read][element]; empty where it is loaded element by element
    std::vector<std::vector<std::vector<Value>>> columns;
    for (const std::size_t i : folds_) {
      columns.emplace_back();
      for (std::size_t read = 0; read < fold(i).reads.size(); ++read)
        columns.back().push_back(has_across(site_.nest, fold(i)) &&
                                         is_across(site_.nest, fold(i).reads[read])
                                     ? transposed(i, read, index)
                                     : std::vector<Value>{});
    }
    Value const first = index.back();
    for (unsigned at = 0; at < site_.width; ++at) {
      index.back() = builder_.CreateAdd(first, number(at));
      std::vector<std::vector<Value>> inputs;
      for (std::size_t i = 0; i < folds_.size(); ++i) {
        inputs.emplace_back();
        for (std::size_t read = 0; read < columns[i].size(); ++read)
          inputs.back().push_back(columns[i][read].empty() ? load(folds_[i], read, index)
                                                           : columns[i][read][at]);
      }
      carried = combined(inputs, index.back(), carried);
    }
    index.back() = first;
    return carried;
  }

  /// Of each of the next elements the lanes.
  std::vector<Value> transposed(std::size_t fold_index, std::size_t read_index,
                                std::span<const Value> index) {
    const NestOperand& read = fold(fold_index).reads[read_index];
    const std::int64_t bytes =
        lane_stride(read) * static_cast<std::int64_t>(dtype_bytes(read.dtype));
    Value const first = address(fold_index, read_index, index);
    std::vector<Value> rows;
    for (unsigned lane = 0; lane < site_.width; ++lane)
      rows.push_back(load_lanes(builder_, read.dtype,
                                add_bytes(builder_, first, number(bytes * lane)), 1, site_.width));
    return transpose(builder_, std::move(rows));
  }

  // Combining

  /// The next carried values. `inputs`: of each fold what it reads.
  std::vector<Value> combined(const std::vector<std::vector<Value>>& inputs, Value index,
                              const std::vector<Value>& carried) {
    std::vector<std::vector<Value>> found(site_.nest.folds.size());
    for (std::size_t i = 0; i < folds_.size(); ++i) {
      const auto same =
          std::find_if(folds_.begin(), folds_.begin() + static_cast<std::ptrdiff_t>(i),
                       [&](std::size_t other) { return same_terms(fold(other), fold(folds_[i])); });
      found[folds_[i]] = *same == folds_[i] ? terms(folds_[i], inputs[i]) : found[*same];
    }
    std::vector<Value> next;
    for (std::size_t i = 0; i < accumulators_.size(); ++i)
      next.push_back(combined(accumulators_[i], found[accumulators_[i].fold], index, carried, i));
    return next;
  }

  Value combined(const Accumulator& accumulator, const std::vector<Value>& found, Value index,
                 const std::vector<Value>& carried, std::size_t own) {
    const Fold& of = fold(accumulator.fold);
    Value const so_far = carried[own];
    Value const term = found[0];
    switch (accumulator.kind) {
      case Kind::plain:
        return plain(of, so_far, found);
      case Kind::probe:
        return builder_.CreateFAdd(so_far, term);
      case Kind::best:
        return builder_.CreateSelect(beats(of, term, so_far), term, so_far);
      case Kind::signs: {
        Value const bits = builder_.CreateBitCast(term, so_far->getType());
        return finds_greatest(of) ? builder_.CreateAnd(so_far, bits)
                                  : builder_.CreateOr(so_far, bits);
      }
      case Kind::place: {
        Value const best = carried[accumulator.best];
        return builder_.CreateSelect(
            of.takes_last ? beats_or_equals(of, term, best) : beats(of, term, best),
            splat(index, so_far->getType()), so_far);
      }
      case Kind::exact_best:
        return builder_.CreateSelect(precedes(of, term, so_far), term, so_far);
      case Kind::exact_place:
        return builder_.CreateSelect(precedes(of, term, carried[accumulator.best]),
                                     splat(index, so_far->getType()), so_far);
    }
    return so_far;
  }

  Value splat(Value index, llvm::Type* type) {
    Value const lane = builder_.CreateTrunc(index, type->getScalarType());
    return type->isVectorTy() ? builder_.CreateVectorSplat(site_.width, lane) : lane;
  }

  Value beats(const Fold& of, Value term, Value best) {
    return finds_greatest(of) ? builder_.CreateFCmpOGT(term, best)
                              : builder_.CreateFCmpOLT(term, best);
  }
  Value beats_or_equals(const Fold& of, Value term, Value best) {
    return finds_greatest(of) ? builder_.CreateFCmpOGE(term, best)
                              : builder_.CreateFCmpOLE(term, best);
  }

  Value plain(const Fold& of, Value so_far, const std::vector<Value>& found) {
    if (of.kind == Fold::Kind::multiply_add) return multiply_add(found[0], found[1], so_far);
    tensor::ScalarProgram program{.inputs = {of.dtype, of.dtype}, .instrs = {}, .results = {2}};
    const auto op = of.kind == Fold::Kind::sum    ? tensor::ScalarOp::add
                    : of.kind == Fold::Kind::prod ? tensor::ScalarOp::mul
                    : of.kind == Fold::Kind::max  ? tensor::ScalarOp::max
                                                  : tensor::ScalarOp::min;
    program.append({.op = op, .dtype = of.dtype, .args = {0, 1, -1}});
    const std::vector<Value> inputs{so_far, found[0]};
    return emit_program(builder_, program, inputs, site_.width)[2];
  }

  Value multiply_add(Value a, Value b, Value sum) {
    if (!sum->getType()->isFPOrFPVectorTy())
      return builder_.CreateAdd(sum, builder_.CreateMul(a, b));
    if (site_.target.with_fma)
      return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {a, b, sum});
    return builder_.CreateFAdd(builder_.CreateFMul(a, b), sum);
  }

  /// The order of ops/element_order.h: NaN above all.
  Value precedes(const Fold& of, Value element, Value best) {
    const bool greatest = finds_greatest(of);
    Value const a = greatest ? element : best;
    Value const b = greatest ? best : element;  // a above b, or equal to it
    if (!element->getType()->isFPOrFPVectorTy()) {
      const bool is_signed = dtype_kind(term_dtype(of)) == DTypeKind::signed_int;
      if (of.takes_last)
        return is_signed ? builder_.CreateICmpSGE(a, b) : builder_.CreateICmpUGE(a, b);
      return is_signed ? builder_.CreateICmpSGT(a, b) : builder_.CreateICmpUGT(a, b);
    }
    Value const a_is_nan = builder_.CreateFCmpUNO(a, a);
    if (of.takes_last) return builder_.CreateOr(builder_.CreateFCmpOGE(a, b), a_is_nan);
    Value const b_is_number = builder_.CreateFCmpORD(b, b);
    return builder_.CreateOr(builder_.CreateFCmpOGT(a, b),
                             builder_.CreateAnd(a_is_nan, b_is_number));
  }

  // Results

  Value finished(const Accumulator& accumulator, Value value) {
    if (accumulator.kind != Kind::place) return value;
    const DType dtype = fold(accumulator.fold).dtype;
    return builder_.CreateSExt(value, register_type(builder_.getContext(), dtype, site_.width));
  }

  /// Finds anew what the quick forms may have got wrong: the signs of zeros; all where a NaN is.
  void mend(const std::vector<Value>& last, std::vector<Value>& results) {
    Folds extremes, quick;  // indices of results
    Value has_zero = nullptr, has_nan = nullptr;
    const auto any = [&](Value so_far, Value here) {
      return so_far == nullptr ? here : builder_.CreateOr(so_far, here);
    };
    for (std::size_t i = 0; i < folds_.size(); ++i) {
      if (!is_quick(fold(folds_[i]))) continue;
      quick.push_back(i);
      if (!finds_extreme(fold(folds_[i]))) continue;
      extremes.push_back(i);
      has_zero = any(has_zero, is_zero(results[i]));
    }
    for (std::size_t i = 0; i < accumulators_.size(); ++i)
      if (accumulators_[i].kind == Kind::probe)
        has_nan = any(has_nan, builder_.CreateFCmpUNO(last[i], last[i]));
    if (has_nan != nullptr) has_nan = builder_.CreateOrReduce(has_nan);
    if (has_zero != nullptr) {
      // Where a NaN was met, all is found again anyway.
      Value const any_zero = builder_.CreateOrReduce(has_zero);
      Value const signs_decide = builder_.CreateAnd(any_zero, builder_.CreateNot(has_nan));
      replace_where(signs_decide, extremes, results, [&] {
        std::vector<Value> mended = again(extremes, Mode::signs);
        for (std::size_t i = 0; i < extremes.size(); ++i)
          mended[i] = with_sign(results[extremes[i]], mended[i]);
        return mended;
      });
    }
    if (has_nan != nullptr)
      replace_where(has_nan, quick, results, [&] { return again(quick, Mode::exact); });
  }

  Value is_zero(Value value) {
    return builder_.CreateFCmpOEQ(value, llvm::Constant::getNullValue(value->getType()));
  }

  std::vector<Value> again(const Folds& chosen, Mode mode) {
    Folds folds;
    for (const std::size_t i : chosen) folds.push_back(folds_[i]);
    return GroupEmitter(builder_, site_, std::move(folds), mode).emit();
  }

  /// Zeros get the sign of `bits`.
  Value with_sign(Value value, Value bits) {
    llvm::Type* const type = bits->getType();
    Value const sign = builder_.CreateAnd(
        bits, llvm::ConstantInt::get(type, llvm::APInt::getSignMask(type->getScalarSizeInBits())));
    return builder_.CreateSelect(is_zero(value), builder_.CreateBitCast(sign, value->getType()),
                                 value);
  }

  /// What `found` appends, for those results, where the condition holds.
  template <class Found>
  void replace_where(Value any, const Folds& chosen, std::vector<Value>& results, Found&& found) {
    llvm::BasicBlock* const before = builder_.GetInsertBlock();
    const auto block = [&](const char* name) {
      return llvm::BasicBlock::Create(builder_.getContext(), name, before->getParent());
    };
    llvm::BasicBlock* const mending = block("mending");
    llvm::BasicBlock* const after = block("folded");
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
  const FoldSite& site_;
  Folds folds_;
  Mode mode_;
  std::vector<Accumulator> accumulators_;
  std::vector<std::size_t> result_at_;  ///< of each fold
};

/// Folds over the same axes; those that are loaded by transposing, which take all registers, alone.
std::vector<GroupEmitter::Folds> groups_of(const Nest& nest) {
  std::vector<GroupEmitter::Folds> groups;
  for (std::size_t i = 0; i < nest.folds.size(); ++i) {
    const auto takes = [&](const GroupEmitter::Folds& group) {
      const Fold& first = nest.folds[group[0]];
      return first.sizes == nest.folds[i].sizes && !has_across(nest, first) &&
             !has_across(nest, nest.folds[i]);
    };
    const auto group = std::ranges::find_if(groups, takes);
    if (group == groups.end())
      groups.push_back({i});
    else
      group->push_back(i);
  }
  return groups;
}

/// Registers that a vector of lanes takes while a fold runs.
std::size_t registers_of(const Fold& fold) {
  if (!has_quick_form(fold)) return finds_index(fold) ? 4 : 2;
  return 4;
}

}  // namespace

std::vector<llvm::Value*> emit_folds(llvm::IRBuilder<>& builder, const FoldSite& site) {
  std::vector<llvm::Value*> results(site.nest.folds.size());
  for (const GroupEmitter::Folds& group : groups_of(site.nest)) {
    const std::vector<llvm::Value*> found =
        GroupEmitter(builder, site, group, GroupEmitter::Mode::quick).emit();
    for (std::size_t i = 0; i < group.size(); ++i) results[group[i]] = found[i];
  }
  return results;
}

unsigned lanes_of_folds(const Nest& nest, const NestTarget& target) {
  unsigned most = 0;
  for (const GroupEmitter::Folds& group : groups_of(nest)) {
    std::size_t taken = 0, vectors = kMostVectors;
    std::int64_t bytes = 4;
    for (const std::size_t i : group) {
      const Fold& fold = nest.folds[i];
      taken += registers_of(fold);
      bytes = std::max(bytes, static_cast<std::int64_t>(dtype_bytes(term_dtype(fold))));
      if (has_math(fold.program)) vectors = kMostVectorsOfMath;
      if (has_across(nest, fold)) vectors = 1;
    }
    while (vectors > 1 && vectors * taken > target.registers) vectors /= 2;
    unsigned lanes =
        static_cast<unsigned>(vectors) * target.vector_bytes / static_cast<unsigned>(bytes);
    for (const std::size_t i : group)
      if (has_across(nest, nest.folds[i]))
        while (lanes > nest.folds[i].sizes.back() && lanes > kLeastOfTransposed) lanes /= 2;
    most = most == 0 ? lanes : std::min(most, lanes);
  }
  return most;
}

}  // namespace scanloom::jit
