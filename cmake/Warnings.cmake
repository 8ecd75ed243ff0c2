# SPDX-License-Identifier: Apache-2.0
# For this project's own targets only: never PUBLIC.
function(tracer_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wshadow)
  # GCC 12 sees overlaps and overflows in std::string that are none (GCC's bugs 105329, 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow>)
  endif()
  if(TRACER_DEVELOPER)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

if(TRACER_SANITIZE)
  add_compile_options(-fsanitize=${TRACER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TRACER_SANITIZE})
endif()
