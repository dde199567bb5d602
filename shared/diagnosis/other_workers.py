"""Whether the workers in this Redis serve another database: then no worker of this installation has to be started."""

from __future__ import annotations

from shared.diagnosis.redis_facts import RedisFacts
from shared.notices.doctor_service import ServiceFinding
from shared.notices.notice import Notice
from shared.redis.heartbeat import ALIVE_S


def other_database(facts: RedisFacts) -> Notice | None:
    """Return that no worker serves this installation, but one in the same Redis serves another; None if not so."""
    alive = [
        (installation, sign)
        for installation, sign in facts.others.items()
        if sign and sign.seconds <= ALIVE_S
    ]
    if facts.works or not alive:
        return None
    installation, sign = min(alive, key=lambda one: one[1].seconds)
    about = {"mine": facts.installation, "installation": installation}
    return ServiceFinding.WORKER_OF_ANOTHER_DATABASE(**about, host=sign.process.host, pid=sign.process.pid)
