"""Training with differential privacy: a model of the rows, from one training file, on the account of the data set.

What draws (``trasgo_lib.training.fitting``) is imported by the task that draws.
"""

from trasgo_lib.training.compile import compile_training, read_training
from trasgo_lib.training.explain import explain_training, pld_epsilon, render_training
from trasgo_lib.training.model import TrainingPlan
from trasgo_lib.training.opening import Model, open_model
from trasgo_lib.training.products import Product, read_product, verb_of

__all__ = [
    "Model",
    "Product",
    "TrainingPlan",
    "compile_training",
    "explain_training",
    "open_model",
    "pld_epsilon",
    "read_product",
    "read_training",
    "render_training",
    "verb_of",
]
