"""Does it fit, and what fits best: memory of a model by component on one machine, with its range and its inputs."""

from knowledge.sizing.description import ModelDescription
from knowledge.sizing.estimates import Case, case, estimate
from knowledge.sizing.models import describe

__all__ = ["Case", "ModelDescription", "case", "describe", "estimate"]
