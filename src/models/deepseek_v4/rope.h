// The two tables of rotary positions (spec 3.4): plain powers of theta in layers that do not compress, YaRN's mixture
// of another base in those that do. The last channels of a vector are rotated, in neighbouring pairs.
#pragma once

#include "compute/rope_angles.h"
#include "compute/workspace.h"
#include "models/deepseek_v4/parts.h"

namespace sluice::deepseek_v4 {

RopeAngles plain_angles(const V4Config& config);
RopeAngles compressed_angles(const V4Config& config);

// Room for the angles of `rows` rows.
Rotation rotation_rows(const V4Config& config, Workspace& work, int rows);
// Of positions first, first + 1, …
void fill(const RopeAngles& angles, int first, const Rotation& rotation);

// Every run of `head_width` numbers of x turns by its row's angles, or back.
void turn(Ops& ops, Rows x, int head_width, const Rotation& rotation);
void turn_back(Ops& ops, Rows x, int head_width, const Rotation& rotation);

}  // namespace sluice::deepseek_v4
