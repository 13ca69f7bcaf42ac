"""Small terminal agent whose prompts hunchd compiles.

    python examples/agent.py --url http://127.0.0.1:11434/v1 --model llama3.2 [--project FOLDER]

Every line of the standard input is a message of the user. The agent sends each compiled prompt to a model server with
OpenAI's chat completions API, prints the answer, and logs both. What was decided, preferred or planned is part of the
prompts of later sessions.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.request
import uuid

from hunchd.client import Client, Prompt

INSTRUCTIONS = "You are a helpful programming assistant. Answer briefly."


def ask_model(url: str, model: str, prompt: Prompt) -> str:
    """Send the prompt to the model server and return the text of its answer."""
    body = json.dumps({"model": model, "messages": prompt.to_openai()}).encode()
    request = urllib.request.Request(f"{url}/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as response:
        return str(json.load(response)["choices"][0]["message"]["content"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--url", required=True, help="base URL of the model server, for example http://127.0.0.1:11434/v1"
    )
    parser.add_argument("--model", required=True, help="name of the model")
    parser.add_argument("--project", default=None, help="folder of the project that the conversation is about")
    arguments = parser.parse_args()

    with Client().open_session(str(uuid.uuid4()), project=arguments.project) as session:
        for line in sys.stdin:
            message = line.strip()
            if not message:
                continue
            prompt = session.compile_prompt(message, system=INSTRUCTIONS)
            answer = ask_model(arguments.url, arguments.model, prompt)
            session.add_message("user", message)
            session.add_message("assistant", answer)
            print(answer, flush=True)


if __name__ == "__main__":
    main()
