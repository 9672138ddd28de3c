import { checkCluster } from '@trestle/citus/check-cluster.ts'
import { closeInternals } from '@trestle/citus/citus.ts'
import { type DistributeOptions, distributionOf, listRoleSteps, runStep } from '@trestle/citus/distribute.ts'
import { type DistributionState, stateStatements } from '@trestle/citus/notes.ts'
import { listLacks, listSequenceStatements } from '@trestle/citus/servers.ts'
import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import type { TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { doctor } from '../src/commands/doctor.ts'
import { loadPaymentsConfig } from '../src/config.ts'
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

/** Runs a statement on one server, in the test's database. */
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

/** Runs a check. @returns a line for each finding */
async function linesOf(check: string, checked = options): Promise<readonly string[]> {
  const findings = await withDatabase(checked, async (db) => checkCluster(db, await distributionOf(checked)))
  return findings.filter(({ name }) => name === check).map(({ isGood, text }) => `${isGood ? 'ok' : 'wrong'} ${text}`)
}

/** Creates a role on only some servers, without a password, so that it cannot log in. Resolves to its name. */
async function createRoleOn(servers: readonly (string | undefined)[]): Promise<string> {
  const role = 'check_cluster_test_role'
  const on = async (list: typeof servers, ...statements: readonly string[]) => {
    for (const node of list) await runOn(node, ['SET citus.enable_ddl_propagation = off', ...statements].join('; '))
  }
  onTestFinished(() =>
    on(
      nodes,
      `DO $$ BEGIN IF to_regrole('${role}') IS NOT NULL THEN DROP OWNED BY ${role}; DROP ROLE ${role}; END IF; END $$`,
    ),
  )
  await on(servers, `CREATE ROLE ${role} LOGIN`, `ALTER ROLE ${role} SET lock_timeout = '2s'`)
  return role
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
    const role = await createRoleOn(nodes)
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
      runStep(db, { title: 'make the sequences', statements: await listSequenceStatements(db, names, roles) }),
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

describe('payments doctor, on a cluster', () => {
  /** Runs two checks for a role of operators. @returns a line for each finding */
  async function examine(operatorRole: string): Promise<readonly string[]> {
    const settings = {
      PAYMENTS_DEV: 'true',
      PAYMENTS_BASE_URL: 'http://localhost',
      PAYMENTS_DATABASE_URL: database.url,
      PAYMENTS_DB_ROLE: 'payments_service',
      PAYMENTS_OPERATOR_DB_ROLE: operatorRole,
    }
    const lines: string[] = []
    await doctor(
      () => loadPaymentsConfig(settings),
      (line) => lines.push(line),
      () => new Date(),
    )
    return lines.filter((line) => /servers of the cluster: |logins between the servers: /.test(line))
  }
  const SERVERS_ADVICE =
    'start the servers, or let them take the login that they refuse, then run: payments distribute --rebalance'

  it('names each server that refuses a login, and the line that a password file needs', async () => {
    const role = await createRoleOn(nodes)
    await grantRights(role, nodes.slice(1))
    const [servers, logins = ''] = await examine(role)
    expect(servers).toBe('ok    servers of the cluster: none lacks anything')
    const [before, after] = [
      'wrong logins between the servers: ',
      '; mend the password files of the servers, and let each role have the password that they say',
    ]
    expect([logins.slice(0, before.length), logins.slice(-after.length)]).toEqual([before, after])
    expect(logins.slice(before.length, -after.length).split('; ').toSorted()).toEqual(
      nodes
        .flatMap((to) => [
          `${to} refuses the login of ${role} from the coordinator`,
          `the password file there needs the line ${to}:${databaseName()}:${role}:<the password of the connection of migrate>`,
        ])
        .toSorted(),
    )
  })

  it('names a role that a server lacks, and does not try its login', async () => {
    const role = await createRoleOn([nodes[0], nodes[2]])
    await grantRights(role, [nodes[2]])
    expect(await examine(role)).toEqual([
      `wrong servers of the cluster: ${nodes[1]} lacks sequence payments.id_counter for ${role}, ${nodes[1]} lacks role ${role}; ${SERVERS_ADVICE}`,
      'ok    logins between the servers: no server refuses one',
    ])
  })
})

it('payments migrate makes a role of operators on a server that lacks it', async () => {
  const role = await createRoleOn([nodes[0]])
  await migrateUp(distributionOptions(database.url, { operatorRole: role }))
  const reads = `SELECT has_table_privilege('${role}', 'payments.merchants', 'SELECT') AS reads`
  expect(await Promise.all(nodes.map((node) => runOn(node, reads)))).toEqual(nodes.map(() => [{ reads: true }]))
})

async function grantRights(role: string, servers: readonly (string | undefined)[]): Promise<void> {
  for (const node of servers) {
    await runOn(
      node,
      `SET citus.enable_ddl_propagation = off; GRANT USAGE, SELECT ON SEQUENCE payments.id_counter TO ${role};
       GRANT CONNECT ON DATABASE ${databaseName()} TO ${role}`,
    )
  }
}
