"""Live samples for the meters, taken in a job while a page wants them."""

from __future__ import annotations

from probes.progress import Progress

EVERY_S = 1.0


def sample_until_cancelled(progress: Progress) -> None:
    """One sample a second as a partial result, until the job is cancelled."""
    from probes.live import Sampler

    sampler = Sampler()
    try:
        while True:
            progress.part(sampler.sample())
            if progress.wait(EVERY_S):
                return
    finally:
        sampler.close()
