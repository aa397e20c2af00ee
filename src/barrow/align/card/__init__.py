"""What alignment cost: a card of the model before and after."""
