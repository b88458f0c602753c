"""A law with its guarantee as one file, `noise.json`, that anyone can check.

exact         the law with integer weights: the one that is judged, kept and drawn
artefact      an exact law with its guarantee, as the judge gives it
format        the file
verification  the guarantee recomputed from the law in the file
rigorous      the same by the second judge, with every rounding enclosed
"""

from leastnoise.artefact.artefact import Artefact as Artefact
from leastnoise.artefact.artefact import Charges as Charges
from leastnoise.artefact.artefact import Guarantee as Guarantee
from leastnoise.artefact.artefact import certify as certify
from leastnoise.artefact.artefact import judged as judged
from leastnoise.artefact.format import FORMAT as FORMAT
from leastnoise.artefact.format import artefact_text as artefact_text
from leastnoise.artefact.format import read_artefact as read_artefact
from leastnoise.artefact.format import write_artefact as write_artefact
from leastnoise.artefact.verification import Verification as Verification
from leastnoise.artefact.verification import verify as verify
