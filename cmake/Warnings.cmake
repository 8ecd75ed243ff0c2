# SPDX-License-Identifier: Apache-2.0
# For this project's own targets only: never PUBLIC.
function(tracer_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wshadow)
  if(TRACER_DEVELOPER)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

if(TRACER_SANITIZE)
  add_compile_options(-fsanitize=${TRACER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TRACER_SANITIZE})
endif()
