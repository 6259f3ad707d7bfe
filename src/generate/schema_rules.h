// The rules of one JSON schema, place by place: what json_schema.h is made of.
//
// json_schema.cpp puts schemas together (references, constants, anyOf, oneOf, allOf), schema_types.cpp knows what each
// type means. Made for one schema, by one thread.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "generate/json_schema.h"

namespace sluice {

class SchemaRules {
 public:
  using Json = nlohmann::ordered_json;
  using Symbol = GrammarBuilder::Symbol;
  using Sequence = GrammarBuilder::Sequence;
  using Names = std::set<std::string>;

  SchemaRules(const Json& root, JsonRules& json)
      : root_(root), json_(json), grammar_(json.grammar()), bare_(json.grammar(), StringCharacters::Spelling::bare) {}

  // A value as JSON.
  Result<Symbol> value(const Json& schema, const std::string& path, int depth = 0);
  // The members of an object: one list for each way that the schema knows to put it together. Those of `bare`, which
  // are strings, as their bare text.
  Result<std::vector<SchemaMembers>> shapes(const Json& schema, const std::string& path, const Names& bare,
                                            int depth = 0);

 private:
  using Signs = std::map<std::string, std::string>;

  tl::unexpected<Error> refuse(const std::string& path, std::string_view problem) const;
  Result<> only_known(const Json& schema, const std::string& path, std::initializer_list<std::string_view> known) const;
  Result<int> count(const Json& schema, const char* name, int otherwise, const std::string& path) const;

  // How schemas are put together.
  struct Part {
    const Json* schema;
    std::string path;
  };
  Result<const Json*> target(const Json& schema, const std::string& path) const;
  Result<const Json*> resolved(const Json& schema, const std::string& path) const;
  Result<std::optional<Symbol>> combined(const Json& schema, const std::string& path,
                                         FunctionRef<std::string(const Json& constant)> written,
                                         FunctionRef<Result<Symbol>(const Json& part, const std::string& path)> made);
  // A string as its bare text. Requires: it is a string and nothing else.
  Result<Symbol> text(const Json& schema, const std::string& path, int depth);
  Result<Symbol> reference(const Json& schema, const std::string& path, int depth);
  Result<std::vector<Json>> constants(const Json& schema, const std::string& path) const;
  Result<std::vector<Part>> alternatives(const Json& schema, const std::string& path) const;
  Result<> tell_apart(const Json& list, const std::string& path) const;
  Signs tells(const Json& schema) const;
  Result<Json> merged(const Json& schema, const std::string& path) const;
  Result<Symbol> of_types(const Json& schema, const std::string& path, int depth);

  // What types mean.
  Result<Symbol> of_type(const std::string& type, const Json& schema, const std::string& path, int depth);
  Result<Sequence> inside(const Json& schema, const std::string& path, StringCharacters& characters) const;
  Result<Symbol> number(const Json& schema, const std::string& path, bool integers_only);
  Result<Symbol> array(const Json& schema, const std::string& path, int depth);
  Result<Symbol> object(const Json& schema, const std::string& path, int depth);
  Result<SchemaMembers> members(const Json& schema, const std::string& path, int depth, const Names& bare);
  Result<std::optional<Symbol>> extra_member(const Json& schema, const SchemaMembers& members, const std::string& path,
                                             int depth);
  Sequence pair(const std::string& name, Symbol value);

  static constexpr int kDeepest = 64;      // schemas within schemas, references not counted
  static constexpr int kLongest = 50'000;  // counts of characters and elements

  const Json& root_;
  JsonRules& json_;
  GrammarBuilder& grammar_;
  StringCharacters bare_;
  std::map<std::string, Symbol> references_;  // values that references name
};

}  // namespace sluice
