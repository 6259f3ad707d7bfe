// DeepSeek-V4's golden vector under the names that transformers gives its tensors (specification, 2.5), experts fused,
// without the MTP block. The names are spelled here a second time on purpose: code under test must find exactly these.
#pragma once

#include <filesystem>

namespace sluice::test {

// `from`: as write_v4_vector has written it.
void write_v4_by_other_names(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace sluice::test
