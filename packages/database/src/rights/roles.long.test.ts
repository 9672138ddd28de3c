import type { MigrationSources } from '@trestle/migrations/migration.ts'
import { createEmptyDatabase, prepared, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../connect.ts'
import { underSettings } from '../driver/session-settings.ts'
import { isMigrated, type MigrateOptions, migrateUp } from '../migrations/migrate.ts'
import { createNames } from '../names.ts'

interface Tables {
  readonly notes: { title: string; parent_id: bigint | null }
  readonly ledger: { amount: bigint }
}

const sources: MigrationSources = {
  '0001-create-tables': (names) => ({
    up: async (db) => {
      await sql`CREATE TABLE ${names.id('notes')} (title text, parent_id bigint)`.execute(db)
      await sql`CREATE TABLE ${names.id('ledger')} (amount bigint)`.execute(db)
    },
  }),
}

const names = createNames('example', 'app')

let empty: TemporaryDatabase
let options: MigrateOptions
let owner: pg.Client
beforeEach(async () => {
  empty = await createEmptyDatabase()
  options = { url: empty.url, names, sources, grants: { role: 'example_service', appendOnly: ['ledger'] } }
  owner = new pg.Client({ connectionString: empty.url })
  await owner.connect()
  await migrateUp(options)
})
afterEach(async () => {
  await owner.end()
  await empty.drop()
})

/** Returns a role name that is unique to one test. All databases of a server share their roles. */
function nameRole(purpose: string): string {
  return `${purpose}_${new URL(empty.url).pathname.slice(1)}`
}

describe('the restricted role', () => {
  // ASVS 13.2.2
  it('may read and write, but not change a ledger or create a table', async () => {
    const restricted = openDatabase<Tables>({
      url: empty.url,
      names,
      applicationName: 'test',
      poolSize: 1,
      role: 'example_service',
      statementTimeoutMs: 5_000,
      lockTimeoutMs: 2_000,
      prepared: false,
      onConnectionError: () => {},
    })
    const { db } = restricted
    await db.insertInto('ledger').values({ amount: 5n }).execute()
    await db.updateTable('notes').set({ parent_id: null }).execute()
    await expect(db.updateTable('ledger').set({ amount: 6n }).execute()).rejects.toThrow('permission denied')
    await expect(db.deleteFrom('ledger').execute()).rejects.toThrow('permission denied')
    expect(await isMigrated(db, { names, sources, files: async () => [] })).toBe(true)
    const forge = sql`INSERT INTO example.app_trestle_migrations VALUES ('9999-forged', '')`.execute(db)
    await expect(forge).rejects.toThrow('permission denied')
    await expect(sql`CREATE TABLE example.more ()`.execute(db)).rejects.toThrow('permission denied')
    const foreign = { ...options, names: createNames('example'), grants: undefined }
    await migrateUp(foreign)
    await migrateUp(options)
    await expect(sql`SELECT FROM example.ledger`.execute(db)).rejects.toThrow('permission denied')
    expect(await db.selectFrom('ledger').select('amount').execute()).toEqual([{ amount: 5n }])
    await restricted.close()
  })

  it("may be taken by the user of the service's connection", async () => {
    const login = nameRole('login')
    await owner.query(`CREATE ROLE ${login} LOGIN PASSWORD 'pass'`)
    const url = new URL(empty.url)
    Object.assign(url, { username: login, password: 'pass' })
    const grants = { role: 'example_service', serviceUrl: url.href, appendOnly: [] }
    await migrateUp({ ...options, grants })
    await migrateUp({ ...options, grants })
    const under = { url: url.href, hasSession: prepared }
    const { Client = pg.Client, ...address } = underSettings({ role: 'example_service' }, under)
    const client = new Client(address)
    await client.connect()
    const { rows } = await client.query('SELECT current_user AS name')
    expect(rows).toEqual([{ name: 'example_service' }])
    await client.end()
    await owner.query(`DROP ROLE ${login}`)
  })

  it('may exist already, for an owner who cannot make it but has been granted it', async () => {
    await using made = await createOwnerAndRole()
    const { login, role, owned } = made
    await owner.query(`GRANT ${role} TO ${login}`)
    await migrateUp(owned)
    const { rows } = await owner.query("SELECT has_table_privilege($1, 'owned.notes', 'SELECT') AS reads", [role])
    expect(rows).toEqual([{ reads: true }])
  })

  it('is refused when it exists already, and the owner has not been granted it', async () => {
    await using made = await createOwnerAndRole()
    await expect(migrateUp(made.owned)).rejects.toThrow(/admin option|permission denied to grant/)
  })

  /** Creates a role, and an owner of a schema who cannot create roles. Both are dropped at the end of the block. */
  async function createOwnerAndRole() {
    const [login, role] = [nameRole('owner'), nameRole('made')]
    await owner.query(`CREATE ROLE ${login} LOGIN PASSWORD 'pass'; CREATE ROLE ${role}`)
    await owner.query(`CREATE SCHEMA owned AUTHORIZATION ${login}`)
    const url = Object.assign(new URL(empty.url), { username: login, password: 'pass' }).href
    const grants = { role, serviceUrl: url, appendOnly: [] }
    return {
      login,
      role,
      owned: { ...options, url, names: createNames('owned'), grants },
      [Symbol.asyncDispose]: async () => {
        await owner.query('DROP SCHEMA owned CASCADE')
        for (const name of [role, login]) await owner.query(`DROP OWNED BY ${name}; DROP ROLE ${name}`)
      },
    }
  }
})
