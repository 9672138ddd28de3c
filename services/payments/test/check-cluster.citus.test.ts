import { checkCluster } from '@trestle/database/distribution/check-cluster.ts'
import { type DistributeOptions, distributionOf } from '@trestle/database/distribution/distribute.ts'
import { closeInternals } from '@trestle/database/distribution/internal-functions.ts'
import { type DistributionState, stateStatements } from '@trestle/database/distribution/notes.ts'
import { listLacks, sequenceStatements } from '@trestle/database/distribution/servers.ts'
import { listRoleSteps, runStep } from '@trestle/database/distribution/steps.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import type { TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { createMigratedDatabase, distributionOptions } from './payments-app.ts'

let database: TemporaryDatabase
let options: DistributeOptions
beforeAll(async () => {
  database = await createMigratedDatabase()
  options = distributionOptions(database.url)
})
afterAll(() => database.drop())

/** The addresses of all servers, in the order of the cluster. */
const nodes = [inject('postgresUrl'), ...inject('workerUrls').toReversed()].map((url) => new URL(url).host)

const databaseName = () => new URL(database.url).pathname.slice(1)

/** Runs a statement on a server in the database of the test. */
async function runOn(node: string | undefined, statement: string): Promise<readonly unknown[]> {
  const url = new URL(database.url)
  url.host = node ?? ''
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

/** What a check finds, a line each. */
async function linesOf(check: string, checked = options): Promise<readonly string[]> {
  const findings = await withDatabase(checked, async (db) => checkCluster(db, await distributionOf(checked)))
  return findings.filter(({ name }) => name === check).map(({ isGood, text }) => `${isGood ? 'ok' : 'wrong'} ${text}`)
}

const INTERNALS = 'internal functions of Citus'
const LOGINS = 'logins between the servers'

describe('payments distribute --check, on a cluster', () => {
  it.each([
    ['distributed', 'ok distributed'],
    ['distributing', 'ok distributing, until distribute has ended'],
    ['undoing', 'wrong the distribution is being undone: run distribute --undo again'],
  ] as const)('of a database that is %s finds: %s', async (state, line) => {
    const note = (noted: DistributionState) =>
      withDatabase(options, async (db) => {
        for (const statement of stateStatements(options.names, noted)) await sql.raw(statement).execute(db)
      })
    await note(state)
    onTestFinished(() => note('distributed'))
    expect(await linesOf('state')).toEqual([line])
  })

  it('names every server on which everybody may call the internal functions of Citus, and the statement that ends it', async () => {
    const [{ name } = { name: '' }] = (await runOn(nodes[0], 'SELECT current_user AS name')) as readonly [
      { readonly name: string },
    ]
    expect(await linesOf(INTERNALS)).toEqual([`ok of all but superusers, ${name} alone may call them`])
    for (const node of nodes) await runOn(node, 'GRANT USAGE ON SCHEMA citus_internal TO PUBLIC')
    expect(await linesOf(INTERNALS)).toEqual([
      ...nodes.map((node) => `wrong ${node}: everybody may call them`),
      `wrong run as a superuser on the coordinator: ${closeInternals(name)}`,
    ])
    await runOn(nodes[0], closeInternals(name))
    expect(await linesOf(INTERNALS)).toEqual([`ok of all but superusers, ${name} alone may call them`])
    await runOn(nodes[1], 'GRANT EXECUTE ON FUNCTION citus_internal_delete_placement_metadata TO PUBLIC')
    expect(await linesOf(INTERNALS)).toEqual([
      `wrong ${nodes[1]}: everybody may call them`,
      `wrong run as a superuser on the coordinator: ${closeInternals(name)}`,
    ])
  })

  it('names every server that acknowledges commits before they are in its log, whether for all or for a role', async () => {
    expect(await linesOf('synchronous_commit')).toEqual(['ok every commit waits for the log'])
    const name = databaseName()
    const set = (number: number, setting: string) =>
      runOn(nodes[number], `SET citus.enable_ddl_propagation = off; ALTER ${setting}`)
    const [ofDatabase, ofRole] = [`DATABASE "${name}"`, `ROLE payments_service IN DATABASE "${name}"`]
    await set(1, `${ofDatabase} SET synchronous_commit = off`)
    await set(2, `${ofRole} SET synchronous_commit = off`)
    expect(await linesOf('synchronous_commit')).toEqual([
      `wrong ${nodes[1]} has synchronous_commit=off`,
      `wrong ${nodes[2]} has synchronous_commit=off`,
    ])
    await set(1, `${ofDatabase} RESET synchronous_commit`)
    await set(2, `${ofRole} RESET synchronous_commit`)
    expect(await linesOf('synchronous_commit')).toEqual(['ok every commit waits for the log'])
  })

  it('tries the logins of both roles from every server at every server', async () => {
    expect(await linesOf(LOGINS)).toEqual([
      'ok every server lets payments_service and payments_operators of every other in',
    ])
    const role = 'check_cluster_test_role'
    const onAll = async (statement: string) => {
      for (const node of nodes) await runOn(node, `SET citus.enable_ddl_propagation = off; ${statement}`)
    }
    // Without a password, such a role cannot log in.
    await onAll(`CREATE ROLE ${role} LOGIN; ALTER ROLE ${role} SET lock_timeout = '2s'`)
    onTestFinished(() => onAll(`DROP ROLE ${role}`))
    const refused = await linesOf(LOGINS, distributionOptions(database.url, { operatorRole: role }))
    expect(refused.toSorted()).toEqual(
      nodes
        .map(
          (to) =>
            `wrong ${to} refuses the login of ${role} from the coordinator; the password file there needs the line ${to}:${databaseName()}:${role}:<that of operators>`,
        )
        .toSorted(),
    )
  })

  it('roles that may not connect to a server get the right with the next run', async () => {
    const { names, logins } = await distributionOf(options)
    const listLacking = () => withDatabase(options, (db) => listLacks(db, names, logins))
    expect(await listLacking()).toEqual([])
    await runOn(nodes[1], `REVOKE CONNECT ON DATABASE ${databaseName()} FROM PUBLIC`)
    const missing = ['role payments_service', 'role payments_operators']
    expect(await listLacking()).toEqual(missing.map((role) => ({ node: nodes[1], missing: role })))
    expect(await linesOf(LOGINS)).toEqual(
      missing.map((role) => `wrong ${nodes[1]} lacks ${role}: run distribute --rebalance`),
    )
    await withDatabase(options, async (db) => {
      for (const step of await listRoleSteps(db, logins)) await runStep(db, step)
    })
    expect(await listLacking()).toEqual([])
  })

  it('roles that may not use a sequence on a server get the right with the next run', async () => {
    const { names, logins } = await distributionOf(options)
    const listLacking = () => withDatabase(options, (db) => listLacks(db, names, logins))
    const roles = ['payments_service', 'payments_operators']
    await runOn(nodes[2], `REVOKE ALL ON SEQUENCE payments.id_counter FROM ${roles.join(', ')}`)
    expect(await listLacking()).toEqual(
      roles.map((role) => ({ node: nodes[2], missing: `sequence payments.id_counter for ${role}` })),
    )
    await withDatabase(options, async (db) =>
      runStep(db, { title: 'make the sequences', statements: await sequenceStatements(db, names, roles) }),
    )
    expect(await listLacking()).toEqual([])
  })

  it('stops at the first server that does not answer, and says nothing of others', async () => {
    await runOn(nodes[0], `UPDATE pg_dist_node SET nodeport = 1 WHERE nodeport = ${nodes[1]?.split(':')[1]}`)
    onTestFinished(async () => {
      await runOn(nodes[0], `UPDATE pg_dist_node SET nodeport = ${nodes[1]?.split(':')[1]} WHERE nodeport = 1`)
    })
    const findings = await withDatabase(options, async (db) => checkCluster(db, await distributionOf(options)))
    expect(findings.map(({ name, isGood }) => `${isGood ? 'ok' : 'wrong'} ${name}`).slice(0, 3)).toEqual([
      'ok extension',
      'ok servers',
      'wrong connections',
    ])
    expect(new Set(findings.slice(2).map(({ name }) => name))).toEqual(new Set(['connections']))
  })
})
