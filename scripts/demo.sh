#!/bin/sh
# Generates text from a bundled model under a memory budget that holds only a part of its experts, so that they stream
# from disk. Called by `make demo`; its argument is the folder in demo/, without one Kimi K3.
set -eu
cd "$(dirname "$0")/.."
model=demo/${1:-kimi-k3}
if [ ! -f "$model/config.json" ]; then
  echo "scripts/demo.sh: there is no $model; bundled are: $(ls -d demo/*/ | xargs -n 1 basename | tr '\n' ' ')" >&2
  exit 1
fi

plan=$(build/sluice plan $model --json -)
number() { printf '%s\n' "$plan" | sed -n "s/^ *\"$1\": *\([0-9][0-9]*\),*\$/\1/p" | head -n 1; }
minimum=$(number minimum_bytes) resident=$(number resident_bytes)
if [ -z "$minimum" ] || [ -z "$resident" ]; then
  echo "scripts/demo.sh: sluice plan did not say minimum_bytes and resident_bytes" >&2
  exit 1
fi
budget=$((minimum + (resident - minimum) / 4))

bold= plain=
if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; }
generate() {
  say build/sluice run $model --memory $budget --max-tokens "$2" --prompt "\"$1\""
  build/sluice run $model --memory $budget --max-tokens "$2" --prompt "$1"
}

echo "The small model in $model: it needs $minimum bytes at least and $resident to be all in memory; it gets $budget."
generate "The capital of France is" 24
generate "Once upon a time there was" 120
