"""Charts: pure functions from arrays to an `<svg>` string.

`stylesheet(":root")` styles a page with charts; `standalone` makes a document from charts; `raster` renders
`rgb_array` frames. Imports `report.views`, `report.text_format`, `untrusted`, the native module and NumPy.
"""

from openoutcry.report.charts.equity_charts import Line, Role, delay_chart, drawdown_chart, equity_chart, spans_decades
from openoutcry.report.charts.heatmap import monthly_heatmap, monthly_table
from openoutcry.report.charts.sparklines import interval_mark, sparkline
from openoutcry.report.charts.stacked_areas import COST_KINDS, cost_chart, weights_chart
from openoutcry.report.charts.svg import standalone, stylesheet

__all__ = [
    "COST_KINDS",
    "Line",
    "Role",
    "cost_chart",
    "delay_chart",
    "drawdown_chart",
    "equity_chart",
    "interval_mark",
    "monthly_heatmap",
    "monthly_table",
    "spans_decades",
    "sparkline",
    "standalone",
    "stylesheet",
    "weights_chart",
]
