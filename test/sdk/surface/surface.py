"""Prints the public functions and methods of the Python SDK as ``inspect`` sees them, for surface.test.ts."""

import inspect
import json
import sys

import guiche
from guiche.testing import WebhookReceiver, create_test_event, sign_webhook


def parameters_of(function):
    parameters = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    return [
        {
            "name": one.name,
            "isOptional": one.default is not inspect.Parameter.empty,
            "isOption": one.kind is inspect.Parameter.KEYWORD_ONLY,
            "initial": "…" if callable(one.default) else repr(one.default),
        }
        for one in parameters
    ]


def methods_of(prefix, kind):
    methods = inspect.getmembers(kind, inspect.isfunction)
    return {f"{prefix}.{name}": parameters_of(method) for name, method in methods if not name.startswith("_")}


def surface(client, list_kind):
    kinds = {name: type(one) for name, one in vars(client).items() if not name.startswith("_")}
    callables = {
        "Guiche": parameters_of(type(client).__init__),
        "verifyWebhook": parameters_of(guiche.verify_webhook),
        "formatBRL": parameters_of(guiche.format_brl),
        "toCents": parameters_of(guiche.to_cents),
        "createTestEvent": parameters_of(create_test_event),
        "signWebhook": parameters_of(sign_webhook),
        "createWebhookReceiver": parameters_of(WebhookReceiver.__init__),
    }
    for name, kind in (*kinds.items(), ("list", list_kind), ("receiver", WebhookReceiver)):
        callables.update(methods_of(name, kind))
    errors = [name for name in guiche.__all__ if name.endswith("Error")]
    return {"callables": callables, "errors": errors}


facts = {"base_url": "http://127.0.0.1", "client_id": "a-shop", "client_secret": "a-secret"}
clients = {"sync": (guiche.Guiche(**facts), guiche.List), "async": (guiche.AsyncGuiche(**facts), guiche.AsyncList)}
json.dump(surface(*clients[sys.argv[1]]), sys.stdout)
