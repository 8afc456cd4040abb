# OUTPUT: what TOOL says of its completion.
cmake_minimum_required(VERSION 3.25)
cmake_path(GET OUTPUT PARENT_PATH folder)
file(MAKE_DIRECTORY ${folder})
execute_process(COMMAND ${TOOL} --help=bash OUTPUT_FILE ${OUTPUT} COMMAND_ERROR_IS_FATAL ANY)
