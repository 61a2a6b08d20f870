"""Write the summary of a gate as one comment on a pull request, or update the earlier one.

The first line of the summary is a hidden marker; the comment that starts with it is replaced. Runs
in a GitHub action and needs only the standard library. Variables: GITHUB_TOKEN, GITHUB_API_URL,
GITHUB_REPOSITORY, GITHUB_EVENT_PATH.
"""

import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

# GitHub rejects longer comments.
MAX_LENGTH = 65_536
_CUT = "\n\n</details>\n\n(cut: the step summary has the rest)\n"
_PER_PAGE = 100
_TIMEOUT_SECONDS = 30


def request(method: str, url: str, data: dict[str, Any] | None = None) -> Any:
    """Call the GitHub API and return its JSON."""
    call = urllib.request.Request(
        url,
        method=method,
        data=None if data is None else json.dumps(data).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(call, timeout=_TIMEOUT_SECONDS) as reply:
        return json.load(reply)


def earlier_comment(issue: str, marker: str) -> dict[str, Any] | None:
    """Return the comment that starts with the marker; None if there is none."""
    page = 1
    while True:
        comments = request("GET", f"{issue}/comments?per_page={_PER_PAGE}&page={page}")
        for comment in comments:
            if str(comment.get("body", "")).startswith(marker):
                return dict(comment)
        if len(comments) < _PER_PAGE:
            return None
        page += 1


def main(words: list[str]) -> str:
    """Write or update the comment; return what was done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("summary", type=Path)
    parser.add_argument(
        "--only-update", action="store_true", help="do not write a first comment, only update one"
    )
    options = parser.parse_args(words)
    body = options.summary.read_text(encoding="utf-8")
    if len(body) > MAX_LENGTH:
        body = body[: MAX_LENGTH - len(_CUT)] + _CUT
    marker = body.splitlines()[0]
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    repository = f"{api}/repos/{os.environ['GITHUB_REPOSITORY']}"
    issue = f"{repository}/issues/{event['pull_request']['number']}"
    try:
        comment = earlier_comment(issue, marker)
        if comment is None:
            if options.only_update:
                return "no comment"
            request("POST", f"{issue}/comments", {"body": body})
            return "comment written"
        if comment["body"].strip() == body.strip():
            return "comment unchanged"
        request("PATCH", f"{repository}/issues/comments/{comment['id']}", {"body": body})
        return "comment updated"
    except urllib.error.HTTPError as error:
        # A pull request from a fork has a token that may only read. That is no verdict on the code.
        return f"no comment: GitHub answered {error.code}; grant pull-requests: write"


if __name__ == "__main__":
    print(main(sys.argv[1:]))
