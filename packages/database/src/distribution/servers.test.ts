import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifierOf } from './servers.ts'

describe('verifierOf', () => {
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
