// SPDX-License-Identifier: Apache-2.0
// compare_text.c: compare_text A B: do two cubins have the same code? Compares every .text section byte for byte and ends
// with 0 when both have the same ones, at least one, and none differs.
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct cubin {
    int file;
    Elf *elf;
    size_t names;
};

static int open_cubin(struct cubin *cubin, const char *path) {
    cubin->file = open(path, O_RDONLY);
    if (cubin->file < 0) return -1;
    cubin->elf = elf_begin(cubin->file, ELF_C_READ, NULL);
    return cubin->elf == NULL ? -1 : elf_getshdrstrndx(cubin->elf, &cubin->names);
}

static Elf_Data *text_of(struct cubin *cubin, Elf_Scn *section, const char **name) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == NULL) return NULL;
    *name = elf_strptr(cubin->elf, cubin->names, header.sh_name);
    return *name != NULL && strncmp(*name, ".text.", 6) == 0 ? elf_getdata(section, NULL) : NULL;
}

static Elf_Data *text_named(struct cubin *cubin, const char *wanted) {
    const char *name;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(cubin->elf, section)) != NULL;) {
        Elf_Data *data = text_of(cubin, section, &name);
        if (data != NULL && strcmp(name, wanted) == 0) return data;
    }
    return NULL;
}

static int compare(struct cubin *a, struct cubin *b, int *sections) {
    const char *name;
    int different = 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(a->elf, section)) != NULL;) {
        Elf_Data *data = text_of(a, section, &name), *other = data == NULL ? NULL : text_named(b, name);
        if (data == NULL) continue;
        int same = other != NULL && other->d_size == data->d_size && memcmp(other->d_buf, data->d_buf, data->d_size) == 0;
        printf("%s: %zu bytes, %s\n", name, data->d_size, same ? "the same" : "different");
        different |= !same;
        (*sections)++;
    }
    return different;
}

int main(int argc, char **argv) {
    struct cubin a, b;
    int in_a = 0, in_b = 0;
    if (argc != 3 || elf_version(EV_CURRENT) == EV_NONE || open_cubin(&a, argv[1]) != 0 || open_cubin(&b, argv[2]) != 0) {
        fprintf(stderr, "usage: compare_text CUBIN CUBIN\n");
        return 2;
    }
    int different = compare(&a, &b, &in_a) | compare(&b, &a, &in_b);
    elf_end(a.elf);
    elf_end(b.elf);
    close(a.file);
    close(b.file);
    return different || in_a == 0 || in_a != in_b;
}
