/** The errors that every endpoint which asks the database documents, beside its own. */
export const outage = { 503: 'The database is away, too slow or too contended' } as const

/** The errors of `outage`, and the errors of an endpoint that reads a body. */
export const withBody = { 408: 'The body took longer than 15 s to arrive', ...outage } as const

/** The errors of `withBody`, and the errors of an endpoint that takes an Idempotency-Key. */
export const repeatable = { 422: 'The Idempotency-Key was used for another request', ...withBody } as const
