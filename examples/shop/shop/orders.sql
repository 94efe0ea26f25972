-- An order. Its status is what the newest webhook said.
CREATE TABLE IF NOT EXISTS orders (
    number TEXT PRIMARY KEY,  -- what the customer reads, and the external_order_id of its shipments
    key TEXT NOT NULL UNIQUE, -- what one checkout page carries: sent twice, it is one order. It also opens the order's page
    product TEXT NOT NULL,
    customer TEXT NOT NULL,
    box_id TEXT NOT NULL,
    box_name TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'new',
    attempt INTEGER NOT NULL DEFAULT 0,
    told_at REAL NOT NULL DEFAULT 0,
    shipment_id TEXT,
    compartment TEXT
);

-- The PINs that still open a door.
CREATE TABLE IF NOT EXISTS pins (shipment_id TEXT PRIMARY KEY, pin TEXT NOT NULL);

-- The events that have been handled: each may come twice.
CREATE TABLE IF NOT EXISTS handled (event_id TEXT PRIMARY KEY);
