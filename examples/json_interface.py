"""Step the engine through its JSON interface, the wire contract.

A program in any language can be the agent. An invalid decision raises an error with a slug.
"""

import json

import openoutcry as oo

env = oo.TradingEnv(n_symbols=3, n_days=60, seed=11)
observation, done = env.reset(), False
while not done:
    market = json.loads(observation)
    weight = 1 / len(market["symbols"])
    orders = [{"symbol": s["symbol"], "action": "buy", "target_weight": weight} for s in market["symbols"]]
    observation, reward, done, info = env.step(json.dumps({"orders": orders}))
print(json.loads(info)["nav"], "on", json.loads(observation)["date"])

try:
    oo.TradingEnv().step('{"orders": [{"symbol": "S000", "action": "BUY", "target_weight": 1}]}')
except oo.OpenOutcryError as error:
    print(error.slug, "|", error)
