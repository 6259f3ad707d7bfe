// See vocabulary.h.
#include "text/vocabulary.h"

#include <limits>

#include "base/check.h"

namespace sluice {

namespace {

// FNV-1a, then a multiply that carries every bit to the top (the tag) and the middle (the slot).
std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  hash ^= hash >> 32;
  return hash * 0x9e3779b97f4a7c15u;
}

constexpr std::uint32_t kNumberBits = 0x00ffffffu;

std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32) & ~kNumberBits; }

}  // namespace

// The slot that holds `bytes`, or the empty one where they would go.
std::size_t Vocabulary::slot_of(std::string_view bytes, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(hash >> 24) & mask;
  for (;; slot = (slot + 1) & mask) {
    const std::uint32_t held = slots_[slot];
    if (held == 0) return slot;
    if ((held & ~kNumberBits) == tag_of(hash) && this->bytes(static_cast<int>(held & kNumberBits) - 1) == bytes)
      return slot;
  }
}

bool Vocabulary::add(std::string_view bytes) {
  if (bytes.empty() || size() == kMaxEntries) return false;
  if (text_.size() + bytes.size() > std::numeric_limits<std::uint32_t>::max()) return false;
  if ((static_cast<std::size_t>(size()) + 1) * 8 > slots_.size() * 5) grow();
  const std::uint64_t hash = hash_of(bytes);
  const std::size_t slot = slot_of(bytes, hash);
  if (slots_[slot] != 0) return false;
  text_.append(bytes);
  begins_.push_back(static_cast<std::uint32_t>(text_.size()));
  slots_[slot] = tag_of(hash) | static_cast<std::uint32_t>(size());
  longest_ = std::max(longest_, bytes.size());
  return true;
}

void Vocabulary::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (int number = 0; number < size(); ++number) {
    const std::uint64_t hash = hash_of(bytes(number));
    slots_[slot_of(bytes(number), hash)] = tag_of(hash) | static_cast<std::uint32_t>(number + 1);
  }
}

void Vocabulary::shrink() {
  text_.shrink_to_fit();
  begins_.shrink_to_fit();
  slots_.shrink_to_fit();
}

int Vocabulary::find(std::string_view bytes) const {
  if (bytes.empty() || bytes.size() > longest_) return -1;
  return static_cast<int>(slots_[slot_of(bytes, hash_of(bytes))] & kNumberBits) - 1;
}

std::string_view Vocabulary::bytes(int number) const {
  SLUICE_DCHECK(number >= 0 && number < size());
  const auto entry = static_cast<std::size_t>(number);
  return std::string_view(text_).substr(begins_[entry], begins_[entry + 1] - begins_[entry]);
}

std::uint64_t Vocabulary::resident_bytes() const {
  return text_.capacity() + (begins_.capacity() + slots_.capacity()) * sizeof(std::uint32_t);
}

}  // namespace sluice
