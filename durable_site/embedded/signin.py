"""The one-time sign-in link: no account exists before, and none has a password after.

A link is a signed nonce whose file in the state folder is removed by the first use: removal is
atomic, so that of two users of one link one is first.
"""

import hashlib
import secrets
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.template import Context, Engine
from django.urls import URLPattern, path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

OPERATOR = "operator"
VALID_SECONDS = 15 * 60

_SALT = "durable_site.embedded.signin"
_FOLDER = "signin"
_GONE = "This link was used already, or is too old. Stop the system and start it for a new one."
_NO_OPERATOR = "The account 'operator' exists and is not an active superuser; it was left alone."
_NOTHING_FROM_ELSEWHERE = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sign in</title>
<style>body{font:1.1rem/1.5 system-ui;margin:20vh auto;max-width:28rem;padding:0 1rem}
button{font:inherit;padding:.5rem 1.5rem}</style></head>
<body><h1>Durable site</h1>
{% if problem %}<p>{{ problem }}</p>{% else %}
<form method="post"><input type="hidden" name="csrfmiddlewaretoken" value="{{ csrf_token }}">
<p>This link signs you in once, as the operator of this system.</p>
<button autofocus>Sign in</button></form>{% endif %}</body></html>"""


def mint(folder: Path) -> str:
    """Return the path of a fresh sign-in link, valid once and for a quarter of an hour."""
    nonce = secrets.token_urlsafe(32)
    spare = _spare(folder, nonce)
    spare.parent.mkdir(mode=0o700, exist_ok=True)
    spare.touch(mode=0o600, exist_ok=False)
    return f"/signin/{signing.TimestampSigner(salt=_SALT).sign(nonce)}/"


def forget_all(folder: Path) -> None:
    """Make every unused link of this state folder worthless."""
    for spare in (folder / _FOLDER).glob("*"):
        spare.unlink(missing_ok=True)
    if (folder / _FOLDER).exists():
        (folder / _FOLDER).rmdir()


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest, token: str) -> HttpResponse:
    """Ask on GET, so that a link preview uses nothing up; sign in on POST."""
    nonce = _read(token)
    if nonce is None or not _spare(settings.STATE_DIR, nonce).exists():
        return _page(request, _GONE, status=410)
    if request.method != "POST":
        return _page(request)
    if not _use_up(nonce):
        return _page(request, _GONE, status=410)
    user = _operator()
    if user is None:
        return _page(request, _NO_OPERATOR, status=403)
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("admin:index")


urlpatterns: list[URLPattern] = [path("signin/<str:token>/", sign_in, name="signin")]


def _read(token: str) -> str | None:
    try:
        return signing.TimestampSigner(salt=_SALT).unsign(token, max_age=VALID_SECONDS)
    except signing.BadSignature:
        return None


def _use_up(nonce: str) -> bool:
    """Remove the link's file; false for all but one of those who try."""
    try:
        _spare(settings.STATE_DIR, nonce).unlink()
    except FileNotFoundError:
        return False
    return True


def _spare(folder: Path, nonce: str) -> Path:
    return folder / _FOLDER / hashlib.sha256(nonce.encode()).hexdigest()


def _operator() -> User | None:
    """Return the operator's account, made when missing, unless somebody took its rights away."""
    rights = {"is_staff": True, "is_superuser": True, "password": make_password(None)}
    user, _ = get_user_model().objects.get_or_create(username=OPERATOR, defaults=rights)
    return user if user.is_active and user.is_staff and user.is_superuser else None


def _page(request: HttpRequest, problem: str = "", status: int = 200) -> HttpResponse:
    context = Context({"problem": problem, "csrf_token": get_token(request)})
    response = HttpResponse(Engine().from_string(_PAGE).render(context), status=status)
    response["Content-Security-Policy"] = _NOTHING_FROM_ELSEWHERE
    return response
