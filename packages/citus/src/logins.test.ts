import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listRoleStatements, verifierOf } from './logins.ts'

let client: pg.Client
let database: Awaited<ReturnType<typeof createEmptyDatabase>>
beforeAll(async () => {
  database = await createEmptyDatabase()
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

describe('listRoleStatements', () => {
  it('let the owner and the user of the service take the role, on a server that lacks the role', async () => {
    const [role, user, owner] = ['servers_test_role', 'servers_test_user', 'servers_test_owner']
    const login = { role, user, password: undefined, passwordPlace: '', lockTimeoutMs: 5_000 }
    const statements = await withDatabase(database, (db) => listRoleStatements(db, login))
    await client.query('BEGIN')
    await client.query(`CREATE ROLE ${owner} CREATEROLE; CREATE ROLE ${user} LOGIN; SET SESSION AUTHORIZATION ${owner}`)
    await client.query(statements.at(-1) ?? '')
    for (const name of [owner, user]) {
      await client.query(`RESET SESSION AUTHORIZATION; SET SESSION AUTHORIZATION ${name}; SET ROLE ${role}`)
      const { rows } = await client.query('SELECT current_user::text AS name')
      expect(rows).toEqual([{ name: role }])
    }
    await client.query('ROLLBACK')
  })
})

describe('verifierOf', () => {
  it.each(['pencil', 'zwölf Boxkämpfer', "a'b"])('computes what PostgreSQL stores of %s', async (password) => {
    await client.query('BEGIN')
    await client.query("SET LOCAL password_encryption = 'scram-sha-256'")
    await client.query(`CREATE ROLE verifier_test PASSWORD ${pg.escapeLiteral(password)}`)
    const { rows } = await client.query<{ rolpassword: string }>(
      "SELECT rolpassword FROM pg_authid WHERE rolname = 'verifier_test'",
    )
    await client.query('ROLLBACK')
    const stored = rows[0]?.rolpassword ?? ''
    const salt = /^SCRAM-SHA-256\$4096:([^$]+)\$/.exec(stored)?.[1] ?? ''
    expect(verifierOf(password, Buffer.from(salt, 'base64'))).toBe(stored)
  })
})
