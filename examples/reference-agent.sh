#!/usr/bin/env bash
# A complete agent in bash and jq 1.6 or newer: one observation per line in, one decision per line out, in one jq process.
#
#   openoutcry run --agent "cmd:bash reference-agent.sh"
#
# Replace `decide`; the rest is the protocol.
set -euo pipefail
exec jq --raw-input --compact-output --unbuffered '
  # Holds the symbols above their mean, each with the largest of 1/2, 1/4, 1/8, ... that fits; closes the others.
  def decide:
    INDEX(.portfolio[]; .symbol) as $held
    | [.symbols[] | {symbol, above: (.close_history | .[-1] > add / length)}] as $views
    | ([$views[] | select(.above)] | length) as $n_above
    | (0.5 | until(. * $n_above <= 1; . / 2)) as $weight
    | [$views[]
        | if .above then {action: "buy", symbol, target_weight: $weight}
          elif $held[.symbol] then {action: "close", symbol, target_weight: 0}
          else empty end]
    | {orders: .};

  # An empty line has no value; the list makes it null.
  try ([fromjson][0] | decide)
  catch ("reference-agent: invalid observation, holds all positions: \(.[:200])" | debug | {orders: []})
'
