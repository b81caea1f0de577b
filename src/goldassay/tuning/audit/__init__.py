"""Did the optimizer help? A verdict on what any optimizer left behind, or on two programs and fresh examples."""
