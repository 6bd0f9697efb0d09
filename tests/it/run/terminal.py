"""Runs lines on a pseudoterminal, and compares their statuses and what they print."""
import os, pty, select, sys, time

PROGRAM = sys.argv[1]


def run(arguments, prompt, typed):
    pid, terminal = pty.fork()
    if pid == 0:
        for name in [name for name in os.environ if name.startswith("ALLOW")]:
            del os.environ[name]
        os.execv(PROGRAM, [PROGRAM, "run"] + arguments)
    printed, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if prompt is not None and prompt in printed:
            os.write(terminal, typed)
            prompt = None
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                break
            if not piece:
                break
            printed += piece
    ended, status = os.waitpid(pid, os.WNOHANG)
    deadline = time.monotonic() + 10
    while not ended and time.monotonic() < deadline:
        time.sleep(0.02)
        ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        return "hung", printed
    return os.waitstatus_to_exitcode(status), printed


READ = ["--allow", "sh,cat,wc,sleep,echo", "--"]
CASES = [
    (READ + ["sh -c 'echo ready; read x; echo got $x'"], b"ready", b"line\n", 0, b"got line"),
    (READ + ["sh -c 'echo ready; cat' | wc -l"], b"", b"one\n\x04", 0, b"2"),
    (["--ask", "echo", "--", "echo approved"], b"[y/N]", b"y\n", 0, b"\napproved"),
    (["--ask", "echo", "--", "echo approved"], b"[y/N]", b"n\n", 126, b"not approved"),
    (["--ask", "echo", "--", "echo a; echo b"], b"[y/N]", b"y\n", 0, b"a\r\nb"),
    (READ + ["sh -c 'echo ready; sleep 60'; echo after"], b"ready", b"\x03", 130, b"ready"),
]
for arguments, prompt, typed, status, expected in CASES:
    found, printed = run(arguments, prompt, typed)
    if found != status or expected not in printed.replace(b"\r\n", b"\r\n") or b"after" in printed:
        sys.exit(f"{arguments}: status {found}, expected {status}; printed {printed!r}, expected {expected!r} in it")
