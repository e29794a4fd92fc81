# SPDX-License-Identifier: Apache-2.0
"""The guest's end of vm.agent: a small program that comes by credential, so that the image stays as it was built.

The virtio-serial port `PORT` takes JSON lines {id, argv, stdin, timeout} and answers {id, status, out, err}; `status`
is null where the time was over. {id, words, user, timeout} asks the one `millrace answer` that is kept for all of a
user's, as the web pages do: emulated, Python takes seconds to start. A fresh agent says {"hello": boot id}.
"""

import base64

PORT = "millrace.test"
# Not millrace-*: the shared sandbox of units of that name would hide mounts from what the stories ask.
UNIT = "test-agent.service"

PROGRAM = f"""
import json, os, queue, signal, subprocess, threading, time
lock, programs_lock, programs = threading.Lock(), threading.Lock(), dict()
def send(fd, answer):
    data = (json.dumps(answer) + "\\n").encode()
    with lock:
        while data:
            data = data[os.write(fd, data):]
def read_replies(answers, waiting):
    for line in answers:
        answer = json.loads(line)
        waiting.pop(answer["id"]).put(answer)
    with programs_lock:
        for replies in waiting.values():
            replies.put(dict(status=127, out="", err="millrace answer ended"))
        waiting.clear()
def write_request(program, request):
    program.stdin.write((json.dumps(request) + "\\n").encode())
    program.stdin.flush()
def start(user):
    program = subprocess.Popen(["setpriv", "--reuid", user, "--regid", user, "--init-groups", "millrace", "answer"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    waiting = dict()
    threading.Thread(target=read_replies, args=(program.stdout, waiting), daemon=True).start()
    return program, waiting
def run_millrace(request, answer):
    number, user, answers = request["id"], request["user"], queue.SimpleQueue()
    with programs_lock:
        if user not in programs or programs[user][0].poll() is not None:
            programs[user] = start(user)
        program, waiting = programs[user]
        waiting[number] = answers
        write_request(program, dict(id=number, words=request["words"]))
    try:
        reply = answers.get(timeout=request["timeout"])
        ended = reply["status"]
        answer["status"] = -getattr(signal, "SIG" + reply["signal"]) if ended is None else ended
    except queue.Empty:
        with programs_lock:
            write_request(program, dict(stop=number))
        reply = answers.get()
    answer.update(out=reply["out"], err=reply["err"])
def run(request, answer):
    child = subprocess.Popen(request["argv"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             start_new_session=True)
    try:
        out, err = child.communicate(request["stdin"].encode("utf-8", "surrogateescape"), request["timeout"])
        answer["status"] = child.returncode
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate()
    answer["out"] = out.decode("utf-8", "surrogateescape")
    answer["err"] = err.decode("utf-8", "surrogateescape")
def serve(fd, request):
    answer = dict(id=request["id"], status=None, out="", err="")
    try:
        (run_millrace if "words" in request else run)(request, answer)
    except Exception as error:
        answer.update(status=127, err=str(error))
    send(fd, answer)
while True:
    try:
        fd = os.open("/dev/virtio-ports/{PORT}", os.O_RDWR)
        break
    except OSError:
        time.sleep(0.2)
send(fd, dict(hello=open("/proc/sys/kernel/random/boot_id").read().strip()))
rest = b""
while True:
    chunk = os.read(fd, 65536)
    if not chunk:
        rest = b""
        time.sleep(0.2)
        continue
    *lines, rest = (rest + chunk).split(b"\\n")
    for line in lines:
        threading.Thread(target=serve, args=(fd, json.loads(line)), daemon=True).start()
"""


def unit() -> bytes:
    """Return the agent's unit; it waits for nothing, so that a boot that hangs can be looked into."""
    program = base64.b64encode(PROGRAM.encode()).decode()
    return f"""[Unit]
Description=Commands of the test harness
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target
[Service]
ExecStart=/usr/bin/python3 -c "exec(__import__('base64').b64decode('{program}'))"
Restart=always
KillMode=process
""".encode()


def credentials() -> dict[str, bytes]:
    """Return the credential that puts the agent into the guest."""
    return {f"systemd.extra-unit.{UNIT}": unit()}


def cmdline() -> list[str]:
    """Return the kernel arguments that start the agent (not in the initrd, which has no Python).

    A guest that hangs is sent an interrupt that nothing expects (vm.machine): the kernel says then what hangs.
    """
    return [f"systemd.wants={UNIT}", "unknown_nmi_panic", "sysctl.kernel.panic_sys_info=all_bt,blocked_tasks"]
