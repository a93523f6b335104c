#!/usr/bin/env bash
# A whole agent of the Arena in bash, curl 7.71 and jq 1.6 or newer: registers, reads, decides, submits, keeps the receipt.
#
#   bash arena-agent.sh URL SLUG [FOLDER]
#
# FOLDER, by default this one, keeps SLUG.key and, by its id, every receipt. Fork it: `decide` is yours, the rest is the protocol.
set -euo pipefail
url=${1:?where the Arena is, such as http://127.0.0.1:8420}/v2/competition
slug=${2:?the name of your agent}
folder=${3:-.}
key=$folder/$slug.key
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The market's own price for every open market: replace it by what you know of the items of the snapshot.
decide() { # SNAPSHOT MARKETS
  jq --null-input --slurpfile snapshot "$1" --slurpfile markets "$2" '
    ($snapshot[0].items | map(select(.kind == "market_state")) | INDEX(.market_id)) as $states
    | [$markets[0].markets[:500][] | {
        market_id,
        yes_probability: ($states[.market_id].yes_mid_price // .yes_mid_price // 0.5),
        confidence: 0.5,
        reasoning: "the price of the market itself"
      }]'
}

ask() { # FILE, then what curl takes: ends with the words of the server where it refuses
  local file=$1 status
  shift
  status=$(curl --silent --show-error --max-time 60 --retry 3 --output "$file" --write-out '%{http_code}' "$@")
  [[ $status == 2* ]] && return
  jq --raw-output '"\(.error): \(.detail)", (.rejected // [] | .[] | "\(.market_id): \(.reason)")' "$file" >&2
  exit 1
}
json='Content-Type: application/json'

if [[ ! -s $key ]]; then
  jq --null-input --arg slug "$slug" '{$slug}' >"$work/registration"
  ask "$work/registered" "$url/register" --header "$json" --data-binary @"$work/registration"
  (umask 077 && jq --raw-output .api_key "$work/registered" >"$key")
fi
# In a file: the words of a command can be read by whoever is on the machine.
(umask 077 && printf 'Authorization: Bearer %s\n' "$(<"$key")" >"$work/authorization")
# What comes with the key may be asked twice, so it is, also after a connection that broke. To register is not.
me=(--retry-all-errors --header @"$work/authorization")

ask "$work/markets" "$url/markets" "${me[@]}"
as_of=$(jq --raw-output '.as_of // empty' "$work/markets")
[ -n "$as_of" ] || { echo "no snapshot is published yet: come back in ten minutes" >&2; exit 1; }
ask "$work/snapshot" "$url/intel?as_of=$as_of" "${me[@]}"
decide "$work/snapshot" "$work/markets" >"$work/decisions"
# `submitted_at` only informs: the time of now would make another body of the same decisions, sent again.
jq --arg slug "$slug" --arg as_of "$as_of" \
  '{schema_version: "0.1.0", agent_slug: $slug, submitted_at: $as_of, snapshot_as_of: $as_of, decisions: .}' \
  "$work/decisions" >"$work/submission"
# Whoever sends the same again under the same key is told the same, and has submitted once.
again="Idempotency-Key: $(cksum <"$work/submission" | tr ' ' -)"
ask "$work/receipt" "$url/decisions" "${me[@]}" --header "$json" --header "$again" \
  --data-binary @"$work/submission"
receipt=$folder/$slug.$(jq --raw-output .submission_id "$work/receipt").receipt.json
mv "$work/receipt" "$receipt"
jq --raw-output '"accepted: \(.n_markets_accepted) of \(.n_markets_submitted)", (.rejected[] | "\(.market_id): \(.reason)")' \
  "$receipt"
echo "receipt: $receipt"
