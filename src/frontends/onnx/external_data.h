// ExternalData: tensor data stored in files next to the model. Only regular files inside the
// model's folder are opened, after links are resolved; each is mapped once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "frontends/onnx/proto.h"
#include "tensor/raw_data.h"

namespace scanloom::onnx {

class ExternalData {
 public:
  /// `folder`: the model's folder. If empty, the folder is unknown and external data is an error.
  explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}

  /// Returns the bytes named by a tensor's external_data. Errors: invalid_model (malformed entries,
  /// a path that leaves the folder, a range outside the file), not_found, invalid_argument.
  Expected<tensor::OwnedBytes> find(const TensorProto& tensor);
  /// The paths of the files read so far.
  [[nodiscard]] std::vector<std::string> files() const;

 private:
  Expected<std::string> resolve(std::string_view location) const;

  std::string folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace scanloom::onnx
