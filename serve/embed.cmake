# Writes the file INPUT as a C array NAME with its size NAME_size into OUTPUT:
#   cmake -DINPUT=index.css -DOUTPUT=index_css.c -DNAME=iket_index_css -P embed.cmake
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include <stddef.h>\nconst unsigned char ${NAME}[] = {${bytes}};\nconst size_t ${NAME}_size = sizeof ${NAME};\n")
