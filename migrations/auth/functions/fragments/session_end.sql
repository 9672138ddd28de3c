-- Why a session has ended at `moment`: `session-expired` or `session-inactive`, or NULL if the session is live. Needs
-- `not_after`, `started_at` and `refreshed_at` of the session; `refreshed_at` is NULL before the first refresh. Reads
-- p_timebox_seconds and p_inactivity_seconds; NULL means no limit. (reference: Sessions)
CASE
  WHEN {{:not_after}} < moment OR {{:started_at}} + make_interval(secs => p_timebox_seconds) < moment
    THEN 'session-expired'
  WHEN coalesce({{:refreshed_at}}, {{:started_at}}) + make_interval(secs => p_inactivity_seconds) < moment
    THEN 'session-inactive'
END
