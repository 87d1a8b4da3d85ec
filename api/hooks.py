"""What schemathesis does to requests before it sends them."""

import json
import os
import re

import schemathesis

# What is there, by the prefix of its id or the name of the parameter; the test tells it.
THERE = json.loads(os.environ.get("CHANCERY_THERE", "{}"))


@schemathesis.hook
def before_call(context, case, **kwargs):
    # Who waits for a job waits up to half a minute: here nothing comes.
    if isinstance(case.body, dict) and isinstance(case.body.get("wait_ms"), int):
        case.body["wait_ms"] = min(case.body["wait_ms"], 0)
    # Nobody guesses an id. Most of those that could be one become one that is there; the rest stay what they are.
    for name, value in (case.path_parameters or {}).items():
        if re.fullmatch("[a-z]{3}_[0-9a-f]{32}", str(value)) and value[-1] < "d":
            case.path_parameters[name] = THERE.get(value[:3], value)
        elif name in THERE and len(str(value)) % 2:
            case.path_parameters[name] = THERE[name]
