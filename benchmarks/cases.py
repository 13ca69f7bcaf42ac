"""Small cases of what must not go wrong, each run against the real daemon and the real commands.

    python -m benchmarks.cases CASES.jsonl [--kind errors_unlike …] [--name PART] [--failed FILE]

A line of CASES is one case: {"kind", "name", "steps", …, "right"}; which fields a kind has is read below. Each case has
a repository and a home of its own; all share one daemon. {S} and {P} in a text become secrets or personal data made at
run time. Prints each case that fails with what was found instead, and how many of each kind passed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from benchmarks.case_steps import Bench, Case, make_personal, make_secret
from tests.daemon.running import running_daemon

NOISE = (  # facts in other scripts, among which one is looked for
    "the mill turns at noon", "la barque part à midi", "der Kran hebt Kisten", "el puente abre temprano",
    "мост открыт утром", "поезд идёт на север", "το πλοίο φεύγει", "السوق مغلق اليوم", "החנות פתוחה", "पुस्तक मेज पर है",
    "河边有一座塔", "駅は静かです", "기차가 늦었다", "ரயில் வந்தது", "రైలు వచ్చింది", "ಬಸ್ ಬಂದಿತು", "બસ આવી",
    "ବସ୍ ଆସିଲା", "ဘတ်စ်ကား", "ඔරලෝසුව",
)  # fmt: skip


def run_fix(case: Case, bench: Bench) -> None:
    """A fails, is fixed and passes; B must show no fix of it, and A again its own."""
    root = bench.make_repository(case, {case["file"]: "".join(f"line {n}\n" for n in range(1, 41))})
    bench.record_fix(root, case["file"], case["a"])
    is_pasted, is_told = "hunch error" in case["steps"], "alone" not in case["steps"]
    for text, has_fix in ((case["b"], False), (case["a_again"], True)):
        if is_pasted:
            shown = bench.hunch(root, "error", told=text)
        else:
            shown = bench.ask_about_error(root, case["file"], text, is_told=is_told)
        case.expect(("fixed before" in shown) is has_fix, f"{'no' if has_fix else 'a wrong'} fix: {shown[:1500]}")


def run_named(case: Case, bench: Bench) -> None:
    root = bench.make_repository(case)
    bench.signal(root, kind="error", text=case["text"])
    titles = [one["title"] for one in bench.memories(root, kind="error")]
    case.expect(any(case.quoted in title for title in titles), f"titles: {titles}")


def run_secret_command(case: Case, bench: Bench) -> None:
    if case["name"].startswith("stays"):
        run_kept(case, bench)
        return
    root, secret = bench.make_repository(case), make_secret(case)
    command = case["command"].replace("{S}", secret)
    if "import-history" in case["steps"]:
        file = bench.home_of(case) / "bash_history"
        file.write_text("".join(f"#{1764000000 + n * 60}\n{command}\n" for n in range(3)))
        bench.hunch(root, "import-history", str(file), "--all", "--yes")
    else:
        for _ in range(3):
            bench.signal(root, kind="command_finished", command=command, exit_code=0)
    bench.expect_absent(case, root, secret)


def run_secret_fact(case: Case, bench: Bench) -> None:
    if case["name"].startswith("stays"):
        run_kept(case, bench)
        return
    root, secret = bench.make_repository(case), make_secret(case)
    [kept] = bench.remember(root, case["content"].replace("{S}", secret))
    bench.expect_absent(case, root, secret)
    content = bench.daemon.get(f"/memories/{kept}")["content"]
    word = re.search(r"rest \((\w+)\)", case["right"])
    case.expect(word is None or word[1] in content, f"too much is gone: {content}")


def run_kept(case: Case, bench: Bench) -> None:
    [kept] = bench.remember(bench.make_repository(case), case["content"])
    content = bench.daemon.get(f"/memories/{kept}")["content"]
    case.expect(content == case["content"], f"changed: {content}")


def run_secret_git(case: Case, bench: Bench) -> None:
    secret = make_secret(case)
    if "branch" in case["name"]:
        secret = "ghp_" + secret + secret[:16]
        root = bench.make_repository(case, branch=f"fix/login-{secret}")
    elif remote := re.search(r"git remote add (\w+) (\S*\{S\}\S*?),? ", case["steps"]):
        root = bench.make_repository(case, remote=(remote[1], remote[2].replace("{S}", secret)))
    else:
        subject = re.search("«(.*?)»(?:.*«(.*)»)?", case["steps"])
        assert subject is not None, "no commit and no remote in the steps"
        message = "\n\n".join(part for part in subject.groups() if part).replace("{S}", secret)
        root = bench.make_repository(case, subjects=[message])
    bench.daemon.get("/context", project=str(root), file="start.py")
    bench.expect_absent(case, root, secret)


def run_personal(case: Case, bench: Bench) -> None:
    root = bench.make_repository(case)
    value = make_personal(case)
    bench.say(case, root, [one.replace("{P}", value) for one in case["messages"]])
    bench.wait(lambda: bool(bench.memories(root, kind="fact")))
    facts = [one["content"] for one in bench.memories(root, kind="fact")]
    if case["name"].startswith("stays"):
        case.expect(any(case["messages"][0].split()[-1].rstrip(".") in one for one in facts), f"no such fact: {facts}")
        return
    case.expect(value not in "".join(facts), f"kept: {facts}")
    context = str(bench.daemon.get("/context", project=str(root), file="start.py"))
    case.expect(value not in context, "in a context")
    plain = re.search(r"to use (\w+)", case["messages"][-1])
    case.expect(plain is not None and any(plain[1] in one for one in facts), f"no plain decision: {facts}")


def run_said_by(case: Case, bench: Bench) -> None:
    root = bench.make_repository(case)
    bench.place(case, root, case["file"], case["text"])
    bench.hunch(root, "import-transcripts", "--all", home=bench.home_of(case))
    word = case["OWN"].split()[4]
    bench.wait(lambda: word in str(bench.memories(root, kind="fact")))
    facts = [one["content"] for one in bench.memories(root, kind="fact") if one["trust"] == "user"]
    case.expect(any(word in one for one in facts), f"own words are not kept: {facts}")
    if "PUT" in case.fields:
        case.expect(not any(case["PUT"].split()[4] in one for one in facts), f"taken for the user's: {facts}")


def run_sessions_found(case: Case, bench: Bench) -> None:
    root = bench.make_repository(case)
    if "file" not in case.fields:
        file = bench.home_of(case) / "talk.jsonl"
        file.write_text('{"speaker": "me", "words": "Please print the labels."}\n' * 3)
        told = bench.hunch(root, "import-transcripts", str(file), home=bench.home_of(case), may_fail=True)
        case.expect(bench.exit_code != 0 or "talk" in told, f"nothing said of the file: {told}")
        return
    bench.place(case, root, case["file"], case.fields.get("text") or case["unpacked"])
    bench.hunch(root, "import-transcripts", "--all", home=bench.home_of(case))
    word = case["right"].rpartition(" ")[2]
    bench.wait(lambda: word in bench.found(root, word))
    case.expect(word in bench.found(root, word), "not found")


def run_import_time(case: Case, bench: Bench) -> None:
    root = bench.make_repository(case)
    if "day of a session" in case["name"]:
        day = re.search(r"\d{4}-\d\d-\d\d", case["steps"])[0]  # type: ignore[index]
        bench.bring_claude(case, root, [(f"{day}T10:00:00.000Z", "Please tidy up the labels.")], "day")
        listed = bench.hunch(root, "sessions", "list", "--json", "--project", str(root))
        case.expect(f"{day}T" in listed, listed[:600])
        return
    (old_day, old), (new_day, new) = ((one[:10], one.partition(": ")[2]) for one in (case["old"], case["new"]))
    parts = [(old_day, old), (new_day, new)]
    if "typed today" in case["name"]:
        bench.remember(root, new)
        parts = parts[:1]
    for day, text in parts[:: -1 if "newer first" in case["name"] else 1]:
        bench.bring_claude(case, root, [(f"{day}T10:00:00.000Z", text)], f"s{day}")
        bench.wait(lambda text=text: text.split()[4] in str(bench.memories(root, kind="fact")))  # type: ignore[misc]
    later, earlier = new.split()[4], old.split()[4]
    query = "what do we use for the" + new.partition("for the")[2]
    facts = bench.found(root, query, kinds=["fact"])
    case.expect(later in facts and earlier not in facts, f"now: {facts}")
    before = bench.found(root, query, kinds=["fact"], as_of="2025-06-01T00:00:00Z")
    case.expect(earlier in before and later not in before, f"then: {before}")


def run_clock(case: Case, bench: Bench) -> None:
    root = bench.make_repository(case)
    if "valid_from" in case.fields:
        bench.remember(root, case["content"], valid_from=case["valid_from"])
        word = case["content"].split()[-1].rstrip(".")
        after, before = re.findall(r"\d{4}-\S+Z", case["right"])
        is_after, is_before = (word in bench.found(root, word, as_of=one, kinds=["fact"]) for one in (after, before))
        case.expect(is_after and not is_before, f"found {is_after}, before {is_before}")
        return
    text = f"Please weigh the parcels of {case['name']}."
    if "transcript" in case["steps"]:
        bench.bring_claude(case, root, [(case["at"], text)], "clock")
    else:
        bench.say(case, root, [text], at=case["at"], ends=False)
    times = [one["at"] for one in bench.export("message") if one["content"] == text]
    case.expect(bool(times) and all(case.same_instant(one) for one in times), f"times: {times}")


def run_once(case: Case, bench: Bench) -> None:
    root, word = bench.make_repository(case), case.fields.get("word", "")
    if "history" in case["steps"]:
        file = bench.home_of(case) / "bash_history"
        file.write_text("".join(f"#{1764000000 + n * 60}\nmake {case.token}\n" for n in range(2)))
        for _ in range(2):
            bench.hunch(root, "import-history", str(file), "--all", "--yes")
        times = sum(one["data"].get("command") == f"make {case.token}" for one in bench.export("signal"))
        case.expect(times == 2, f"{times} signals")
        return
    if "transcript" in case["steps"]:
        said = [("2026-10-01T10:00:00.000Z", f"Please print the label {word} before the others.")]
        bench.bring_claude(case, root, said, "first")
        bench.bring_claude(case, root, said, "second" if "forked" in case["steps"] else "first", forked_from="first")
    else:
        for _ in range(2):
            bench.remember(root, f"The label printer is called {word}.")
    results = bench.search(root, word, kinds=["message" if "transcript" in case["steps"] else "fact"])
    times = sum(word in one["content"] for one in results)
    case.expect(times == 1, f"{times} of {[one['title'] for one in results]}")


def run_surrogate(case: Case, bench: Bench) -> None:
    root = bench.make_repository(case)
    if "said" in case.fields:
        text = case["said"].encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")
        bench.bring_claude(case, root, [("2026-10-01T10:00:00.000Z", text)], "surrogate")
        word = max(re.findall(r"[A-Z]\w+", text), key=len)
        case.expect(word in bench.found(root, word), "not found")
    elif "told" in case.fields:
        bench.hunch(root, "agent-hook", "claude-code", told=json.dumps(json.loads(case["told"]) | {"cwd": str(root)}))
        word = re.findall(r"\w+", json.loads(case["told"])["error"])[-1]
        bench.wait(lambda: word in str(bench.memories(root, kind="error")))
        case.expect(word in str(bench.memories(root, kind="error")), "no such error")
    else:
        error = {"kind": "error", "project": str(root)}
        signals = [error | {"text": f"KeyError: '{case.token}'"}, error | {"text": "ValueError: bad \ud99c glue"}]
        status, told = bench.daemon.request("POST", "/signals", {"signals": signals})
        kept = str(bench.memories(root, kind="error"))
        is_whole = status == 202 and case.token in kept and ("bad" in kept or "[1]" in str(told))
        case.expect(is_whole or (status == 400 and case.token not in kept), f"{status} {told} {kept[:300]}")


def run_commits_found(case: Case, bench: Bench) -> None:
    root = bench.make_repository(case, subjects=case["subjects"])
    for word in case["queries"]:
        results = bench.search(root, word)[:2]
        case.expect(any(word in str(one) for one in results), f"{word}: {[one['title'] for one in results]}")


def run_scripts(case: Case, bench: Bench) -> None:
    root = bench.make_repository(case)
    texts = {*NOISE, *(one["content"] for one in case.siblings if "content" in one)} - {case["content"]}
    bench.remember(root, case["content"], *sorted(texts)[:20])
    for query, finds in ((case["query"], True), (case["query_of_nothing"], False)):
        contents = [one["content"] for one in bench.search(root, query)]
        first = contents[0] if contents else ""
        if finds:
            case.expect(first == case["content"], f"{query}: {contents}")
        else:
            strange = [one for one in contents if one == case["content"] or not re.search("[a-z]", one)]
            case.expect(not strange, f"{query}: {strange}")


def run_found_first(case: Case, bench: Bench) -> None:
    root = bench.make_repository(case)
    bench.remember(root, case["content"], *NOISE)
    contents = [one["content"] for one in bench.search(root, case["query"])]
    case.expect(bool(contents) and case.is_same_text(contents[0]), f"{contents[:3]}")


def run_accents(case: Case, bench: Bench) -> None:
    forms = (
        ("NFD", "NFC") if "decomposed, asked" in case["name"] or "decomposed" in case["name"][:20] else ("NFC", "NFD")
    )
    if "key" in case.fields:
        root = bench.make_repository(case)
        for form, value in (("NFC", "40"), ("NFD", "55")):
            bench.remember(root, f"{case['key']} ist {value}", key=case.normal(form, case["key"]), value=value)
        told = bench.hunch(root, "history", case.normal("NFC", case["key"]), "--json")
        case.expect("40" in told and "55" in told, told[:600])
        return
    case.fields["content"] = case.normal(forms[0], case["content"])
    case.fields["query"] = case.normal(forms[1], case["query"])
    run_found_first(case, bench)


def run_rules(case: Case, bench: Bench) -> None:
    folder = "teams/" + re.sub(r"\W+", "-", case["name"]).lower()
    page = case["page"].encode()
    page = page.replace(b"\n", b"\r\n") if "Windows" in case["name"] else page
    page = b"\xef\xbb\xbf" + page if "mark" in case["name"] else page
    root = bench.make_repository(case, {f"{folder}/AGENTS.md": page, f"{folder}/weigh.py": b"def weigh():\n    pass\n"})
    context = bench.daemon.get("/context", project=str(root), file=f"{folder}/weigh.py")["context"]
    rules = re.findall(r"^- (.*)$", case["page"], re.MULTILINE)
    shown = [rule for rule in rules if rule.rstrip(".。") in context]
    is_right = rules[0] in context if case["kind"] == "encodings" else len(shown) >= 3
    case.expect(is_right, f"{len(shown)} of {len(rules)}: {context[:900]}")


def run_history(case: Case, bench: Bench) -> None:
    root = bench.make_repository(case)
    shell = "zsh" if case["name"].startswith("zsh") else "fish" if case["name"].startswith("fish") else "bash"
    file = bench.home_of(case) / f"{shell}_history"
    file.write_text(case["file"].replace("{project}", str(root)))
    told = json.loads(bench.hunch(root, "import-history", str(file), "--all", "--dry-run", "--json"))
    commands = told["commands"]
    right = re.match(r"(\d+) commands, `(.*?)` among them(?:, none of (\[.*\]))?", case["right"])
    assert right is not None
    forbidden = json.loads(right[3].replace("'", "\x00").replace('"', '\\"').replace("\x00", '"')) if right[3] else []
    bad = [one for one in commands if one in forbidden]
    case.expect(len(commands) == int(right[1]) and right[2] in commands and not bad, f"{commands}")


def run_encodings(case: Case, bench: Bench) -> None:
    if "page" in case.fields:
        run_rules(case, bench)
        return
    root = bench.make_repository(case)
    text = case["text"].replace("\n", "\r\n") if case.fields.get("line_ends") == "CRLF" else case["text"]
    encoding = "utf-16" if "16" in case["written"] else "utf-8-sig"
    file = bench.home_of(case) / "trace.txt"
    file.write_bytes(text.encode(encoding))
    names = case["right"].partition("names ")[2].split(" and ")
    for told in (bench.hunch(root, "error", str(file)), bench.hunch(root, "error", told=text.encode(encoding))):
        first = told.split("\n")[0]
        case.expect(all(name in first for name in names), told[:300])


def run_script_header(case: Case, bench: Bench) -> None:
    root = bench.make_repository(case, {case["file"]: case["text"]})
    flows = json.loads(bench.hunch(root, "workflows", "--json", "--project", str(root)))
    flows = [one for one in flows if case["file"] in json.dumps(one)]
    case.expect(bool(flows), "no workflow of that path")
    told = json.dumps([bench.daemon.get(f"/memories/{one['id']}") for one in flows])
    licence = re.search(r"(?i)licen[sc]|copyright|warrant|free of charge|permission", told)
    case.expect(licence is None, f"holds the licence: {told[:900]}")
    described = re.search("but «(.*)»", case["right"])
    case.expect(described is None or described[1] in told, f"no description: {told[:600]}")


RUNS: Mapping[str, Callable[[Case, Bench], None]] = {
    "errors_unlike": run_fix, "errors_summary": run_fix, "errors_prefix": run_fix, "errors_named": run_named,
    "secrets_commands": run_secret_command, "secrets_words": run_secret_fact, "secrets_forms": run_secret_fact,
    "secrets_git": run_secret_git, "pii": run_personal, "said_by": run_said_by, "sessions_found": run_sessions_found,
    "import_time": run_import_time, "clock": run_clock, "once": run_once, "surrogate": run_surrogate,
    "cjk_mixed": run_commits_found, "unk_scripts": run_scripts, "emoji": run_scripts, "right_to_left": run_found_first,
    "accents": run_accents, "rules_languages": run_rules, "history": run_history, "encodings": run_encodings,
    "script_header": run_script_header,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--kind", nargs="*", default=())
    parser.add_argument("--name", default="")
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.cases.read_text(encoding="utf-8").splitlines() if line.strip()]
    cases = [Case(line, number, lines) for number, line in enumerate(lines)]
    cases = [one for one in cases if (not options.kind or one["kind"] in options.kind) and options.name in one["name"]]
    with tempfile.TemporaryDirectory(prefix="hd-") as folder:
        environment = {"HOME": f"{folder}/user", "GIT_CONFIG_GLOBAL": os.devnull, "HF_HUB_OFFLINE": "1"}
        with running_daemon(Path(folder) / "h", environment=environment) as daemon:
            return report(cases, Bench(daemon, Path(folder)))


def report(cases: Iterable[Case], bench: Bench) -> int:
    passed, all_of = Counter[str](), Counter[str]()
    for case in cases:
        all_of[case["kind"]] += 1
        try:
            RUNS[case["kind"]](case, bench)
        except Exception:  # noqa: BLE001 - counted as a failure of its case
            case.wrong.append(traceback.format_exc(limit=-2)[-1500:])
        passed[case["kind"]] += not case.wrong
        for wrong in case.wrong:
            print(f"--- {case['kind']}, {case['name']}: {wrong}", flush=True)
    print(", ".join(f"{kind} {passed[kind]}/{all_of[kind]}" for kind in all_of))
    print(f"{passed.total()} of {all_of.total()} pass")
    return int(passed != all_of)


if __name__ == "__main__":
    sys.exit(main())
