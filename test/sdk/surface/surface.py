"""
Prints the parameters of the Python SDK's methods and of the functions listed here, as ``inspect`` sees them, and the
names of its errors, for surface.test.ts.
"""

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
            # The repr of a function contains its address. surface.test.ts reads no default of a required parameter.
            "initial": "…" if callable(one.default) else repr(one.default),
        }
        for one in parameters
    ]


def methods_of(prefix, cls):
    methods = inspect.getmembers(cls, inspect.isfunction)
    return {f"{prefix}.{name}": parameters_of(method) for name, method in methods if not name.startswith("_")}


def surface(client, list_class):
    classes = {name: type(one) for name, one in vars(client).items() if not name.startswith("_")}
    callables = {
        "Guiche": parameters_of(type(client).__init__),
        "verifyWebhook": parameters_of(guiche.verify_webhook),
        "formatBRL": parameters_of(guiche.format_brl),
        "toCents": parameters_of(guiche.to_cents),
        "createTestEvent": parameters_of(create_test_event),
        "signWebhook": parameters_of(sign_webhook),
        "createWebhookReceiver": parameters_of(WebhookReceiver.__init__),
    }
    for name, cls in (*classes.items(), ("list", list_class), ("receiver", WebhookReceiver)):
        callables.update(methods_of(name, cls))
    errors = [name for name in guiche.__all__ if name.endswith("Error")]
    return {"callables": callables, "errors": errors}


settings = {"base_url": "http://127.0.0.1", "client_id": "a-shop", "client_secret": "a-secret"}
clients = {
    "sync": (guiche.Guiche(**settings), guiche.List),
    "async": (guiche.AsyncGuiche(**settings), guiche.AsyncList),
}
json.dump(surface(*clients[sys.argv[1]]), sys.stdout)
