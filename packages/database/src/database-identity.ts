import pg from 'pg'

/** Identifies a database whatever address leads to it: the identifier of the cluster, and the oid of the database. */
const IDENTITY_QUERY = `
  SELECT pg_catalog.format('%s/%s', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database())) AS identity
  FROM pg_control_system()`

/** Errors where the administrator of PostgreSQL hides the identifier: databases cannot be compared then. */
const HIDDEN = /^(42501|42883)$/

/**
 * Whether two addresses lead to one database. True also where PostgreSQL hides its identifier.
 * @throws Error when one of them does not answer
 */
export async function isSameDatabase(url: string, other: string): Promise<boolean> {
  const [one, two] = await Promise.all([readIdentity(url), readIdentity(other)])
  return one === undefined || two === undefined || one === two
}

async function readIdentity(url: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<{ identity: string }>(IDENTITY_QUERY)
    return rows[0]?.identity
  } catch (error) {
    if (error instanceof pg.DatabaseError && HIDDEN.test(error.code ?? '')) return undefined
    throw error
  } finally {
    await client.end()
  }
}
