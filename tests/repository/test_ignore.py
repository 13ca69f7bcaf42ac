"""Ignore rules: git's own rules exactly, and no secret, vendored, large or special files."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from hunchd.repository.ignore import IgnoreRules, WalkLimits, is_lock_file, is_secret_file
from hunchd.repository.safe_reading import read_file


def words(text: str) -> list[str]:
    return text.split()


def write(root: Path, path: str, content: str = "x\n") -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(content)


def init(root: Path) -> None:
    subprocess.run(["git", "-C", str(root), "init", "-q"], check=True)


def test_nested_ignore_files_and_negations(tmp_path: Path) -> None:
    init(tmp_path)
    write(tmp_path, ".gitignore", "*.log\n/generated/\n!keep.log\n")
    write(tmp_path, "docs/.gitignore", "!*.log\nsecret-plan.md\n")
    write(tmp_path, ".git/info/exclude", "scratch*\n")
    rules = IgnoreRules.load(tmp_path)

    assert rules.get_reason("a.log") == "gitignore"
    assert rules.get_reason("keep.log") == ""
    assert rules.get_reason("docs/a.log") == ""
    assert rules.get_reason("docs/secret-plan.md") == "gitignore"
    assert rules.get_reason("generated", is_dir=True) == "gitignore"
    assert rules.get_reason("generated/deep/file.py") == "gitignore"
    assert rules.get_reason("src/generated", is_dir=True) == ""
    assert rules.get_reason("scratch.py") == "gitignore"


PATTERNS = [
    "*", "!*/", "!*.py", "*.py", "*.p*", "a", "/a", "a/", "!a/", "a/b", "a/*", "!a/b", "a/**", "**/b", "**/b/",
    "b/**/c", "/*/c", "[ab]", "[!a]*", "?", "a*b", "!b", "c.txt", "\\!x", "#x", "\\#x", "x ", "x\\ ", "", "   ",
    "/", "**", "!**/c.py", "*.py/", "a.py", "a/b/c.py", "/b/*.py", "!/b/a.py", "d*/", "dd", "**/d/*.py",
    "a/**/c.py", "***", "b**", "*/b",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_ignore_rules_agree_with_git(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    init(tmp_path)
    names = ["a", "b", "c", "dd", "a.py", "c.py", "c.txt", "x", "#x", "!x", "x ", "aab"]
    for _ in range(60):
        depth = chance.randint(1, 4)
        path = tmp_path.joinpath(*(chance.choice(names) for _ in range(depth)))
        if any(parent.is_file() for parent in path.parents) or path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    folders = [tmp_path, *[path for path in sorted(tmp_path.iterdir()) if path.is_dir() and path.name != ".git"]]
    for folder in folders:
        lines = [chance.choice(PATTERNS) for _ in range(chance.randint(0, 6))]
        (folder / ".gitignore").write_text("\n".join(lines) + "\n")
    paths = [os.fspath(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    paths = [path for path in paths if not path.startswith(".git/")]
    asked = subprocess.run(
        ["git", "-C", str(tmp_path), "check-ignore", "--stdin", "-z", "--no-index"],
        input="\0".join(paths).encode(),
        capture_output=True,
    )
    expected = set(asked.stdout.decode().split("\0")) - {""}
    rules = IgnoreRules.load(tmp_path)

    found = {path for path in paths if rules.get_reason(path) == "gitignore"}

    assert found == expected, {str(f): (f / ".gitignore").read_text() for f in folders if (f / ".gitignore").exists()}


def test_hunchignore_precedes_gitignore_and_defaults(tmp_path: Path) -> None:
    init(tmp_path)
    write(tmp_path, ".gitignore", "*.gen\n")
    write(tmp_path, ".hunchignore", "!vendor/\n!*.gen\nfixtures/\n!.env\n")
    rules = IgnoreRules.load(tmp_path, extra=["legacy/"])

    assert rules.get_reason("vendor", is_dir=True) == ""
    assert rules.get_reason("a.gen") == ""
    assert rules.get_reason("fixtures/a.py") == "hunchignore"
    assert rules.get_reason("legacy/a.py") == "configured"
    assert rules.get_reason(".env") == "secret", "nothing takes a secret file back"


@pytest.mark.parametrize(
    "path",
    ["node_modules/a/b.js", ".venv/lib/x.py", "src/__pycache__/a.py", ".tox/py/x.py", "web/bower_components/x.js"],
)
def test_vendored_folders_are_skipped(tmp_path: Path, path: str) -> None:
    assert IgnoreRules.load(tmp_path).get_reason(path) == "vendored"


def test_generated_build_folders_are_skipped(tmp_path: Path) -> None:
    write(tmp_path, "Cargo.toml")
    write(tmp_path, "tools/build/main.py")
    write(tmp_path, "cpp/build/CMakeCache.txt")
    write(tmp_path, "myenv/env/pyvenv.cfg")
    rules = IgnoreRules.load(tmp_path)

    assert rules.get_reason("target", is_dir=True) == "vendored"
    assert rules.get_reason("cpp/build", is_dir=True) == "vendored"
    assert rules.get_reason("myenv/env", is_dir=True) == "vendored"
    assert rules.get_reason("tools/build/main.py") == ""


def test_committed_build_folder_is_kept(tmp_path: Path) -> None:
    init(tmp_path)
    write(tmp_path, "package.json")
    write(tmp_path, "build/webpack.config.js")

    assert IgnoreRules.load(tmp_path).get_reason("build/webpack.config.js") == ""


SECRETS = words("""
.env .env.local .env.production config/.envrc prod.env server.pem tls/site.key id_rsa id_ed25519.pub
deploy_id_rsa credentials credentials.json .aws/config .ssh/known_hosts .netrc _netrc .npmrc .pypirc
.pgpass store.p12 cert.pfx passwords.kdbx terraform.tfstate terraform.tfstate.backup prod.tfvars
service-account.json my-service-account-dev.json secrets.yml app_secrets.json client_secret_123.json
.git-credentials .htpasswd .dockercfg .docker/config.json kubeconfig release.jks debug.keystore
.vault-token .git/config ID_RSA Secrets.YAML
""")

PUBLIC = words("""
environment.py src/env.py credentials.py secrets.py key.py keys.md id_rsa.md monkey.txt tokens.json
keyboard.json docs/secrets.md credential_store.go pem.rs service_account.py netrc.c README.md
package.json config/config.json
""")


@pytest.mark.parametrize("path", SECRETS)
def test_secret_files_are_detected_by_name(path: str) -> None:
    assert is_secret_file(path)


@pytest.mark.parametrize("path", PUBLIC)
def test_ordinary_files_are_not_secret(path: str) -> None:
    assert not is_secret_file(path)


def test_lock_files_are_detected(tmp_path: Path) -> None:
    write(tmp_path, "yarn.lock")

    assert walk(tmp_path) == ["yarn.lock"]
    assert is_lock_file("web/yarn.lock")
    assert is_lock_file("Cargo.lock")
    assert not is_lock_file("lock.py")


def test_walk_yields_wanted_files_and_skip_counts(tmp_path: Path) -> None:
    init(tmp_path)
    for path in ("src/b.py", "src/a.py", "README.md", "logo.png", "id_rsa", "node_modules/x.js", "a.min.js"):
        write(tmp_path, path)
    (tmp_path / "giant.csv").write_bytes(b"x" * 1_000_001)
    (tmp_path / "sparse.txt").touch()
    os.truncate(tmp_path / "sparse.txt", 10 * 1024**3)
    rules = IgnoreRules.load(tmp_path)

    found = list(rules.walk())

    assert [path for path, _ in found] == ["README.md", "src/a.py", "src/b.py"]
    assert found[0][1].st_size == 2
    assert rules.list_folder("").skip_counts == {
        "git": 1, "binary": 1, "secret": 1, "vendored": 1, "generated": 1, "too_large": 2,
    }  # fmt: skip


def test_walk_ignores_fifos_and_links(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, "src/a.py")
    write(tmp_path, "outside/private.py")
    os.mkfifo(root / "pipe.py")
    (root / "loop").symlink_to(root)
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "file.py").symlink_to(tmp_path / "outside" / "private.py")
    (root / "proc").symlink_to("/proc")

    assert walk(root) == ["src/a.py"]
    assert IgnoreRules.load(root).list_folder("").skip_counts == {"special": 1, "link": 4}


def test_unprintable_names_are_skipped(tmp_path: Path) -> None:
    for name in (b"new\nline.py", b"latin\xe9.py", "bidi\u202egnp.py".encode(), b"bell\x07.py"):
        (tmp_path / os.fsdecode(name)).write_text("x")
    write(tmp_path, "größe 日本.py")

    assert walk(tmp_path) == ["größe 日本.py"]
    assert IgnoreRules.load(tmp_path).list_folder("").skip_counts == {"name": 4}


def test_nested_repository_is_skipped(tmp_path: Path) -> None:
    init(tmp_path)
    write(tmp_path, "lib/.git", "gitdir: ../.git/modules/lib\n")
    write(tmp_path, "lib/a.py")

    assert IgnoreRules.load(tmp_path).get_reason("lib/a.py") == "nested"


def test_walk_stops_at_limits(tmp_path: Path) -> None:
    for number in range(30):
        write(tmp_path, f"wide/{number:02}.py")
        write(tmp_path, f"many/{number:02}/a.py")
    deep = tmp_path / "/".join(["d"] * 20)
    deep.mkdir(parents=True)

    assert len(walk(tmp_path, WalkLimits(files=10))) == 10
    assert {path.partition("/")[0] for path in walk(tmp_path, WalkLimits(folders=30))} == {"many"}
    narrow = walk(tmp_path, WalkLimits(entries_per_folder=20))
    assert len([path for path in narrow if path.startswith("wide/")]) == 20
    assert not [path for path in walk(tmp_path, WalkLimits(depth=1)) if path.startswith("many/")]


def walk(root: Path, limits: WalkLimits | None = None) -> list[str]:
    return [path for path, _ in IgnoreRules.load(root).walk(limits)]


@pytest.mark.parametrize("path", ["../outside.py", "/etc/passwd", "a/../../b", "a//b", "./a"])
def test_path_outside_root_is_rejected(tmp_path: Path, path: str) -> None:
    assert IgnoreRules.load(tmp_path).get_reason(path) == "outside"


@pytest.mark.parametrize(
    "path", ["../outside.py", "/etc/passwd", "link.py", "linked/private.py", "pipe.py", "a\0b", ""]
)
def test_read_file_stays_below_root_without_blocking(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    write(tmp_path, "outside.py", "private")
    write(tmp_path, "elsewhere/private.py", "private")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    (root / "linked").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(root / "pipe.py")

    assert read_file(root, path) is None


def test_read_file_respects_size_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")

    assert read_file(tmp_path, "a", limit=5) == b"12345"
    assert read_file(tmp_path, "a", limit=4) is None


def test_rules_are_snapshot_until_reload(tmp_path: Path) -> None:
    rules = IgnoreRules.load(tmp_path)
    assert rules.get_reason("a.log") == ""
    write(tmp_path, ".gitignore", "*.log\n")

    assert rules.get_reason("a.log") == ""
    assert rules.reload().get_reason("a.log") == "gitignore"


def test_hostile_pattern_is_skipped(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "*a*a*a*a*a*a*a*a*a*b\n" + "**/x/" * 40 + "y*\n" + "*.log\n")
    rules = IgnoreRules.load(tmp_path)

    assert rules.get_reason("a" * 250) == ""
    assert rules.get_reason("x/" * 100 + "z") == ""
    assert rules.get_reason("a.log") == "gitignore"


def test_fifty_thousand_paths_are_judged(tmp_path: Path) -> None:
    init(tmp_path)
    lines = [f"*.{number}x" for number in range(60)] + [f"/only/{number}" for number in range(60)]
    lines += [f"*cache{number}*" for number in range(30)] + ["*.py[cod]", "*$py.class", "!*.keep"]
    write(tmp_path, ".gitignore", "\n".join(lines))
    rules = IgnoreRules.load(tmp_path)
    paths = [f"pkg{folder % 50}/mod{folder}/file_{number}.py" for folder in range(500) for number in range(100)]

    wanted = [path for path in paths if not rules.get_reason(path)]

    assert len(wanted) == 50_000
