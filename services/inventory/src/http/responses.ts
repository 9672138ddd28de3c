/** What every endpoint that asks the database may answer. */
export const outage = { 503: 'The database is away, too slow or too contended' } as const

/** What besides an endpoint with an Idempotency-Key may answer. */
export const repeatable = { 422: 'The Idempotency-Key was used for another request', ...outage } as const
