"""Secrets generated at run time: no line of this repository looks like one.

Each row: its name, the setting that usually carries it, and its generator. Prefixes are split, so that scanners of
this repository (and hunchd's own) do not mistake the table for secrets.
"""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Callable
from random import Random

ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "_-"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
BASE64 = ALNUM + "+/"

Maker = Callable[[Random], str]


def run(random: Random, alphabet: str, length: int) -> str:
    """Return random characters of `alphabet`, with a digit and a letter somewhere."""
    made = [random.choice(alphabet) for _ in range(length)]
    made[length // 3] = random.choice([c for c in alphabet if c.isdigit()] or list(alphabet))
    made[length // 2] = random.choice([c for c in alphabet if c.isalpha()])
    return "".join(made)


def after(prefix: str, alphabet: str, length: int, end: str = "") -> Maker:
    start = prefix.replace("|", "")
    return lambda random: start + run(random, alphabet, length) + end


def uuid(random: Random) -> str:
    return "-".join(run(random, HEX, length) for length in (8, 4, 4, 4, 12))


def jwt(random: Random) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    head, claims = {"alg": "HS256", "typ": "JWT"}, {"sub": run(random, HEX, 12), "iat": random.randrange(10**9)}
    return f"{part(head)}.{part(claims)}.{run(random, URLSAFE, 43)}"


def private_key(label: str) -> Maker:
    def made(random: Random) -> str:
        body = "\n".join(run(random, BASE64, 64) for _ in range(12))
        return f"-----BEGIN {label}-----\n{body}\n{run(random, BASE64, 30)}==\n-----END {label}-----"

    return made


def url(scheme: str, host: str) -> Maker:
    return lambda random: f"{scheme}://service:{run(random, URLSAFE, 18)}@{host}/app"


FORMATS: tuple[tuple[str, str, Maker], ...] = (
    ("AWS access key", "AWS_ACCESS_KEY_ID", after("AK|IA", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
    ("AWS session key", "AWS_ACCESS_KEY_ID", after("AS|IA", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
    ("AWS secret key", "AWS_SECRET_ACCESS_KEY", after("", BASE64, 40)),
    ("GCP API key", "GOOGLE_API_KEY", after("AI|za", URLSAFE, 35)),
    ("GCP OAuth secret", "GOOGLE_CLIENT_SECRET", after("GOC|SPX-", URLSAFE, 28)),
    ("GCP access token", "GOOGLE_TOKEN", after("ya|29.", URLSAFE, 90)),
    ("Azure client secret", "AZURE_CLIENT_SECRET", lambda r: run(r, ALNUM, 3) + "8" + "Q" + "~" + run(r, ALNUM, 34)),
    ("Azure storage key", "AZURE_STORAGE_KEY", after("", BASE64, 86, "==")),
    ("Azure DevOps token", "AZURE_DEVOPS_TOKEN", lambda r: run(r, ALNUM, 76) + "AZ" + "DO" + run(r, ALNUM, 4)),
    ("Alibaba key", "ALIBABA_ACCESS_KEY", after("LT|AI", ALNUM, 20)),
    ("DigitalOcean token", "DIGITALOCEAN_TOKEN", after("dop|_v1_", HEX, 64)),
    ("Heroku key", "HEROKU_API_KEY", uuid),
    ("Heroku key, new", "HEROKU_API_KEY", after("HR|KU-AA", URLSAFE, 58)),
    ("Fly.io token", "FLY_API_TOKEN", after("fo|1_", URLSAFE, 43)),
    ("Cloudflare token", "CLOUDFLARE_API_TOKEN", after("", URLSAFE, 40)),
    ("Cloudflare global key", "CLOUDFLARE_API_KEY", after("", HEX, 37)),
    ("Fastly token", "FASTLY_API_TOKEN", after("", URLSAFE, 32)),
    ("Databricks token", "DATABRICKS_TOKEN", after("da|pi", HEX, 32)),
    ("PlanetScale token", "PLANETSCALE_TOKEN", after("pscale|_tkn_", ALNUM, 43)),
    ("Supabase key", "SUPABASE_KEY", after("sb|p_", HEX, 40)),
    ("GitHub token", "GITHUB_TOKEN", after("gh|p_", ALNUM, 36)),
    ("GitHub app token", "GH_TOKEN", after("gh|s_", ALNUM, 36)),
    (
        "GitHub fine-grained token",
        "GITHUB_PAT",
        lambda r: "github" + "_pat_" + run(r, ALNUM, 22) + "_" + run(r, ALNUM, 59),
    ),
    ("GitLab token", "GITLAB_TOKEN", after("gl|pat-", URLSAFE, 20)),
    ("GitLab runner token", "CI_RUNNER_TOKEN", after("gl|rt-", URLSAFE, 20)),
    ("Bitbucket token", "BITBUCKET_TOKEN", after("AT|BB", ALNUM, 32)),
    ("Atlassian token", "JIRA_API_TOKEN", after("AT|ATT3", URLSAFE, 180)),
    ("npm token", "NPM_TOKEN", after("np|m_", ALNUM, 36)),
    ("PyPI token", "TWINE_PASSWORD", after("py|pi-AgEIcHlwaS5vcmc", URLSAFE, 120)),
    ("RubyGems token", "GEM_HOST_API_KEY", after("ruby|gems_", HEX, 48)),
    ("Docker token", "DOCKER_TOKEN", after("dckr|_pat_", URLSAFE, 27)),
    ("Artifactory key", "ARTIFACTORY_API_KEY", after("AK|Cp", ALNUM, 69)),
    ("SonarQube token", "SONAR_TOKEN", after("sq|p_", HEX, 40)),
    ("Sourcegraph token", "SRC_ACCESS_TOKEN", after("sg|p_", HEX, 40)),
    ("CircleCI token", "CIRCLE_TOKEN", lambda r: "CCI" + "PAT_" + run(r, ALNUM, 22) + "_" + run(r, HEX, 40)),
    ("Postman key", "POSTMAN_API_KEY", lambda r: "PM" + "AK-" + run(r, HEX, 24) + "-" + run(r, HEX, 34)),
    ("Anthropic key", "ANTHROPIC_API_KEY", after("sk-|ant-api03-", URLSAFE, 93, "AA")),
    ("OpenAI key", "OPENAI_API_KEY", lambda r: "sk-" + run(r, ALNUM, 20) + "T3Blb" + "kFJ" + run(r, ALNUM, 20)),
    ("OpenAI project key", "OPENAI_API_KEY", after("sk-|proj-", URLSAFE, 120)),
    ("HuggingFace token", "HF_TOKEN", after("hf|_", string.ascii_letters, 34)),
    ("Replicate token", "REPLICATE_API_TOKEN", after("r8|_", ALNUM, 37)),
    ("Groq key", "GROQ_API_KEY", after("gs|k_", ALNUM, 52)),
    ("Perplexity key", "PERPLEXITY_API_KEY", after("ppl|x-", ALNUM, 48)),
    (
        "Slack bot token",
        "SLACK_BOT_TOKEN",
        lambda r: f"xo{'xb'}-{r.randrange(10**11, 10**12)}-{r.randrange(10**11, 10**12)}-{run(r, ALNUM, 24)}",
    ),
    (
        "Slack user token",
        "SLACK_TOKEN",
        lambda r: f"xo{'xp'}-{r.randrange(10**11, 10**12)}-{r.randrange(10**11, 10**12)}-{run(r, HEX, 32)}",
    ),
    (
        "Slack app token",
        "SLACK_APP_TOKEN",
        lambda r: f"xa{'pp'}-1-{run(r, UPPER, 11)}-{r.randrange(10**12, 10**13)}-{run(r, HEX, 64)}",
    ),
    (
        "Slack webhook",
        "SLACK_WEBHOOK",
        lambda r: f"https://hooks.slack.com/services/T{run(r, UPPER, 10)}/B{run(r, UPPER, 10)}/{run(r, ALNUM, 24)}",
    ),
    (
        "Discord webhook",
        "DISCORD_WEBHOOK",
        lambda r: f"https://discord.com/api/webhooks/{r.randrange(10**17, 10**18)}/{run(r, URLSAFE, 68)}",
    ),
    (
        "Discord bot token",
        "DISCORD_TOKEN",
        lambda r: "M" + run(r, ALNUM, 25) + "." + run(r, ALNUM, 6) + "." + run(r, URLSAFE, 38),
    ),
    ("Telegram token", "TELEGRAM_BOT_TOKEN", lambda r: f"{r.randrange(10**8, 10**10)}:AA{run(r, URLSAFE, 33)}"),
    ("Twilio key", "TWILIO_API_KEY", after("S|K", HEX, 32)),
    ("Twilio auth token", "TWILIO_AUTH_TOKEN", after("", HEX, 32)),
    ("SendGrid key", "SENDGRID_API_KEY", lambda r: "SG" + "." + run(r, URLSAFE, 22) + "." + run(r, URLSAFE, 43)),
    ("Mailgun key", "MAILGUN_API_KEY", after("ke|y-", HEX, 32)),
    ("Mailchimp key", "MAILCHIMP_API_KEY", after("", HEX, 32, "-us12")),
    ("Stripe key", "STRIPE_SECRET_KEY", after("sk|_live_", ALNUM, 24)),
    ("Stripe restricted key", "STRIPE_KEY", after("rk|_test_", ALNUM, 40)),
    ("Stripe webhook secret", "STRIPE_WEBHOOK_SECRET", after("wh|sec_", ALNUM, 32)),
    ("Square token", "SQUARE_ACCESS_TOKEN", after("sq0|atp-", URLSAFE, 22)),
    ("Shopify token", "SHOPIFY_ACCESS_TOKEN", after("shp|at_", HEX, 32)),
    ("Plaid token", "PLAID_ACCESS_TOKEN", lambda r: "access-" + "sandbox-" + uuid(r)),
    ("Linear key", "LINEAR_API_KEY", after("lin|_api_", ALNUM, 40)),
    ("Notion token", "NOTION_TOKEN", after("nt|n_", ALNUM, 46)),
    ("Figma token", "FIGMA_TOKEN", after("fig|d_", URLSAFE, 40)),
    ("Airtable token", "AIRTABLE_TOKEN", lambda r: "pa" + "t" + run(r, ALNUM, 14) + "." + run(r, HEX, 64)),
    ("Okta token", "OKTA_API_TOKEN", after("0|0", URLSAFE, 40)),
    ("Datadog API key", "DATADOG_API_KEY", after("", HEX, 32)),
    ("Datadog application key", "DD_APP_KEY", after("", HEX, 40)),
    ("New Relic key", "NEW_RELIC_API_KEY", after("NR|AK-", UPPER, 27)),
    ("Grafana token", "GRAFANA_TOKEN", lambda r: "gl" + "sa_" + run(r, ALNUM, 32) + "_" + run(r, HEX, 8)),
    ("Sentry token", "SENTRY_AUTH_TOKEN", after("sn|tryu_", HEX, 64)),
    ("Vault token", "VAULT_TOKEN", after("hv|s.", URLSAFE, 95)),
    ("Terraform token", "TF_TOKEN", lambda r: run(r, ALNUM, 14) + ".atlas" + "v1." + run(r, URLSAFE, 67)),
    ("Pulumi token", "PULUMI_ACCESS_TOKEN", after("pu|l-", HEX, 40)),
    ("Doppler token", "DOPPLER_TOKEN", after("dp.|pt.", ALNUM, 43)),
    ("Tailscale key", "TS_AUTHKEY", lambda r: "ts" + "key-auth-" + run(r, ALNUM, 17) + "-" + run(r, ALNUM, 32)),
    ("Firebase messaging key", "FCM_SERVER_KEY", lambda r: "AAAA" + run(r, URLSAFE, 7) + ":" + run(r, URLSAFE, 140)),
    ("JWT", "SESSION_TOKEN", jwt),
    ("age key", "SOPS_AGE_KEY", after("AGE-SEC|RET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
    ("RSA key", "DEPLOY_KEY", private_key("RSA PRI" + "VATE KEY")),
    ("OpenSSH key", "SSH_KEY", private_key("OPENSSH PRI" + "VATE KEY")),
    ("PGP key", "GPG_KEY", private_key("PGP PRI" + "VATE KEY BLOCK")),
    ("PostgreSQL URL", "DATABASE_URL", url("postgresql", "db.internal:5432")),
    ("MongoDB URL", "MONGO_URL", url("mongodb+srv", "cluster0.mongodb.net")),
    ("Redis URL", "REDIS_URL", url("redis", "cache:6379")),
    ("AMQP URL", "BROKER_URL", url("amqp", "mq:5672")),
    ("git remote with a password", "REMOTE", url("https", "git.company.dev")),
    ("password", "DB_PASSWORD", lambda r: run(r, ALNUM, 10) + "!" + run(r, ALNUM, 4)),
    ("signing secret", "APP_SECRET_KEY", after("", ALNUM + "!@#$%^*(-_=+)"[:6], 50)),
    ("API key of no known kind", "ACME_API_KEY", after("", ALNUM, 32)),
)


def in_diff(name: str, secret: str) -> str:
    body = secret.replace("\n", "\n+")
    return (
        f'@@ -10,3 +10,4 @@ def configure():\n     debug = False\n+    {name.lower()} = "{body}"\n     return debug\n'
    )


def in_env(name: str, secret: str) -> str:
    return f"# staging\nDEBUG=1\n{name}={secret}\nPORT=8080\n"


def in_url(name: str, secret: str) -> str:
    if "://" in secret:
        return f"see {secret}?tls=1 for the rest"
    return f"GET https://api.acme.dev/v1/items?page=2&{name.lower()}={secret}&sort=up HTTP/1.1"


def in_prose(name: str, secret: str) -> str:
    words = name.lower().replace("_", " ")
    return f"Since Tuesday the {words} for staging is {secret}, please rotate it before the release."


def in_base64(name: str, secret: str) -> str:
    return f"  payload: {base64.b64encode(f'{name}={secret}'.encode()).decode()}\n"


CONTEXTS: dict[str, Callable[[str, str], str]] = {
    "diff": in_diff,
    "env": in_env,
    "url": in_url,
    "prose": in_prose,
    "base64": in_base64,
}


def traces_of(secret: str) -> list[str]:
    """Return what must not be found afterwards: the distinctive parts of a secret, plain and in base64."""
    if "-----BEGIN" in secret:
        return [line for line in secret.split("\n")[1:-1] if len(line) > 20]
    if "://" in secret and "@" in secret:
        return [secret.split(":")[2].split("@")[0]]
    if "://" in secret:
        return [secret.rsplit("/", 1)[1]]
    return [secret[-max(8, len(secret) // 2) :]]
