import pg from 'pg'
import { StackFailure } from '../stack-failure.ts'
import { DATABASE_USER } from './cluster.ts'

/** The one database of the stack: each service keeps a schema of its own in it. */
const DATABASE_NAME = 'trestle'

const CONNECT_TIMEOUT_MS = 5_000
const WRONG_PASSWORD = '28P01'

/** The address of the embedded server's database, password included. */
export function databaseUrl(port: number, password: string): string {
  return `postgres://${DATABASE_USER}:${encodeURIComponent(password)}@127.0.0.1:${port}/${DATABASE_NAME}`
}

/**
 * Creates the database when it is missing.
 *
 * @throws {StackFailure} when the password is not the one that the cluster was made with.
 */
export async function createDatabaseOnce(port: number, password: string): Promise<void> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: DATABASE_USER,
    password,
    database: 'postgres',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  })
  try {
    await client.connect()
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE_NAME])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE_NAME}`)
  } catch (cause) {
    if (!(cause instanceof pg.DatabaseError && cause.code === WRONG_PASSWORD)) throw cause
    const problem = 'The password of the database is not the one in secrets.env: they were made by different starts.'
    throw new StackFailure([problem, 'Put the old secrets.env back, or remove the data to begin anew.'], { cause })
  } finally {
    await client.end().catch(() => undefined)
  }
}
