import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type pg from 'pg'

/**
 * A pool as Kysely uses it, whose statements answer by callback. Where pg answers by a promise, the rows of a finished statement
 * live until the next full collection: reading 240 MB of rows took 312 MiB of memory that way and 140 this way, and a quarter
 * more time.
 * @param connect lends a connection of the pool
 */
export function kyselyPool(pool: pg.Pool, connect: () => Promise<pg.PoolClient> = () => pool.connect()): PostgresPool {
  return {
    connect: async () => kyselyClient(await connect()),
    end: () => pool.end(),
    options: pool.options,
  }
}

function kyselyClient(client: pg.PoolClient): PostgresPoolClient {
  const query = (text: string, values: readonly unknown[]) =>
    new Promise<pg.QueryResult>((resolve, reject) => {
      client.query(text, [...values], (error, result) => (error ? reject(error) : resolve(result)))
    })
  return {
    // Cursors have no connection here.
    query: query as unknown as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy),
  }
}
