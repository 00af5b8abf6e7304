#include "jit/emit_program.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <iterator>

#include "jit/emit_f16.h"
#include "jit/emit_math.h"

namespace scanloom::jit {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;

bool is_supported(DType dtype) {
  static constexpr DType kSupported[] = {
      DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,  DType::i16,    DType::i32,
      DType::i64, DType::u8,  DType::u16, DType::u32,  DType::u64, DType::boolean};
  return std::ranges::find(kSupported, dtype) != std::end(kSupported);
}

bool is_signed(DType dtype) { return dtype_kind(dtype) == DTypeKind::signed_int; }

using Binary = llvm::Instruction::BinaryOps;
using Predicate = llvm::CmpInst::Predicate;
using IntrinsicId = llvm::Intrinsic::IndependentIntrinsics;

/// Maps an operation to the LLVM instruction that computes it.
template <class Code>
struct InstructionEmitter {
  ScalarOp op;
  Code code;
};
template <class Code, std::size_t kRows>
const Code* find(const InstructionEmitter<Code> (&rows)[kRows], ScalarOp op) {
  const auto* const row = std::ranges::find(rows, op, &InstructionEmitter<Code>::op);
  return row == std::end(rows) ? nullptr : &row->code;
}

/// Emits one instruction at a time; `dtype` is the one it computes in.
class Emitter {
 public:
  Emitter(llvm::IRBuilder<>& builder, const tensor::ScalarProgram& program,
          std::vector<llvm::Value*>& registers, unsigned width)
      : builder_(builder), program_(program), registers_(registers), width_(width) {}

  void emit(std::size_t index) {
    const ScalarInstr& instr = program_.instrs[index];
    registers_[program_.inputs.size() + index] =
        value(instr, arg(instr, 0), arg(instr, 1), arg(instr, 2));
  }

 private:
  llvm::Value* arg(const ScalarInstr& instr, int i) const {
    const std::int32_t index = instr.args[i];
    return index < 0 ? nullptr : registers_[static_cast<std::size_t>(index)];
  }

  [[nodiscard]] llvm::Type* type(DType dtype) const {
    return register_type(builder_.getContext(), dtype, width_);
  }

  llvm::Value* constant(const ScalarInstr& instr) const {
    llvm::Type* const wanted = type(instr.dtype);
    llvm::Type* const scalar = wanted->getScalarType();
    const llvm::APInt bits(64, instr.bits);
    if (instr.dtype == DType::boolean) return llvm::ConstantInt::get(wanted, instr.bits & 1);
    if (scalar->isIntegerTy())
      return llvm::ConstantInt::get(wanted, bits.trunc(scalar->getIntegerBitWidth()));
    const llvm::fltSemantics& semantics = scalar->getFltSemantics();
    const unsigned width = scalar->getPrimitiveSizeInBits();
    return llvm::ConstantFP::get(wanted,
                                 llvm::APFloat(semantics, width < 64 ? bits.trunc(width) : bits));
  }

  llvm::Value* value(const ScalarInstr& instr, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
    if (instr.op == ScalarOp::constant) return constant(instr);
    if (instr.op == ScalarOp::select) return builder_.CreateSelect(a, b, c);
    if (instr.op == ScalarOp::cast)
      return cast(a, program_.register_dtype(instr.args[0]), instr.dtype);
    if (!is_floating_point(instr.dtype)) return integer(instr.op, instr.dtype, a, b);
    if (!is_half(instr.dtype)) return of_floats(instr.op, a, b, c);
    const auto wide = [&](llvm::Value* of) {
      return of == nullptr ? nullptr : emit_widen(builder_, instr.dtype, of);
    };
    llvm::Value* const result = of_floats(instr.op, wide(a), wide(b), wide(c));
    return tensor::scalar_op_compares(instr.op) ? result
                                                : emit_round(builder_, instr.dtype, result);
  }

  llvm::Value* of_floats(ScalarOp op, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
    if (op == ScalarOp::mul_add) return emit_multiply_add(builder_, a, b, c);
    const bool function = tensor::is_function(op) || tensor::is_remainder(op);
    return function ? emit_math(builder_, op, a, b) : real(op, a, b);
  }

  llvm::Value* real(ScalarOp op, llvm::Value* a, llvm::Value* b) {
    static constexpr InstructionEmitter<Binary> kBinary[] = {
        {ScalarOp::add, llvm::Instruction::FAdd},
        {ScalarOp::sub, llvm::Instruction::FSub},
        {ScalarOp::mul, llvm::Instruction::FMul},
        {ScalarOp::div, llvm::Instruction::FDiv}};
    static constexpr InstructionEmitter<Predicate> kComparisons[] = {
        {ScalarOp::equal, llvm::CmpInst::FCMP_OEQ},
        {ScalarOp::less, llvm::CmpInst::FCMP_OLT},
        {ScalarOp::less_equal, llvm::CmpInst::FCMP_OLE}};
    static constexpr InstructionEmitter<IntrinsicId> kOfOne[] = {
        {ScalarOp::abs, llvm::Intrinsic::fabs},
        {ScalarOp::sqrt, llvm::Intrinsic::sqrt},
        {ScalarOp::floor, llvm::Intrinsic::floor},
        {ScalarOp::ceil, llvm::Intrinsic::ceil},
        {ScalarOp::trunc, llvm::Intrinsic::trunc},
        {ScalarOp::round_even, llvm::Intrinsic::roundeven}};
    static constexpr InstructionEmitter<IntrinsicId> kOfTwo[] = {
        {ScalarOp::min, llvm::Intrinsic::minimum}, {ScalarOp::max, llvm::Intrinsic::maximum}};
    if (const Binary* const code = find(kBinary, op)) return builder_.CreateBinOp(*code, a, b);
    if (const Predicate* const code = find(kComparisons, op))
      return builder_.CreateFCmp(*code, a, b);
    if (const IntrinsicId* const id = find(kOfOne, op))
      return builder_.CreateUnaryIntrinsic(*id, a);
    if (const IntrinsicId* const id = find(kOfTwo, op))
      return builder_.CreateBinaryIntrinsic(*id, a, b);
    if (op == ScalarOp::neg) return builder_.CreateFNeg(a);
    if (op == ScalarOp::sign) return sign_of(a);
    if (op == ScalarOp::is_nan) return builder_.CreateFCmpUNO(a, a);
    if (op != ScalarOp::is_inf) return nothing(a);
    return builder_.CreateFCmpOEQ(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a),
                                  llvm::ConstantFP::getInfinity(a->getType()));
  }

  /// For operations that check_supported has refused, or that no operator uses.
  static llvm::Value* nothing(llvm::Value* a) { return llvm::Constant::getNullValue(a->getType()); }

  /// +0 for both zeros, NaN for NaN.
  llvm::Value* sign_of(llvm::Value* a) {
    llvm::Type* const of = a->getType();
    llvm::Value* const zero = llvm::ConstantFP::getZero(of);
    llvm::Value* const one =
        builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::get(of, 1), a);
    llvm::Value* const number = builder_.CreateSelect(builder_.CreateFCmpOEQ(a, zero), zero, one);
    return builder_.CreateSelect(builder_.CreateFCmpUNO(a, a), a, number);
  }

  /// Divides without a trap: replaces the divisor, or the quotient by 0, where necessary.
  llvm::Value* guarded_divide(ScalarOp op, DType dtype, llvm::Value* a, llvm::Value* b) {
    llvm::Constant* const zero = llvm::Constant::getNullValue(a->getType());
    llvm::Constant* const one = llvm::ConstantInt::get(a->getType(), 1);
    llvm::Value* const by_zero = builder_.CreateICmpEQ(b, zero);
    if (!is_signed(dtype)) {
      llvm::Value* const divisor = builder_.CreateSelect(by_zero, one, b);
      llvm::Value* const result =
          op == ScalarOp::div ? builder_.CreateUDiv(a, divisor) : builder_.CreateURem(a, divisor);
      return builder_.CreateSelect(by_zero, zero, result);
    }
    // The minimum divided by -1 traps; negation and zero are correct for every dividend.
    llvm::Value* const by_minus_one =
        builder_.CreateICmpEQ(b, llvm::ConstantInt::getAllOnesValue(b->getType()));
    llvm::Value* const divisor =
        builder_.CreateSelect(builder_.CreateOr(by_zero, by_minus_one), one, b);
    if (op == ScalarOp::div) {
      llvm::Value* const quotient = builder_.CreateSelect(by_minus_one, builder_.CreateNeg(a),
                                                          builder_.CreateSDiv(a, divisor));
      return builder_.CreateSelect(by_zero, zero, quotient);
    }
    llvm::Value* rest = builder_.CreateSRem(a, divisor);
    if (op == ScalarOp::mod_floor) {
      llvm::Value* const differs = builder_.CreateICmpSLT(builder_.CreateXor(rest, b), zero);
      llvm::Value* const not_zero = builder_.CreateICmpNE(rest, zero);
      rest = builder_.CreateSelect(builder_.CreateAnd(differs, not_zero),
                                   builder_.CreateAdd(rest, b), rest);
    }
    return builder_.CreateSelect(builder_.CreateOr(by_zero, by_minus_one), zero, rest);
  }

  llvm::Value* shift(ScalarOp op, DType dtype, llvm::Value* a, llvm::Value* b) {
    const unsigned bits = a->getType()->getScalarSizeInBits();
    llvm::Constant* const last = llvm::ConstantInt::get(b->getType(), bits - 1);
    // A negative amount is a huge unsigned number, hence also at least the width.
    llvm::Value* const inside = builder_.CreateICmpULE(b, last);
    if (op == ScalarOp::shift_right && is_signed(dtype))
      return builder_.CreateAShr(a, builder_.CreateSelect(inside, b, last));
    llvm::Value* const amount = builder_.CreateSelect(inside, b, last);
    llvm::Value* const shifted =
        op == ScalarOp::shift_left ? builder_.CreateShl(a, amount) : builder_.CreateLShr(a, amount);
    return builder_.CreateSelect(inside, shifted, llvm::Constant::getNullValue(a->getType()));
  }

  llvm::Value* integer(ScalarOp op, DType dtype, llvm::Value* a, llvm::Value* b) {
    static constexpr InstructionEmitter<Binary> kBinary[] = {
        {ScalarOp::add, llvm::Instruction::Add},
        {ScalarOp::sub, llvm::Instruction::Sub},
        {ScalarOp::mul, llvm::Instruction::Mul},
        {ScalarOp::bit_and, llvm::Instruction::And},
        {ScalarOp::logical_and, llvm::Instruction::And},
        {ScalarOp::bit_or, llvm::Instruction::Or},
        {ScalarOp::logical_or, llvm::Instruction::Or},
        {ScalarOp::bit_xor, llvm::Instruction::Xor},
        {ScalarOp::logical_xor, llvm::Instruction::Xor}};
    if (const Binary* const code = find(kBinary, op)) return builder_.CreateBinOp(*code, a, b);
    if (op == ScalarOp::div || op == ScalarOp::mod_floor || op == ScalarOp::mod_trunc)
      return guarded_divide(op, dtype, a, b);
    if (op == ScalarOp::shift_left || op == ScalarOp::shift_right) return shift(op, dtype, a, b);
    if (op == ScalarOp::bit_not || op == ScalarOp::logical_not) return builder_.CreateNot(a);
    if (op == ScalarOp::neg) return builder_.CreateNeg(a);
    if (op == ScalarOp::equal) return builder_.CreateICmpEQ(a, b);
    if (op == ScalarOp::sign || op == ScalarOp::abs) return of_sign(op, dtype, a);
    if (op == ScalarOp::floor || op == ScalarOp::ceil || op == ScalarOp::trunc ||
        op == ScalarOp::round_even)
      return a;
    const bool sign = is_signed(dtype);
    if (op == ScalarOp::less_equal)
      return sign ? builder_.CreateICmpSLE(a, b) : builder_.CreateICmpULE(a, b);
    llvm::Value* const less = sign ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b);
    if (op == ScalarOp::min) return builder_.CreateSelect(less, a, b);
    if (op == ScalarOp::max) return builder_.CreateSelect(less, b, a);
    return op == ScalarOp::less ? less : nothing(a);
  }

  /// Emits the sign or absolute value of integers.
  llvm::Value* of_sign(ScalarOp op, DType dtype, llvm::Value* a) {
    llvm::Constant* const zero = llvm::Constant::getNullValue(a->getType());
    const bool sign = is_signed(dtype);
    if (op == ScalarOp::abs)
      return sign ? builder_.CreateSelect(builder_.CreateICmpSLT(a, zero), builder_.CreateNeg(a), a)
                  : a;
    llvm::Value* const above = builder_.CreateICmpUGT(a, zero);
    return sign ? builder_.CreateSelect(builder_.CreateICmpSLT(a, zero),
                                        llvm::ConstantInt::getAllOnesValue(a->getType()),
                                        builder_.CreateZExt(above, a->getType()))
                : builder_.CreateZExt(above, a->getType());
  }

  /// NaN becomes 0 and values out of range saturate, as in all casts.
  llvm::Value* cast(llvm::Value* a, DType from, DType to) {
    if (from == to) return a;
    if (is_half(from)) {
      llvm::Value* const wide = emit_widen(builder_, from, a);
      return to == DType::f32 ? emit_quiet(builder_, wide) : cast(wide, DType::f32, to);
    }
    // Integers go through f32, in which everything of such types is computed.
    if (is_half(to))
      return emit_round(builder_, to, is_floating_point(from) ? a : cast(a, from, DType::f32));
    llvm::Type* const wanted = type(to);
    if (to == DType::boolean) {
      llvm::Constant* const zero = llvm::Constant::getNullValue(a->getType());
      return is_floating_point(from) ? builder_.CreateFCmpUNE(a, zero)
                                     : builder_.CreateICmpNE(a, zero);
    }
    if (is_floating_point(from) && is_floating_point(to)) return builder_.CreateFPCast(a, wanted);
    if (is_floating_point(from))
      return builder_.CreateIntrinsic(
          is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
          {wanted, a->getType()}, {a});
    if (is_floating_point(to))
      return is_signed(from) ? builder_.CreateSIToFP(a, wanted) : builder_.CreateUIToFP(a, wanted);
    return is_signed(from) ? builder_.CreateSExtOrTrunc(a, wanted)
                           : builder_.CreateZExtOrTrunc(a, wanted);
  }

  llvm::IRBuilder<>& builder_;
  const tensor::ScalarProgram& program_;
  std::vector<llvm::Value*>& registers_;
  unsigned width_;
};

/// Whether `op` has machine code for that dtype. All operations are listed, so that the compiler
/// warns about new ones.
bool has_code(ScalarOp op, DType dtype) {
  switch (op) {
    case ScalarOp::sign:
    case ScalarOp::mod_floor:
    case ScalarOp::mod_trunc:
      return dtype != DType::boolean;
    case ScalarOp::bit_and:
    case ScalarOp::bit_or:
    case ScalarOp::bit_xor:
    case ScalarOp::bit_not:
    case ScalarOp::shift_left:
    case ScalarOp::shift_right:
      return is_integer(dtype);
    case ScalarOp::sqrt:
    case ScalarOp::is_nan:
    case ScalarOp::is_inf:
      return is_floating_point(dtype);
#define SCANLOOM_MATH_FUNCTION(name) case ScalarOp::name:
#include "base/math/functions.inc"
#undef SCANLOOM_MATH_FUNCTION
    case ScalarOp::pow:
    case ScalarOp::mul_add:
      return is_floating_point(dtype);
    case ScalarOp::constant:
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::mul:
    case ScalarOp::div:
    case ScalarOp::min:
    case ScalarOp::max:
    case ScalarOp::neg:
    case ScalarOp::abs:
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::trunc:
    case ScalarOp::round_even:
    case ScalarOp::equal:
    case ScalarOp::less:
    case ScalarOp::less_equal:
    case ScalarOp::logical_and:
    case ScalarOp::logical_or:
    case ScalarOp::logical_xor:
    case ScalarOp::logical_not:
    case ScalarOp::select:
    case ScalarOp::cast:
      return true;
  }
  return false;
}

}  // namespace

Expected<void> check_supported(const tensor::ScalarProgram& program) {
  const auto count = static_cast<std::int32_t>(program.inputs.size() + program.instrs.size());
  for (std::int32_t index = 0; index < count; ++index)
    if (!is_supported(program.register_dtype(index)))
      return fail(Code::unsupported, "no machine code for {} yet",
                  dtype_name(program.register_dtype(index)));
  for (const ScalarInstr& instr : program.instrs)
    if (!is_supported(instr.dtype) || !has_code(instr.op, instr.dtype))
      return fail(Code::unsupported, "no machine code for {} of {} yet",
                  tensor::scalar_op_name(instr.op), dtype_name(instr.dtype));
  return {};
}

llvm::Type* register_type(llvm::LLVMContext& context, DType dtype, unsigned width) {
  llvm::Type* scalar = nullptr;
  if (dtype == DType::f32) {
    scalar = llvm::Type::getFloatTy(context);
  } else if (dtype == DType::f64) {
    scalar = llvm::Type::getDoubleTy(context);
  } else {
    const bool boolean = dtype == DType::boolean;
    scalar =
        llvm::Type::getIntNTy(context, boolean ? 1 : 8 * static_cast<unsigned>(dtype_bytes(dtype)));
  }
  return width > 1 ? llvm::FixedVectorType::get(scalar, width) : scalar;
}

llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype, unsigned width) {
  return register_type(context, dtype == DType::boolean ? DType::u8 : dtype, width);
}

std::vector<llvm::Value*> emit_program(llvm::IRBuilder<>& builder,
                                       const tensor::ScalarProgram& program,
                                       std::span<llvm::Value* const> inputs, unsigned width) {
  std::vector<llvm::Value*> registers(inputs.begin(), inputs.end());
  registers.resize(inputs.size() + program.instrs.size());
  Emitter emitter(builder, program, registers, width);
  for (std::size_t i = 0; i < program.instrs.size(); ++i) emitter.emit(i);
  return registers;
}

void emit_instr(llvm::IRBuilder<>& builder, const tensor::ScalarProgram& program, std::size_t instr,
                std::vector<llvm::Value*>& registers, unsigned width) {
  Emitter(builder, program, registers, width).emit(instr);
}

}  // namespace scanloom::jit
