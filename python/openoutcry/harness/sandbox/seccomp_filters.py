"""System call filters for Python agents and for foreign commands.

The Python worker is known code, so its filter is an allow list; every other call is refused (`EPERM`). A foreign
command may be a Go, Node or Java program that uses threads, forks and compiles at run time: an allow list for all of
them would contain nearly every call and still break the next program. Its filter is a deny list of calls that reach
outside the sandbox. Calls newer than the tables return `ENOSYS`, so that a newer kernel opens no gap.
"""

from __future__ import annotations

from openoutcry.harness.sandbox.bpf_assembler import (
    ALLOW,
    ENOSYS,
    ENOTSUP,
    ENOTTY,
    EPERM,
    Clause,
    Low,
    Null,
    OwnPid,
    Program,
    Rule,
    assemble,
)
from openoutcry.harness.sandbox.syscall_numbers import LAST

_UNIX, _INET, _INET6, _STREAM, _DATAGRAM, _TCP, _UDP = 1, 2, 10, 1, 2, 6, 17
_WRITE, _EXECUTE, _ANONYMOUS = 2, 4, 0x20
# Flags of `clone`: those that create a namespace, and `CLONE_PARENT`, which would create a child of the harness.
_NEW_NAMESPACE, _CHILD_OF_PARENT = 0x7E020000, 0x8000
_SCOPED_ABI = 6
"""Landlock version from which on signals and abstract sockets are scoped."""

_GRANTED = Rule(ALLOW)
_DENIED = Rule(EPERM)

_WORKER = """
    access alarm brk clock_getres clock_gettime clock_nanosleep close close_range dup dup2 dup3 epoll_create1 epoll_ctl
    epoll_pwait epoll_wait eventfd2 exit exit_group faccessat faccessat2 fadvise64 fstat fstatfs futex getcpu getcwd
    getdents64 getegid geteuid getgid getitimer getpgrp getpgid getpid getppid getrandom getresgid getresuid getrlimit
    getrusage getsid gettid gettimeofday getuid lseek lstat madvise membarrier mremap munmap nanosleep newfstatat open
    openat pipe2 poll ppoll pread64 pselect6 read readlink readlinkat readv restart_syscall rseq rt_sigaction
    rt_sigprocmask rt_sigreturn sched_getaffinity sched_yield select set_robust_list setitimer sigaltstack stat statx
    sysinfo time times uname write writev
"""

_NETWORK = """
    connect getpeername getsockname getsockopt recvfrom recvmmsg recvmsg sendmmsg sendmsg sendto setsockopt shutdown
"""

# Calls that a command is refused, grouped by what they reach.
_REACHES_OUT = """
    bind listen accept accept4

    ptrace process_vm_readv process_vm_writev process_madvise process_mrelease pidfd_getfd kcmp perf_event_open
    sched_setparam sched_setscheduler sched_setattr setpriority ioprio_set move_pages migrate_pages
    setsid setpgid

    shmget shmat shmctl shmdt msgget msgsnd msgrcv msgctl semget semop semtimedop semctl
    mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
    add_key request_key keyctl

    chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat
    setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr sync syncfs quotactl quotactl_fd
    inotify_init inotify_init1 fanotify_init fanotify_mark name_to_handle_at open_by_handle_at

    unshare setns mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick open_tree move_mount mount_setattr
    bpf userfaultfd io_uring_setup io_uring_enter io_uring_register
    init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct syslog
    settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname vhangup
    iopl ioperm modify_ldt uselib ustat sysfs lookup_dcookie
    setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset
"""

# Where Landlock does not restrict them: what a limit of 0 bytes per file leaves to an agent.
_CHANGES_FOLDERS = """
    unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir symlink symlinkat link linkat mknod mknodat truncate
"""


def worker_filter(machine: str, *, allow_net: bool) -> Program:
    """Return the filter of the Python worker.

    It allows no new process, thread, socket or executable memory.
    """
    rules = dict.fromkeys(_WORKER.split(), _GRANTED)
    rules["mmap"] = Rule(ALLOW, _NO_NEW_CODE)
    rules["mprotect"] = Rule(EPERM, [([Low(2, 0, _EXECUTE)], ALLOW)])
    rules["fcntl"] = _one_of(1, (0, 1, 2, 3, 4, 5, 1030, 1032))
    # Terminal attributes and size, bytes to read, close-on-exec, non-blocking.
    rules["ioctl"] = _one_of(1, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451))
    # Names of a thread and of a memory mapping.
    rules["prctl"] = _one_of(0, (15, 16, 0x53564D41))
    rules["prlimit64"] = Rule(EPERM, [([Low(0, 0), Null(2)], ALLOW)])
    rules["tgkill"] = _OWN
    if allow_net:
        rules |= dict.fromkeys(_NETWORK.split(), _GRANTED) | {"socket": Rule(EPERM, _INTERNET)}
    return assemble(machine, rules, EPERM)


def command_filter(machine: str, *, allow_net: bool, landlock_abi: int) -> Program:
    """Return the filter of a foreign command.

    It allows threads, forks, programs and generated code, but no access outside the sandbox. Without Landlock, version
    0, it also denies changes of folders.
    """
    rules = dict.fromkeys(_REACHES_OUT.split(), _DENIED)
    if not landlock_abi:
        rules |= dict.fromkeys(_CHANGES_FOLDERS.split(), _DENIED)
    rules["socket"] = Rule(EPERM, _INTERNET if allow_net else ())
    # A pair of stream sockets is a pipe; a datagram socket of a pair can send to other sockets.
    rules["socketpair"] = Rule(EPERM, [([Low(0, _UNIX), Low(1, _STREAM, 0xF)], ALLOW)])
    rules["clone"] = Rule(EPERM, [([Low(0, 0, _NEW_NAMESPACE | _CHILD_OF_PARENT)], ALLOW)])
    # Its flags are behind a pointer, which a filter cannot read; on `ENOSYS` programs fall back to `clone`.
    rules["clone3"] = Rule(ENOSYS)
    rules["prlimit64"] = Rule(EPERM, [([Low(0, 0)], ALLOW), ([OwnPid(0)], ALLOW), ([Null(2)], ALLOW)])
    rules["sched_setaffinity"] = Rule(EPERM, [([Low(0, 0)], ALLOW), ([OwnPid(0)], ALLOW)])
    rules["personality"] = Rule(EPERM, [([Low(0, 0)], ALLOW), ([Low(0, 0xFFFFFFFF)], ALLOW)])
    # The parent death signal, and core scheduling.
    rules["prctl"] = _none_of(0, (1, 62))
    rules["fcntl"] = _one_of(1, _DESCRIPTOR)
    # Any socket, also one of a pair, can query network interfaces.
    kinds = (_OF_TERMINALS, _OF_SOCKETS) if allow_net else (_OF_TERMINALS,)
    rules["ioctl"] = Rule(ENOTTY, [*_TERMINAL_CONTROL, *(([Low(1, kind, 0xFF00)], ALLOW) for kind in kinds)])
    # Extended attributes are content of files, and Landlock does not restrict them.
    rules |= dict.fromkeys(("getxattr", "lgetxattr", "listxattr", "llistxattr"), Rule(ENOTSUP))
    # Takes from a limit that the whole machine shares.
    rules["io_setup"] = Rule(ENOSYS)
    if landlock_abi < _SCOPED_ABI:
        rules |= dict.fromkeys(("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"), _OWN)
        rules |= {"tkill": _DENIED, "pidfd_send_signal": _DENIED}
    return assemble(machine, rules, ALLOW, LAST)


_OWN = Rule(EPERM, [([OwnPid(0)], ALLOW)])
# Executable memory must map a file, which no process in the sandbox can write, and must not become writable.
_NO_NEW_CODE: tuple[Clause, ...] = (
    ([Low(2, _EXECUTE | _WRITE, _EXECUTE | _WRITE)], EPERM),
    ([Low(2, _EXECUTE, _EXECUTE), Low(3, _ANONYMOUS, _ANONYMOUS)], EPERM),
)
# Duplicates, flags, locks, pipe sizes, seals and queries; not owners and signals, leases, directory notifications and
# hints, which persist in a file.
_DESCRIPTOR = (*range(8), 9, 11, 16, 36, 37, 38, 1025, 1027, 1028, *range(1030, 1036), 1037)
# Terminal requests include the number of bytes to read. File systems define hundreds of further requests, some of which
# write to a file that is open for reading.
_OF_TERMINALS, _OF_SOCKETS = 0x5400, 0x8900
# Requests that insert input into a terminal or take it over, and owners of sockets.
_TERMINAL_CONTROL: tuple[Clause, ...] = tuple(
    ([Low(1, value)], EPERM) for value in (0x540E, 0x5412, 0x541C, 0x541D, 0x5423, 0x8901, 0x8902)
)
_INTERNET: tuple[Clause, ...] = tuple(
    ([Low(0, family), Low(1, kind, 0xF), Low(2, protocol)], ALLOW)
    for family in (_INET, _INET6)
    for kind, own in ((_STREAM, _TCP), (_DATAGRAM, _UDP))
    for protocol in (0, own)
)


def _one_of(argument: int, values: tuple[int, ...]) -> Rule:
    return Rule(EPERM, [([Low(argument, value)], ALLOW) for value in values])


def _none_of(argument: int, values: tuple[int, ...]) -> Rule:
    return Rule(ALLOW, [([Low(argument, value)], EPERM) for value in values])
