-- The settings of a frequent function. Otherwise a connection could keep a plan for a small table and scan a large one.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
