"""Stands between the program and one command, and ends the whole family of processes, also when we are killed.

Run as a script by any Python 3.9 or newer, standard library only:
    python -I -S supervisor.py PARENT_PID MEMORY_LIMIT_BYTES REPORT_FILE -- command …
It starts the command, takes in orphans (Linux), and kills every descendant when the command ends, when the memory of
the family passes the limit (0: none), on SIGTERM, and when the parent is gone. It ends as the command ended, and
writes {"peak_bytes", "ended", "signal", "oom_kills"} to REPORT_FILE ("-": nowhere).
"""

import os
import select
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
TICK_S = 0.1


def main(argv):
    parent, limit, report = int(argv[1]), int(argv[2]), argv[3]
    command = argv[5:]
    _adopt_orphans()
    asked = []
    signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)  # so that the end of the command is noticed at once, without spinning
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    kills_before = _oom_kills()
    child = os.spawnve(os.P_NOWAIT, command[0], command, os.environ)
    peak, ended, status = 0, "exited", None
    looked = 0.0
    while status is None:
        done, code = os.waitpid(-1, os.WNOHANG)
        if done == child:
            status = code
            break
        if done:
            continue  # an orphan that came to us and ended
        if asked:
            ended = "asked"
        elif os.getppid() != parent:
            ended = "parent_gone"
        elif time.monotonic() - looked > TICK_S:
            looked = time.monotonic()
            used = sum(_anonymous_bytes(pid) for pid in [child, *_descendants(os.getpid())])
            peak = max(peak, used)
            if limit and used > limit:
                ended = "memory_limit"
        if ended != "exited":
            break
        if select.select([wake], [], [], TICK_S / 2)[0]:
            os.read(wake, 512)
    if status is None:
        # Looked up while the family still hangs together: where orphans do not come to us they could not be found later.
        below = _descendants(os.getpid())
        for pid in [child, *below]:
            _kill(pid)
    _end_family(child)
    if status is None:
        try:
            _, status = os.waitpid(child, 0)
        except ChildProcessError:
            status = 0
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if report != "-" and ended != "parent_gone":
        _report(report, peak, ended, number, _oom_kills() - kills_before)
    if number and ended == "exited":
        _die_of(number)
    sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 137)


def _adopt_orphans():
    if sys.platform.startswith("linux"):
        try:
            import ctypes

            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        except (ImportError, OSError, AttributeError):
            return  # orphans then go to init: only a grandchild that left our group could stay


def _end_family(child):
    """Kills what is left below us until nothing is: a killed parent's children come to us and are seen next time."""
    until = time.monotonic() + 3.0
    while time.monotonic() < until:
        left = [pid for pid in _descendants(os.getpid()) if pid != child]
        if not left:
            return
        for pid in left:
            _kill(pid)
        for pid in left:
            try:
                os.waitpid(pid, os.WNOHANG)
            except (ChildProcessError, PermissionError):
                continue
        time.sleep(0.005)


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _descendants(root):
    """Process ids below ROOT."""
    if not sys.platform.startswith("linux"):
        return _descendants_by_ps(root)
    try:
        with open("/proc/%d/task/%d/children" % (root, root)) as stream:
            found = [int(word) for word in stream.read().split()]
    except (OSError, ValueError):
        return []
    below = []
    for pid in found:
        below.append(pid)
        try:
            tasks = os.listdir("/proc/%d/task" % pid)
        except OSError:
            continue
        for task in tasks:
            try:
                with open("/proc/%d/task/%s/children" % (pid, task)) as stream:
                    words = stream.read().split()
            except OSError:
                continue
            for word in words:
                below += [int(word), *_descendants(int(word))]
    return list(dict.fromkeys(below))


def _descendants_by_ps(root):
    """The same from `ps`, where there is no /proc (macOS)."""
    read, write = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_CLOSE, read)]
    try:
        lister = os.posix_spawn("/bin/ps", ["ps", "-axo", "pid=,ppid="], os.environ, file_actions=actions)
    except OSError:
        os.close(read)
        os.close(write)
        return []
    os.close(write)
    with os.fdopen(read) as stream:
        pairs = [line.split() for line in stream]
    os.waitpid(lister, 0)
    children = {}
    for pair in pairs:
        if len(pair) == 2 and int(pair[0]) != lister:
            children.setdefault(int(pair[1]), []).append(int(pair[0]))
    below, stack = [], [root]
    while stack:
        for pid in children.get(stack.pop(), ()):
            below.append(pid)
            stack.append(pid)
    return below


def _anonymous_bytes(pid):
    """Memory that PID holds for itself, shared memory included, mapped files not."""
    total = 0
    try:
        with open("/proc/%d/status" % pid) as stream:
            for line in stream:
                if line.startswith(("RssAnon:", "RssShmem:")):
                    total += int(line.split()[1]) * 1024
                elif line.startswith("State:") and "Z" in line.split()[1]:
                    return 0
    except (OSError, ValueError, IndexError):
        return 0
    return total


def _oom_kills():
    try:
        with open("/proc/vmstat") as stream:
            for line in stream:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    except (OSError, ValueError):
        return 0
    return 0


def _report(path, peak, ended, number, kills):
    try:
        name = signal.Signals(number).name if number else None
    except ValueError:
        name = "signal %d" % number
    text = '{"peak_bytes": %d, "ended": "%s", "signal": %s, "oom_kills": %d}' % (
        peak, ended, '"%s"' % name if name else "null", kills,
    )  # fmt: skip
    with open(path, "w") as stream:
        stream.write(text)


def _die_of(number):
    """End by the same signal as the command, without a core file of our own."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        pass
    signal.signal(number, signal.SIG_DFL) if number not in (signal.SIGKILL, signal.SIGSTOP) else None
    os.kill(os.getpid(), number)
    time.sleep(1)
    sys.exit(128 + number)


if __name__ == "__main__":
    main(sys.argv)
