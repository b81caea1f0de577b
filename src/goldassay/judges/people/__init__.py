"""A judge beside people: their labels, how far it agrees, corrected estimates, tuning a judge on labels."""
