/** What every endpoint that asks the database may answer. */
export const outage = { 503: 'The database is away, too slow or too contended' } as const
