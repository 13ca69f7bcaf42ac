/* Preloaded into every process of a daemon: fails the n-th file operation of a kind below a folder, and records what is
   synced, for simulated power cuts. Linux only; built and loaded by file_faults.py, which describes the shared state.

   HUNCHD_FAULTS_ROOT: only files below it count.  HUNCHD_FAULTS_STATE: file with the counters, shared by all processes.
   HUNCHD_FAULTS_LOG: file that the record is appended to.  HUNCHD_FAULTS_SHADOW: folder for links to replaced files. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE, SYNC, RENAME, OPEN, KINDS };
struct state { long counted[KINDS]; long fail_at[KINDS]; long failed; long error; long lasting; long links; };
static struct state *state;
static const char *root, *shadow;
static int record = -1;
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    root = getenv("HUNCHD_FAULTS_ROOT");
    shadow = getenv("HUNCHD_FAULTS_SHADOW");
    const char *path = getenv("HUNCHD_FAULTS_STATE"), *log = getenv("HUNCHD_FAULTS_LOG");
    int file = path ? REAL(open)(path, O_RDWR | O_CLOEXEC) : -1;
    if (root && file >= 0) {
        void *map = mmap(NULL, sizeof(struct state), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (map != MAP_FAILED) state = map;
        close(file);
    }
    if (state && log) record = REAL(open)(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static int is_ours(const char *path) { return state && path && strncmp(path, root, strlen(root)) == 0; }

static int name_of(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = state ? readlink(link, path, PATH_MAX - 1) : -1;
    if (size < 0) return 0;
    path[size] = 0;
    return is_ours(path);
}

static int fails(int kind) {
    long number = __sync_add_and_fetch(&state->counted[kind], 1), at = state->fail_at[kind];
    if (!at || (state->lasting ? number < at : number != at)) return 0;
    __sync_add_and_fetch(&state->failed, 1);
    errno = (int)state->error;
    return 1;
}

static void note(const char *what, const char *one, const char *other, long size) {
    if (record < 0) return;
    char line[2 * PATH_MAX + 64];
    int saved = errno, length = snprintf(line, sizeof line, "%s\t%ld\t%s\t%s\n", what, size, one, other ? other : "");
    if (REAL(write)(record, line, length) < 0) abort();
    errno = saved;
}

/* Keep a second name for a file that is about to lose its own. */
static void keep(const char *path) {
    struct stat status;
    char link_path[PATH_MAX];
    if (record < 0 || !shadow || lstat(path, &status) || !S_ISREG(status.st_mode)) return;
    snprintf(link_path, sizeof link_path, "%s/%ld", shadow, __sync_add_and_fetch(&state->links, 1));
    if (REAL(link)(path, link_path) == 0) note("gone", path, link_path, status.st_size);
}

static int synced(int file, int result) {
    char path[PATH_MAX];
    struct stat status;
    if (result == 0 && name_of(file, path) && fstat(file, &status) == 0)
        note(S_ISDIR(status.st_mode) ? "folder" : "sync", path, NULL, status.st_size);
    return result;
}

int fsync(int file) {
    char path[PATH_MAX];
    if (name_of(file, path) && fails(SYNC)) return -1;
    return synced(file, REAL(fsync)(file));
}

int fdatasync(int file) {
    char path[PATH_MAX];
    if (name_of(file, path) && fails(SYNC)) return -1;
    return synced(file, REAL(fdatasync)(file));
}

/* A disk that fails has often taken a part. */
ssize_t write(int file, const void *content, size_t size) {
    char path[PATH_MAX];
    if (name_of(file, path) && fails(WRITE)) {
        int error = errno;
        if (size > 1 && REAL(write)(file, content, size / 2) < 0) error = errno;
        errno = error;
        return -1;
    }
    return REAL(write)(file, content, size);
}

#define PWRITE(name, offset_type)                                                  \
    ssize_t name(int file, const void *content, size_t size, offset_type offset) { \
        char path[PATH_MAX];                                                       \
        if (name_of(file, path) && fails(WRITE)) return -1;                        \
        return REAL(name)(file, content, size, offset);                            \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int file, const struct iovec *parts, int count) {
    char path[PATH_MAX];
    if (name_of(file, path) && fails(WRITE)) return -1;
    return REAL(writev)(file, parts, count);
}

int rename(const char *old, const char *new) {
    if (!is_ours(new)) return REAL(rename)(old, new);
    if (fails(RENAME)) return -1;
    keep(new);
    int result = REAL(rename)(old, new);
    if (result == 0) note("rename", old, new, 0);
    return result;
}

int renameat2(int from, const char *old, int to, const char *new, unsigned int flags) {
    if (!is_ours(new)) return REAL(renameat2)(from, old, to, new, flags);
    if (fails(RENAME)) return -1;
    if (!flags) keep(new);
    int result = REAL(renameat2)(from, old, to, new, flags);
    if (result == 0) note("rename", old, new, 0);
    return result;
}

int link(const char *old, const char *new) {
    if (is_ours(new) && fails(RENAME)) return -1;
    int result = REAL(link)(old, new);
    if (result == 0 && is_ours(new)) note("rename", "", new, 0);
    return result;
}

int unlink(const char *path) {
    if (is_ours(path)) keep(path);
    return REAL(unlink)(path);
}

#define OPEN_AT(name)                                                                                    \
    int name(int folder, const char *path, int flags, ...) {                                             \
        va_list rest;                                                                                    \
        va_start(rest, flags);                                                                           \
        int mode = (flags & O_CREAT) ? va_arg(rest, int) : 0, is_new = 0;                                \
        va_end(rest);                                                                                    \
        if ((flags & O_CREAT) && is_ours(path)) {                                                        \
            if (fails(OPEN)) return -1;                                                                  \
            is_new = access(path, F_OK) != 0;                                                            \
        }                                                                                                \
        int file = REAL(name)(folder, path, flags, mode);                                                \
        if (is_new && file >= 0) note("new", path, NULL, 0);                                             \
        return file;                                                                                     \
    }
OPEN_AT(openat)
OPEN_AT(openat64)

#define OPEN_PATH(name)                                                                                  \
    int name(const char *path, int flags, ...) {                                                         \
        va_list rest;                                                                                    \
        va_start(rest, flags);                                                                           \
        int mode = (flags & O_CREAT) ? va_arg(rest, int) : 0, is_new = 0;                                \
        va_end(rest);                                                                                    \
        if ((flags & O_CREAT) && is_ours(path)) {                                                        \
            if (fails(OPEN)) return -1;                                                                  \
            is_new = access(path, F_OK) != 0;                                                            \
        }                                                                                                \
        int file = REAL(name)(path, flags, mode);                                                        \
        if (is_new && file >= 0) note("new", path, NULL, 0);                                             \
        return file;                                                                                     \
    }
OPEN_PATH(open)
OPEN_PATH(open64)
