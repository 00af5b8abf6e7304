// Tensors of files: every element type from raw and typed data, packed ones, sparse and external.
#include "frontends/onnx/tensor_data.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/onnx/reading.h"

namespace scanloom::onnx::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

Expected<tensor::Tensor> decode(const std::string& bytes, const std::string& folder = {}) {
  auto owner = std::make_shared<const std::string>(bytes);
  SCANLOOM_TRY(const TensorProto proto, parse_tensor(*owner));
  TensorReader reader(owner, *owner, folder);
  return reader.read(proto);
}

template <class T>
std::string raw_of(const std::vector<T>& values) {
  std::string raw(values.size() * sizeof(T), '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return raw;
}

TEST(TensorData, RawDataOfEveryTypeKeepsItsBytes) {
  for (int number = 1; number <= 26; ++number) {
    const DType dtype = *dtype_from_onnx_number(number);
    if (dtype == DType::string || dtype_file_bits(dtype) < 8 || dtype == DType::boolean) continue;
    std::string raw(3 * dtype_bytes(dtype), '\0');
    for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<char>(i + 1);
    const auto tensor = decode(raw_tensor("w", number, {3}, raw));
    ASSERT_TRUE(tensor) << number;
    EXPECT_EQ(tensor->dtype(), dtype);
    EXPECT_EQ(std::memcmp(tensor->data(), raw.data(), raw.size()), 0) << number;
  }
}

TEST(TensorData, NarrowElementsTakeOneByteEach) {
  const struct {
    int number;
    std::string packed;
    std::vector<std::int64_t> values;
  } cases[] = {{21, "\x21\x0f", {1, 2, 15}},
               {22, "\x71\x08", {1, 7, -8}},
               {25, "\xe4", {0, 1, 2}},
               {26, "\xe4", {0, 1, -2}}};
  for (const auto& one : cases) {
    const auto raw = decode(raw_tensor("w", one.number, {3}, one.packed));
    ASSERT_TRUE(raw);
    EXPECT_EQ(*tensor::to_integers(*raw), one.values) << one.number;
    std::vector<std::int32_t> entries;
    for (const char byte : one.packed) entries.push_back(static_cast<unsigned char>(byte));
    const auto typed = decode(int32_tensor("w", one.number, {3}, entries));
    ASSERT_TRUE(typed) << typed.error().message();
    EXPECT_EQ(*tensor::to_integers(*typed), one.values) << one.number;
  }
}

TEST(TensorData, TypedIntegers) {
  for (const int number : {2, 3, 4, 5, 6, 9}) {
    const auto tensor = decode(int32_tensor("w", number, {2}, {1, 0}));
    ASSERT_TRUE(tensor) << number;
    EXPECT_THAT(int_values(*tensor), ElementsAre(1, 0)) << number;
  }
  const auto small = decode(int32_tensor("w", 3, {2}, {-128, 127}));
  ASSERT_TRUE(small);
  EXPECT_THAT(int_values(*small), ElementsAre(-128, 127));
  const auto large = decode(int64_tensor("w", {2}, {INT64_MIN, INT64_MAX}));
  ASSERT_TRUE(large);
  EXPECT_THAT(int_values(*large), ElementsAre(INT64_MIN, INT64_MAX));
  std::string unsigned_bytes = tensor_header("w", 13, {1});
  const std::uint64_t values[] = {UINT64_MAX};
  protozero::pbf_writer(unsigned_bytes).add_packed_uint64(11, values, values + 1);
  const auto greatest = decode(unsigned_bytes);
  ASSERT_TRUE(greatest);
  EXPECT_EQ(greatest->as<std::uint64_t>()[0], UINT64_MAX);
}

TEST(TensorData, TypedFloatsAndComplex) {
  EXPECT_THAT(float_values(*decode(float_tensor("w", {2}, {1.5f, -2}))), ElementsAre(1.5f, -2));
  std::string unpacked = tensor_header("w", kFloat, {2});
  protozero::pbf_writer(unpacked).add_float(4, 3);
  protozero::pbf_writer(unpacked).add_float(4, 4);
  EXPECT_THAT(float_values(*decode(unpacked)), ElementsAre(3, 4));
  std::string complex_bytes = tensor_header("w", 15, {1});
  const double parts[] = {1, 2};
  protozero::pbf_writer(complex_bytes).add_packed_double(10, parts, parts + 2);
  const auto complex_tensor = decode(complex_bytes);
  ASSERT_TRUE(complex_tensor);
  EXPECT_EQ(static_cast<const double*>(complex_tensor->data())[1], 2);
  const auto half = decode(int32_tensor("w", 10, {1}, {0x3c00}));
  ASSERT_TRUE(half);
  EXPECT_EQ(*static_cast<const std::uint16_t*>(half->data()), 0x3c00);
}

TEST(TensorData, StringsAndBooleans) {
  std::string bytes = tensor_header("w", kString, {2});
  protozero::pbf_writer(bytes).add_string(6, "one");
  protozero::pbf_writer(bytes).add_string(6, std::string("t\0o", 3));
  const auto strings = decode(bytes);
  ASSERT_TRUE(strings);
  EXPECT_EQ(strings->as<tensor::StringRef>()[1].view(), std::string_view("t\0o", 3));
  const auto truth = decode(raw_tensor("w", kBool, {2}, std::string("\x07\x00", 2)));
  ASSERT_TRUE(truth);
  EXPECT_THAT(int_values(*truth), ElementsAre(1, 0));
}

TEST(TensorData, NoElementsNeedNoData) {
  EXPECT_EQ(decode(tensor_header("w", kFloat, {0, 5}))->elements(), 0);
  EXPECT_EQ(decode(raw_tensor("w", kFloat, {0}, ""))->elements(), 0);
}

TEST(TensorData, LargeRawDataStaysWhereItIs) {
  const std::vector<float> values(4096, 1.5f);
  // At least one of the eight shifts is aligned, and at least one is not.
  int aliased = 0, copied = 0;
  for (std::size_t shift = 0; shift < 8; ++shift) {
    std::string bytes = raw_tensor(std::string(shift + 1, 'w'), kFloat, {4096}, raw_of(values));
    bytes += std::string("\x62\x40", 2) + std::string(64, ' ');  // a doc_string after the data
    auto owner = std::make_shared<const std::string>(bytes);
    const auto proto = parse_tensor(*owner);
    ASSERT_TRUE(proto);
    TensorReader reader(owner, *owner, {});
    const auto tensor = reader.read(*proto);
    ASSERT_TRUE(tensor);
    EXPECT_EQ(float_values(*tensor), values);
    const bool is_aliased = tensor->data() == proto->raw.data();
    (is_aliased ? aliased : copied) += 1;
    EXPECT_EQ(tensor->owner() == owner, is_aliased);
  }
  EXPECT_GT(aliased, 0);
  EXPECT_GT(copied, 0);
}

TEST(TensorData, SparseTensorsBecomeDense) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_message(1, float_tensor("w", {2}, {5, 6}));
  writer.add_message(2, int64_tensor("", {2, 2}, {0, 1, 1, 2}));
  for (const int dim : {2, 3}) writer.add_int64(3, dim);
  ModelBytes model;
  model.graph.outputs = {value_info("y"), value_info("w")};
  model.graph.nodes = {NodeBytes("Constant", {}, {"y"}).sparse("sparse_value", bytes)};
  model.graph.sparse_initialisers = {bytes};
  const auto outputs = run(model, {});
  ASSERT_EQ(outputs.size(), 2u);
  for (const auto& output : outputs)
    EXPECT_THAT(float_values(output), ElementsAre(0, 5, 0, 0, 0, 6));
}

TEST(TensorData, SparseTensorsMayBeDefaultsOfInputs) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_message(1, float_tensor("w", {1}, {5}));
  writer.add_message(2, int64_tensor("", {1}, {1}));
  writer.add_int64(3, 3);
  ModelBytes model;
  model.graph.inputs = {value_info("w", kFloat, {3})};
  model.graph.outputs = {value_info("y")};
  model.graph.nodes = {NodeBytes("Neg", {"w"}, {"y"})};
  model.graph.sparse_initialisers = {bytes};
  const Reading reading = read(model);
  ASSERT_TRUE(reading.module) << reading.module.error().message();
  ASSERT_EQ(reading.info.defaults.size(), 1u);
  EXPECT_EQ(reading.info.defaults[0].name, "w");
  EXPECT_THAT(reading.info.defaults[0].sizes, ElementsAre(3));
  const auto by_default = run(model, {});
  ASSERT_EQ(by_default.size(), 1u);
  EXPECT_THAT(float_values(by_default[0]), ElementsAre(0, -5, 0));
  const auto fed = run(model, {floats({3}, {1, 2, 3})}, {.fed_defaults = {"w"}, .folder = {}});
  ASSERT_EQ(fed.size(), 1u);
  EXPECT_THAT(float_values(fed[0]), ElementsAre(-1, -2, -3));
}

/// A folder with a data file, a sibling folder, and links of both kinds.
class ExternalDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::temp_directory_path() / (std::string("scanloom_external_") + info->name());
    fs::remove_all(root_);
    fs::create_directories(root_ / "model" / "inner");
    fs::create_directories(root_ / "outside");
    write(root_ / "model" / "w.bin", raw_of<float>({1, 2, 3, 4}));
    write(root_ / "outside" / "w.bin", raw_of<float>({9, 9, 9, 9}));
    fs::create_symlink("w.bin", root_ / "model" / "good_link.bin");
    fs::create_symlink("../outside/w.bin", root_ / "model" / "bad_link.bin");
    fs::create_directory_symlink(root_ / "model", root_ / "model_link");
  }
  void TearDown() override { fs::remove_all(root_); }

  static void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  Expected<tensor::Tensor> decode_external(
      const std::vector<std::pair<std::string, std::string>>& entries,
      const std::string& folder = "model") const {
    return decode(external_tensor("w", kFloat, {2}, entries), (root_ / folder).string());
  }
  void expect_error(const std::vector<std::pair<std::string, std::string>>& entries, Code code,
                    const std::string& part) const {
    const auto tensor = decode_external(entries);
    ASSERT_FALSE(tensor) << part;
    EXPECT_EQ(tensor.error().code(), code) << tensor.error().message();
    EXPECT_THAT(tensor.error().message(), HasSubstr("tensor 'w': "));
    EXPECT_THAT(tensor.error().message(), HasSubstr(part));
  }

  fs::path root_;
};

TEST_F(ExternalDataTest, IsFoundBelowTheFolder) {
  const auto tensor = decode_external({{"location", "w.bin"}, {"offset", "4"}, {"length", "8"}});
  ASSERT_TRUE(tensor) << tensor.error().message();
  EXPECT_THAT(float_values(*tensor), ElementsAre(2, 3));
  const auto rest = decode_external({{"location", "./inner/../w.bin"}});
  EXPECT_FALSE(rest);
  EXPECT_TRUE(decode_external({{"location", "good_link.bin"}}));
  EXPECT_TRUE(decode_external({{"location", "w.bin"}}, "model_link"));
}

TEST_F(ExternalDataTest, LeavesTheFolderByNoWay) {
  const Code invalid = Code::invalid_model;
  expect_error({{"location", "../outside/w.bin"}}, invalid, "leaves the model's folder");
  expect_error({{"location", "inner/../../outside/w.bin"}}, invalid, "leaves the model's folder");
  expect_error({{"location", "inner/../w.bin"}}, invalid, "must not contain '..'");
  expect_error({{"location", (root_ / "outside" / "w.bin").string()}}, invalid, "must be relative");
  expect_error({{"location", "bad_link.bin"}}, invalid, "through a link");
  expect_error({{"location", std::string("w.bin\0x", 7)}}, invalid, "zero byte");
  expect_error({{"location", "inner"}}, Code::invalid_argument, "not a regular file");
  expect_error({{"location", "none.bin"}}, Code::not_found, "none.bin");
}

TEST_F(ExternalDataTest, RangesAreChecked) {
  const Code invalid = Code::invalid_model;
  expect_error({{"location", "w.bin"}, {"offset", "17"}}, invalid,
               "offset 17 is past the end of the file, 16 bytes");
  expect_error({{"location", "w.bin"}, {"offset", "8"}, {"length", "9"}}, invalid,
               "9 bytes from offset 8 are past the end of the file, 16 bytes");
  expect_error({{"location", "w.bin"}, {"offset", "12"}}, invalid, "has 4 bytes");
  expect_error({{"location", "w.bin"}, {"length", "18446744073709551615"}}, invalid,
               "past the end");
  expect_error({{"location", "w.bin"}, {"length", "16"}}, invalid,
               "its data has 16 bytes, but its shape [2] needs 8");
  // Without a length the data ends where the shape says.
  EXPECT_TRUE(decode_external({{"location", "w.bin"}}));
}

TEST_F(ExternalDataTest, AModelFileKnowsItsFolder) {
  ModelBytes model;
  model.graph.outputs = {value_info("w")};
  model.graph.initialisers = {external_tensor("w", kFloat, {2}, {{"location", "w.bin"}})};
  const fs::path path = root_ / "model" / "m.onnx";
  write(path, model.bytes());
  Diagnostics diagnostics;
  ModelInfo info;
  const auto module = read_model_file(path.string(), {}, diagnostics, &info);
  ASSERT_TRUE(module) << module.error().message();
  EXPECT_EQ(info.producer_name, "model_builder");
  const auto missing = read_model_file((root_ / "none.onnx").string(), {}, diagnostics);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::not_found);
  EXPECT_FALSE(diagnostics.ok());
}

}  // namespace
}  // namespace scanloom::onnx::test
