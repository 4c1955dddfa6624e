"""Does it fit, and what fits best: memory of a model by component on one machine, with its range and its inputs."""

from knowledge.sizing.calibration import Measured, calibrated
from knowledge.sizing.description import ModelDescription
from knowledge.sizing.estimates import Case, case, estimate
from knowledge.sizing.inverse import largest
from knowledge.sizing.models import describe
from knowledge.sizing.timing import time_bound

__all__ = [
    "Case", "Measured", "ModelDescription", "calibrated", "case", "describe", "estimate", "largest", "time_bound",
]  # fmt: skip
