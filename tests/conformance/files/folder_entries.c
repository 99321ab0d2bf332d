// A folder lists exactly the files that were made in it, each once.
#include <dirent.h>
#include <fcntl.h>

#include "check.h"

enum { files = 40 };

int main(void) {
    char folder[256];
    snprintf(folder, sizeof folder, "%s/folderXXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CHECK(mkdtemp(folder));
    const int where = CALL(open(folder, O_RDONLY | O_DIRECTORY));
    char name[16];
    for (int i = 0; i < files; ++i) {
        snprintf(name, sizeof name, "f%d", i);
        CALL(close(CALL(openat(where, name, O_CREAT | O_EXCL | O_WRONLY, 0600))));
    }
    for (int round = 0; round < 40; ++round) {
        int seen[files] = {0};
        DIR* list = opendir(folder);
        CHECK(list);
        for (struct dirent* entry; (entry = readdir(list));) {
            if (entry->d_name[0] == '.') continue;
            const int i = atoi(entry->d_name + 1);
            CHECK(entry->d_name[0] == 'f' && i >= 0 && i < files && !seen[i]);
            seen[i] = 1;
        }
        for (int i = 0; i < files; ++i) CHECK(seen[i]);
        closedir(list);
        spin(100000);
    }
    for (int i = 0; i < files; ++i) {
        snprintf(name, sizeof name, "f%d", i);
        CALL(unlinkat(where, name, 0));
    }
    CALL(rmdir(folder));
    CHECK(openat(where, "new", O_CREAT | O_WRONLY, 0600) == -1 && errno == ENOENT);
    puts("ok");
}
