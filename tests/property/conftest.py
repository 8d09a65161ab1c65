"""The same examples in every run; ODRADEK_EXAMPLES=random looks for new ones."""

import os

from examples import draw_the_same_everywhere, look_for_new_ones

look_for_new_ones() if os.environ.get("ODRADEK_EXAMPLES") == "random" else draw_the_same_everywhere()
