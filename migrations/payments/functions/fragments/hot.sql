-- The settings of a hot write. With a plan that was made for a small table, a connection would read the whole table later.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
