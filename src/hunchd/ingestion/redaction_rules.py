"""Formats of secrets, and words that announce secrets without a known format.

Provenance: prefixes, alphabets and lengths follow the issuers' documentation, cross-checked against the public rule
sets of gitleaks (config/gitleaks.toml, MIT) and detect-secrets (Apache-2.0) as of 2026-11; every pattern was
written for this module. To add a format, add a row below and a row in tests/security/secret_formats.py.

A row is tried only if one of its literals occurs in the text: searching a line for a literal takes some
nanoseconds, matching a pattern a thousand times as long. Patterns are bounded and have no nested repetition, so
they run in time linear in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from hunchd.ingestion.redaction_words import (
    ANY_NOUN,
    ASCII_STEMS,
    COPULAS,
    JOINED_COPULAS,
    KEY_WORDS,
    LOGIN_WORDS,
    NOUNS,
)


@dataclass(frozen=True, slots=True)
class SecretFormat:
    """Format in which an issuer writes its secrets.

    The pattern `source` is tried only if one of `literals` occurs in the text. If the pattern has a group, group 1
    is the secret, otherwise the whole match.
    """

    kind: str
    literals: tuple[str, ...]
    source: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Return the pattern, which is compiled on first use.

        Compiling all patterns at once would take a tenth of a second at every start.
        """
        return _compile(self.source)


@cache
def _compile(source: str) -> re.Pattern[str]:
    return re.compile(source)


# Not after a letter or digit, except in an escaped line break or URL escape: "\\n", "%3D".
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"


def _make_format(kind: str, literals: str, pattern: str, *, start: str = _START) -> SecretFormat:
    return SecretFormat(kind, tuple(literals.split()), start + pattern)


FORMATS: tuple[SecretFormat, ...] = (
    # Clouds
    _make_format(
        "aws-access-key",
        "AKIA ASIA ABIA ACCA A3T",
        r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])",
    ),
    _make_format(
        "aws-bedrock-key",
        "ABSK bedrock-api-key-",
        r"(?:ABSK[A-Za-z0-9+/]{100,300}={0,2}|bedrock-api-key-[A-Za-z0-9+/=]{20,2000})",
    ),
    _make_format("aws-mws-token", "amzn.mws.", r"amzn\.mws\.[0-9a-f-]{36}"),
    _make_format("gcp-api-key", "AIza", r"AIza[\w-]{35}(?![\w-])"),
    _make_format("gcp-oauth-secret", "GOCSPX-", r"GOCSPX-[\w-]{24,40}"),
    _make_format("gcp-oauth-token", "ya29.", r"ya29\.[\w-]{20,2000}"),
    _make_format("gcp-refresh-token", "1//0", r"1//0[\w-]{30,200}"),
    _make_format(
        "azure-client-secret", "Q~", r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,37}", start=r"(?<![A-Za-z0-9_~.-])"
    ),
    _make_format(
        "azure-storage-key",
        "AccountKey= SharedAccessKey= accountkey=",
        r"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/%]{40,120}={0,2})",
    ),
    _make_format("azure-sas-signature", "sig=", r"sig=([A-Za-z0-9%+/]{40,100}(?:={1,2}|%3D){0,2})"),
    _make_format("azure-devops-token", "AZDO", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    _make_format("alibaba-access-key", "LTAI", r"LTAI[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),
    _make_format("tencent-secret-id", "AKID", r"AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _make_format("ibm-openshift-token", "sha256~", r"sha256~[\w-]{43}(?![\w-])"),
    _make_format(
        "yandex-key", "AQVN YCA t1.", r"(?:AQVN[\w-]{35,38}|YCA[\w-]{37}|t1\.[\w-]{40,600}\.[\w-]{86})(?![\w-])"
    ),
    _make_format("digitalocean-token", "_v1_", r"do[oprt]_v1_[a-f0-9]{64}"),
    _make_format("heroku-key", "HRKU-", r"HRKU-[\w-]{36,70}"),
    _make_format(
        "flyio-token",
        "fo1_ fm1 fm2_",
        r"(?:fo1_[\w-]{43}|fm1[ar]_[A-Za-z0-9+/]{60,2000}={0,3}|fm2_[A-Za-z0-9+/]{60,2000}={0,3})",
    ),
    _make_format("scaleway-secret", "SCW", r"SCW[A-Z0-9]{17}(?![A-Za-z0-9])"),
    _make_format("cloudflare-origin-key", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    _make_format("cloudflare-token", "cfat_ cfut_ cfk_", r"cf(?:at|ut|k)_[A-Za-z0-9_-]{36,80}"),
    _make_format("fastly-token", "fastly_", r"fastly_[A-Za-z0-9_-]{28,64}"),
    _make_format("supabase-key", "sbp_ sb_secret_", r"(?:sbp_[a-f0-9]{40}|sb_secret_[\w-]{20,64})"),
    _make_format("vercel-token", "vcp_ vck_ vca_", r"vc[pka]_[A-Za-z0-9]{24,80}"),
    _make_format("planetscale-token", "pscale_", r"pscale_(?:tkn|oauth|pw)_[\w=.-]{32,64}"),
    _make_format("neon-key", "napi_", r"napi_[a-z0-9]{40,80}"),
    _make_format("clickhouse-key", "4b1d", r"4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])"),
    _make_format("databricks-token", "dapi dkea dose", r"(?:dapi|dkea|dose)[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),
    _make_format("snowflake-token", "ver:1-hint:", r"ver:1-hint:\d+-[A-Za-z0-9+/=_-]{40,600}"),
    _make_format("digitalocean-token", "do", r"do[opr]_v1_[a-f0-9]{64}"),
    _make_format("fly-token", "fo1_ fm1 fm2_ FlyV1", r"(?:fo1_[\w-]{43}|fm[12][ar]?_[A-Za-z0-9+/=,_]{60,2000})"),
    _make_format("netlify-token", "nfp_", r"nfp_[A-Za-z0-9]{36,44}"),
    _make_format("render-key", "rnd_", r"rnd_[A-Za-z0-9]{24,40}(?![A-Za-z0-9])"),
    # Code hosts and registries
    _make_format("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9_]{30,255}"),
    _make_format("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{50,255}"),
    _make_format(
        "gitlab-token",
        "gl GR1348941",
        r"(?:gl(?:pat|ptt|dt|cbt|ft|ffct|imt|rt|soat|agent|oas|rtr|wt)-[\w.-]{20,300}|GR1348941[\w-]{20})",
    ),
    _make_format("gitlab-session", "_gitlab_session=", r"_gitlab_session=([0-9a-z]{32})"),
    _make_format("bitbucket-token", "ATBB ATCTT3", r"(?:ATBB[A-Za-z0-9]{24,40}|ATCTT3xFf[\w=-]{40,400})"),
    _make_format("atlassian-token", "ATATT3 ATSTT3", r"AT[AS]TT3[\w=-]{60,400}"),
    _make_format("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _make_format("pypi-token", "pypi-Ag", r"pypi-Ag[A-Za-z0-9_-]{50,2000}"),
    _make_format("rubygems-token", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    _make_format("crates-io-token", "cio", r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _make_format("nuget-key", "oy2", r"oy2[a-z0-9]{43}(?![A-Za-z0-9])"),
    _make_format("clojars-token", "CLOJARS_", r"CLOJARS_[a-z0-9]{60}"),
    _make_format("docker-token", "dckr_", r"dckr_(?:pat|oat)_[\w-]{24,60}"),
    _make_format("artifactory-key", "AKCp cmVmd", r"(?:AKCp[A-Za-z0-9]{60,80}|cmVmd[A-Za-z0-9]{59})(?![A-Za-z0-9])"),
    _make_format("sonar-token", "squ_ sqp_ sqa_", r"sq[upa]_[a-f0-9]{40}"),
    _make_format("sourcegraph-token", "sgp_", r"sgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}"),
    _make_format("circleci-token", "CCIPAT_ CCIPRJ_", r"CCIP(?:AT|RJ)_[A-Za-z0-9]{10,40}_[a-f0-9]{40}"),
    _make_format("buildkite-token", "bkua_ bkpt_ bkaj_", r"bk(?:ua|pt|aj)_[a-f0-9]{40}"),
    _make_format("postman-key", "PMAK-", r"PMAK-[a-fA-F0-9]{24}-[a-fA-F0-9]{34}"),
    _make_format("readme-key", "rdme_", r"rdme_[a-z0-9]{70}"),
    # Models
    _make_format("anthropic-key", "sk-ant-", r"sk-ant-[a-z0-9]{3,10}-[\w-]{40,200}"),
    _make_format(
        "openai-key",
        "T3BlbkFJ sk-proj- sk-svcacct- sk-admin-",
        r"sk-(?:(?:proj|svcacct|admin|None)-[\w-]{40,220}|[\w-]{20,110}T3BlbkFJ[\w-]{20,110})",
    ),
    _make_format("openrouter-key", "sk-or-", r"sk-or-v1-[a-f0-9]{64}"),
    _make_format(
        "api-key",
        "sk-",
        r"sk-(?=[A-Za-z0-9]{0,60}[0-9])(?=[A-Za-z0-9]{0,60}[A-Z]|[a-f0-9]{32,64}\b)[A-Za-z0-9]{32,64}(?![\w-])",
    ),
    _make_format("huggingface-token", "hf_ api_org_", r"(?:hf_|api_org_)[A-Za-z0-9]{34,40}(?![A-Za-z0-9])"),
    _make_format("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}(?![A-Za-z0-9])"),
    _make_format("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{48,56}(?![A-Za-z0-9])"),
    _make_format("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,56}(?![A-Za-z0-9])"),
    _make_format("xai-key", "xai-", r"xai-[A-Za-z0-9]{70,90}(?![A-Za-z0-9])"),
    _make_format("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    _make_format("pinecone-key", "pcsk_", r"pcsk_[A-Za-z0-9_]{50,90}"),
    _make_format("nvidia-key", "nvapi-", r"nvapi-[\w-]{60,80}"),
    _make_format("wandb-key", "wandb_v1_", r"wandb_v1_[A-Za-z0-9_]{40,100}"),
    _make_format("tavily-key", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{20,60}(?![A-Za-z0-9])"),
    _make_format("langfuse-key", "sk-lf- pk-lf-", r"[sp]k-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    _make_format("firecrawl-key", "fc-", r"fc-[0-9a-f]{32}(?![A-Za-z0-9])"),
    _make_format("jina-key", "jina_", r"jina_[A-Za-z0-9_-]{40,80}"),
    _make_format("cerebras-key", "csk-", r"csk-[a-z0-9]{40,60}(?![A-Za-z0-9])"),
    _make_format("fireworks-key", "fw_", r"fw_[A-Za-z0-9]{20,40}(?![A-Za-z0-9])"),
    _make_format("together-key", "tgp_v1_", r"tgp_v1_[\w-]{40,60}"),
    _make_format("elevenlabs-key", "sk_", r"sk_[0-9a-f]{48}(?![A-Za-z0-9])"),
    _make_format("e2b-key", "e2b_", r"e2b_[0-9a-f]{40}(?![A-Za-z0-9])"),
    _make_format("brave-key", "BSA", r"BSA[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])"),
    _make_format("posthog-key", "phx_ phc_", r"ph[xc]_[A-Za-z0-9]{32,60}(?![A-Za-z0-9])"),
    _make_format("apify-key", "apify_api_", r"apify_api_[A-Za-z0-9]{30,50}"),
    # Chat and mail
    _make_format("slack-token", "xox", r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,300}"),
    _make_format("slack-app-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,200}"),
    _make_format(
        "slack-webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{20,120})"
    ),
    _make_format("teams-webhook", "webhook.office.com", r"webhook\.office\.com/webhookb2/([\w@/.-]{60,300})"),
    _make_format(
        "discord-webhook", "discord", r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/(\d{15,21}/[\w-]{50,100})"
    ),
    _make_format(
        "discord-token",
        ".",
        r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}(?![\w.-])",
        start=r"(?<![\w.-])",
    ),
    _make_format("telegram-token", ":A", r"\d{8,10}:A[A-Za-z0-9_-]{34}(?![\w-])"),
    _make_format("twilio-key", "SK AC", r"(?:SK|AC)[0-9a-f]{32}(?![A-Za-z0-9])"),
    _make_format("sendgrid-key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{30,60}"),
    _make_format("mailgun-key", "key- pubkey-", r"(?:pub)?key-[a-f0-9]{32}(?![A-Za-z0-9])"),
    _make_format(
        "mailgun-signing-key", "-", r"[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![A-Za-z0-9-])", start=r"(?<![A-Za-z0-9-])"
    ),
    _make_format("mailchimp-key", "-us", r"[a-f0-9]{32}-us\d{1,2}(?![A-Za-z0-9])"),
    _make_format("brevo-key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _make_format("resend-key", "re_", r"re_(?=[A-Za-z]*\d)[A-Za-z0-9]{6,12}_[A-Za-z0-9]{20,30}(?![A-Za-z0-9_])"),
    _make_format("postmark-or-intercom-token", "dG9rO", r"dG9rO[A-Za-z0-9+/=]{40,80}"),
    # Money
    _make_format(
        "stripe-key",
        "_live_ _test_ _prod_",
        r"(?:(?:sk|rk|pk)_(?:live|test|prod)_[A-Za-z0-9]{10,250}|[a-z]{2,8}_(?:live|prod)_[0-9a-f]{32,64}(?![\w-]))",
    ),
    _make_format("stripe-webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,80}"),
    _make_format("square-token", "sq0 EAAA", r"(?:sq0(?:atp|csp|idp)-[\w-]{22,60}|EAAA[\w-]{56,64}(?![\w-]))"),
    _make_format(
        "braintree-token", "access_token$", r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"
    ),
    _make_format("plaid-token", "access-", r"access-(?:sandbox|development|production)-[0-9a-f-]{36}"),
    _make_format("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32,64}"),
    _make_format("flutterwave-key", "FLWSECK", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,60}(?:-X)?"),
    _make_format("razorpay-key", "rzp_", r"rzp_(?:live|test)_[A-Za-z0-9]{14,30}"),
    _make_format("coinbase-key", "organizations/", r"organizations/[0-9a-f-]{36}/apiKeys/([0-9a-f-]{36})"),
    # Work
    _make_format("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    _make_format(
        "notion-token",
        "ntn_ secret_",
        r"(?:ntn_[A-Za-z0-9]{40,50}|secret_(?=[A-Za-z]*\d)[A-Za-z0-9]{43})(?![A-Za-z0-9])",
    ),
    _make_format("figma-token", "figd_ figo_ figu_", r"fig[dou]_[\w-]{36,60}"),
    _make_format("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _make_format("asana-token", "/", r"[12]/\d{15,17}(?:/\d{15,17})?:[a-f0-9]{32}(?![A-Za-z0-9])"),
    _make_format("harness-token", "pat. sat.", r"[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    _make_format("typeform-token", "tfp_", r"tfp_[\w.=-]{40,64}"),
    _make_format("dropbox-token", "sl.", r"sl\.[A-Za-z0-9_=-]{100,1400}"),
    _make_format("contentful-token", "CFPAT-", r"CFPAT-[\w-]{43}"),
    _make_format("sanity-or-hubspot-token", "pat-na pat-eu", r"pat-(?:na|eu)\d-[0-9a-f-]{36}"),
    _make_format("facebook-token", "EAA", r"EAA[A-Za-z0-9]{90,400}"),
    _make_format("firebase-messaging-key", "AAAA", r"AAAA[\w-]{7}:[\w-]{134,152}"),
    _make_format("shippo-token", "shippo_", r"shippo_(?:live|test)_[a-fA-F0-9]{40}"),
    _make_format("easypost-key", "EZAK EZTK", r"EZ[AT]K[A-Za-z0-9]{54}"),
    _make_format("maxmind-key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    _make_format("mapbox-token", "sk.eyJ pk.eyJ", r"[sp]k\.eyJ[\w-]{40,200}\.[\w-]{20,30}"),
    # Operations
    _make_format("datadog-token", "ddpat_ ddapp_", r"dd(?:pat|app)_[A-Za-z0-9]{32,60}"),
    _make_format(
        "newrelic-key",
        "NRAK- NRII- NRJS- NRAL NRRA-",
        r"(?:NR(?:AK|II|JS|RA)-[A-Za-z0-9_-]{19,60}|[a-f0-9]{36}NRAL(?![A-Za-z0-9]))",
    ),
    _make_format(
        "grafana-token",
        "glsa_ glc_ eyJrIjoi",
        r"(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,400}={0,2}|eyJrIjoi[A-Za-z0-9]{60,400}={0,2})",
    ),
    _make_format("sentry-token", "sntry", r"sntry(?:u_[a-f0-9]{64}|s_[A-Za-z0-9+/=_]{60,600})"),
    _make_format("dynatrace-token", "dt0c01. dt0s", r"dt0(?:c01|s\d\d)\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
    _make_format("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{24,300}"),
    _make_format(
        "vault-token",
        "s.",
        r"s\.(?=[A-Za-z]*\d)(?=[a-z0-9]*[A-Z])(?=[A-Z0-9]*[a-z])[A-Za-z0-9]{24}(?![\w.])",
        start=r"(?<![\w.)\]])",
    ),
    _make_format("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,80}"),
    _make_format("pulumi-token", "pul-", r"pul-[a-f0-9]{40}"),
    _make_format("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    _make_format(
        "1password-token",
        "ops_eyJ A3-",
        r"(?:ops_eyJ[A-Za-z0-9+/]{100,2000}={0,3}|A3-[A-Z0-9]{6}-[A-Z0-9]{6}(?:-?[A-Z0-9]{5}){4})",
    ),
    _make_format("infracost-key", "ico-", r"ico-[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _make_format("octopus-key", "API-", r"API-(?=[A-Z]*\d)[A-Z0-9]{25,31}(?![A-Za-z0-9])"),
    _make_format("prefect-key", "pnu_ pnb_", r"pn[ub]_[A-Za-z0-9]{36}"),
    _make_format(
        "launchdarkly-key",
        "api- sdk- mob-",
        r"(?:api|sdk|mob)-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    _make_format("tailscale-key", "tskey-", r"tskey-[a-z]{2,12}-[A-Za-z0-9]{8,24}(?:-[A-Za-z0-9]{20,60})?"),
    _make_format("ngrok-token", "_", r"(?:[12][A-Za-z0-9]{26}_[A-Za-z0-9]{21})(?![\w])", start=r"(?<![\w])"),
    _make_format("okta-token", "SSWS ", r"SSWS (00[\w=-]{30,60})"),
    _make_format("adobe-secret", "p8e-", r"p8e-[a-zA-Z0-9_-]{32}"),
    _make_format("rapid-or-frameio-token", "fio-u-", r"fio-u-[\w=-]{64}"),
    _make_format(
        "authress-key",
        ".acc",
        r"(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][\w-]{10,32}\.[\w+/=-]{30,120}",
    ),
    _make_format("duffel-token", "duffel_", r"duffel_(?:test|live)_[\w=-]{43}"),
    _make_format("intra42-secret", "s-s4t2", r"s-s4t2(?:ud|af)-[0-9a-f]{64}"),
    _make_format("settlemint-token", "sm_", r"sm_[aps]at_[A-Za-z0-9]{16}(?![A-Za-z0-9])"),
    _make_format("yandex-token", "t1. AQVN", r"(?:t1\.[A-Z0-9a-z_-]+=*\.[A-Z0-9a-z_-]{86}=*|AQVN[\w-]{35,38})"),
    # Issuers not listed here: a short prefix, then a part that only a generator writes. Ids of things (`run_…`) have
    # such parts too.
    _make_format(
        "prefixed-key",
        "- _",
        r"(?!(?:toolu|msg|call|req|chatcmpl|cus|evt|run|thread|asst|file|resp|item|rs|sha\d*|chunk|index|main"
        r"|vendor|app)[-_])"
        r"[a-z][a-z0-9]{1,9}[-_](?:[a-z0-9]{2,6}[-_])?(?=[A-Za-z]{0,30}\d)(?=[a-z0-9]{0,30}[A-Z])(?=[A-Z0-9]{0,30}[a-z])"
        r""
        r""
        r"([A-Za-z0-9]{20,80})(?![\w-])",
        start=r"(?<![\w./@+-])",
    ),
    # Formats of their own
    _make_format(
        "jwt",
        "eyJ",
        r"eyJ[\w-]{8,4000}+\.[\w-]{8,8000}+\.[\w-]{10,4000}(?:\.[\w-]{4,4000}\.[\w-]{10,2000})?",
        start=r"(?<![\w-])",
    ),
    _make_format("age-key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _make_format(
        "password-hash",
        "$2 $6$ $5$ $apr1$ $argon2 $y$",
        r"\$(?:2[aby]\$\d\d\$[./A-Za-z0-9]{53}|[56]\$(?:rounds=\d+\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{43,86}"
        r"|apr1\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}|y\$[./A-Za-z0-9]+\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{40,60}"
        r"|argon2(?:id|i|d)\$v=\d+\$[a-z0-9=,]+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]{20,100})",
        start="",
    ),
    _make_format(
        "npm-auth",
        "_auth _password",
        r"_(?:auth(?:Token)?|password)\s?=\s?\"?([A-Za-z0-9+/=_.-]{12,2000})",
        start=r"(?<![A-Za-z0-9_])",
    ),
    _make_format("docker-auth", '"auth"', r'"auth"\s{0,4}:\s{0,4}"([A-Za-z0-9+/]{12,2000}={0,2})"', start=""),
    _make_format(
        "netrc-password",
        "password passwd",
        r"(?:login|machine|user|account)[ \t]+\S{1,200}\s+(?:login[ \t]+\S{1,200}\s+)?passw(?:or)?d[ \t]+(\S{3,200})",
        start=r"\b",
    ),
    _make_format(
        "nuget-password", "assword", r"(?i:\"(?:ClearText)?Password\"\s{1,4}value=\"([^\"]{4,400})\")", start=""
    ),
)

# Logins as people pass them on, each with stems of which a lower-case text must contain one: an address or a name
# behind a word for credentials, a slash or colon, and a password; name and password before a host; a line of a
# `.pgpass` file.
_PASSED_ON = r"(?P<secret>[^\s/|,;:<>()\[\]{}@'\"`]{8,64})(?![\w/@.(])"
LOGINS = (
    (
        ("@",),
        re.compile(
            r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,24}){1,3}[ \t]{0,2}[/|][ \t]{0,2}"
            rf"(?=[^\s/]{{0,40}}[A-Za-z])(?=[^\s/]{{0,40}}\d){_PASSED_ON}"
        ),
    ),
    (
        ("@",),
        re.compile(
            r"(?<![\w.:/@-])(?:jdbc:oracle:\w+:)?[\w.$-]{1,32}[:/](?P<secret>[^\s/:@'\"`<>(){}\[\]]{8,64})@"
            r"(?:[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}|localhost)(?![\w@])"
        ),
    ),
    (
        (*("cred", "log", "ssh"), *LOGIN_WORDS.replace("\\b", "").split("|")),
        re.compile(
            rf"(?:\bcred(?:ential)?s?|\blog(?:ged)?[ -]?in|\bssh\b|{LOGIN_WORDS})\w{{0,10}}"
            rf"(?=[:=\s])[^\n/|;]{{0,30}}?(?<![\w./-])[\w.-]{{1,32}}(?: ?[/|] ?|:)"
            rf"(?=[^\s/]{{0,40}}\d){_PASSED_ON}",
            re.IGNORECASE,
        ),
    ),
    (
        (":*:", "432:", "306:"),
        re.compile(r"^[\w.*-]{1,80}:(?:\d{2,5}|\*):[\w*-]{1,60}:[\w*-]{1,60}:(?P<secret>[^\s:]{8,64})$", re.MULTILINE),
    ),
)

# The same rows keyed by literal, so that each literal is searched for only once per text.
FORMATS_BY_LITERAL: tuple[tuple[str, SecretFormat], ...] = tuple(
    (literal, row) for row in FORMATS for literal in row.literals
)

AUTHORIZATION = re.compile(
    r"authorization[\"']?\s{0,3}[:=,]\s{0,3}[\"'bf]{0,3}"
    r"(?:(?:bearer|basic|token|apikey|digest|negotiate|bot|ssws|key)[ \t]+)?([A-Za-z0-9_.~+/=:-]{8,4000})",
    re.IGNORECASE,
)
BEARER = re.compile(r"\b(?:bearer|basic),?[ \t]{1,2}([A-Za-z0-9_.~+/-]{16,4000}={0,2})", re.IGNORECASE)
# scheme://user:password@host: the password may contain anything but its delimiters.
URL_PASSWORD = re.compile(r"://[^\s/:@\"'<>?#]{0,120}:([^\s/\"'<>]{1,200})@")
# scheme://token@host
URL_TOKEN = re.compile(r"https?://([A-Za-z0-9_-]{20,200})(?::[\w-]{0,40})?@")
PRIVATE_KEY = re.compile(
    r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d:|-----BEGIN OpenVPN Static key"
)
# "-----BEGIN" in base64, at each of its three alignments.
ENCODED_KEY = re.compile(r"(?:LS0tLS1CRUdJTi|0tLS0tQkVHSU4|tLS0tLUJFR0lO)[A-Za-z0-9+/=_-]{20,20000}")

# First words of names such as "dbpass", which say whose password it is; "minipass" and "bypass" are not passwords.
PASS_OF = (
    "db|database|user|admin|root|require"
    "|smtp|mail|ftp|sftp|ssh|sql|pg|redis|ldap|wifi|vpn|proxy|http|login|app|key|store|my|ad"
    "|sa|svc"
)
# Words that announce a secret, in lower case; the group determines how strictly the value is checked. A bare
# "key" says little: keys of caches, rows and dictionaries are frequent.
ANNOUNCERS = re.compile(
    rf"(?P<password>passw(?:or)?d|passphrase|passcode|(?:(?<![a-z])|{PASS_OF})pass\b|p(?:s?w|ss?w)d\b"
    r"|(?:(?<![a-z])|(?<=-d)|bind|root|admin|user|db)pw\b|(?<![a-z])psk\b"
    rf"|identified (?:with \w{{1,40}} )?by\b|{NOUNS})"
    r"|(?P<secret>secret|token|verifier|\blogin\b(?=[ \t]{0,3}[=:])"
    r"|(?:recovery|backup|access|verification|security|one-time|reset|invite"
    r"|pairing)[ _-]code"
    r"|credential|api[ _.-]?key|\bauth\b|_auth\b|masterauth|connection[ _-]?string|\bdsn\b"
    r"|(?:access|account|admin|app|application|auth|client|consumer|deploy|encryption|ingest|integration|license"
    r"|master|private"
    r"|project|sdk|server|service|shared|signing|storage|subscription|webhook|write)[ _.-]?key\b)"
    r"|(?P<key>key\b)"
)
# Announcers are searched for only if one of these stems is in the lower-case text.
ANNOUNCER_STEMS = (
    *(
        "pass",
        "login",
        "code",
        "verifier",
        "pwd",
        "pw",
        "psk",
        "identified",
        "secret",
        "token",
        "cred",
        "key",
        "auth",
        "dsn",
        "connection",
    ),
    *ASCII_STEMS,
)


def has_stem(lower: str) -> bool:
    """Return True if a lower-case text may contain a word that announces a secret."""
    return any(stem in lower for stem in ANNOUNCER_STEMS) or (
        not lower.isascii() and ANY_NOUN.search(lower) is not None
    )


# Suffixes of names that are not the secret itself: `token_type`, `password_field`, …
OTHER_MEANING_SUFFIX = re.compile(
    r"(?:name|type|id|ids|file|path|dir|url|uri|field|label|hint|prompt|policy|length|len|count|size|index|header"
    r"|prefix|suffix"
    r"|regex|pattern|param|class|provider|manager|reset|expir\w*|ttl|version|arn|alg\w*|format|usage|limit|kind"
    r"|scope|status"
    r"|error|message|help|text|title|description|docs?|hash(?:er|ers)?|ize\w*|is\w*|s|span|stream|able|less|ring"
    r"|word\w*|board"
    r"|sha\d*|md5|digest|checksum|fingerprint|enabled|required|at|on|from|var|env)$",
    re.IGNORECASE,
)
# From the end of the announcing word to the value: the rest of the name, closing marks, an assignment operator.
ASSIGNMENT = re.compile(
    r"(?P<rest>[\w.-]{0,40})(?P<marks>[\"'`\])]{0,3})[ \t]{0,12}"
    r"(?P<sign>value[ \t]{0,2}=|:=|=>|->|={1,3}|:|：|＝|>|,)[ \t]{0,12}(?:!\w{1,20}[ \t]{1,4})?"
    r"(?:[bfru]{0,2}(?P<quote>[\"'`])(?P<quoted>(?:(?!(?P=quote))[^\\\n]|\\.){1,2000})(?:(?P=quote)|$)"
    r"|(?P<bare>[^\s\"'`<>(){}\[\],;&#|]{4,300}))(?P<after>\(|\[|\.?)",
)
# The same in a sentence: a few words, then the value. On a command line, the value follows a flag directly.
SENTENCE = re.compile(
    r"(?:[^\W\d_]{0,3}|[^\x00-\x7f：]{1,8})"
    rf"(?P<words>(?:[ \t]{{1,2}}(?:[^\W\d_]{{1,14}}|\d|`[^`\n]{{1,40}}`)){{0,5}}?)"
    rf"(?:[ \t]{{0,2}}(?P<sign>[ \t](?:{COPULAS})[ \t]:?|[:：=]|{JOINED_COPULAS})[ \t]{{0,3}}"
    rf"|(?:[ \t]{{1,2}}|(?<=[^\x00-\x7f]))(?=\S{{0,60}}\d))"
    r"[\"'`「『“„«]?"
    r"(?!\S{1,60}[:：]\s)(?P<bare>[^\s\"'`<>(){}\[\],;|，。；、！？）」』”»]{8,300})"
)
# A word with a digit that may be a password: it stands between spaces, quotes or brackets.
_MIXED = r"A-Za-z0-9!#$%^&*~?+=@_.:§€£-"
CHOSEN_WORD = re.compile(rf"(?<![/\\{_MIXED}])(?=[^\d\s]{{0,63}}\d)[A-Za-z0-9][{_MIXED}]{{7,63}}+(?![/({{\[{_MIXED}])")
OPTION_BEFORE = re.compile(r"(?:^|[\s\"'(])(?:--?[A-Za-z][\w-]{0,30}[ =]|/[a-z]+ |-[A-Za-z])[\"']?(?:\w{1,32}:)?$")
ASCII_PART = re.compile(r"[!-~]{8,}")
# Words that must be near it, before or after it on the same line.
SECRET_CONTEXT = re.compile(
    r"pass|\bp(?:s?w|ss?w)d?\b|pwprompt|secret|token|\bkey\b|cred|\blog(?:ged)?[ -]?in\b|\bsign(?:ed)? in\b|auth"
    r"|basic|\buser|\broot\b|\badmin|\bpin\b|\bpsk\b|identified by|secure-?string|connect|vpn|wi-?fi|wlan"
    rf"|{LOGIN_WORDS}|{KEY_WORDS}|{NOUNS}"
)
CONTEXT_REACH = 80  # characters
# A name and a value as two fields, in manifests of containers.
NAMED_VALUE = re.compile(
    r"\bname[\"']?[ \t]?[:=][ \t]?[\"']?(?P<name>\w{3,60})[\"']?"
    r"[ \t,]{0,4}\r?\n?[ \t]{0,40}[\"']?value[\"']?[ \t]?[:=][ \t]?"
    r"[\"']?(?P<value>[^\s\"'{}]{5,300})",
    re.IGNORECASE,
)
# Where a value ends: its first 300 characters are checked, but all of it is removed.
VALUE_END = re.compile(r"[^\s\"'`<>(){}\[\],;&#|]*")
# "use … as the staging API key": the value comes first.
VALUE_BEFORE_ANNOUNCER = re.compile(
    r"(?<![\w+/=~.-])([\w+/=~.!#$%^&*?@:-]{8,300}+)[\"'`]?[ \t]"
    rf"(?:as|for|comme|como|come|als|jako|как|{COPULAS})[ \t](?:\w{{1,14}}[ \t]){{0,4}}"
    rf"(?:key|token|secret|password|credential|{NOUNS})",
    re.IGNORECASE,
)
