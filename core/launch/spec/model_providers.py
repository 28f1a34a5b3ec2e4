"""Which variables a model string's provider reads, by the providers of Inspect 0.3.285.

Facts as data: nothing here reads an environment.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One variable that a provider reads.

    Attributes:
        is_secret: Whether it holds a key.
        is_needed: Whether nothing runs without it, or one that may stand instead.
        instead: Others that serve as well.
    """

    name: str
    is_secret: bool = False
    is_needed: bool = False
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What a model string asks of its machine.

    Attributes:
        name: The provider, the text before the first slash.
        variables: Those that it reads, the needed ones first.
        packages: What Inspect wants installed for it, as pip names them.
        is_local: Whether the model runs on the machine itself, or on a server there.
    """

    name: str
    variables: tuple[Variable, ...] = ()
    packages: tuple[str, ...] = ()
    is_local: bool = False


_Of = Callable[[str], Provider]
"""Makes a provider's needs from what follows its name in a model string."""


def provider_of(model: str) -> Provider | None:
    """Return what a model string asks for; None: the provider is none of Inspect's own."""
    name, _, rest = model.partition("/")
    make = _PROVIDERS.get(name)
    return None if make is None else make(rest)


def missing_variables(provider: Provider, given: frozenset[str]) -> tuple[Variable, ...]:
    """Return the needed variables of which none that serves is in `given`."""
    return tuple(
        each
        for each in provider.variables
        if each.is_needed and given.isdisjoint((each.name, *each.instead))
    )


def _key(name: str, *instead: str) -> Variable:
    return Variable(name=name, is_secret=True, is_needed=True, instead=instead)


def _or_identity(name: str, *instead: str) -> Variable:
    """A key in place of which an identity of the machine may stand."""
    return Variable(name=name, is_secret=True, instead=instead)


def _url(name: str, *instead: str, is_needed: bool = False) -> Variable:
    return Variable(name=name, instead=instead, is_needed=is_needed)


def _more(name: str) -> Variable:
    return Variable(name=name)


_AWS = (
    Variable(name="AWS_ACCESS_KEY_ID", is_secret=True),
    Variable(name="AWS_SECRET_ACCESS_KEY", is_secret=True),
    Variable(name="AWS_SESSION_TOKEN", is_secret=True),
    Variable(name="AWS_REGION", instead=("AWS_DEFAULT_REGION",)),
)
_HF_TOKEN = Variable(name="HF_TOKEN", is_secret=True)


def _same(
    name: str, *variables: Variable, packages: tuple[str, ...] = ("openai",), is_local: bool = False
) -> tuple[str, _Of]:
    made = Provider(name=name, variables=variables, packages=packages, is_local=is_local)
    return name, lambda _: made


def _keyed(name: str, prefix: str, *, packages: tuple[str, ...] = ("openai",)) -> tuple[str, _Of]:
    return _same(name, _key(f"{prefix}_API_KEY"), _url(f"{prefix}_BASE_URL"), packages=packages)


def _compatible(name: str) -> tuple[str, _Of]:
    """An endpoint that names itself: `openai-api/acme/x` reads ACME_API_KEY, ACME_BASE_URL."""

    def make(rest: str) -> Provider:
        service = rest.partition("/")[0].upper().replace("-", "_")
        key, url = _key(f"{service}_API_KEY"), _url(f"{service}_BASE_URL", is_needed=True)
        return Provider(name=name, variables=(key, url), packages=("openai",))

    return name, make


def _openai(rest: str) -> Provider:
    variables: tuple[Variable, ...]
    if rest.startswith("azure/"):
        variables = (
            _or_identity("AZUREAI_OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"),
            _url(
                "AZUREAI_OPENAI_BASE_URL",
                "AZURE_OPENAI_BASE_URL",
                "AZURE_OPENAI_ENDPOINT",
                is_needed=True,
            ),
            _more("AZUREAI_OPENAI_API_VERSION"),
        )
    elif rest.startswith("bedrock/"):
        variables = (
            _or_identity("BEDROCK_OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"),
            _url("BEDROCK_OPENAI_BASE_URL", "AWS_BEDROCK_BASE_URL"),
        )
    else:
        variables = (_key("OPENAI_API_KEY"), _url("OPENAI_BASE_URL"))
    return Provider(name="openai", variables=variables, packages=("openai",))


def _anthropic(rest: str) -> Provider:
    packages = ("anthropic",)
    variables: tuple[Variable, ...]
    if rest.startswith("bedrock/"):
        variables = (*_AWS, _url("ANTHROPIC_BEDROCK_BASE_URL", "BEDROCK_ANTHROPIC_BASE_URL"))
        packages = ("anthropic[bedrock]",)
    elif rest.startswith("vertex/"):
        variables = (
            _more("ANTHROPIC_VERTEX_PROJECT_ID"),
            _more("ANTHROPIC_VERTEX_REGION"),
            _url("ANTHROPIC_VERTEX_BASE_URL", "VERTEX_ANTHROPIC_BASE_URL"),
        )
        packages = ("anthropic[vertex]",)
    elif rest.startswith("azure/"):
        variables = (
            _or_identity("AZUREAI_ANTHROPIC_API_KEY", "AZURE_ANTHROPIC_API_KEY"),
            _url("AZUREAI_ANTHROPIC_BASE_URL", "AZURE_ANTHROPIC_BASE_URL", is_needed=True),
        )
    else:
        variables = (
            _key("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
            _url("ANTHROPIC_BASE_URL"),
        )
    return Provider(name="anthropic", variables=variables, packages=packages)


def _google(rest: str) -> Provider:
    variables: tuple[Variable, ...]
    if rest.startswith("vertex/"):
        variables = (
            Variable(name="VERTEX_API_KEY", is_secret=True),
            _more("GOOGLE_CLOUD_PROJECT"),
            _more("GOOGLE_CLOUD_LOCATION"),
            _url("GOOGLE_VERTEX_BASE_URL", "VERTEX_BASE_URL"),
        )
    else:
        variables = (_key("GOOGLE_API_KEY", "GEMINI_API_KEY"), _url("GOOGLE_BASE_URL"))
    return Provider(name="google", variables=variables, packages=("google-genai",))


def _mistral(rest: str) -> Provider:
    variables: tuple[Variable, ...]
    if rest.startswith("azure/"):
        variables = (
            _or_identity("AZUREAI_MISTRAL_API_KEY", "AZURE_MISTRAL_API_KEY"),
            _url("AZUREAI_MISTRAL_BASE_URL", "AZURE_MISTRAL_BASE_URL", is_needed=True),
        )
    else:
        variables = (_key("MISTRAL_API_KEY"), _url("MISTRAL_BASE_URL"))
    return Provider(name="mistral", variables=variables, packages=("mistralai",))


def _served(name: str, prefix: str) -> tuple[str, _Of]:
    """A server that Inspect starts on the machine, or finds at a URL."""
    return _same(
        name,
        _url(f"{prefix}_BASE_URL"),
        Variable(name=f"{prefix}_API_KEY", is_secret=True),
        _more(f"{prefix}_DEFAULT_SERVER_ARGS"),
        _HF_TOKEN,
        packages=("openai", prefix.lower()),
        is_local=True,
    )


_PROVIDERS: Mapping[str, _Of] = MappingProxyType(
    dict(
        (
            ("openai", _openai),
            ("anthropic", _anthropic),
            ("google", _google),
            ("mistral", _mistral),
            _compatible("openai-api"),
            _compatible("openai-api-completions"),
            _keyed("groq", "GROQ", packages=("groq",)),
            _keyed("together", "TOGETHER"),
            _keyed("fireworks", "FIREWORKS"),
            _keyed("moonshot", "MOONSHOT"),
            _keyed("deepseek", "DEEPSEEK"),
            _keyed("sambanova", "SAMBANOVA"),
            _keyed("openrouter", "OPENROUTER"),
            _keyed("perplexity", "PERPLEXITY"),
            _same(
                "grok",
                _key("XAI_API_KEY", "GROK_API_KEY"),
                _url("XAI_BASE_URL", "GROK_BASE_URL"),
                packages=("xai-sdk",),
            ),
            _same("meta", _key("META_API_KEY", "MODEL_API_KEY"), _url("META_BASE_URL")),
            _same(
                "cloudflare",
                _key("CLOUDFLARE_API_KEY", "CLOUDFLARE_API_TOKEN"),
                Variable(name="CLOUDFLARE_ACCOUNT_ID", is_needed=True),
                _url("CLOUDFLARE_BASE_URL"),
            ),
            _same(
                "litellm-proxy",
                _key("LITELLM_PROXY_API_KEY", "LITELLM_API_KEY"),
                _url(
                    "LITELLM_PROXY_BASE_URL",
                    "LITELLM_PROXY_API_BASE",
                    "LITELLM_BASE_URL",
                    is_needed=True,
                ),
            ),
            _same(
                "azureai",
                _or_identity("AZURE_API_KEY", "AZUREAI_API_KEY"),
                _url(
                    "AZURE_ENDPOINT_URL", "AZUREAI_ENDPOINT_URL", "AZUREAI_BASE_URL", is_needed=True
                ),
                packages=("azure-ai-inference",),
            ),
            _same("bedrock", *_AWS, _url("BEDROCK_BASE_URL"), packages=("aiobotocore",)),
            _same("sagemaker", *_AWS, packages=("aiobotocore",)),
            _same("ollama", _url("OLLAMA_BASE_URL"), is_local=True),
            _same("llama-cpp-python", _url("LLAMA_CPP_PYTHON_BASE_URL"), is_local=True),
            _served("vllm", "VLLM"),
            _served("vllm-completions", "VLLM"),
            _served("sglang", "SGLANG"),
            _same("hf", _HF_TOKEN, packages=("torch", "transformers", "accelerate"), is_local=True),
            _same("hf-inference-providers", _key("HF_TOKEN")),
            _same("transformer_lens", _HF_TOKEN, packages=("transformer_lens",), is_local=True),
            _same("nnterp", _HF_TOKEN, packages=("nnterp",), is_local=True),
            _same(
                "goodfire",
                _key("GOODFIRE_API_KEY"),
                _url("GOODFIRE_BASE_URL"),
                packages=("goodfire",),
            ),
            _same("mockllm", packages=(), is_local=True),
            _same("none", packages=(), is_local=True),
        )
    )
)

PROVIDERS = tuple(_PROVIDERS)
"""Every provider that is known here."""
