"""Calls operations of the Python client with what a test gives on standard input, and prints how each ended."""

import inspect
import io
import json
import keyword
import re
import sys

sys.path.insert(0, "packages/client-python")

from laneway import Laneway, LanewayRefused  # noqa: E402
from laneway.operations import OPERATIONS  # noqa: E402


def argument(name: str) -> str:
    snake = re.sub(r"[^a-zA-Z0-9]+", "_", re.sub(r"[A-Z]", lambda found: "_" + found[0].lower(), name))
    return snake + "_" if keyword.iskeyword(snake) else snake


def play(client: Laneway, call: dict) -> dict:
    family, name = OPERATIONS[call["id"]].split(".")
    method = getattr(getattr(client, family), name)
    known = inspect.signature(method).parameters
    given = {argument(each): value for each, value in {**call["params"], **call["query"]}.items()}
    given |= {argument(each.lower()): value for each, value in call["headers"].items() if argument(each.lower()) in known}
    if "body" in known:
        given["body"] = call["body"]
    if "data" in known:
        given["data"] = io.BytesIO(call["text"].encode())
    if "file" in known:
        given |= {"file": b"%PNG", "file_name": "a.png", "folder_id": 1}
    try:
        answer = method(**given)
    except LanewayRefused as refused:
        return {"id": call["id"], "status": refused.status, "code": refused.code, "request_id": refused.request_id}
    if hasattr(answer, "read"):
        with answer:
            return {"id": call["id"], "bytes": len(answer.read())}
    return {"id": call["id"], "answer": answer}


asked = json.load(sys.stdin)
client = Laneway(asked["url"], asked["key"], account=asked["account"], timeout=60)
print(json.dumps({"known": list(OPERATIONS), "ended": [play(client, call) for call in asked["calls"]]}))
