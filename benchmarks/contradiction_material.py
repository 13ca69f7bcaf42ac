"""Pairs of statements about software projects, made from frames: what the classifier of contradictions is trained on.

A frame is something that projects state, in several wordings: a choice with its values, a yes or no, a rule, a version.
From each frame come pairs that contradict each other and pairs that look like it and do not: another scope, another
project, another time, a refinement, a paraphrase, things that hold side by side. All sentences are our own.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# Pairs written by hand, as developers write them.
WRITTEN = Path(__file__).with_name("data") / "contradictions_written.jsonl"



class Pair(NamedTuple):
    a: str
    b: str
    contradiction: int
    kind: str
    group: str  # pairs of one group share their wording; they are held out together


# Wordings of a choice, `{}` for the value, and its values; the wordings of one frame mean the same.
CHOICES = (
    (
        ("Background jobs run on {}", "{} runs our background jobs", "job queue: {}"),
        ("Celery", "RQ", "Dramatiq", "Sidekiq"),
    ),
    (("We bundle with {}", "The bundler is {}", "Bundling is done by {}"), ("webpack", "Rollup", "esbuild", "Parcel")),
    (
        ("HTTP calls are made with {}", "The HTTP client is {}", "use {} for HTTP calls"),
        ("requests", "httpx", "aiohttp", "urllib3"),
    ),
    (
        ("Secrets are kept in {}", "{} holds the secrets", "secret store: {}"),
        ("Vault", "AWS Secrets Manager", "1Password", "SOPS"),
    ),
    (
        ("Our web framework is {}", "The service is a {} application", "web framework: {}"),
        ("Django", "FastAPI", "Tornado", "Starlette"),
    ),
    (("The search backend is {}", "Full-text search uses {}"), ("Elasticsearch", "Solr", "Typesense", "Meilisearch")),
    (
        ("Metrics are sent to {}", "{} receives our metrics", "metrics backend: {}"),
        ("Datadog", "Graphite", "Prometheus", "InfluxDB"),
    ),
    (("Invoices are numbered {}", "Invoice numbers are {}"), ("per year", "per customer", "globally")),
    (("The on-call rotation changes on {}", "On-call hand-over is on {}"), ("Monday", "Wednesday", "Friday")),
    (
        ("Error tracking is done with {}", "errors are reported to {}", "error tracker: {}"),
        ("Sentry", "Rollbar", "Bugsnag"),
    ),
    (
        ("The team speaks {} in reviews", "Reviews are written in {}", "Language of reviews: {}"),
        ("English", "French", "Spanish"),
    ),
    (
        ("Component owner of the search module: {}", "The search module belongs to {}", "{} owns the search module"),
        ("Lena", "Ravi", "Tomas", "Aiko"),
    ),
    (("Branches are named after {}", "We name branches after {}"), ("the ticket", "the author", "the feature")),
    (
        ("The service is written in {}", "Implementation language of the service: {}"),
        ("Go", "Kotlin", "Elixir", "Rust"),
    ),
    (
        ("Event payloads are encoded as {}", "Payload encoding of events: {}"),
        ("Avro", "Protobuf", "MessagePack", "JSON"),
    ),
    (("The staging host is {}", "Our staging machine is called {}"), ("kestrel", "osprey", "merlin")),
    (("Configuration is written in {}", "The configuration format is {}"), ("TOML", "YAML", "INI", "JSON")),
    (("The theme colour is {}", "Primary colour of the theme: {}"), ("teal", "orange", "purple")),
    (("Tickets are tracked in {}", "Issue tracker: {}", "our issue tracker is {}"), ("Jira", "Linear", "YouTrack")),
    (("Templates are rendered by {}", "the template engine is {}"), ("Jinja2", "Mako", "Handlebars")),
    (
        ("Migrations are done with {}", "The migration tool is {}", "{} handles the migrations"),
        ("Flyway", "Liquibase", "Alembic"),
    ),
    (
        ("The reverse proxy is {}", "{} sits in front of the app", "Reverse proxy: {}"),
        ("nginx", "Caddy", "Traefik", "HAProxy"),
    ),
    (("E2E tests use {}", "End-to-end tests are written with {}"), ("Cypress", "Playwright", "Selenium")),
    (
        ("Infrastructure is described in {}", "We describe infrastructure with {}"),
        ("Terraform", "Pulumi", "CloudFormation"),
    ),
    (
        ("Identifiers in the public API are {}", "Public API identifiers use {}"),
        ("snake_case", "camelCase", "kebab-case"),
    ),
    (("Strings are quoted with {}", "quote style: {}", "We quote strings with {}"), ("single quotes", "double quotes")),
    (("The audit log is kept in {}", "audit log storage: {}"), ("ClickHouse", "PostgreSQL", "MongoDB")),
    (("Emails go out through {}", "The email provider is {}"), ("Mailgun", "Postmark", "SendGrid")),
    (("The licence of the SDK is {}", "The SDK is licensed under {}"), ("MIT", "Apache-2.0", "BSD-3-Clause", "LGPL")),
    (
        ("Containers are run by {}", "Container runtime: {}", "we run containers with {}"),
        ("Docker", "Podman", "containerd"),
    ),
)
# The same with values that no table knows.
TEXTS = (
    (("Uploads are scanned by {}", "{} scans the uploads"), ("ClamAV", "the storage vendor", "a lambda")),
    (("The default role is {}", "Default role: {}", "default role = {}"), ("viewer", "editor", "guest")),
    (("Releases are named after {}", "We name releases after {}"), ("rivers", "composers", "mountains")),
    (("The base image is {}", "base image: {}"), ("distroless", "alpine", "wolfi")),
    (("Generated code lives in {}", "Generated code is kept in {}"), ("gen/", "build/out", "src/generated")),
    (
        ("User input is sanitised in {}", "Sanitising of user input happens in {}"),
        ("the controller", "the template", "the gateway"),
    ),
    (("The mailing list is moderated by {}", "moderator of the mailing list: {}"), ("Ines", "Pavel", "the docs team")),
    (
        ("Exchange rates come from {}", "Exchange rates are fetched from {}"),
        ("the ECB", "Open Exchange", "the ERP system"),
    ),
    (("The rollout order is {}", "rollout order: {}"), ("region by region", "all at once", "tenant by tenant")),
    (
        ("Tenants are separated by {}", "Separation of tenants: {}"),
        ("schema", "row-level security", "separate databases"),
    ),
    (
        ("Migrations are applied by {}", "{} applies the migrations"),
        ("the init container", "the release job", "an operator"),
    ),
    (("The retry strategy is {}", "retry strategy: {}"), ("exponential backoff", "a fixed delay", "fibonacci backoff")),
    (("Prices are rounded {}", "Price rounding: {}"), ("half up", "half even", "towards zero")),
    (("Test fixtures are stored as {}", "Test fixtures are kept as {}"), ("SQL dumps", "factories", "JSON files")),
    (
        ("The landing page is rendered on {}", "Rendering of the landing page happens on {}"),
        ("the server", "the edge", "the client"),
    ),
    (("The root namespace is {}", "Root namespace: {}"), ("Acme.Core", "Acme.Platform", "Contoso")),
    (("Metrics are labelled with {}", "Labels of the metrics: {}"), ("the tenant", "the region", "the pod name")),
    (("The contact for security reports is {}", "Security contact: {}"), ("Noor", "Felix", "security@example.org")),
    (
        ("Feature flags are evaluated {}", "Evaluation of feature flags is done {}"),
        ("in the browser", "on the server", "at build time"),
    ),
    (("The release manager is {}", "{} is the release manager", "Release manager: {}"), ("Olga", "Samir", "Beatriz")),
    (
        ("Jobs are scheduled by {}", "The scheduler of the jobs is {}"),
        ("cron", "Airflow", "Temporal", "systemd timers"),
    ),
    (
        ("The config lives in {}", "The config is read from {}", "config location: {}"),
        ("/etc/app", "the home directory", "Consul"),
    ),
)
# Wordings of a quantity, and its values.
QUANTITIES = (
    (
        ("The request timeout is {}", "Requests time out after {}", "request timeout: {}"),
        ("5 seconds", "20 s", "one minute", "250 ms"),
    ),
    (
        ("Attachments may be at most {}", "The maximum attachment size is {}", "max attachment size: {}"),
        ("2 MB", "15 MB", "1 GB"),
    ),
    (("The connection pool holds {} connections", "connection pool size: {}", "pool size = {}"), ("5", "20", "64")),
    (
        ("Access tokens expire after {}", "Access token lifetime: {}", "access tokens live for {}"),
        ("10 minutes", "2 hours", "7 days"),
    ),
    (("A pull request needs {} approvals", "Required approvals for a pull request: {}"), ("1", "2", "3")),
    (("Logs are kept for {}", "Log retention is {}", "log retention: {}"), ("14 days", "30 days", "one year")),
    (("The dashboard refreshes every {}", "dashboard refresh interval: {}"), ("10 seconds", "30 s", "5 minutes")),
    (("The debug server listens on port {}", "debug server port: {}", "debug port = {}"), ("5000", "6060", "9229")),
    (("Batches contain {} rows", "The batch size is {} rows", "batch size: {}"), ("100", "500", "2000")),
    (("Page size of lists is {}", "lists return {} items a page"), ("20", "50", "200")),
    (("The sampling rate of traces is {}", "{} of the traces are sampled"), ("1 %", "10 %", "100 %")),
    (("Function length is limited to {} lines", "Functions may have at most {} lines"), ("30", "60", "100")),
    (("A failed job is tried again {} times", "Job retries: {}"), ("2", "4", "10")),
    (("Test coverage has to be at least {}", "minimum coverage: {}"), ("70 %", "85 %", "95 %")),
    (("The p99 latency target is {}", "our p99 latency goal: {}"), ("50 ms", "120 ms", "one second")),
)
# Yes in several wordings, no in several wordings.
YES_NO = (
    (
        ("The exporter supports streaming", "Streaming is supported by the exporter", "the exporter can stream"),
        (
            "The exporter does not support streaming",
            "Streaming is not supported by the exporter",
            "The exporter can't stream",
            "the exporter has no support for streaming",
        ),
    ),
    (
        ("Metrics are collected in the gateway", "We collect metrics in the gateway"),
        (
            "Metrics are not collected in the gateway",
            "We don't collect metrics in the gateway",
            "no metrics are collected in the gateway",
        ),
    ),
    (
        ("Query logging is enabled", "Query logging is on", "query logging is turned on"),
        (
            "Query logging is disabled",
            "Query logging is off",
            "query logging is not enabled",
            "query logging was turned off",
        ),
    ),
    (
        ("Force pushes are allowed on feature branches", "You may force-push feature branches"),
        (
            "Force pushes are forbidden on feature branches",
            "Force pushes are not allowed on feature branches",
            "Never force-push a feature branch",
        ),
    ),
    (
        ("Two-factor login is mandatory", "Two-factor login is required"),
        ("Two-factor login is optional", "Two-factor login is not required", "two-factor login isn't mandatory"),
    ),
    (
        ("Plugins are loaded lazily", "Plugin loading is lazy"),
        ("Plugins are loaded eagerly", "Plugins are not loaded lazily"),
    ),
    (
        ("The client is thread-safe", "the client can be shared between threads"),
        ("The client is not thread-safe", "The client is thread-unsafe", "the client can't be shared between threads"),
    ),
    (
        ("Uploads are encrypted at rest", "We encrypt uploads at rest"),
        ("Uploads are not encrypted at rest", "uploads are stored unencrypted", "We don't encrypt uploads at rest"),
    ),
    (("The wiki is public", "Everybody can read the wiki"), ("The wiki is private", "The wiki is not public")),
    (
        ("The queue survives a restart", "Queued jobs survive restarts"),
        (
            "The queue does not survive a restart",
            "Queued jobs do not survive restarts",
            "queued jobs are lost on restarts",
        ),
    ),
    (
        ("The index is updated synchronously", "Index updates are synchronous"),
        (
            "The index is updated asynchronously",
            "Index updates are asynchronous",
            "the index isn't updated synchronously",
        ),
    ),
    (
        ("Settings can be reloaded without a restart", "Settings are reloaded without a restart"),
        (
            "Settings cannot be reloaded without a restart",
            "Settings are only read at startup, they can't be reloaded without a restart",
        ),
    ),
    (
        ("We ship Windows binaries", "Windows binaries are shipped"),
        (
            "We do not ship Windows binaries",
            "Windows binaries are no longer shipped",
            "no Windows binaries are shipped",
        ),
    ),
    (("Backups are verified", "We verify every backup"), ("Backups are not verified", "nobody verifies the backups")),
    (
        ("Column names are case-sensitive", "Column names are matched case-sensitively"),
        ("Column names are case-insensitive", "Column names are not case-sensitive"),
    ),
    (
        ("The build is reproducible", "Builds are reproducible"),
        ("The build is not reproducible", "Builds aren't reproducible", "the build is irreproducible"),
    ),
    (
        ("Soft deletion is used for customers", "Customers are soft-deleted"),
        ("Soft deletion is not used for customers", "Customers are never soft-deleted"),
    ),
    (
        ("Results are returned in ascending order", "Result order is ascending"),
        ("Results are returned in descending order", "Result order is descending"),
    ),
    (
        ("The legacy importer is supported", "We support the legacy importer"),
        (
            "The legacy importer is deprecated",
            "The legacy importer is unsupported",
            "We dropped support for the legacy importer",
            "Support for the legacy importer was removed",
        ),
    ),
    (
        ("Optimistic locking is used for orders", "Orders use optimistic locking"),
        ("Orders do not use optimistic locking", "optimistic locking isn't used for orders"),
    ),
    (("Webhooks are signed", "Every webhook is signed"), ("Webhooks are unsigned", "Webhooks are not signed")),
    (
        ("Events are delivered in order", "Event delivery is ordered"),
        ("Events are not delivered in order", "Events may be delivered out of order", "Event delivery is unordered"),
    ),
    (
        ("The mock server is started automatically", "The mock server starts automatically"),
        (
            "The mock server is started manually",
            "the mock server is not started automatically",
            "You have to start the mock server by hand",
        ),
    ),
    (
        ("Schema changes need a review by the data team", "The data team has to review schema changes"),
        (
            "Schema changes need no review by the data team",
            "Schema changes don't need a review by the data team",
            "The data team does not review schema changes",
        ),
    ),
    (("Retries are idempotent", "A retry is idempotent"), ("Retries are not idempotent", "A retry is non-idempotent")),
    (
        ("Value objects are immutable", "All value objects are immutable"),
        ("Value objects are mutable", "Value objects are not immutable", "value objects may be mutated"),
    ),
)
# A rule for and against; the wordings of one side mean the same.
RULES = (
    (
        ("Always pin dependencies", "Dependencies must be pinned", "Pin all dependencies"),
        (
            "Never pin dependencies",
            "Do not pin dependencies",
            "Dependencies must not be pinned",
            "Avoid pinning dependencies",
        ),
    ),
    (
        ("Always wrap errors", "Errors must be wrapped", "wrap every error"),
        ("Never wrap errors", "Don't wrap errors", "Errors should not be wrapped"),
    ),
    (
        ("Use dataclasses for value objects", "Value objects must be dataclasses"),
        (
            "Never use dataclasses for value objects",
            "Don't use dataclasses for value objects",
            "avoid dataclasses for value objects",
        ),
    ),
    (
        ("Always start a transaction in the service layer", "Transactions have to be started in the service layer"),
        ("Never start a transaction in the service layer", "Do not start transactions in the service layer"),
    ),
    (
        ("Always write the ticket number in the commit message", "Commit messages must contain the ticket number"),
        (
            "No ticket numbers in commit messages",
            "Never write ticket numbers in commit messages",
            "Commit messages must not contain the ticket number",
        ),
    ),
    (("Use semicolons", "Always write semicolons"), ("Do not use semicolons", "No semicolons", "Avoid semicolons")),
    (
        ("Check in the lock file", "The lock file must be committed", "always commit the lock file"),
        ("Never commit the lock file", "Do not check in the lock file", "The lock file is not committed"),
    ),
    (
        ("Use inheritance for shared test code", "Shared test code should use inheritance"),
        ("Avoid inheritance for shared test code", "Never use inheritance for shared test code"),
    ),
    (
        ("Always deploy on the same day", "Deploy on the day of the merge"),
        ("Never deploy on the same day", "Do not deploy on the day of the merge"),
    ),
    (
        ("Delete merged branches", "Merged branches are always deleted", "Merged branches must be deleted"),
        ("Never delete merged branches", "Keep merged branches, do not delete them", "Merged branches are not deleted"),
    ),
    (
        ("Use environment variables for secrets", "Secrets are always passed in environment variables"),
        ("Never use environment variables for secrets", "Don't pass secrets in environment variables"),
    ),
    (
        ("Always return JSON from handlers", "Handlers must return JSON"),
        ("Handlers never return JSON", "Don't return JSON from handlers"),
    ),
    (
        ("Always ask before adding a dependency", "Ask before you add a dependency"),
        ("No need to ask before adding a dependency", "You don't have to ask before adding a dependency"),
    ),
    (("Prefer small functions", "Keep functions small"), ("Prefer large functions", "Avoid small functions")),
    (
        ("Prefer exceptions over return codes", "Use exceptions instead of return codes"),
        ("Prefer return codes over exceptions", "Use return codes instead of exceptions"),
    ),
    (
        ("Prefer polling over webhooks for sync", "Use polling rather than webhooks for sync"),
        ("Prefer webhooks over polling for sync", "Use webhooks instead of polling for sync"),
    ),
    (
        ("Write tests before the code", "Always write the tests first"),
        ("Write tests after the code", "Never write the tests first"),
    ),
    (
        ("Document every public function", "Public functions must be documented", "All public functions need docs"),
        ("Don't document public functions", "Public functions need no docs"),
    ),
    (
        ("Squash fixup commits before review", "Always squash fixups before review"),
        ("Never squash fixups before review", "Do not squash fixup commits before review"),
    ),
    (
        ("Use the shared logger", "Always log through the shared logger"),
        ("Do not use the shared logger", "Avoid the shared logger", "Never log through the shared logger"),
    ),
    (
        ("Copy test data into the repository", "Test data must be checked in"),
        ("Do not copy test data into the repository", "Test data must not be checked in", "never check in test data"),
    ),
)
TOOLS = (
    "Python",
    "Node",
    "Rust",
    "Go",
    "Java",
    "PostgreSQL",
    "Ruby",
    "Django",
    "Kotlin",
    "CMake",
    "Swift",
    "PHP",
    "Redis",
    "Elasticsearch",
)
PACKAGES = (
    "attrs",
    "click",
    "lodash",
    "serde",
    "pandas",
    "pillow",
    "rxjs",
    "anyhow",
    "guava",
    "cryptography",
    "babel",
    "build",
    "packaging",
    "bytes",
    "log",
    "rand",
    "version-check",
    "typing-extensions",
    "@types/node",
    "jackson-core",
)
PROJECTS = ("aurora", "birch", "cinder", "delta", "ember-kit", "fjord", "garnet", "heron", "iris", "juniper")
FILES = (
    "requirements.txt",
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "setup.cfg",
    "crates/core/Cargo.toml",
    "packages/app/package.json",
    "requirements/dev.txt",
)
SCOPES = (
    ("in production", "in staging"),
    ("on Windows", "on Linux"),
    ("in the admin area", "in the shop"),
    ("for the mobile app", "for the web app"),
    ("in the billing service", "in the search service"),
    ("for guests", "for customers"),
    ("in unit tests", "in integration tests"),
    ("in the frontend", "in the backend"),
    ("for imports", "for exports"),
    ("in debug builds", "in release builds"),
    ("for internal clients", "for external clients"),
    ("in packages/core", "in packages/web"),
    ("for large files", "for thumbnails"),
    ("in the EU cluster", "in the US cluster"),
    ("for emails", "for SMS"),
    ("on the primary", "on the replicas"),
)
PAST = (
    "Until last year: {}",
    "Before the migration, {}",
    "In 2019, {}",
    "Originally {}",
    "Previously {}",
    "Back in 2018 {}",
    "Up to version 1.9: {}",
    "At first {}",
)
FUTURE = (
    "Next quarter we will change this: {}",
    "The plan is to have it so eventually: {}",
    "Proposal for the next major version: {}",
)
MORE = (
    ", reviewed once a year",
    ", with a fallback for old clients",
    " and this is checked by CI",
    ", documented in the handbook",
    "; see the runbook for details",
    ", behind a feature flag for beta users",
    " with at most one exception a month",
    ", tuned for low memory",
)


def material(seed: int = 7) -> list[Pair]:
    """The same pairs for the same seed."""
    rng = random.Random(seed)
    pairs = [
        *_choices(rng),
        *_quantities(rng),
        *_yes_no(rng),
        *_rules(rng),
        *_versions(rng),
        *_pins(rng),
        *_strangers(rng),
    ]
    rows = [json.loads(line) for line in WRITTEN.read_text("utf-8").splitlines()]
    written = [
        Pair(row["a"], row["b"], row["label"], row["kind"], f"written {number}") for number, row in enumerate(rows)
    ]
    return list(dict.fromkeys((*pairs, *written)))


def _choices(rng: random.Random) -> Iterator[Pair]:
    for number, (wordings, values) in enumerate((*CHOICES, *TEXTS)):
        group = f"choice {number}"
        for _ in range(8):
            (first, second), (one, other) = _two(rng, wordings), rng.sample(values, 2)
            yield Pair(first.format(one), second.format(other), 1, "other value", group)
        yield from _looking_alike(rng, wordings, values, group)


def _quantities(rng: random.Random) -> Iterator[Pair]:
    for number, (wordings, values) in enumerate(QUANTITIES):
        group = f"quantity {number}"
        for _ in range(8):
            (first, second), (one, other) = _two(rng, wordings), rng.sample(values, 2)
            yield Pair(first.format(one), second.format(other), 1, "other value", group)
        yield from _looking_alike(rng, wordings, values, group)
    for (mine, values), (others, more) in itertools.combinations(QUANTITIES, 2):
        if rng.random() < 0.6:
            yield Pair(
                rng.choice(mine).format(rng.choice(values)),
                rng.choice(others).format(rng.choice(more)),
                0,
                "other attribute",
                "quantities",
            )


def _looking_alike(
    rng: random.Random, wordings: tuple[str, ...], values: tuple[str, ...], group: str
) -> Iterator[Pair]:
    for _ in range(3):
        first, second = _two(rng, wordings)
        value = rng.choice(values)
        if first != second:
            yield Pair(first.format(value), second.format(value), 0, "paraphrase", group)
        one, other = rng.sample(values, 2)
        here, there = rng.sample(rng.choice(SCOPES), 2)
        yield Pair(f"{first.format(one)} {here}", f"{second.format(other)} {there}", 0, "other scope", group)
        yield Pair(_lower(rng.choice(PAST), first.format(one)), second.format(other), 0, "other time", group)
        yield Pair(first.format(value), second.format(value) + rng.choice(MORE), 0, "refinement", group)
    one, other = rng.sample(values, 2)
    first, second = _two(rng, wordings)
    here, there = rng.sample(PROJECTS, 2)
    yield Pair(f"In {here}: {first.format(one)}", f"In {there}: {second.format(other)}", 0, "other project", group)
    yield Pair(f"{first.format(one)}", _lower(rng.choice(FUTURE), second.format(other)), 0, "other time", group)


def _yes_no(rng: random.Random) -> Iterator[Pair]:
    for number, (yes, no) in enumerate(YES_NO):
        yield from _for_and_against(rng, yes, no, "negation", f"yes {number}")


def _rules(rng: random.Random) -> Iterator[Pair]:
    for number, (yes, no) in enumerate(RULES):
        yield from _for_and_against(rng, yes, no, "always never", f"rule {number}")


def _for_and_against(
    rng: random.Random, yes: tuple[str, ...], no: tuple[str, ...], kind: str, group: str
) -> Iterator[Pair]:
    for _ in range(8):
        one, other = rng.choice(yes), rng.choice(no)
        if rng.random() < 0.5:
            one, other = other, one
        if rng.random() < 0.2:
            other += rng.choice(MORE)
        yield Pair(one, other, 1, kind, group)
    for side in (yes, no):
        for one, other in itertools.combinations(side, 2):
            yield Pair(one, other, 0, "paraphrase", group)
        one = rng.choice(side)
        yield Pair(one, rng.choice(side) + rng.choice(MORE), 0, "refinement", group)
    for _ in range(4):
        one, other = rng.sample([rng.choice(yes), rng.choice(no)], 2)
        here, there = rng.sample(rng.choice(SCOPES), 2)
        yield Pair(f"{one} {here}", f"{other} {there}", 0, "other scope", group)
    one, other = rng.sample([rng.choice(yes), rng.choice(no)], 2)
    yield Pair(_lower(rng.choice(PAST), one), other, 0, "other time", group)


def _versions(rng: random.Random) -> Iterator[Pair]:
    least = (
        "{} {}+ is required",
        "The minimum {} version is {}",
        "We need {} {} or newer",
        "requires {} >= {}",
        "We support {} {} and later",
        "{} >={}",
    )
    exact = ("We run {} {}", "{} is at version {}", "the {} version is {}", "{} {} is installed")
    most = ("{} must stay below {}", "{} {} or older only", "{} has to be older than {}")
    for tool in TOOLS:
        group = f"version {tool}"
        low, mid, high = sorted(rng.sample(range(2, 30), 3))
        dot = "" if rng.random() < 0.5 else f".{rng.randint(1, 9)}"
        for _ in range(4):
            first, second = rng.sample(least, 2)
            yield Pair(first.format(tool, f"{low}{dot}"), second.format(tool, f"{mid}{dot}"), 1, "versions", group)
            yield Pair(first.format(tool, f"{mid}{dot}"), second.format(tool, f"{mid}{dot}"), 0, "paraphrase", group)
        yield Pair(
            rng.choice(least).format(tool, f"{mid}{dot}"),
            rng.choice(exact).format(tool, f"{low}{dot}"),
            1,
            "versions",
            group,
        )
        yield Pair(
            rng.choice(least).format(tool, f"{mid}{dot}"),
            rng.choice(exact).format(tool, f"{high}{dot}"),
            0,
            "refinement",
            group,
        )
        yield Pair(
            rng.choice(exact).format(tool, f"{mid}{dot}"),
            rng.choice(exact).format(tool, f"{high}{dot}"),
            1,
            "versions",
            group,
        )
        yield Pair(
            rng.choice(most).format(tool, f"{low}{dot}"),
            rng.choice(least).format(tool, f"{high}{dot}"),
            1,
            "versions",
            group,
        )
        yield Pair(
            rng.choice(most).format(tool, f"{high}{dot}"),
            rng.choice(least).format(tool, f"{low}{dot}"),
            0,
            "refinement",
            group,
        )
        yield Pair(
            rng.choice(exact).format(tool, mid),
            rng.choice(exact).format(tool, f"{mid}.{rng.randint(1, 9)}"),
            0,
            "refinement",
            group,
        )
        other = rng.choice([one for one in TOOLS if one != tool])
        yield Pair(
            rng.choice(least).format(tool, f"{mid}{dot}"),
            rng.choice(least).format(other, high),
            0,
            "other attribute",
            group,
        )
        here, there = rng.sample(rng.choice(SCOPES), 2)
        yield Pair(
            f"{rng.choice(exact).format(tool, mid)} {here}",
            f"{rng.choice(exact).format(tool, high)} {there}",
            0,
            "other scope",
            group,
        )
        yield Pair(f"Version 1 needed {tool} {low}", f"Version 4 needs {tool} {high}", 0, "other time", group)
        yield Pair(f"{tool} {mid} is supported", f"Support for {tool} {mid} was dropped", 1, "negation", group)
        yield Pair(f"{tool} {low} is tested in CI", f"{tool} {high} is tested in CI too", 0, "both valid", group)


def _pins(rng: random.Random) -> Iterator[Pair]:
    forms = (
        "{f} of {p} pins {k} at {v}",
        "{p} depends on {k} {v}",
        "The {k} requirement in {p} is {v}",
        "{p} requires {k} {v}",
        "{k} in {p} is pinned to {v}",
    )
    for _ in range(260):
        package, other = rng.sample(PACKAGES, 2)
        project, elsewhere = rng.sample(PROJECTS, 2)
        file = rng.choice(FILES)
        operator = rng.choice(("==", "^", ">=", "", "~="))
        numbers = [rng.randint(0, 9), rng.randint(0, 30), rng.randint(0, 9)][: rng.randint(2, 3)]
        newer = list(numbers)
        newer[rng.randrange(len(newer))] += rng.randint(1, 4)
        old, new = (operator + ".".join(map(str, one)) for one in (numbers, newer))

        def said(key: str, value: str, of: str, file: str = file) -> str:
            return rng.choice(forms).format(f=file, p=of, k=key, v=value)

        yield Pair(said(package, old, project), said(package, new, project), 1, "versions", "pins")
        if rng.random() < 0.5:
            yield Pair(said(package, old, project), said(package, old, project), 0, "paraphrase", "pins")
            yield Pair(said(package, old, project), said(other, new, project), 0, "other attribute", "pins")
            yield Pair(said(package, old, project), said(package, new, elsewhere), 0, "other project", "pins")


def _strangers(rng: random.Random) -> Iterator[Pair]:
    """Statements about different things, and things that hold side by side."""
    sentences = [rng.choice(wordings).format(rng.choice(values)) for wordings, values in (*CHOICES, *QUANTITIES)]
    sentences += [rng.choice(side) for frame in (*YES_NO, *RULES) for side in frame]
    for _ in range(300):
        one, other = rng.sample(sentences, 2)
        if not any(one in side and other in side for frame in (*YES_NO, *RULES) for side in (frame[0] + frame[1],)):
            yield Pair(one, other, 0, "other attribute", "strangers")
    days = (
        "Monday",
        "Friday",
        "PNG",
        "GIF",
        "MySQL",
        "Oracle",
        "Chrome",
        "English",
        "Polish",
        "Python",
        "Java",
        "S3",
        "GitLab",
        "Jira",
        "Slack",
    )
    for wording in (
        "{} uploads are accepted",
        "{} is supported",
        "A {} version is available",
        "The tool works with {}",
        "{} can be used",
        "There is a guide for {}",
        "We have users on {}",
        "{} support was added",
        "One may choose {}",
        "We have an office in {}",
        "The demo covers {}",
        "{} is on the list",
    ):
        for _ in range(5):
            one, other = rng.sample(days, 2)
            yield Pair(wording.format(one), wording.format(other), 0, "both valid", f"list {wording}")
    lists = (
        "The tool can read {}",
        "We support {}",
        "{} is one of our export formats",
        "The client works with {}",
        "Sign-in with {} is possible",
        "We test on {}",
        "The plugin is available for {}",
        "There is a package for {}",
    )
    things = (
        "CSV",
        "Parquet",
        "Debian",
        "Fedora",
        "Firefox",
        "Safari",
        "Excel",
        "GitLab",
        "Okta",
        "PyCharm",
        "Neovim",
        "Android",
        "PostgreSQL",
        "SQLite",
        "French",
        "German",
    )
    for wording in lists:
        for _ in range(6):
            one, other = rng.sample(things, 2)
            yield Pair(wording.format(one), wording.format(other), 0, "both valid", f"list {wording}")
    adjectives = (
        "fast",
        "covered by tests",
        "documented in the wiki",
        "written in C",
        "used by support",
        "maintained by the core team",
        "deployed weekly",
        "hard to test",
        "stateless",
        "small",
        "versioned",
        "open source",
        "built with Bazel",
        "loaded lazily",
        "published to npm",
        "checked by a linter",
        "known to be slow",
        "part of the monorepo",
        "started at boot",
        "cached for an hour",
        "not localised",
        "not part of the SDK",
    )
    nouns = (
        "The importer",
        "The gateway",
        "Our crawler",
        "The editor plugin",
        "The mailer",
        "The dashboard",
        "The billing module",
        "the SDK",
        "The admin console",
    )
    for _ in range(160):
        noun = rng.choice(nouns)
        one, other = rng.sample(adjectives, 2)
        yield Pair(f"{noun} is {one}", f"{noun} is {other}", 0, "other attribute", f"adjectives {noun}")
        yield Pair(
            f"{noun} is {one}",
            f"{rng.choice([name for name in nouns if name != noun])} is {other}",
            0,
            "other attribute",
            f"adjectives {noun}",
        )
    subjects = (
        "The importer",
        "The gateway",
        "Our crawler",
        "The editor plugin",
        "The cache",
        "The mailer",
        "The parser",
    )
    said = (
        "retries failed requests",
        "is started by systemd",
        "writes its state to disk",
        "has a web interface",
        "is not part of the release",
        "never blocks the main thread",
        "logs to stdout",
        "needs 200 MB of memory",
        "doesn't use threads",
        "is written in Go",
        "must be configured with a token",
        "supports proxies",
        "is tested every night",
        "has no tests yet",
        "was rewritten for speed",
    )
    for _ in range(150):
        subject, elsewhere = rng.sample(subjects, 2)
        one, other = rng.sample(said, 2)
        yield Pair(f"{subject} {one}", f"{subject} {other}", 0, "other attribute", f"subject {subject}")
        yield Pair(
            f"{subject} needs {rng.randint(2, 9)}00 MB of memory",
            f"{elsewhere} needs 1 GB of memory",
            0,
            "other scope",
            f"subject {subject}",
        )
        opposite = {
            "supports proxies": "does not support proxies",
            "logs to stdout": "does not log to stdout",
            "doesn't use threads": "uses threads",
            "has a web interface": "has no web interface",
        }
        if one in opposite:
            yield Pair(f"{subject} {one}", f"{elsewhere} {opposite[one]}", 0, "other scope", f"subject {subject}")
            yield Pair(f"{subject} {one}", f"{subject} {opposite[one]}", 1, "negation", f"subject {subject}")


def _two(rng: random.Random, wordings: tuple[str, ...]) -> tuple[str, str]:
    """Two wordings; now and then the same twice."""
    return (rng.choice(wordings),) * 2 if rng.random() < 0.25 else tuple(rng.sample(wordings, 2))  # type: ignore[return-value]


def _lower(frame: str, sentence: str) -> str:
    lowered = sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]
    return frame.format(lowered)
