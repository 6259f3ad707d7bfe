// The fields of config.json that transformers calls otherwise than the release (transformers 5.15,
// configuration_deepseek_v4.py): layer_types for compress_ratios, mlp_layer_types for num_hash_layers,
// partial_rotary_factor for qk_rope_head_dim, rope_parameters for rope_scaling and the two bases.
//
// The released name is read where both are there; layers that contradict it are a fault. Faults are noted in `fields`.
#pragma once

#include <vector>

#include "base/fields.h"
#include "models/common/yarn.h"

namespace sluice::deepseek_v4 {

// The layers are given by name alone, as transformers saves them. It knows nothing of draft modules and saves none.
bool layers_by_name(const Fields& fields);
// Of layer_types and compress_rates, one a layer. Requires: layer_types is there.
std::vector<int> ratios_of_names(const Fields& fields, int layers);
// Of mlp_layer_types: how many layers from the first on are routed by a table. Requires: it is there.
int hash_layers_of_names(const Fields& fields, int layers);
// head_dim times partial_rotary_factor. Requires: that is there.
int rotated_of_factor(const Fields& fields, int head_dim);

struct RopeFields {
  float theta = 0, compress_theta = 0;  // 0: a fault was noted, or no layer compresses
  YarnScaling yarn = {};
};
// `compresses`: some layer does.
RopeFields read_rope_fields(const Fields& fields, bool compresses);

}  // namespace sluice::deepseek_v4
