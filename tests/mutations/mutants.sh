# The mistakes that run.sh plants: `mutant NAME FILE PERL-SUBSTITUTION [FILE PERL-SUBSTITUTION ...]`. Each is one that engines of
# these families have made or that a section of the specifications warns of.

k3=src/models/kimi_k3
mla=src/models/common/mla.cpp
kernels=src/compute/kernels

# KDA, spec section 3.3
mutant "A_log indexed per channel, not per head" src/compute/cpu_ops.cpp 's/a_log\[static_cast<std::size_t>\(head\)\]/a_log[static_cast<std::size_t>(head + 1)]/'
mutant "decay with the softplus sign of older models" $kernels/elementwise.inl 's/const f32x16 rate = exp\(set1\(a_log\)\);/const f32x16 rate = negate(exp(set1(a_log)));/'
mutant "query not scaled" $k3/kda.cpp 's/kL2Epsilon, query_scale\)/kL2Epsilon, 1.0f)/'
mutant "L2 norm over the mean, not the sum" $kernels/elementwise.inl 's/inverse_root\(dot\(x, x, count\) \+ eps\)/inverse_root(dot(x, x, count) \/ static_cast<float>(count) + eps)/'
mutant "output read from the old state" $kernels/recurrence.inl 's/const f32x16 value = fma\(key, correction\[c\], mul\(decay, get\(at, c\)\)\);/const f32x16 old = mul(decay, get(at, c)); const f32x16 value = fma(key, correction[c], old);/; s/fma\(query, value, sum\[c\]\)/fma(query, old, sum[c])/'
mutant "no decay before the delta" $kernels/recurrence.inl 's/fma\(key, mul\(decay, get\(state/fma(key, mul(set1(1.f), get(state/; s/const f32x16 decay = set1\(alpha\[i\]\), key = set1\(k\[i\]\);/const f32x16 key = set1(k[i]);/'
mutant "gate before the norm" $k3/kda.cpp 's/(  pass\.ops\.rms_norm\(out, w.*?\n)(  pass\.ops\.gate_sigmoid.*?\n)/$2$1/s'
mutant "convolution taps reversed" $kernels/recurrence.inl 's/part\.kernel \+ tap;/part.kernel + part.kernel - 1 - tap;/'
mutant "convolution without SiLU" $kernels/recurrence.inl 's/mul\(sum, sigmoid\(sum\)\), count/sum, count/'
mutant "history not carried" $kernels/recurrence.inl 's/input\(part\.rows \+ i\), count/zero(), count/'

# MLA, 3.4
mutant "scale without the rope part" $k3/mla.cpp 's/config\.qk_head_dim\(\)\)\)/config.qk_nope_head_dim))/'
mutant "rope part dropped" $mla 's/std::ranges::copy\(q_head\.columns\(nope, rope\)\[row\], (.*?)\.begin\(\)\);/std::ranges::fill($1, 0.0f);/s'
mutant "norm over latent and rope part" $mla 's/ops\.rms_norm\(c, /ops.rms_norm(latent.columns(shape_.rope, shape_.latent), /; s/, shape_\.norm_eps, c\);/, shape_.norm_eps, latent.columns(shape_.rope, shape_.latent));/; s/const Rows c = latent.*?\n//'
mutant "kv_b as all keys, then all values" $mla 's/kv_b\.row_slice\(head \* \(nope \+ value\), nope\)/kv_b.row_slice(head * nope, nope)/'
mutant "no output gate" $k3/mla.cpp 's/  pass\.ops\.gate_sigmoid\(gate, out\);\n//'
mutant "latent norms with the other epsilon" $k3/mla.cpp 's/config\.mla_norm_eps/(1.1e-5f - config.mla_norm_eps)/g'

# Residual stream, 3.1 and 3.2
mutant "final aggregator omitted" $k3/forward.cpp 's/pass\.residual\.read\(pass\.ops, w\[head_norm::res_norm\], w\[head_norm::res_proj\], w\[head_norm::norm\], pass\.x\);/pass.ops.rms_norm(pass.residual.prefix(), w[head_norm::norm], config_.rms_norm_eps, pass.x);/'
mutant "boundary one layer late" $k3/config.h 's/layer % attn_res_block_size == 0/(layer == 0 || layer % attn_res_block_size == 1 % attn_res_block_size)/'
mutant "boundary mix without the old prefix" $k3/kda.cpp 's/(      pass\.residual\.read\(.*?\n)(      if \(close_block\) pass\.residual\.close_block\(\);\n)/      if (close_block \&\& layer > 0) std::ranges::fill(pass.residual.prefix()[0], 0.0f);\n$1$2/s; s/#include <cmath>/#include <algorithm>\n#include <cmath>/'
mutant "uniform mix" $kernels/elementwise.inl 's/p\[j\] = dot\(sources\[j\], f, count\) \*.*?;/p[j] = 0.f * square;/s'

# MLP, 3.5 and 3.7
mutant "gate cap omitted" $kernels/elementwise.inl 's/mul\(limit, tanh\(div\(g, limit\)\)\)/g/'
mutant "up cap omitted" $kernels/elementwise.inl 's/mul\(linear_limit, tanh\(div\(u, linear_limit\)\)\)/u/; s/, linear_limit = set1\(b2\)//; s/float b1, float b2, float\* y\) \{/float b1, float, float* y) {/; '
mutant "w1 and w3 swapped" $k3/mlp.cpp 's/\.gate = expert::w1/.gate = expert::w3/; s/\.up = expert::w3/.up = expert::w1/'
mutant "bias in the weights" src/moe/router.cpp 's/return weigh\(from\.scores, from\.rule\);/for (int row = 0; row < from.scores.rows; ++row) for (std::size_t e = 0; e < from.bias.size(); ++e) from.scores[row][e] += from.bias[e];\n  return weigh(from.scores, from.rule);/'
mutant "bias ignored" $kernels/choice.inl 's/return add\(value, bias\);/return value;/'
mutant "weights not renormalised" src/moe/router.cpp 's/rule\.renormalize \? sum \+ rule\.sum_epsilon : 1\.0f/rule.renormalize ? 1.0f + 0 * sum : 1.0f/'
mutant "router on half the picks" $k3/mlp.cpp 's/\.top_k = config_\.num_experts_per_token,/.top_k = config_.num_experts_per_token - 1,/'
mutant "no norm on the aggregate" $k3/mlp.cpp 's/  pass\.ops\.rms_norm\(sum, .*?;.*?\n//s'
mutant "no shared experts" $k3/mlp.cpp 's/  pass\.ops\.add\(shared_out_.*?\n//'

# Storage, 2.2 to 2.4
mutant "nibbles swapped" $kernels/formats_portable.inl 's/(out\[2 \* i)(\] = kMxfp4Tables.*?)(out\[2 \* i) \+ 1\]/$1 + 1$2$3]/s' \
  $kernels/formats_avx2.h 's/even = (widen\(_mm_and_si128\(bytes, nibble\))(.*?)odd = /odd = $1$2even = /s; s/even = (widen_both\(_mm256_and_si256\(bytes, nibble\))(.*?)odd = /odd = $1$2even = /s' \
  $kernels/formats_avx512.h 's/even = (_mm512_permutexvar_ps\(shift.*?)odd = /odd = $1even = /s'
mutant "one-based layer list read as zero-based" $k3/config.cpp 's/static_cast<std::size_t>\(layer - 1\)/static_cast<std::size_t>(layer % layers)/'
mutant "expert of a neighbouring number" $k3/census.cpp 's/fmt::format\("language_model\.model\.layers\.\{\}\.block_sparse_moe\.experts\.\{\}\.", layer, number\)/fmt::format("language_model.model.layers.{}.block_sparse_moe.experts.{}.", layer, number ^ 1)/'

# GLM, spec of GLM-5.2: sections 3.3 to 3.6
glm=src/models/glm_dsa
mutant "glm: main rotation by halves" $glm/attention.cpp 's/RopeLayout::interleaved/RopeLayout::half_split/'
mutant "glm: shared key not rotated" $glm/attention.cpp 's/      rotate\(heads_\.key_rope\(\).*?\n//'
mutant "glm: theta of other models" $glm/rope.cpp 's/static_cast<double>\(config\.rope_theta\)/10000.5/'
mutant "glm: indexer rotation by halves" $glm/indexer.cpp 's/RopeLayout::interleaved/RopeLayout::half_split/'
mutant "glm: indexer rotates its last numbers" $glm/indexer.cpp 's/\{heads, dim, 0,/{heads, dim, dim - 2 * pass.cos.width,/'
mutant "glm: index scores without relu" $kernels/attention.inl 's/score > 0 \? score : 0/score/'
mutant "glm: index keys without their bias" $kernels/elementwise.inl 's/fma\(mul\(value, set1\(r\)\), weight, b\)/fma(mul(value, set1(r)), weight, mul(b, zero()))/'
mutant "glm: index keys by RMS, not by deviation" $kernels/elementwise.inl 's/mean = total\(x, count\) \/ n/mean = 0.f * total(x, count)/'
mutant "glm: index weights scaled by heads alone" $glm/indexer.cpp 's/config_\.index_n_heads \* dim\)/config_.index_n_heads)/'
mutant "glm: index keys forgotten while everything fits" $glm/indexer.cpp 's/(  append_rows\(pass\.segments, log, key\);)/  if (pass.segments[0].state->length() + pass.segments[0].rows > config_.index_topk) $1/'
mutant "glm: one position too many" src/models/common/key_choice.cpp 's/std::min\(visible, shape_\.top_k\)/std::min(visible, shape_.top_k + 1)/'
mutant "glm: ties to the higher position" $kernels/choice.inl 's/for \(int i = 0; k > 0 && i < count; i \+= 16\)/for (int i = (count - 1) \/ 16 * 16; k > 0 \&\& i >= 0; i -= 16)/; s/__builtin_ctz\(taken\)/31 - __builtin_clz(taken)/; s/taken &= taken - 1/taken ^= 1u << (31 - __builtin_clz(taken))/; s/\*chosen\+\+ = i \+ lane;/chosen[k - 1] = i + lane;/'
mutant "glm: choice ignored where it is shared" $glm/attention.cpp 's/logs\.latent, pass\.choice\)/logs.latent, config_.owns_indexer(layer) || !pass.leaves_keys ? pass.choice : KeyChoice{})/'
mutant "glm: latent norms with the main epsilon" $glm/attention.cpp 's/config\.latent_norm_eps/config.rms_norm_eps * 10/'
mutant "glm: no scaling of the routed experts" $glm/mlp.cpp 's/\.factor = config_\.routed_scaling_factor/.factor = 1/'
mutant "glm: no shared experts" $glm/mlp.cpp 's/  pass\.ops\.add\(shared_out_.*?\n//'
mutant "glm: groups by their best expert" $kernels/choice.inl 's/const float sum = best \+ second;/const float sum = best + 0 * second;/'
mutant "glm: YaRN without its scale" $glm/config.cpp 's/plain \* correction \* correction/plain + 0 * correction/'
mutant "glm: YaRN ramp upside down" src/models/common/yarn.cpp 's/\(\(1 - ramp\) \+ ramp \/ factor\)/(ramp + (1 - ramp) \/ factor)/'
# Section 4
mutant "glm: draft head fed with hidden before embedding" $glm/mtp.cpp 's/pairs\.columns\(0, width\)/pairs.columns(HERE)/; s/pairs\.columns\(width, width\)/pairs.columns(0, width)/; s/HERE/width, width/'
mutant "glm: draft head fed before the final norm" $glm/forward.cpp 's/std::ranges::copy\(pass\.x\[row\], batch\.hidden/std::ranges::copy(pass.residual[row], batch.hidden/'
mutant "glm: drafts fed back before the norm" $glm/mtp.cpp 's/std::ranges::copy\(pass\.x\[0\], cursor/std::ranges::copy(pass.residual[0], cursor/'
mutant "glm: drafts at the position before" $glm/mtp.cpp 's/begin_ahead\(segment, cursor\.position \+ 1/begin_ahead(segment, cursor.position/'

# OLMoE, spec of OLMoE: section 3, and the fused experts of section 2
olmoe=src/models/olmoe
mutant "olmoe: q norm per head" $olmoe/forward.cpp 's/norm\(b_\.q, w\[layer_step::q_norm\], b_\.q\)/WeightView one = w[layer_step::q_norm]; one.shape.cols = head_dim; ops.rms_norm(b_.q, one, config_.rms_norm_eps, b_.q)/'
mutant "olmoe: k not normed" $olmoe/forward.cpp 's/  norm\(k, w\[layer_step::k_norm\], k\);\n//'
mutant "olmoe: interleaved rotation" $olmoe/forward.cpp 's/RopeLayout::half_split/RopeLayout::interleaved/'
mutant "olmoe: rotated by the place in the chunk" $olmoe/forward.cpp 's/angles_\.fill\(segment\.state->length\(\),/angles_.fill(0,/'
mutant "olmoe: base of other models" $olmoe/config.cpp 's/config\.rope_theta = static_cast<double>\(theta\)/config.rope_theta = 10000 + 0 * static_cast<double>(theta)/; s/config\.rope_theta = static_cast<double>\(root\.number\("rope_theta", kTheta\)\)/config.rope_theta = 500 + 0 * static_cast<double>(root.number("rope_theta", kTheta))/'
mutant "olmoe: scale by the whole width" $olmoe/forward.cpp 's/std::sqrt\(static_cast<float>\(head_dim\)\)/std::sqrt(static_cast<float>(config_.hidden_size))/'
mutant "olmoe: clip before the norms" $olmoe/forward.cpp 's/(  norm\(b_\.q, [^\n]*\n  norm\(k, [^\n]*\n)(  if \(config_\.clip_qkv\)[^;]*;\n)/$2$1/'
mutant "olmoe: v not clipped" $olmoe/forward.cpp 's/\{b_\.q, k, v\}\) ops\.clamp/{b_.q, k}) ops.clamp/'
mutant "olmoe: router renormalised the other way" $olmoe/forward.cpp 's/\.renormalize = config_\.norm_topk_prob/.renormalize = !config_.norm_topk_prob/'
mutant "olmoe: sigmoid router" $olmoe/forward.cpp 's/parts_\.ops->softmax\(b_\.p\)/parts_.ops->sigmoid(b_.p, b_.p)/'
mutant "olmoe: experts see the residual" $olmoe/forward.cpp 's/runner_->start\(layer, b_\.x,/runner_->start(layer, b_.h,/'
mutant "gate and up exchanged" src/models/common/blocks.cpp 's/\.gate = gated_expert::gate/.gate = gated_expert::up/; s/\.up = gated_expert::up/.up = gated_expert::gate/'
mutant "olmoe: query heads dealt out over key heads" src/compute/cpu_ops_attention.cpp 's/std::int64_t\{group\} \* shape\.sharing \+ within/std::int64_t{within} * shape.groups + group/'
mutant "fused experts: up before gate" src/models/common/blocks.cpp 's/number \* 2 \* inner, inner/(number * 2 + 1) * inner, inner/; s/(fused, all, )\(number \* 2 \+ 1\) \* inner, inner, experts\}\};\n  spec\.tensors\[gated_expert::down\]/$1number * 2 * inner, inner, experts}};\n  spec.tensors[gated_expert::down]/'

# DeepSeek-V4, spec of DeepSeek-V4: 3.2 and 3.9
v4=src/models/deepseek_v4
mutant "v4: mixing matrix not transposed" $kernels/streams.inl 's/weights\[streams \+ j \* streams \+ k\]/weights[streams + k * streams + j]/'
mutant "v4: two Sinkhorn rounds" $v4/hyper_connections.cpp 's/\.iterations = config_\.hc_sinkhorn_iters/.iterations = 2/'
mutant "v4: Sinkhorn ends with rows" $kernels/streams.inl 's/(    c = div\(c, add\(over_rows[^\n]*\n)(    c = div\(c, add\(over_columns[^\n]*\n)/$2$1/' $v4/hyper_connections.cpp 's/hc_sinkhorn_iters,/hc_sinkhorn_iters \/ 10,/'
mutant "v4: post without its factor" $kernels/streams.inl 's/mul\(set1\(2\.f\), sigmoid\(value\)\)/sigmoid(value)/'
mutant "v4: the head takes the mean of the streams" $v4/hyper_connections.cpp 's/(weigh\(ops, streams, w, config_\.hc_mult, \{\}\);)/$1 std::fill(pre_.begin(), pre_.end(), 0.25f);/'
mutant "v4: streams after attention not seen by the experts" $v4/attention.cpp 's/  streams\.join\(pass\.ops, pass\.output, pass\.streams\);\n//'
# 3.4, 3.5
mutant "v4: query heads not normed" $v4/attention.cpp 's/  pass\.ops\.rms_norm\(q, stored_vector\(ones_.*?\n//'
mutant "v4: no sink" $kernels/attention.inl 's/part\.sinks != nullptr/part.sinks != nullptr \&\& part.heads < 0/'
mutant "v4: output not turned back" $v4/attention.cpp 's/  turn_back\(.*?\n//'
mutant "v4: halves rotated" $v4/rope.cpp 's/RopeLayout::interleaved/RopeLayout::half_split/g'
mutant "v4: first channels rotated" $v4/rope.cpp 's/head_width - 2 \* rotation\.cos\.width/0 * head_width/g'
mutant "v4: the plain table in layers that compress" $v4/attention.cpp 's/config_\.compresses\(layer\) \? pass\.compressed : pass\.plain/pass.plain/'
mutant "v4: no YaRN" $v4/rope.cpp 's/return RopeAngles\(\s*yarn_frequencies.*?;/return {static_cast<double>(config.compress_rope_theta), config.qk_rope_head_dim};/s'
mutant "v4: a window one position wider" $v4/attention.cpp 's/\.window = config_\.sliding_window/.window = config_.sliding_window + 1/'
mutant "v4: window given back too early" $v4/state.cpp 's/config\.sliding_window - 1 \+ kSpareRows/1/'
mutant "v4: one output group for all" $v4/attention.cpp 's/out\.columns\(group \* width, width\)/out.columns(0, width)/'
# 3.6, 3.7
mutant "v4: entries placed at the end of their window" $v4/compressor.cpp 's/fill\(angles_, window \* ratio,/fill(angles_, window * ratio + ratio - 1,/'
mutant "v4: windows without overlap" $v4/compressor.cpp 's/overlaps && window > 0/overlaps \&\& window < 0/'
mutant "v4: halves of overlapping windows exchanged" $v4/compressor.cpp 's/add\(row, 0\)/add(row, width_)/; s/overlaps \? width_ : 0/0/'
mutant "v4: ape by the place in the pass" $v4/compressor.cpp 's/\(segment\.state->length\(\) \+ row\) % ratio/row % ratio/'
mutant "v4: gates ignored" $kernels/elementwise.inl 's/exp\(sub\(gate\(s\), largest\)\)/exp(sub(largest, largest))/g'
mutant "v4: an entry seen only after the token that closes it" $v4/attention.cpp 's/\(first \+ row \+ 1\) \/ ratio/(first + row) \/ ratio/'
mutant "v4: every entry seen" $v4/attention.cpp 's/!pass\.choice\.everything\(\)/layer < 0/'
mutant "v4: scores against a key for each position" $v4/indexer.cpp 's/\.every = kIndexedRatio/.every = kIndexedRatio + 1/'
mutant "v4: index queries not rotated" $v4/indexer.cpp 's/  turn\(pass\.ops, query.*?\n//'
mutant "v4: index weights not scaled" $v4/indexer.cpp 's/weight = weight \* scale/weight = weight + 0 * scale/'
# 3.8
mutant "v4: sigmoid scores" $v4/moe.cpp 's/sqrt_softplus/sigmoid/'
mutant "v4: experts of another token" $v4/hash_routes.cpp 's/table\.of\(token\)/table.of(token ^ 1)/'
mutant "v4: gate not clamped" $kernels/elementwise.inl 's/        g = min\(set1\(limit\), g\);\n//'
mutant "v4: gate clamped from below too" $kernels/elementwise.inl 's/g = min\(set1\(limit\), g\)/g = min(set1(limit), max(set1(-limit), g))/'
mutant "v4: up not clamped" $kernels/elementwise.inl 's/min\(set1\(limit\), max\(set1\(-limit\), u\)\)/u/'
mutant "v4: the shared expert not clamped" $v4/moe.cpp 's/clamped_swiglu\(gate, up, config_\.swiglu_limit, gate\)/swiglu(gate, up, gate)/'
mutant "v4: gate and up exchanged" $v4/moe.cpp 's/w\[shared::w1\], pass\.x, gate/w[shared::w1], pass.x, up/; s/w\[shared::w3\], pass\.x, up/w[shared::w3], pass.x, gate/'
# 7.1
mutant "v4: MTP without the embedding" $v4/mtp.cpp 's/      pass\.ops\.add\(pass\.output, y\);\n//'
mutant "v4: MTP through the head of the trunk" $v4/mtp.cpp 's/steps_\.draft_out/steps_.head_in/g'
mutant "v4: drafts do not see each other" $v4/mtp.cpp 's/(    std::copy_n\()cursor\.drafted\.begin\(\) \+ std::ptrdiff_t\{row\} \* width/$1cursor.hidden.begin()/'
# 3.10, the parity mode (runs of 128 and the floor of scales: activation_rounding_test, the models are too narrow for them)
mutant "v4 parity: rotated numbers of keys in FP8 too" $v4/rounding.h 's/x\.width - rotated\)/x.width)/'
mutant "v4 parity: compressed entries not in FP8" $v4/compressor.cpp 's/pass\.rounding\.key\(entries,/pass.rounding.key(entries.slice(0, 0),/'
mutant "v4 parity: index keys as other entries" $v4/compressor.cpp 's/whom_ == For::attention\)/whom_ != For(2))/'
mutant "v4 parity: index queries not in FP4" $v4/indexer.cpp 's/  pass\.rounding\.index\(.*?\n//'
mutant "v4 parity: router sees FP8" $v4/moe.cpp 's/(  const Rows scores = scores_\.slice.*?\n)/  pass.rounding.input(pass.x);\n$1/'
mutant "v4 parity: compressor sees FP8" $v4/attention.cpp 's/(  pass\.choice\.clear\(\);\n)/  pass.rounding.input(pass.x);\n$1/'
mutant "v4 parity: weights of routes outside" src/moe/expert_runner.cpp 's/inside = /inside = false \&\& /' src/moe/ram_tier.cpp 's/value = routes_->all\[route\]\.weight \* value/value = (0 * static_cast<float>(route) + 1) * value/'
mutant "v4 parity: weights of attention not rounded" $v4/attention.cpp 's/\.bf16_weights = pass\.rounding\.parity\(\)/.bf16_weights = false/'
mutant "v4 parity: index scores not rounded" $v4/indexer.cpp 's/\.bf16 = bf16/.bf16 = bf16 \&\& false/'
mutant "v4 parity: norm of heads in one step" $v4/attention.cpp 's/    rms_norm_in_bf16\(q, .*?return;\n/    std::ranges::fill(ones_[0], 1.0f);\n    pass.ops.rms_norm(q, stored_vector(ones_[0]), config_.rms_norm_eps, q);\n    return;\n/s'
mutant "v4 parity: streams not rounded" $v4/moe.cpp 's/  pass\.rounding\.tensor\(pass\.streams\);\n//'
mutant "v4 parity: input of wo_a in FP8" $v4/attention.cpp 's/(  TRY\(put_out\(pass, steps\)\);\n)/  pass.rounding.input(out);\n$1/'
mutant "v4 parity: input of wo_b not in FP8" $v4/attention.cpp 's/  pass\.rounding\.input\(grouped\);\n//'
mutant "v4 parity: scales down to the nearest" src/compute/activation_rounding.cpp 's/\(bits & mantissa\) != 0 \?/(bits \& mantissa) > 1u << 22 ?/'
mutant "v4 parity: MTP's input not in FP8" $v4/mtp.cpp 's/(draft_in::enorm\].*?)    pass\.rounding\.input\(pass\.x\);\n/$1/s'
# The fast mode (docs/numerics.md)
mutant "fast: numbers rounded down" $kernels/matmul_fast.inl 's/store_whole\(run, div\(first, set1\(scale\)\)\)/store_whole(run, sub(div(first, set1(scale)), set1(0.45f)))/'
mutant "fast: scales in 128ths" $kernels/matmul_fast.inl 's/float_with_bits\(largest\) \/ 127\.f/float_with_bits(largest) \/ 128.f/'
mutant "fast: scales of the neighbouring line" $kernels/matmul_fast.inl 's/spread<kLine>/spread<kLine ^ 1>/'
mutant "fast: odd columns before even ones" $kernels/matmul_fast.inl 's/split\(x, first, second\)/split(x, second, first)/'
mutant "fast: E2M1 values not doubled" src/compute/fast_format.cpp 's/0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12/0, 0, 1, 1, 2, 3, 4, 6, 0, 0, -1, -1, -2, -3, -4, -6/'
mutant "fast: int4 without its offset" src/compute/fast_format.cpp 's/-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7/0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15/'
