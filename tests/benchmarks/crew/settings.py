"""The site's settings with the benchmarks' agent as the only one."""

from durable_site.settings import *  # noqa: F403 - settings extend settings this way
from durable_site.settings import INSTALLED_APPS as _APPS

INSTALLED_APPS = [*(app for app in _APPS if app != "durable_site.demo"), "tests.benchmarks.crew"]
