/* mover HOW SECONDS READY MARK [hang]: starts what leaves the tree of this process, makes the file READY once that stands,
   and exits with 7, or hangs. Everything ends by itself after so many seconds.

   move    forks, takes a session of its own and exits, again and again: two chains of it. Each makes the file anew from time
           to time, since a chain is never there for long enough to be seen for certain
   parent  the same by CLONE_PARENT, so that each one is a child of the process that started this one
   stay    by CLONE_PARENT into a session of its own, and stays there
   deep    twelve generations, each in a session of its own, all of which stay */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static time_t end;

static int has_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec < end;
}

static void rest(void) {
    while (has_time()) usleep(1000);
    _exit(0);
}

static void touch(const char *path) {
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

static void be_quiet(void) {
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0), dup2(null, 1), dup2(null, 2);
}

/* clone(2) takes its arguments in another order on some processors; here all but the first are 0. The sandbox refuses
   CLONE_PARENT; what leaves the tree there is an orphan instead. */
static long start(int as_sibling) {
    long child = as_sibling ? syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) : -1;
    return child < 0 ? fork() : child;
}

static void move(int as_sibling, const char *ready) {
    for (int moves = 0; has_time(); moves++) {
        setsid();
        if (moves % 20 == 19) touch(ready);
        long child = start(as_sibling);
        if (child != 0) _exit(child < 0);
    }
    _exit(0);
}

int main(int count, char **words) {
    const char *how = words[1], *ready = words[3];
    int as_sibling = !strcmp(how, "parent") || !strcmp(how, "stay");
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    end = now.tv_sec + atoi(words[2]);
    signal(SIGTERM, SIG_IGN);
    for (int chains = !strcmp(how, "stay") || !strcmp(how, "deep") ? 1 : 2; chains > 0; chains--) {
        if (start(as_sibling) != 0) continue;
        be_quiet();
        if (!strcmp(how, "move") || !strcmp(how, "parent")) move(as_sibling, ready);
        for (int generation = !strcmp(how, "deep") ? 12 : 0; generation > 0; generation--) {
            setsid();
            if (fork() != 0) rest();
        }
        setsid();
        touch(ready);
        rest();
    }
    while (access(ready, F_OK) != 0 && has_time()) usleep(1000);
    if (count > 5) rest();
    return 7;
}
