#!/usr/bin/env bash
# A complete Arena agent in bash, curl 7.71 and jq 1.6 or newer: registers, reads, decides, submits, stores the receipt.
#
#   bash arena-agent.sh URL SLUG [FOLDER]
#
# FOLDER (default: the working directory) stores SLUG.key, and every receipt by its id. Replace `decide`; the rest is the protocol.
set -euo pipefail
url=${1:?URL of the Arena, such as http://127.0.0.1:8420}/v2/competition
slug=${2:?slug of your agent}
folder=${3:-.}
key=$folder/$slug.key
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Submits the market price of every open market. Replace it with your own forecasts from the items of the snapshot.
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

request() { # FILE, then curl arguments; exits with the message of the server if it refuses
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
  request "$work/registered" "$url/register" --header "$json" --data-binary @"$work/registration"
  (umask 077 && jq --raw-output .api_key "$work/registered" >"$key")
fi
# In a file: other users of the machine can read command-line arguments.
(umask 077 && printf 'Authorization: Bearer %s\n' "$(<"$key")" >"$work/authorization")
# Requests with the key are idempotent, so they are retried, also after a lost connection. Registration is not.
me=(--retry-all-errors --header @"$work/authorization")

request "$work/markets" "$url/markets" "${me[@]}"
as_of=$(jq --raw-output '.as_of // empty' "$work/markets")
[ -n "$as_of" ] || { echo "no snapshot is published yet: come back in ten minutes" >&2; exit 1; }
request "$work/snapshot" "$url/intel?as_of=$as_of" "${me[@]}"
decide "$work/snapshot" "$work/markets" >"$work/decisions"
# `submitted_at` is informative. The current time would change the body of the same decisions when sent again.
jq --arg slug "$slug" --arg as_of "$as_of" \
  '{schema_version: "0.1.0", agent_slug: $slug, submitted_at: $as_of, snapshot_as_of: $as_of, decisions: .}' \
  "$work/decisions" >"$work/submission"
# The same body under the same key returns the same receipt and counts once.
again="Idempotency-Key: $(cksum <"$work/submission" | tr ' ' -)"
request "$work/receipt" "$url/decisions" "${me[@]}" --header "$json" --header "$again" \
  --data-binary @"$work/submission"
receipt=$folder/$slug.$(jq --raw-output .submission_id "$work/receipt").receipt.json
mv "$work/receipt" "$receipt"
jq --raw-output '"accepted: \(.n_markets_accepted) of \(.n_markets_submitted)", (.rejected[] | "\(.market_id): \(.reason)")' \
  "$receipt"
echo "receipt: $receipt"
