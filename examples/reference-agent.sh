#!/usr/bin/env bash
# A whole agent in bash and jq 1.6 or newer: an observation a line in, a decision a line out, from one process of jq.
#
#   openoutcry run --agent "cmd:bash reference-agent.sh"
#
# Fork it: `decide` is yours, the rest is the protocol.
set -euo pipefail
exec jq --raw-input --compact-output --unbuffered '
  # Holds what is above its mean, in parts of 1/2, 1/4, 1/8 ..., as large as fit; closes the rest.
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

  # A line that is empty holds no value, so it is a list of none.
  try ([fromjson][0] | decide)
  catch ("reference-agent: holds all, for this is no observation: \(.[:200])" | debug | {orders: []})
'
