"""Django's settings, wholly from the environment; ARCHITECTURE.md lists names and defaults."""

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from durable_site import environment
from durable_site.databases import with_options
from durable_site.durable import durable_settings

# --- where and how this process runs -------------------------------------------------------------

BASE_DIR = environment.ROOT
STATE_DIR = environment.state_dir()
MODE = environment.text("DURABLE_MODE", "embedded")
if MODE not in {"embedded", "production"}:
    _message = f"DURABLE_MODE is {MODE!r}; it can be 'embedded' or 'production'."
    raise ImproperlyConfigured(_message)
PRODUCTION = MODE == "production"

DEBUG = False
SECRET_KEY = environment.secret_key(STATE_DIR, production=PRODUCTION)
ALLOWED_HOSTS = list(
    environment.words(
        "DURABLE_ALLOWED_HOSTS", () if PRODUCTION else ("localhost", "127.0.0.1", "[::1]")
    )
)
SESSION_COOKIE_SECURE = PRODUCTION
CSRF_COOKIE_SECURE = PRODUCTION

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
LANGUAGE_CODE = "en"

# --- data ----------------------------------------------------------------------------------------

DATABASE_URL = environment.text(
    "DATABASE_URL", environment.sqlite_url(STATE_DIR / "durable.sqlite3")
)
DATABASES = {"default": with_options(dj_database_url.parse(DATABASE_URL), STATE_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ON_SQLITE = DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3"

REDIS_URL = environment.text("REDIS_URL")

# --- the runtime ---------------------------------------------------------------------------------

DURABLE = durable_settings(STATE_DIR, REDIS_URL, on_sqlite=ON_SQLITE)

# --- Django's own parts --------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "ninja",  # the API's documents for people
    "sessions_app",
    "durable_site",
    # The demo's agent and tools register like a user's; nobody wants them in production.
    *(() if PRODUCTION else ("durable_site.demo",)),
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "sessions_app.admin.policy.content_security_policy",
    "sessions_app.api.middleware.speak_problems",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "durable_site.urls"
ASGI_APPLICATION = "durable_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# A text of 1 MiB in JSON, whatever its characters; the strict loader bounds the rest.
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024

STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True  # Serves straight from the apps: no collectstatic step to forget.

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {"django": {"handlers": [], "level": "INFO", "propagate": True}},
}
