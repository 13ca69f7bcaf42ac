"""Classification of paths by name: secret, vendored, generated, binary, lock file."""

from __future__ import annotations

import re
from pathlib import Path


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Folders of third-party code and tool output, whatever their surroundings.
VENDORED_FOLDERS = _word_set("""
    node_modules bower_components jspm_packages .yarn .pnpm-store vendor _vendor third_party third-party Pods Carthage
    .bundle .venv venv virtualenv site-packages __pypackages__ .tox .nox .eggs __pycache__ .mypy_cache .pytest_cache
    .ruff_cache .hypothesis .ipynb_checkpoints .direnv .cache .gradle .terraform .serverless .next .nuxt .svelte-kit
    .parcel-cache .turbo .angular .dart_tool .nyc_output htmlcov DerivedData elm-stuff .stack-work dist-newstyle
    zig-cache .zig-cache .metals .bloop .pants.d buck-out .vs .idea .hg .svn .bzr CVS
""")

# Folders of tool output whose names people also use for other folders: (siblings, contents) that show a generated one.
# In a repository, git ignores generated folders, so only the contents count there.
_GENERATED_NAMES = {
    "build": (
        ("build.gradle", "build.gradle.kts", "setup.py", "pyproject.toml", "CMakeLists.txt", "package.json"),
        ("CMakeCache.txt", ".ninja_log", "CACHEDIR.TAG", "bdist.linux-x86_64", "tmp/compileJava"),
    ),
    "dist": (
        ("setup.py", "pyproject.toml"),
        ("CMakeCache.txt", "../package.json"),
    ),  # generated, even if it is committed
    "out": (("package.json", "build.gradle", "build.gradle.kts", "tsconfig.json"), ("production", ".ninja_log")),
    "target": (("Cargo.toml", "pom.xml", "build.sbt"), ("CACHEDIR.TAG", "maven-status", "classes")),
    "bin": ((), ("Debug", "Release")),
    "obj": ((), ("Debug", "Release", "project.assets.json")),
    "_build": (("mix.exs", "dune-project", "conf.py"), ("doctrees", "log", "dev/lib")),
    "deps": (("mix.exs",), ()),
    "env": ((), ("pyvenv.cfg",)),
    "coverage": ((), ("lcov.info", "index.html", "coverage-final.json")),
}

# Files whose creation or deletion may change whether their folder counts as generated.
MARKER_FILES = frozenset({".git", "pyvenv.cfg", "CACHEDIR.TAG", "CMakeCache.txt", ".ninja_log"})

_BINARY = _word_set("""
    png jpg jpeg gif bmp ico icns tif tiff webp avif heic psd ai eps sketch fig xcf raw svgz pdf doc docx xls xlsx ppt
    pptx odt ods odp epub mobi zip tar gz tgz bz2 xz zst lz4 7z rar jar war ear whl egg deb rpm apk ipa dmg iso img pkg
    msi cab exe dll so dylib a o obj lib ko pdb class pyc pyo pyd wasm beam elc rlib rmeta bc mp3 mp4 m4a m4v wav flac
    ogg oga ogv opus avi mov mkv webm wmv flv ttf otf woff woff2 eot sqlite sqlite3 db db3 mdb accdb parquet arrow
    feather orc avro npy npz h5 hdf5 mat pkl pickle joblib pt pth onnx tflite safetensors gguf ckpt bin dat dump pack
    idx swp swo blend fbx glb stl 3ds dwg mo gmo res resources nib storyboardc xcuserstate keystore
""")

_GENERATED_SUFFIXES = (".min.js", ".min.css", ".js.map", ".css.map", ".bundle.js", ".pb.go", "_pb2.py", "_pb2_grpc.py")

_LOCK_FILES = _word_set("""
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock cargo.lock poetry.lock
    uv.lock pdm.lock pipfile.lock pixi.lock conda-lock.yml composer.lock gemfile.lock go.sum go.work.sum flake.lock
    mix.lock rebar.lock pubspec.lock packages.lock.json paket.lock gradle.lockfile podfile.lock package.resolved
    .terraform.lock.hcl module.bazel.lock cartfile.resolved stack.yaml.lock cabal.project.freeze manifest.toml.lock
""")

_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".password-store"})

# Matched against a whole file name in lower case.
_SECRET_NAME = re.compile(
    r"""
    \.env.* | .*\.env | env\.(?:local|production|staging|development)
    | .*\.(?:pem|key|p12|pfx|p8|pkcs12|jks|keystore|bks|ppk|kdb|kdbx|keytab|ovpn|agekey|asc|gpg|pgp)
    | (?:.*[._-])?id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:[._-].*)?
    | [._]netrc | \.npmrc | \.yarnrc(?:\.yml)? | \.pypirc | \.pgpass | \.my\.cnf | \.htpasswd | \.git-credentials
    | \.dockercfg | \.dockerconfigjson | \.vault[-_]token | \.s3cfg | \.boto | \.terraformrc | terraform\.rc
    | \.rediscli_auth | \.mysql_history | \.psql_history | \.(?:bash|zsh|python|node_repl)_history
    | credentials(?:\.(?:json|ya?ml(?:\.enc)?|toml|ini|xml|csv|txt|properties|db|cfg))? | .*\.credentials
    | (?:.*[._-])?(?:client|app|oauth)?[._-]?secrets?(?:[._-].*)?\.(?:json|ya?ml|toml|ini|txt|properties|xml|csv|enc)
    | .*service[-_]?account.*\.(?:json|ya?ml) | (?:gcp|gcloud|firebase)[-_.].*(?:key|admin).*\.json
    | .*\.tfstate(?:\..*)? | .*\.tfvars(?:\.json)? | kubeconfig(?:\..*)? | .*\.kubeconfig
    | passwords?(?:\.(?:txt|csv|json|ya?ml|ini|xlsx?))? | (?:private|secret)[-_]?key(?:\..*)? | htpasswd
    """,
    re.VERBOSE,
)
# Extensions of source code, which are exempt; `secrets.example.json` is not.
_SOURCE_CODE_NAME = re.compile(r".*\.(?:py|js|ts|tsx|jsx|go|rs|java|kt|c|h|cc|cpp|cs|rb|php|md|rst|html)")


def is_secret_file(relpath: str) -> bool:
    """Return True if a file probably contains keys or passwords, judging by its path.

    Such files are never opened and never named in a response.
    """
    *folders, name = relpath.lower().split("/")
    if any(folder in _SECRET_FOLDERS for folder in folders):
        return True
    if relpath.lower().endswith((".docker/config.json", ".git/config")):
        return True
    return _SECRET_NAME.fullmatch(name) is not None and (
        name.startswith(".env") or _SOURCE_CODE_NAME.fullmatch(name) is None
    )


def is_secret_folder(name: str) -> bool:
    return name.lower() in _SECRET_FOLDERS


def is_lock_file(relpath: str) -> bool:
    """Return True if a file is a lock file of a package manager.

    It matters that such a file changes, but its text does not matter.
    """
    return relpath.rpartition("/")[2].lower() in _LOCK_FILES


def is_vendored(root: Path, relpath: str, *, is_versioned: bool) -> bool:
    """Return True if the folder `relpath` contains third-party or generated code."""
    name = relpath.rpartition("/")[2]
    if name in VENDORED_FOLDERS or name.endswith((".egg-info", ".dist-info")) or name.startswith("bazel-"):
        return True
    markers = _GENERATED_NAMES.get(name)
    if markers is None:
        return False
    sibling_markers, content_markers = markers
    folder = root / relpath
    return any((folder / marker).exists() for marker in content_markers) or (
        not is_versioned and any((folder.parent / marker).exists() for marker in sibling_markers)
    )


# Temporary files of editors: vim's probe, backups, swap files, Emacs locks, JetBrains, GNOME.
_TEMPORARY = re.compile(r"4913|.*~|\.#.*|\#.*\#|.*\.sw[a-z]|.*___jb_(?:tmp|old|bak)___|\.goutputstream-.*|\.~lock\..*")


def get_skip_reason(name: str) -> str:
    """Return the reason why a file is not worth reading.

    The reason is `temporary`, `binary` or `generated`, or "" if the file is worth reading.
    """
    if _TEMPORARY.fullmatch(name):
        return "temporary"
    lower = name.lower()
    if lower.rpartition(".")[2] in _BINARY and "." in lower:
        return "binary"
    return "generated" if lower.endswith(_GENERATED_SUFFIXES) else ""


def is_readable_name(name: str) -> bool:
    """Return True if a name can be displayed without changes.

    The name must be valid Unicode without control characters, and without characters that change the text direction.
    """
    return name.isprintable()
