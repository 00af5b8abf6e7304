#include "tensor/openvino_bits.h"

#include <gmock/gmock.h>

#include <array>
#include <vector>

namespace scanloom::tensor {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

std::string bytes_of(std::initializer_list<int> bytes) { return {bytes.begin(), bytes.end()}; }

std::vector<std::uint8_t> unpacked(DType dtype, std::int64_t count, const std::string& bytes) {
  const auto tensor = unpack_openvino(dtype, Shape{count}, bytes);
  const auto* const data = static_cast<const std::uint8_t*>(tensor->data());
  return {data, data + count};
}

// Bytes that OpenVINO 2026.4.1 writes for these elements.
TEST(OpenvinoBits, AreThoseOfOpenvino) {
  EXPECT_THAT(unpacked(DType::u1, 9, bytes_of({0b10010010, 0b10000000})),
              ElementsAre(1, 0, 0, 1, 0, 0, 1, 0, 1));
  EXPECT_THAT(unpacked(DType::u3, 9, bytes_of({0b01001011, 0b00000110, 0, 0b11000000, 0, 0})),
              ElementsAre(1, 0, 2, 3, 0, 0, 1, 2, 3));
  EXPECT_THAT(unpacked(DType::u6, 9,
                       bytes_of({0b00010000, 0b00100011, 0, 0, 0b00010010, 0, 0b00110000, 0, 0})),
              ElementsAre(1, 0, 2, 3, 0, 0, 1, 2, 3));
  // Elements above the lower bits: one bit of the file set at a time.
  EXPECT_THAT(unpacked(DType::u3, 8, bytes_of({0, 0, 0b10000001})),
              ElementsAre(4, 0, 0, 0, 0, 0, 0, 4));
  EXPECT_THAT(unpacked(DType::u6, 4, bytes_of({0, 0, 0b01000010})), ElementsAre(16, 0, 0, 32));
}

TEST(OpenvinoBits, TakeWholeGroups) {
  const std::vector<std::array<std::int64_t, 5>> rows = {{0, 0, 0, 0, 0}, {1, 1, 1, 3, 3},
                                                         {4, 1, 1, 3, 3}, {5, 1, 2, 3, 6},
                                                         {8, 1, 2, 3, 6}, {9, 2, 3, 6, 9}};
  for (const auto& [count, u1, u2, u3, u6] : rows) {
    EXPECT_EQ(openvino_bytes(DType::u1, count), static_cast<std::uint64_t>(u1));
    EXPECT_EQ(openvino_bytes(DType::u2, count), static_cast<std::uint64_t>(u2));
    EXPECT_EQ(openvino_bytes(DType::u3, count), static_cast<std::uint64_t>(u3));
    EXPECT_EQ(openvino_bytes(DType::u6, count), static_cast<std::uint64_t>(u6));
  }
  EXPECT_EQ(openvino_bytes(DType::f32, 3), 12u);
}

TEST(OpenvinoBits, ComeBackAsTheyWere) {
  for (const DType dtype : {DType::u1, DType::u3, DType::u6})
    for (const std::int64_t count : {0, 1, 3, 4, 7, 8, 9, 64, 67}) {
      Tensor tensor = *Tensor::zeros(dtype, Shape{count});
      auto* const data = static_cast<std::uint8_t*>(tensor.mutable_data());
      for (std::int64_t i = 0; i < count; ++i)
        data[i] = static_cast<std::uint8_t>((i * 37 + 11) % (1 << dtype_file_bits(dtype)));
      const std::string packed = pack_openvino(tensor);
      EXPECT_EQ(packed.size(), openvino_bytes(dtype, count));
      EXPECT_THAT(unpacked(dtype, count, packed),
                  ElementsAreArray(std::vector<std::uint8_t>(data, data + count)));
    }
}

}  // namespace
}  // namespace scanloom::tensor
