"""Celery's configuration: hints in JSON; Celery stores, delays and retries nothing."""

from django.conf import settings

from hands_app.contract import queues
from hands_app.transports.broker import broker_configuration

_namespace = settings.DURABLE["NAMESPACE"]
_scan_seconds = settings.DURABLE["SCAN_SECONDS"]
_prune_seconds = settings.DURABLE["PRUNE_SECONDS"]
_first_pool = settings.DURABLE["HANDS_POOLS"][0]
_broker = broker_configuration(
    settings.DURABLE["REDIS_URL"], settings.DURABLE["STATE_DIR"], settings.DURABLE["RABBITMQ_URL"]
)

broker_url = _broker["broker_url"]
broker_transport = _broker.get("broker_transport")
broker_transport_options = _broker["broker_transport_options"]
broker_connection_timeout = _broker["broker_connection_timeout"]
broker_connection_retry_on_startup = True
broker_connection_max_retries = None  # For ever: the Brain works from its own scans meanwhile.
broker_channel_error_retry = True  # A full Redis refuses a worker too, which then tries again (C5).
broker_pool_limit = 10

task_serializer = "json"
accept_content = ["json"]
task_ignore_result = True
task_publish_retry = False  # A hint that cannot be sent is dropped; the scan finds the work.
task_acks_late = False
worker_prefetch_multiplier = 1
# What was acknowledged early runs on; the ledger and its lease decide, not the connection.
worker_cancel_long_running_tasks_on_connection_loss = False
worker_hijack_root_logger = False  # Django's LOGGING holds for every role.
worker_redirect_stdouts = False
worker_enable_remote_control = _broker.get("worker_enable_remote_control", True)
worker_send_task_events = _broker.get("worker_send_task_events", True)
timezone = "UTC"
enable_utc = True

task_default_queue = f"{_namespace}.brain"
task_routes = {
    "sessions_app.advance": {"queue": f"{_namespace}.brain"},
    "sessions_app.scan": {"queue": f"{_namespace}.brain"},
    "sessions_app.prune": {"queue": f"{_namespace}.brain"},
    "sessions_app.receive": {"queue": queues.updates(_namespace)},
    # Whoever sends to another pool names its queue.
    "hands_app.execute": {"queue": queues.commands(_namespace, _first_pool)},
    "hands_app.control": {"queue": queues.controls(_namespace, _first_pool)},
}

# The schedule is fixed, so that beat has nothing to remember and any number of beats is harmless.
beat_scheduler = "celery.beat:Scheduler"
beat_max_loop_interval = _scan_seconds
beat_schedule = {
    "scan": {
        "task": "sessions_app.scan",
        "schedule": _scan_seconds,
        # An unread request is worthless once the next one is due: no storm after an outage.
        "options": {"expires": _scan_seconds},
    },
    "prune": {
        "task": "sessions_app.prune",
        "schedule": _prune_seconds,
        "options": {"expires": _prune_seconds},
    },
}
