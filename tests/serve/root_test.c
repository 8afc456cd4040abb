// SPDX-License-Identifier: Apache-2.0
// Both ways in which a name is resolved beneath the served folder, in one tree: what each must open and must refuse.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/root.h"

static void write_file(int at, const char *path, const char *text) {
    int fd = openat(at, path, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) abort();
    close(fd);
}

static int opens(const iket_root *root, const char *path, const char *wanted) {
    char text[16] = "";
    int fd = iket_root_open_path(root, path, 0);
    if (fd < 0) return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n == (ssize_t)strlen(wanted) && strcmp(text, wanted) == 0;
}

static int refuses(const iket_root *root, const char *path) {
    int fd = iket_root_open_path(root, path, 0);
    if (fd < 0) return errno != 0;
    close(fd);
    return 0;
}

static int check(const iket_root *root) {
    int bad = 0;
    static const char *const refused[] = {"../outside", "a/../../outside", "a/b/../../../outside", "..", "a/..", "/etc/passwd", "/", "out", "a/out", "up/outside", "loop", "root/etc/passwd", "a//b/c", "a/none", "c/", "c/x"};
    if (!opens(root, "c", "top") || !opens(root, "a/b/c", "deep")) bad = printf("a file is not opened\n");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        // In one step "a/.." stays within, and "a//b/c" is a name: harmless there, and never asked for.
        int harmless = root->in_one_step && (strcmp(refused[i], "a/..") == 0 || strcmp(refused[i], "a//b/c") == 0);
        if (!harmless && !refuses(root, refused[i])) bad = printf("%s is opened\n", refused[i]);
    }
    // A link that stays within is followed by the kernel, and by nobody else.
    if (root->in_one_step ? !opens(root, "in", "top") : !refuses(root, "in")) bad = printf("in: wrong\n");
    int folder = iket_root_open_path(root, "a/b", O_DIRECTORY), top = iket_root_open_path(root, "", O_DIRECTORY), pipe = iket_root_open_path(root, "pipe", 0);
    if (folder < 0 || top < 0 || pipe < 0) bad = printf("a folder or a pipe is not opened\n");
    close(folder);
    close(top);
    close(pipe);
    return bad;
}

int main(void) {
    char scratch[] = "/tmp/iket-root-XXXXXX", served[64];
    if (mkdtemp(scratch) == NULL) return 1;
    snprintf(served, sizeof served, "%s/served", scratch);
    int at = open(scratch, O_RDONLY | O_DIRECTORY), made = mkdir(served, 0700), in = open(served, O_RDONLY | O_DIRECTORY);
    if (at < 0 || made != 0 || in < 0) return 1;
    write_file(at, "outside", "secret");
    if (mkdirat(in, "a", 0700) != 0 || mkdirat(in, "a/b", 0700) != 0 || mkfifoat(in, "pipe", 0600) != 0) return 1;
    write_file(in, "c", "top");
    write_file(in, "a/b/c", "deep");
    static const char *const links[][2] = {{"../outside", "out"}, {"../../outside", "a/out"}, {"..", "up"}, {"loop", "loop"}, {"/", "root"}, {"c", "in"}};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        if (symlinkat(links[i][0], in, links[i][1]) != 0) return 1;
    }
    iket_root root;
    iket_error err;
    if (iket_root_open(&root, served, &err) != 0) return 1;
    int bad = 0;
    if (root.in_one_step) bad |= check(&root);
    root.in_one_step = 0;
    bad |= check(&root);
    iket_root_close(&root);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) unlinkat(in, links[i][1], 0);
    unlinkat(in, "a/b/c", 0);
    unlinkat(in, "a/b", AT_REMOVEDIR);
    unlinkat(in, "a", AT_REMOVEDIR);
    unlinkat(in, "c", 0);
    unlinkat(in, "pipe", 0);
    unlinkat(at, "served", AT_REMOVEDIR);
    unlinkat(at, "outside", 0);
    close(in);
    close(at);
    rmdir(scratch);
    return bad != 0;
}
