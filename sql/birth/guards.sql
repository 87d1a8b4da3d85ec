-- The guards of the machine birth_permit. Registered anew with every release. The gate and the settling move permits in sets; their
-- statements ask the same of every row.
select fsm.fn_guard_register('G-PERMIT-LIVE', 'birth.guard_permit_live', '{}', 'The permit is for a protected family and its time has not run out.');
select fsm.fn_guard_register('G-BORN-ROW', 'birth.guard_born_row', '{birth_row}', 'The BORN row for exactly this collection and code exists.');
select fsm.fn_guard_register('G-TTL-ELAPSED', 'birth.guard_ttl_elapsed', '{}', 'The time of the permit has run out by the clock of the database.');
