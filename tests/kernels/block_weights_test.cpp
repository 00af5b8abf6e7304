// Kernels for numbers of 2, 4 and 8 bits that are quantized in blocks (dequantize_blocks and
// matmul_nbits): they give the bits of the reference operators on every instruction set and for
// every number of threads, for sizes around those of panels, stretches and blocks.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ops/ops.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {

struct BlockCase {
  std::int64_t bits = 4, block = 32, size = 64;
  enum { none, bytes, floats } zeros = none;

  [[nodiscard]] std::int64_t blocks() const { return (size + block - 1) / block; }
  [[nodiscard]] std::vector<Attr> attrs() const { return {Attr(bits), Attr(block), Attr(size)}; }
  [[nodiscard]] std::string text() const {
    return std::to_string(bits) + " bits, blocks of " + std::to_string(block) + ", " +
           std::to_string(size) + " numbers";
  }
};

/// The quantized operands with `rows` rows.
struct BlockOperands {
  BlockOperands(const BlockCase& of, std::int64_t rows)
      : bytes(DType::u8, {rows, of.blocks() * of.block * of.bits / 8}),
        scales(DType::f32, {rows, of.blocks()}) {
    std::mt19937 random(7);
    for (std::int64_t i = 0; i < bytes.elements(); ++i)
      bytes.at<std::uint8_t>(i) = static_cast<std::uint8_t>(random());
    scales.fill_random(1);
    if (of.zeros == BlockCase::none) return;
    zeros = std::make_unique<Buffer>(of.zeros == BlockCase::bytes ? DType::u8 : DType::f32,
                                     Shape{rows, of.blocks()});
    if (of.zeros == BlockCase::floats) zeros->fill_random(2);
    for (std::int64_t i = 0; of.zeros == BlockCase::bytes && i < zeros->elements(); ++i)
      zeros->at<std::uint8_t>(i) = static_cast<std::uint8_t>(random() % (1U << of.bits));
  }
  Buffer bytes, scales;
  std::unique_ptr<Buffer> zeros;
};

void expect_weights_as_reference(const ir::OpDef& op, const Use& use, const std::string& what) {
  std::vector<tensor::Operand> inputs;
  for (Buffer* input : use.inputs)
    inputs.push_back(input != nullptr ? input->operand() : tensor::Operand{});
  for (const Isa isa : available_isas()) {
    const Masked masked(isa);
    Buffer expected(DType::f32, use.outputs[0]->dims());
    tensor::Operand result = expected.operand();
    tensor::Fault fault;
    const tensor::Call call{.inputs = inputs.data(),
                            .outputs = &result,
                            .input_count = static_cast<std::uint16_t>(inputs.size()),
                            .output_count = 1,
                            .attrs = use.attrs.data(),
                            .fault = &fault};
    ASSERT_EQ(op.reference(call), tensor::Status::ok);
    for (const int threads : {1, 2, 7}) {
      ASSERT_EQ(run(use, isa, threads), "") << what;
      for (std::int64_t i = 0; i < expected.elements(); ++i)
        ASSERT_TRUE(same_bits(DType::f32, use.outputs[0]->element(i), expected.element(i)))
            << what << ", " << isa_name(isa) << ", " << threads << " threads, element " << i;
      ASSERT_TRUE(use.outputs[0]->untouched_between()) << what;
    }
  }
}

std::vector<BlockCase> block_cases() {
  std::vector<BlockCase> cases;
  for (const std::int64_t bits : {2, 4, 8})
    for (const std::int64_t block : {16, 32, 48, 128})
      for (const std::int64_t size : {1, 16, 63, 64, 65, 128, 257})
        for (const auto zeros : {BlockCase::none, BlockCase::bytes, BlockCase::floats})
          cases.push_back({bits, block, size, zeros});
  return cases;
}

TEST(BlockWeights, ProductsHaveTheBitsOfTheReference) {
  for (const BlockCase& one : block_cases())
    for (const auto& [rows, columns] :
         {std::pair{1, 1}, {1, 70}, {2, 64}, {3, 65}, {4, 130}, {5, 33}, {9, 17}, {13, 8}}) {
      BlockOperands weights(one, columns);
      Buffer x(DType::f32, {rows, one.size}), y(DType::f32, {rows, columns});
      x.fill_random(3);
      const Use use{.id = KernelId::matmul_nbits,
                    .inputs = {&x, &weights.bytes, &weights.scales, weights.zeros.get()},
                    .outputs = {&y},
                    .attrs = one.attrs()};
      expect_weights_as_reference(
          ops::matmul_nbits_op, use,
          one.text() + ", " + std::to_string(rows) + " x " + std::to_string(columns));
    }
}

TEST(BlockWeights, LongProductsAreSharedAmongThreads) {
  const BlockCase one{.bits = 4, .block = 32, .size = 1000, .zeros = BlockCase::bytes};
  for (const std::int64_t rows : {1, 40}) {
    BlockOperands weights(one, 300);
    Buffer x(DType::f32, {2, rows, one.size}), y(DType::f32, {2, rows, 300});
    x.fill_random(4);
    const Use use{.id = KernelId::matmul_nbits,
                  .inputs = {&x, &weights.bytes, &weights.scales, weights.zeros.get()},
                  .outputs = {&y},
                  .attrs = one.attrs()};
    expect_weights_as_reference(ops::matmul_nbits_op, use, one.text());
  }
}

// Constant bytes with one scale per column are packed for few rows.
TEST(BlockWeights, PackedBytesHaveTheBitsOfTheReference) {
  for (const std::int64_t size : {1, 16, 63, 255, 256, 257, 530})
    for (const auto zeros : {BlockCase::none, BlockCase::bytes, BlockCase::floats})
      for (const std::int64_t columns : {1, 64, 65, 200}) {
        const BlockCase one{
            .bits = 8, .block = (size + 15) / 16 * 16, .size = size, .zeros = zeros};
        BlockOperands weights(one, columns);
        // Such zero points are those of signed bytes without any.
        if (zeros == BlockCase::bytes && columns == 64) weights.zeros->fill<std::uint8_t>({128});
        for (const std::int64_t rows : {1, 2, 3, 4, 5}) {
          Buffer x(DType::f32, {rows, size}), y(DType::f32, {rows, columns});
          x.fill_random(5);
          const Use use{.id = KernelId::matmul_nbits,
                        .inputs = {&x, &weights.bytes, &weights.scales, weights.zeros.get()},
                        .outputs = {&y},
                        .attrs = one.attrs(),
                        .constant = {false, true}};
          expect_weights_as_reference(
              ops::matmul_nbits_op, use,
              one.text() + ", " + std::to_string(rows) + " x " + std::to_string(columns));
        }
      }
}

TEST(BlockWeights, RunsHaveTheBitsOfTheReference) {
  for (const BlockCase& one : block_cases()) {
    BlockOperands operands(one, 3);
    Buffer y(DType::f32, {3, one.size});
    const Use use{.id = KernelId::dequantize_blocks,
                  .inputs = {&operands.bytes, &operands.scales, operands.zeros.get()},
                  .outputs = {&y},
                  .attrs = one.attrs()};
    expect_weights_as_reference(ops::dequantize_blocks_op, use, one.text());
  }
}

TEST(BlockWeights, OperandsWithGapsAreDeclined) {
  const BlockCase one;
  BlockOperands weights(one, 4);
  Buffer x(DType::f32, {2, one.size}, Layout::gapped), y(DType::f32, {2, 4});
  const Use use{.id = KernelId::matmul_nbits,
                .inputs = {&x, &weights.bytes, &weights.scales, nullptr},
                .outputs = {&y},
                .attrs = one.attrs()};
  EXPECT_EQ(run(use, available_isas().back()), "operands with gaps");
}

}  // namespace
}  // namespace scanloom::kernels::testing
