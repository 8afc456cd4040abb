# Helpers of this project's CMakeLists: one static library a folder, the warnings of our own code, the sanitizers.

add_library(iket-warnings INTERFACE)
target_compile_options(iket-warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)

add_library(iket-settings INTERFACE)
target_compile_features(iket-settings INTERFACE c_std_17)
target_compile_definitions(iket-settings INTERFACE _GNU_SOURCE)
target_include_directories(iket-settings INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
if(IKET_SANITIZE)
    target_compile_options(iket-settings INTERFACE -fsanitize=${IKET_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(iket-settings INTERFACE -fsanitize=${IKET_SANITIZE})
endif()

# iket_library(NAME SOURCE...): the static library iket-NAME with our settings and warnings.
function(iket_library name)
    add_library(iket-${name} STATIC ${ARGN})
    target_link_libraries(iket-${name} PUBLIC iket-settings PRIVATE iket-warnings)
endfunction()

# iket_tool(NAME SOURCE...): an installed program.
function(iket_tool name)
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE iket-settings iket-warnings)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# Sets IKET_CUDA_FOUND by the option IKET_CUDA.
macro(iket_find_cuda)
    set(IKET_CUDA_FOUND FALSE)
    if(NOT IKET_CUDA STREQUAL "OFF")
        find_program(IKET_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
        if(IKET_NVCC)
            set(IKET_CUDA_FOUND TRUE)
        elseif(IKET_CUDA STREQUAL "ON")
            message(FATAL_ERROR "IKET_CUDA=ON, but nvcc was not found")
        else()
            message(STATUS "nvcc was not found: the recorder's programs are not built (IKET_CUDA)")
        endif()
    endif()
endmacro()
