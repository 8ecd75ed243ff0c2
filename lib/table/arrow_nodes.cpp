// SPDX-License-Identifier: Apache-2.0
#include "table/arrow_nodes.hpp"

#include <memory>
#include <utility>

namespace tracer::internal {
namespace {

/// Its children and its dictionary, as they lie below a struct of the interface.
template <class T>
struct Below {
  std::vector<T> children;
  std::vector<T*> pointers;
  T dictionary{};

  void fill(std::vector<Owned<T>>& given, Owned<T>& given_dictionary) {
    children.reserve(given.size());
    pointers.reserve(given.size());
    for (Owned<T>& child : given) pointers.push_back(&children.emplace_back(child.give()));
    dictionary = given_dictionary.give();
  }
  void link(T& value) noexcept {
    value.n_children = static_cast<std::int64_t>(children.size());
    value.children = pointers.empty() ? nullptr : pointers.data();
    value.dictionary = dictionary.release != nullptr ? &dictionary : nullptr;
  }
  ~Below() {
    for (T& child : children)
      if (child.release != nullptr) child.release(&child);
    if (dictionary.release != nullptr) dictionary.release(&dictionary);
  }
};

struct SchemaNode : Below<ArrowSchema> {
  std::string format;
  std::string name;
};
struct ArrayNode : Below<ArrowArray> {
  std::vector<Memory> memory;
  std::vector<const void*> buffers;
};

template <class Node, class T>
void release(T* value) {
  delete static_cast<Node*>(value->private_data);
  value->release = nullptr;
}

OwnedSchema make(std::string format, std::string name, bool nullable, std::vector<OwnedSchema> children,
                 OwnedSchema dictionary) {
  auto node = std::make_unique<SchemaNode>();
  node->format = std::move(format);
  node->name = std::move(name);
  node->fill(children, dictionary);
  OwnedSchema made;
  made->format = node->format.c_str();
  made->name = node->name.c_str();
  made->flags = nullable ? ARROW_FLAG_NULLABLE : 0;
  node->link(*made);
  made->release = &release<SchemaNode, ArrowSchema>;
  made->private_data = node.release();
  return made;
}

}  // namespace

OwnedSchema make_schema(std::string format, std::string name, bool nullable, std::vector<OwnedSchema> children) {
  return make(std::move(format), std::move(name), nullable, std::move(children), {});
}

OwnedSchema make_dictionary_schema(std::string name, bool nullable) {
  return make("i", std::move(name), nullable, {}, make("u", "", false, {}, {}));
}

OwnedArray make_array(std::size_t length, std::size_t nulls, std::initializer_list<Memory> buffers,
                      std::vector<OwnedArray> children, OwnedArray dictionary) {
  auto node = std::make_unique<ArrayNode>();
  node->memory = buffers;
  for (const Memory& each : node->memory) node->buffers.push_back(each.get());
  node->fill(children, dictionary);
  OwnedArray made;
  made->length = static_cast<std::int64_t>(length);
  made->null_count = static_cast<std::int64_t>(nulls);
  made->n_buffers = static_cast<std::int64_t>(node->buffers.size());
  made->buffers = node->buffers.data();
  node->link(*made);
  made->release = &release<ArrayNode, ArrowArray>;
  made->private_data = node.release();
  return made;
}

}  // namespace tracer::internal
