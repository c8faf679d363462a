"""The tools of the shop agent: a small order book in memory."""

from __future__ import annotations

ORDERS = {
    "ORD-1001": ("Wireless Headphones", "shipped"),
    "ORD-1002": ("Mechanical Keyboard", "processing"),
}


class Shop:
    """One conversation's copy of the order book, so that conversations don't disturb one another."""

    def __init__(self, orders: dict[str, tuple[str, str]]) -> None:
        self._orders = orders

    def get_order(self, order_id: str) -> str:
        """What was ordered, and how far it is."""
        if order_id not in self._orders:
            raise LookupError(f"there is no order {order_id}")
        product, status = self._orders[order_id]
        return f"Order {order_id} is for the {product}; its status is {status}."

    def cancel_order(self, order_id: str) -> str:
        """Cancel an order that is still being processed."""
        product, status = self._orders[order_id]
        if status != "processing":
            raise LookupError(f"order {order_id} is {status} and can't be cancelled")
        self._orders[order_id] = (product, "cancelled")
        return f"Order {order_id} for the {product} is cancelled."
