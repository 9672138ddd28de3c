import pg from 'pg'

/** The row that tells which database it is, whatever address leads there: the cluster's own identifier, and the database's. */
const IDENTITY_QUERY = `
  SELECT format('%s/%s', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database())) AS identity
  FROM pg_control_system()`

/** Where an operator of PostgreSQL keeps the identifier from everybody: nothing can be compared. */
const HIDDEN = /^(42501|42883)$/

/** Whether two addresses lead to one database, as far as that can be told. */
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
