# SPDX-License-Identifier: Apache-2.0
# tracer_compile_together(<target> <source>...)
# Compiles the sources of a folder, up to 12 at a time, as one: most of a compiler's time goes into the headers and the
# templates that all of them use. Therefore a name in an anonymous namespace occurs once in its folder; daemon/ with all
# below it counts as one. TRACER_TOGETHER=OFF compiles each source alone.
option(TRACER_TOGETHER "Compile the sources of a folder as one" ON)

function(tracer_compile_together target)
  if(NOT TRACER_TOGETHER)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # The compiler takes the sources for headers, in which a member of a type without linkage would be a mistake.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${source})
    # This one compiles the parser of TOML, and must be the first to include it.
    if(path STREQUAL "lib/rules/rules_reader.cpp")
      continue()
    endif()
    get_filename_component(folder ${path} DIRECTORY)
    string(REGEX REPLACE "^daemon/.*" "daemon" folder ${folder})
    string(MAKE_C_IDENTIFIER ${folder} folder)
    list(APPEND folders ${folder})
    list(APPEND in_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(LENGTH in_${folder} count)
    math(EXPR groups "(${count} + 11) / 12")
    set(at 0)
    foreach(source IN LISTS in_${folder})
      math(EXPR number "${at} * ${groups} / ${count} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${number})
      math(EXPR at "${at} + 1")
    endforeach()
  endforeach()
endfunction()

# tracer_precompile(<target> <header>...)
# Reads once what most sources of the target include, and these headers. Each source includes what it needs all the same:
# clang-tidy sees it without them.
function(tracer_precompile target)
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <chrono> <cstdint> <filesystem> <functional> <map> <memory> <mutex> <optional> <set> <span> <string>
    <string_view> <thread> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <tracer/event.hpp> ${ARGN})
endfunction()
