/** Statuses beside its own that an endpoint documents when it asks the database. */
export const outage = { 503: 'The database is away, too slow or too contended' } as const

/** The same for an endpoint that reads a body. */
export const withBody = { 408: 'The body took longer than 15 s to arrive', ...outage } as const

/** The same for an endpoint that takes an Idempotency-Key. */
export const repeatable = { 422: 'The Idempotency-Key was used for another request', ...withBody } as const
