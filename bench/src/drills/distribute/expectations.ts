import { z } from 'zod'
import type { CitusCluster } from '../../servers/citus-cluster.ts'
import type { LaterRelease } from './later-release.ts'
import { type Release, ROLE } from './payments-runs.ts'

const Named = z.array(z.object({ name: z.string() }))
const Printed = z.object({ print: z.string() })

export type Fingerprint = ReadonlyMap<string, string>

/** A database after some commands, and its expected state. */
export interface Judged {
  readonly cluster: CitusCluster
  readonly database: string
  readonly rows: Fingerprint
  readonly release: Release
}

/** @throws Error if a command still has work to do, if the catalogue has drifted, or if rows differ */
export async function expectDone(judged: Judged, words: readonly string[], workers: number): Promise<void> {
  const { cluster, database, rows, release } = judged
  const url = cluster.url(database)
  const left = await release.runHere(url, [...words, '--dry-run'])
  if (left.trim() !== '-- nothing is left to do') throw new Error(`${database}: left to do: ${left}`)
  await release.runHere(url, ['migrate', 'drift'])
  await expectClosed(cluster, database, workers)
  const found = await readFingerprint(cluster, database)
  for (const [table, print] of rows) {
    if (found.get(table) !== print) throw new Error(`${database}: ${table} has other rows: ${found.get(table)}`)
  }
  await release.runHere(url, ['ledger', 'verify'])
}

/** @throws Error if a server lacks the new table or the changed function, or differs from the later release */
export async function expectUpgraded(judged: Judged, { table, changed }: LaterRelease, workers: number): Promise<void> {
  const { cluster, database } = judged
  await expectDone(judged, ['distribute'], workers)
  const own = `'payments.${table}'::regclass`
  const placed = `SELECT count(*)::int AS keys FROM pg_constraint WHERE contype = 'f' AND conrelid = ${own}
    AND EXISTS (SELECT FROM citus_tables WHERE table_name = ${own} AND citus_table_type = 'distributed')`
  const [found] = await cluster.asSuperuser(0, database, placed)
  if (JSON.stringify(found) !== '{"keys":2}') throw new Error(`${database}: ${table} is not distributed with its keys`)
  const text = `SELECT FROM pg_proc WHERE proname = '${changed.name}' AND prosrc LIKE '%${changed.mark}%'`
  for (let node = 0; node <= workers; node += 1) {
    const { length } = await cluster.asSuperuser(node, database, text)
    if (length !== 1) throw new Error(`${database}: server ${node} has an older ${changed.name}`)
  }
}

/** @throws Error if the service may call a function on a worker but not on the coordinator */
export async function expectClosed(cluster: CitusCluster, database: string, workers: number): Promise<void> {
  const query = `SELECT f.oid::regprocedure::text AS name FROM pg_proc f JOIN pg_namespace n ON n.oid = f.pronamespace
    WHERE n.nspname = 'payments' AND has_function_privilege('${ROLE}', f.oid, 'EXECUTE')`
  const callable = async (node: number) =>
    Named.parse(await cluster.asSuperuser(node, database, query)).map(({ name }) => name)
  const allowed = new Set(await callable(0))
  for (let node = 1; node <= workers; node += 1) {
    const more = (await callable(node)).filter((name) => !allowed.has(name))
    if (more.length > 0) throw new Error(`${database}: server ${node} lets the service call ${more.join(', ')}`)
  }
}

/** The number of rows of each table and their digest, on any server. A verification adds a row to the audit log. */
export async function readFingerprint({ watch }: CitusCluster, database: string): Promise<Fingerprint> {
  const { query, end } = await watch(0, database)
  try {
    const tables = await query(`SELECT relname AS name FROM pg_class WHERE relnamespace = 'payments'::regnamespace
      AND relkind = 'r' AND relname NOT LIKE 'trestle%' AND relname <> 'audit' ORDER BY 1`)
    const prints = new Map<string, string>()
    for (const { name } of Named.parse(tables)) {
      const [row] = await query(
        `SELECT count(*) || ' ' || coalesce(sum(hashtextextended(r::text, 0)), 0) AS print FROM payments.${name} r`,
      )
      prints.set(name, Printed.parse(row).print)
    }
    return prints
  } finally {
    await end()
  }
}

export type Query = (statement: string) => Promise<readonly unknown[]>

/**
 * Reads the state that a killed command may change only by a commit: tables, keys, triggers and functions of the service, the
 * metadata of Citus, notes, and the sum of the ledger.
 */
export async function readState(query: Query): Promise<string> {
  const own = "'payments'::regnamespace"
  const [row] = await query(
    `SELECT concat_ws(' ',
      (SELECT md5(string_agg(concat(c.relname, c.relkind, c.relnatts, c.relchecks), ',' ORDER BY c.relname)) FROM pg_class c
       WHERE c.relnamespace = ${own}),
      (SELECT md5(string_agg(f.conname || pg_get_constraintdef(f.oid), ',' ORDER BY f.conrelid::regclass::text, f.conname))
       FROM pg_constraint f WHERE f.connamespace = ${own}),
      (SELECT md5(string_agg(t.tgname, ',' ORDER BY t.tgrelid::regclass::text, t.tgname)) FROM pg_trigger t
       JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = ${own}),
      (SELECT md5(string_agg(concat(f.oid::regprocedure, f.prosrc, f.proconfig, f.proacl), ',' ORDER BY f.oid::regprocedure::text))
       FROM pg_proc f WHERE f.pronamespace = ${own}),
      (SELECT md5(string_agg(concat(logicalrelid, partmethod, repmodel, colocationid), ',' ORDER BY logicalrelid::text))
       FROM pg_dist_partition),
      (SELECT md5(string_agg(concat(classid, objid, distribution_argument_index, colocationid), ',' ORDER BY classid, objid))
       FROM pg_dist_object),
      CASE WHEN to_regclass('payments.trestle_distribution') IS NOT NULL THEN md5(query_to_xml(
        'SELECT * FROM payments.trestle_distribution ORDER BY object', false, false, '')::text) END,
      (SELECT count(*) || ' entries of ' || sum(amount) FROM payments.entries)) AS print`,
  )
  return Printed.parse(row).print
}
