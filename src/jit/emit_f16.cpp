#include "jit/emit_f16.h"

#include "jit/module_isa.h"

namespace scanloom::jit {
namespace {

using Builder = llvm::IRBuilder<>;
using Value = llvm::Value*;

llvm::Type* like(Value value, llvm::Type* lane) {
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? lane : llvm::FixedVectorType::get(lane, vector->getNumElements());
}

Value as_bits(Builder& b, Value value) {
  return b.CreateBitCast(value, like(value, b.getInt32Ty()));
}
Value as_float(Builder& b, Value bits) { return b.CreateBitCast(bits, like(bits, b.getFloatTy())); }
Value number(Value value, std::uint32_t n) { return llvm::ConstantInt::get(value->getType(), n); }
Value narrowed(Builder& b, Value bits) { return b.CreateTrunc(bits, like(bits, b.getInt16Ty())); }

constexpr std::uint32_t kSign = 0x80000000u, kQuiet = 0x00400000u;

/// Whether there are conversion instructions. On the oldest machines LLVM would call a function per
/// lane.
bool converts_f16(Builder& b) { return isa_of(b) != Isa::baseline; }

/// Fabian Giesen's half_to_float: an addition moves the exponent, and for numbers without a leading
/// one a floating-point subtraction takes that one off again.
Value widen_f16(Builder& b, Value half) {
  Value const wide = b.CreateZExt(half, like(half, b.getInt32Ty()));
  Value const magnitude = b.CreateShl(b.CreateAnd(wide, 0x7fff), 13);
  Value const sign = b.CreateShl(b.CreateAnd(wide, 0x8000), 16);
  constexpr std::uint32_t kExponent = 0x7c00u << 13, kMove = (127u - 15u) << 23;
  Value const exponent = b.CreateAnd(magnitude, kExponent);
  Value const moved = b.CreateAdd(magnitude, number(magnitude, kMove));
  Value const special = b.CreateAdd(moved, number(moved, kMove));
  Value const with_one = b.CreateAdd(moved, number(moved, 1u << 23));
  Value const least = llvm::ConstantFP::get(like(half, b.getFloatTy()), 0x1p-14);
  Value const tiny = as_bits(b, b.CreateFSub(as_float(b, with_one), least));
  Value const is_special = b.CreateICmpEQ(exponent, number(exponent, kExponent));
  Value const is_tiny = b.CreateICmpEQ(exponent, number(exponent, 0));
  Value const bits = b.CreateSelect(is_special, special, b.CreateSelect(is_tiny, tiny, moved));
  return as_float(b, b.CreateOr(bits, sign));
}

/// The inverse: a floating-point addition rounds what becomes subnormal, a carry the rest.
Value round_f16(Builder& b, Value value) {
  Value const bits = as_bits(b, value);
  Value const magnitude = b.CreateAnd(bits, number(bits, ~kSign));
  Value const sign = b.CreateAnd(b.CreateLShr(bits, 16), number(bits, 0x8000));
  Value const is_nan = b.CreateICmpUGT(magnitude, number(bits, 0x7f800000));
  Value const nan = b.CreateOr(b.CreateAnd(b.CreateLShr(magnitude, 13), number(bits, 0x3ff)),
                               number(bits, 0x7e00));
  Value const beyond = b.CreateSelect(is_nan, nan, number(bits, 0x7c00));
  Value const is_beyond = b.CreateICmpUGE(magnitude, number(bits, 0x47800000));  // 65536
  Value const half = llvm::ConstantFP::get(value->getType(), 0.5);
  Value const tiny =
      b.CreateSub(as_bits(b, b.CreateFAdd(as_float(b, magnitude), half)), number(bits, 0x3f000000));
  Value const is_tiny = b.CreateICmpULT(magnitude, number(bits, 0x38800000));  // 2^-14
  Value const odd = b.CreateAnd(b.CreateLShr(magnitude, 13), number(bits, 1));
  constexpr std::uint32_t kMove = (127u - 15u) << 23;
  Value const carried = b.CreateAdd(b.CreateAdd(magnitude, number(bits, 0xfff - kMove)), odd);
  Value const rounded = b.CreateSelect(is_tiny, tiny, b.CreateLShr(carried, 13));
  return narrowed(b, b.CreateOr(b.CreateSelect(is_beyond, beyond, rounded), sign));
}

Value round_bf16(Builder& b, Value value) {
  Value const bits = as_bits(b, value);
  Value const high = b.CreateLShr(bits, 16);
  Value const carry = b.CreateAdd(b.CreateAnd(high, number(bits, 1)), number(bits, 0x7fff));
  Value const rounded = b.CreateLShr(b.CreateAdd(bits, carry), 16);
  Value const quiet = b.CreateOr(high, number(bits, kQuiet >> 16));
  return narrowed(b, b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, rounded));
}

/// Returns the f32 that rounds to the same value as the f64: lost bits make the last bit odd
/// (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
Value round_to_odd(Builder& b, Value value) {
  Value const nearest = b.CreateFPTrunc(value, like(value, b.getFloatTy()));
  Value const back = b.CreateFPExt(nearest, value->getType());
  Value const bits = as_bits(b, nearest);
  const auto size = [&](Value of) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, of); };
  Value const above = b.CreateFCmpOGT(size(back), size(value));
  Value const towards_zero = b.CreateSub(bits, b.CreateZExt(above, bits->getType()));
  Value const odd = b.CreateOr(towards_zero, number(bits, 1));
  return as_float(b, b.CreateSelect(b.CreateFCmpONE(back, value), odd, bits));
}

}  // namespace

// The fence keeps LLVM from reasoning about the value's origin. From f16 it would conclude that f32
// operations can be done in half precision: lane by lane, and wrong for NaN (maximum of vectors,
// LLVM 19, without AVX512-FP16). From bf16 it knows bits of the f32 and draws wrong conclusions in
// functions (atan, sinh).
Value emit_widen(Builder& builder, DType dtype, Value bits) {
  Value wide = nullptr;
  if (dtype == DType::bf16) {
    Value const integer = builder.CreateZExt(bits, like(bits, builder.getInt32Ty()));
    wide = as_float(builder, builder.CreateShl(integer, 16));
  } else if (converts_f16(builder)) {
    Value const half = builder.CreateBitCast(bits, like(bits, builder.getHalfTy()));
    wide = builder.CreateFPExt(half, like(bits, builder.getFloatTy()));
  } else {
    wide = widen_f16(builder, bits);
  }
  return builder.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {wide->getType()}, {wide});
}

Value emit_round(Builder& builder, DType dtype, Value value) {
  if (value->getType()->getScalarType()->isDoubleTy()) value = round_to_odd(builder, value);
  if (dtype == DType::bf16) return round_bf16(builder, value);
  if (!converts_f16(builder)) return round_f16(builder, value);
  Value const half = builder.CreateFPTrunc(value, like(value, builder.getHalfTy()));
  return builder.CreateBitCast(half, like(half, builder.getInt16Ty()));
}

Value emit_quiet(Builder& builder, Value value) {
  Value const bits = as_bits(builder, value);
  Value const quiet = as_float(builder, builder.CreateOr(bits, number(bits, kQuiet)));
  return builder.CreateSelect(builder.CreateFCmpUNO(value, value), quiet, value);
}

}  // namespace scanloom::jit
