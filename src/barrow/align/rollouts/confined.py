"""Runs a Python file with limits: a script of its own, with nothing of barrow loaded.

No network, no writing outside of its folder, limits of processor time, memory, file sizes and
processes; when it ends, so does everything that it started. Linux only. This is no security border:
the file may read what its user may read, and the kernel is shared.

On SIGTERM it ends with all that it started.

Usage: confined.py FOLDER FILE SECONDS BYTES PROCESSES
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

# Exit codes of our own; 0 is that of a file that ended well.
UNABLE, FAILED = 97, 1
_NEW_USER, _NEW_NETWORK, _NEW_PROCESSES = 0x10000000, 0x40000000, 0x20000000
_CREATE_RULESET, _ADD_RULE, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVILEGES, _PATH_BENEATH = 38, 1
_KEEP_CAPABILITIES, _AMBIENT, _RAISE = 8, 47, 2
_CAPABILITY_VERSION, _READ_ALL = 0x20080522, 2
# Landlock's rights that change files, as its first three versions have them.
_WRITES = [1, *range(4, 15)]
_libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64),)


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _checked(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def _alone() -> None:
    """No network; processes are seen, and end, together."""
    user, group = os.getuid(), os.getgid()
    flags = _NEW_NETWORK | _NEW_PROCESSES | (_NEW_USER if user else 0)
    _checked(_libc.unshare(flags), "namespaces")
    if not user:
        return
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        Path("/proc/self", name).write_text(text)


def _write_only_in(folder: str) -> None:
    """Files are changed in one folder only (Landlock)."""
    version = _checked(_libc.syscall(_CREATE_RULESET, None, 0, 1), "Landlock")
    rights = [bit for bit in _WRITES if bit < (13 if version < 2 else 14 if version < 3 else 15)]
    writes = sum(1 << bit for bit in rights)
    ruleset = _Ruleset(writes)
    size = ctypes.sizeof(ruleset)
    rules = _checked(_libc.syscall(_CREATE_RULESET, ctypes.byref(ruleset), size, 0), "Landlock")
    of_files = (1 << 1) | (1 << 14 if 14 in rights else 0)
    for path, allowed in ((folder, writes), ("/dev/null", of_files)):
        rule = _Beneath(allowed, os.open(path, os.O_PATH | os.O_CLOEXEC))
        found = _libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(rule), 0)
        _checked(found, "Landlock")
    _checked(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
    _checked(_libc.syscall(_RESTRICT, rules, 0), "Landlock")


class _Who(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _May(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint32) for name in ("effective", "permitted", "inherited"))


def _become_nobody(folder: str) -> None:
    """Of root: a user of its own, who may read files but is bound by limits of processes."""
    user = 60_000 + os.getppid() % 5_000
    for path in (folder, *(str(one) for one in Path(folder).iterdir())):
        os.chown(path, user, user)
    _checked(_libc.prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0), "prctl")
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    bit = 1 << _READ_ALL
    may = (_May * 2)(_May(bit, bit, bit), _May(0, 0, 0))
    who = _Who(_CAPABILITY_VERSION, 0)
    _checked(_libc.capset(ctypes.byref(who), ctypes.byref(may)), "capabilities")
    _checked(_libc.prctl(_AMBIENT, _RAISE, _READ_ALL, 0, 0), "capabilities")


def main(folder: str, file: str, seconds: str, most_bytes: str, processes: str) -> int:
    """Run it; its exit code, FAILED for a signal, UNABLE where the limits cannot be set."""
    try:
        _alone()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        # Processes from here on are in the new namespace; the first ends all others with it.
        child = os.fork()
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return UNABLE
    if child:
        # The kernel ends the others before it reports the first: nothing is left after this.
        signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code if code >= 0 else FAILED
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        limits = {
            resource.RLIMIT_CPU: int(float(seconds)) + 1,
            resource.RLIMIT_AS: int(most_bytes),
            resource.RLIMIT_FSIZE: int(most_bytes),
            resource.RLIMIT_NPROC: int(processes),
            resource.RLIMIT_NOFILE: 64,
            resource.RLIMIT_CORE: 0,
        }
        if os.getuid() == 0:
            _become_nobody(folder)
        _write_only_in(folder)
        for kind, most in limits.items():
            resource.setrlimit(kind, (most, most))
        os.chdir(folder)
        os.environ.clear()
        os.execv(sys.executable, [sys.executable, "-I", file])  # noqa: S606 - that is its purpose
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        os._exit(UNABLE)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
