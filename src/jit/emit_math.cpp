#include "jit/emit_math.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "base/math/erf.h"
#include "base/math/exp.h"
#include "base/math/hyperbolic.h"
#include "base/math/inverse_trig.h"
#include "base/math/log.h"
#include "base/math/pow.h"
#include "base/math/sigmoid.h"
#include "base/math/trig.h"
#include "jit/called_functions.h"
#include "jit/emit_memory.h"
#include "jit/emit_remainder.h"
#include "jit/module_isa.h"
#include "jit/rare_call.h"

namespace scanloom::jit {
namespace {

using tensor::ScalarOp;

/// Returns AVX-512's scalef on one register, by bytes of the register and type of the lanes.
llvm::Intrinsic::ID scalef(unsigned bytes, bool wide_lanes) {
  switch (bytes) {
    case 64:
      return wide_lanes ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512
                        : llvm::Intrinsic::x86_avx512_mask_scalef_ps_512;
    case 32:
      return wide_lanes ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_256
                        : llvm::Intrinsic::x86_avx512_mask_scalef_ps_256;
    default:
      return wide_lanes ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_128
                        : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128;
  }
}

/// Returns a * 2^n for lanes that fill one register of 16, 32 or 64 bytes.
llvm::Value* scale_register(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* n) {
  const auto lanes = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
  const bool wide_lanes = a->getType()->getScalarType()->isDoubleTy();
  const unsigned bytes = lanes * (wide_lanes ? 8 : 4);
  std::vector<llvm::Value*> arguments{
      a, n, llvm::Constant::getNullValue(a->getType()),
      llvm::Constant::getAllOnesValue(builder.getIntNTy(std::max(lanes, 8U)))};
  if (bytes == 64) arguments.push_back(builder.getInt32(4));  // the current rounding
  return builder.CreateIntrinsic(scalef(bytes, wide_lanes), {}, arguments);
}

/// Returns a vector with `value` in all lanes (a power of two), for AVX2. If LLVM sees a constant,
/// it broadcasts it again and again: an instruction and a renamed register each time, of which long
/// bodies run out. This constant is in memory with all its lanes, as an operand for instructions.
/// (For SSE4.2 LLVM does that itself, and AVX-512 broadcasts in the operand.)
llvm::Value* constant_in_memory(llvm::IRBuilder<>& builder, llvm::FixedVectorType* type,
                                double value) {
  constexpr unsigned kRegisterBits = 256;
  const unsigned bits = type->getNumElements() * type->getScalarSizeInBits();
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  const std::string name = "math.constant." + std::to_string(type->getScalarSizeInBits()) + '.' +
                           std::to_string(type->getNumElements()) + '.' +
                           std::to_string(std::bit_cast<std::uint64_t>(value));
  llvm::GlobalVariable* memory = module.getGlobalVariable(name, true);
  if (memory == nullptr) {
    memory = new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::InternalLinkage,
                                      llvm::ConstantFP::get(type, value), name);
    memory->setExternallyInitialized(true);  // so that LLVM does not look into it
    memory->setAlignment(llvm::Align(std::min(bits, kRegisterBits) / 8));
  }
  llvm::LoadInst* const load = builder.CreateAlignedLoad(type, memory, memory->getAlign());
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(module.getContext(), {}));
  return load;
}

/// The math domain over LLVM values: each operation appends one instruction.
template <int kWidthOfLane>
class LlvmDomain {
 public:
  using F = llvm::Value*;
  struct I {
    llvm::Value* value;
  };
  struct Mask {
    llvm::Value* value;
  };
  static constexpr int kBits = kWidthOfLane;

  LlvmDomain(llvm::IRBuilder<>& builder, llvm::Type* type)
      : builder_(builder), type_(type), int_type_(integer_type(type)), isa_(isa_of(builder)) {}

  F constant(double value) const {
    // Rounds to the lane's type here, like a C++ conversion.
    if constexpr (kBits == 32) value = static_cast<float>(value);
    auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type_);
    if (vector != nullptr && isa_ == Isa::avx2) return constant_in_memory(builder_, vector, value);
    return llvm::ConstantFP::get(type_, value);
  }
  I integer(std::int64_t value) const { return {llvm::ConstantInt::getSigned(int_type_, value)}; }
  F add(F a, F b) const { return builder_.CreateFAdd(a, b); }
  F sub(F a, F b) const { return builder_.CreateFSub(a, b); }
  F mul(F a, F b) const { return builder_.CreateFMul(a, b); }
  F div(F a, F b) const { return builder_.CreateFDiv(a, b); }
  F mul_add(F a, F b, F c) const {
    if (!fuses(isa_)) return add(mul(a, b), c);
    return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {type_}, {a, b, c});
  }
  F neg(F a) const { return builder_.CreateFNeg(a); }
  F abs(F a) const { return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a); }
  F sqrt(F a) const { return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a); }
  F round(F a) const { return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, a); }
  Mask less(F a, F b) const { return {builder_.CreateFCmpOLT(a, b)}; }
  Mask equal(F a, F b) const { return {builder_.CreateFCmpOEQ(a, b)}; }
  Mask is_nan(F a) const { return {builder_.CreateFCmpUNO(a, a)}; }
  Mask either(Mask a, Mask b) const { return {builder_.CreateOr(a.value, b.value)}; }
  F select(Mask mask, F a, F b) const { return builder_.CreateSelect(mask.value, a, b); }
  I bits(F a) const { return {builder_.CreateBitCast(a, int_type_)}; }
  F from_bits(I a) const { return builder_.CreateBitCast(a.value, type_); }
  I add_int(I a, I b) const { return {builder_.CreateAdd(a.value, b.value)}; }
  I sub_int(I a, I b) const { return {builder_.CreateSub(a.value, b.value)}; }
  I and_int(I a, I b) const { return {builder_.CreateAnd(a.value, b.value)}; }
  I or_int(I a, I b) const { return {builder_.CreateOr(a.value, b.value)}; }
  I shift_left(I a, int n) const {
    return {builder_.CreateShl(a.value, static_cast<std::uint64_t>(n))};
  }
  I shift_right(I a, int n) const {
    return {builder_.CreateAShr(a.value, static_cast<std::uint64_t>(n))};
  }
  F to_float(I a) const { return builder_.CreateSIToFP(a.value, type_); }
  template <class Function>
    requires(kBits == 32)
  F in_double(const Function& function, F a, F b, F c) const {
    llvm::Type* const wide = type_->getWithNewType(builder_.getDoubleTy());
    const auto widened = [&](F narrow) { return builder_.CreateFPExt(narrow, wide); };
    const LlvmDomain<64> m(builder_, wide);
    return builder_.CreateFPTrunc(function(m, widened(a), widened(b), widened(c)), type_);
  }
  F replace_rare(Mask mask, F a, F x, math::PlainFunction<kBits> function) const {
    return emit_rare_call<math::PlainNumber<kBits>>(builder_, mask.value, a, x, function);
  }
  F copy_sign(F a, F b) const {
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, a, b);
  }
  F by_sign(F x, F a, F b) const {
    // Vectors, and pairs of constants, are selected by the sign bit alone. For other scalars LLVM
    // would emit a branch.
    const bool constants = llvm::isa<llvm::Constant>(a) && llvm::isa<llvm::Constant>(b);
    if (!type_->isVectorTy() && !constants) return select(less(x, constant(0)), a, b);
    return select({builder_.CreateICmpSLT(bits(x).value, integer(0).value)}, a, b);
  }
  /// Whether to use AVX-512's instruction that scales by powers of two: the same results from fewer
  /// instructions.
  [[nodiscard]] bool scales() const { return isa_ == Isa::avx512; }
  F scale(F a, F n) const {
    constexpr unsigned kMax = 512 / kBits, kMin = 128 / kBits;
    auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type_);
    const unsigned lanes = vector == nullptr ? 1 : vector->getNumElements();
    if (lanes < kMin) return first_lanes(scale_register(builder_, widened(a), widened(n)));
    if (lanes <= kMax) return scale_register(builder_, a, n);
    const auto half = [&](unsigned first, F of) {
      return builder_.CreateShuffleVector(of, lanes_from(first, lanes / 2));
    };
    const LlvmDomain half_vector(builder_,
                                 llvm::FixedVectorType::get(type_->getScalarType(), lanes / 2));
    return builder_.CreateShuffleVector(half_vector.scale(half(0, a), half(0, n)),
                                        half_vector.scale(half(lanes / 2, a), half(lanes / 2, n)),
                                        lanes_from(0, lanes));
  }

 private:
  /// Returns a register of 16 bytes that begins with the lanes of `a`.
  F widened(F a) const {
    auto* const type = llvm::FixedVectorType::get(type_->getScalarType(), 128 / kBits);
    if (!a->getType()->isVectorTy())
      return builder_.CreateInsertElement(llvm::Constant::getNullValue(type), a, std::uint64_t{0});
    return builder_.CreateShuffleVector(a, {0, 1, 0, 1});  // two lanes of f32
  }
  F first_lanes(F a) const {
    if (!type_->isVectorTy()) return builder_.CreateExtractElement(a, std::uint64_t{0});
    return builder_.CreateShuffleVector(a, lanes_from(0, 2));
  }

  static llvm::Type* integer_type(llvm::Type* type) {
    llvm::Type* const lane = llvm::Type::getIntNTy(type->getContext(), kBits);
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
      return llvm::FixedVectorType::get(lane, vector->getNumElements());
    return lane;
  }

  llvm::IRBuilder<>& builder_;
  llvm::Type* type_;
  llvm::Type* int_type_;
  Isa isa_;
};

template <class M>
llvm::Value* emit_in(const M& m, ScalarOp op, llvm::Value* a, llvm::Value* b) {
  switch (op) {
#define SCANLOOM_MATH_FUNCTION(name) \
  case ScalarOp::name:               \
    return math::name(m, a);
#include "base/math/functions.inc"
#undef SCANLOOM_MATH_FUNCTION
    case ScalarOp::pow:
      return math::pow(m, a, b);
    default:
      return a;  // is_function names no others
  }
}

llvm::Value* write_out(llvm::IRBuilder<>& builder, ScalarOp op, llvm::Value* a, llvm::Value* b) {
  if (a->getType()->getScalarType()->isDoubleTy())
    return emit_in(LlvmDomain<64>(builder, a->getType()), op, a, b);
  return emit_in(LlvmDomain<32>(builder, a->getType()), op, a, b);
}

}  // namespace

llvm::Value* emit_multiply_add(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b,
                               llvm::Value* c) {
  // Both widths are the same operation.
  return LlvmDomain<64>(builder, a->getType()).mul_add(a, b, c);
}

llvm::Value* emit_math(llvm::IRBuilder<>& builder, ScalarOp op, llvm::Value* a, llvm::Value* b) {
  if (op == ScalarOp::mod_floor) return emit_modulo(builder, a, b);
  if (op == ScalarOp::mod_trunc) return emit_remainder(builder, a, b);
  if (!is_called(builder, op, a->getType())) return write_out(builder, op, a, b);
  return call_once_emitted(
      builder, op, a, b, [op](llvm::IRBuilder<>& inside, llvm::Value* first, llvm::Value* second) {
        return write_out(inside, op, first, second);
      });
}

}  // namespace scanloom::jit
