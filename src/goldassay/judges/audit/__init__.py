"""An audit of a judge without any label: what is planted, and how it goes."""
