/* mover HOW SECONDS READY MARK [hang]: starts what leaves the tree of this process, makes the file READY once that stands,
   and exits with 7, or hangs. Everything ends by itself after so many seconds.

   move    forks, takes a session of its own and exits, again and again: two chains of it. Each makes the file anew from time
           to time, since a chain is never there for long enough to be seen for certain
   parent  the same by CLONE_PARENT, so that each one is a child of the process that started this one
   stay    by CLONE_PARENT into a session of its own, and stays there
   deep    twelve generations, each in a session of its own, all of which stay
   trace   another process traces this one, in a session of its own, and takes no notice of what it is told. More words, joined by
           `+`, say how:
             exit    it is told of the exit, which waits for it then, even after SIGKILL (PTRACE_O_TRACEEXIT); where that is
                     refused it is not
             attach  it attaches to this process instead of seizing it
             parent  it is a child of the process that started this one (CLONE_PARENT)
             orphan  its own parent has ended
             vfork   it was started by vfork(2), and has executed this program
             thread  a thread traces, and not the first one
             second  it traces the second thread of this process alone
             child   it traces a child of this process
             self    nobody else: the parent of this process becomes its tracer (PTRACE_TRACEME)
             chain   another process is told of its own exit in the same way. No two may trace each other: nobody could end
                     them */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

static const char *how, *ready;
static pid_t traced, second;

static int is(const char *word) {
    return strstr(how, word) != 0;
}

static void be_told(pid_t whom) {
    prctl(PR_SET_PTRACER, -1, 0, 0, 0);
    if (is("attach")) {
        ptrace(PTRACE_ATTACH, whom, 0, 0);
        waitpid(whom, 0, __WALL);
        ptrace(PTRACE_CONT, whom, 0, 0);
    } else if (!is("exit") || ptrace(PTRACE_SEIZE, whom, 0, PTRACE_O_TRACEEXIT) != 0) {
        ptrace(PTRACE_SEIZE, whom, 0, 0);
    }
}

static void *be_tracer(void *none) {
    be_told(traced);
    touch(ready);
    rest();
    return none;
}

static void *be_second(void *none) {
    second = syscall(SYS_gettid);
    rest();
    return none;
}

/* Traces until the end. */
static void trace(void) {
    pthread_t thread;
    int told[2];
    setsid();
    be_quiet();
    if (is("chain") && pipe(told) == 0) {
        pid_t tracer = getpid();
        prctl(PR_SET_PTRACER, -1, 0, 0, 0);
        if (fork() == 0) {
            setsid();
            be_told(tracer);
            write(told[1], "", 1);
            rest();
        }
        read(told[0], told, 1);
    }
    if (is("thread") && pthread_create(&thread, 0, be_tracer, 0) == 0) rest();
    be_tracer(0);
}

static void be_traced(char **words) {
    pthread_t thread;
    char number[16];
    sigset_t child;
    prctl(PR_SET_PTRACER, -1, 0, 0, 0);
    /* A traced process would stop at the signal of the child that ends here, and its tracer would never let it go on. */
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    if (is("orphan")) sigprocmask(SIG_BLOCK, &child, 0);
    if (is("self")) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        touch(ready);
        return;
    }
    traced = getpid();
    if (is("second") && pthread_create(&thread, 0, be_second, 0) == 0) {
        while (second == 0) usleep(1000);
        traced = second;
    }
    if (is("child") && (traced = fork()) == 0) {
        prctl(PR_SET_PTRACER, -1, 0, 0, 0);
        be_quiet();
        rest();
    }
    if (is("vfork")) {
        snprintf(number, sizeof number, "%d", traced);
        if (vfork() == 0) {
            execl("/proc/self/exe", "mover", how, words[2], ready, words[4], "as", number, (char *)0);
            _exit(1);
        }
    } else if (start(is("parent")) == 0) {
        if (is("orphan") && fork() != 0) _exit(0);
        trace();
    }
}

int main(int count, char **words) {
    how = words[1], ready = words[3];
    int as_sibling = !strcmp(how, "parent") || !strcmp(how, "stay");
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    end = now.tv_sec + atoi(words[2]);
    signal(SIGTERM, SIG_IGN);
    if (count > 6) {
        traced = atoi(words[6]);
        trace();
    }
    if (is("trace")) be_traced(words);
    for (int chains = is("trace") ? 0 : !strcmp(how, "stay") || !strcmp(how, "deep") ? 1 : 2; chains > 0; chains--) {
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
