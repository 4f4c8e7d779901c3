"""Preparing columns: scaling, encoding, binning, new columns."""

from fastml.preprocessing._basis import BasisFunctions
from fastml.preprocessing._bins import EdgeDiscretizer, KBinsDiscretizer
from fastml.preprocessing._combinations import CombinationFeatures
from fastml.preprocessing._encoders._one_hot import OneHotEncoder
from fastml.preprocessing._encoders._ordinal import OrdinalEncoder
from fastml.preprocessing._encoders._target import TargetEncoder
from fastml.preprocessing._encoders._thermometer import ThermometerEncoder
from fastml.preprocessing._function import FunctionTransformer
from fastml.preprocessing._kernel_centerer import KernelCenterer
from fastml.preprocessing._labels import (
    LabelBinarizer,
    LabelEncoder,
    MultiLabelBinarizer,
    label_binarize,
)
from fastml.preprocessing._polynomial import PolynomialFeatures
from fastml.preprocessing._power import PowerTransformer, power_transform
from fastml.preprocessing._quantile import QuantileTransformer, quantile_transform
from fastml.preprocessing._robust import RobustScaler, robust_scale
from fastml.preprocessing._rows import (
    Binarizer,
    Normalizer,
    add_dummy_feature,
    binarize,
    normalize,
)
from fastml.preprocessing._scale import (
    MaxAbsScaler,
    MinMaxScaler,
    StandardScaler,
    maxabs_scale,
    minmax_scale,
    scale,
)
from fastml.preprocessing._spline import SplineTransformer

__all__ = [
    "BasisFunctions",
    "Binarizer",
    "CombinationFeatures",
    "EdgeDiscretizer",
    "FunctionTransformer",
    "KBinsDiscretizer",
    "KernelCenterer",
    "LabelBinarizer",
    "LabelEncoder",
    "MaxAbsScaler",
    "MinMaxScaler",
    "MultiLabelBinarizer",
    "Normalizer",
    "OneHotEncoder",
    "OrdinalEncoder",
    "PolynomialFeatures",
    "PowerTransformer",
    "QuantileTransformer",
    "RobustScaler",
    "SplineTransformer",
    "StandardScaler",
    "TargetEncoder",
    "ThermometerEncoder",
    "add_dummy_feature",
    "binarize",
    "label_binarize",
    "maxabs_scale",
    "minmax_scale",
    "normalize",
    "power_transform",
    "quantile_transform",
    "robust_scale",
    "scale",
]
