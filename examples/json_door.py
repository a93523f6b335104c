"""The wire contract itself: text in, text out.

A program in any language could stand on the agent's side; what it gets wrong is refused with a slug.
"""

import json

import openoutcry as oo

env = oo.TradingEnv(n_symbols=3, n_days=60, seed=11)
observation, done = env.reset(), False
while not done:
    seen = json.loads(observation)
    share = 1 / len(seen["symbols"])
    orders = [{"symbol": s["symbol"], "action": "buy", "target_weight": share} for s in seen["symbols"]]
    observation, reward, done, info = env.step(json.dumps({"orders": orders}))
print(json.loads(info)["nav"], "on", json.loads(observation)["date"])

try:
    oo.TradingEnv().step('{"orders": [{"symbol": "S000", "action": "BUY", "target_weight": 1}]}')
except oo.OpenOutcryError as refused:
    print(refused.slug, "|", refused)
