"""A judge beside people: their labels, its agreement and rates, corrected estimates."""
