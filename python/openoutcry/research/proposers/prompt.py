import json


def prompt_of(ask):
    return json.dumps([ask.round, ask.goal, ask.prior, [vars(h).get("round") for h in ask.history]])
