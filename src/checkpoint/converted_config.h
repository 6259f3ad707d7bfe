// config.json of a converted checkpoint: the source's, and what it was converted to.
//
// "sluice_conversion" names the source by its fingerprint and the format of each kind of tensors; "sluice_pack" only
// the source, since nothing else of it is changed. It is for people and for telling one output from another; readers go
// by the tensors alone. A quantization_config describes the released form and is left out as soon as anything is stored
// differently.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "checkpoint/conversion_plan.h"

namespace sluice {

// Equal sources and plans give equal texts, and others do not.
Result<std::string> converted_config(std::string_view source_config, std::string_view source_fingerprint,
                                     const ConversionPlan& plan);

// How the conversion or pack that another config tells of differs: "has experts int4, not int4g64". Empty if it tells
// of none.
std::string conversion_difference(std::string_view wanted, std::string_view other);

// "int4g64", or "bf16+fp8" where a kind is mixed.
std::string format_names(const std::set<FormatId>& formats);

}  // namespace sluice
