-- Settings for frequent writes. Without them, a connection keeps a plan that was made for a small table and scans all rows.
SET plan_cache_mode = 'force_generic_plan'
SET enable_seqscan = 'off'
