// Inputs and expected outputs of a model: ONNX's test_data_set_* folders, or .npz files.
#pragma once

#include <string>
#include <vector>

#include <scanloom/session.h>

#include "npy.h"

namespace scanloom::cli {

struct DataSet {
  std::string name;  ///< the folder or the file
  std::vector<NamedView> inputs;
  std::vector<NamedView> expected;
};

/// The model that a path means: itself, or the one in that folder. Throws Failure, as do the
/// others.
std::string find_model(const std::string& path);

/// The data sets in the folder of a model, in order.
std::vector<std::string> find_data_sets(const std::string& model_path);

/// A file .npz (names as keys) or a folder with input_i.pb and output_i.pb.
DataSet read_data_set(const std::string& path, const Session& session);

}  // namespace scanloom::cli
