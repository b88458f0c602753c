"""From a design to an artefact: exact integer weights, judged anew as they are sampled."""

from __future__ import annotations

from leastnoise.artefact import Artefact, certify
from leastnoise.ball import BallNoise
from leastnoise.designer.design import Design
from leastnoise.noise import Noise
from leastnoise.sampling import exact


def artefact_of(design: Design) -> Artefact:
    """The design's law as it is sampled and the guarantee it gives, ready to be written: exact integer weights, or the sphere.

    Guarantees: the stated ε is the judge's for the law in the file, over the design's whole use.
    """
    if isinstance(design.noise, BallNoise):
        law: Noise = design.noise
    else:
        law = exact(
            design.lattice_noise(),
            delta=design.delta,
            sensitivity=design.sensitivity,
            compositions=design.uses,
        )
    problem = {
        "sigma": design.sigma,
        "batch": design.batch,
        "touched": design.touched,
        "compositions": design.compositions,
        "objective": design.objective,
    }
    return certify(
        law,
        delta=design.delta,
        compositions=design.uses,
        sensitivity=design.sensitivity,
        rivals=dict(design.rivals),
        problem=problem,
    )
