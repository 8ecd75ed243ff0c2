# SPDX-License-Identifier: Apache-2.0
# Compiles through ccache where it is installed. No object depends on the folder of the clone: another clone on this
# machine takes them from the cache, and scripts/test knows what it has tested before by their content. Nor on the locale:
# pip has one of its own.
set(TRACER_PREFIX_MAP -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
add_compile_options(${TRACER_PREFIX_MAP})

find_program(TRACER_CCACHE ccache)
set(TRACER_COMPILER_LAUNCHER)
if(TRACER_CCACHE)
  set(TRACER_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=locale,pch_defines,time_macros ${TRACER_CCACHE})
  foreach(language C CXX)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${TRACER_COMPILER_LAUNCHER})
    endif()
  endforeach()
endif()
