import type { RawBuilder } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Identifiers of one service in one database: its schema, and the prefix that DB_NAMESPACE puts before every name. */
export interface Names {
  /** The service's schema, for example `auth`. */
  readonly schema: string
  /** `app_` when DB_NAMESPACE is `app`, else empty. */
  readonly prefix: string
  /** The schema of the service's job queue, for example `auth_jobs` or `app_auth_jobs`. */
  readonly jobSchema: string
  /** `"schema"."prefix_name"`: a table, function, sequence or type. */
  id(name: string): RawBuilder<unknown>
  /** `"prefix_name"`: an index in CREATE INDEX, a constraint, a trigger. PostgreSQL forbids a schema there. */
  local(name: string): RawBuilder<unknown>
}

/** PostgreSQL cuts longer names off. */
const NAME_BYTES_MAX = 63

/**
 * The name of an index, constraint or trigger as PostgreSQL keeps it: names of supabase/auth and a prefix may
 * be too long together.
 */
export function localName(prefix: string, name: string): string {
  return (prefix + name).slice(0, NAME_BYTES_MAX)
}

/**
 * The servers that have the rows of a table when the database is distributed over several servers.
 * - `owned`: the node of their owner, whose column every key contains.
 * - `reference`: every node has a copy.
 * - `local`: the coordinator alone.
 * - `claim`: the coordinator alone too. Citus knows the table, so a transaction that writes it commits in two phases on every
 *   node that it has written to. Then the claim and what was done under it are kept together or not at all.
 */
export type TableClass = 'owned' | 'reference' | 'local' | 'claim'

/** The steps of a migration, and the class of each table that it creates, if the service's database may be distributed. */
export interface ServiceMigration extends Migration {
  readonly tables?: Readonly<Record<string, TableClass>>
  /**
   * The steps that run in a database that another program serves from, in place of `up` and `down`. A table of the same name
   * that this program has made stays, with everything that refers to it. What would take long under a lock comes later, by the
   * command that adopts.
   */
  readonly inPlace?: Required<Migration>
  /** The columns that `inPlace` adds to tables of that program, by table, as CREATE TABLE writes them. */
  readonly adds?: Readonly<Record<string, readonly string[]>>
  /** Tables of that program whose names this migration needs. They give way before it runs. */
  readonly replaces?: readonly string[]
}

/** A migration file exports one of these. It imports Kysely and files of its own folder. Never edited after its first release. */
export type MigrationSource = (names: Names) => ServiceMigration

/** The migrations of one service by name, in order: `{ '0001-create-users': inFile(() => import(…)), … }`. */
export type MigrationSources = Readonly<Record<string, (names: Names) => ServiceMigration | Promise<ServiceMigration>>>

/**
 * The migration of a file, which exports nothing else. The file is loaded when it runs: most starts need only its name.
 * The promise rejects with an Error when the file exports anything else.
 */
export function inFile(load: () => Promise<Readonly<Record<string, MigrationSource>>>): MigrationSources[string] {
  return async (names) => {
    const [source, ...others] = Object.values(await load())
    if (source === undefined || others.length > 0) throw new Error('the file of a migration exports one function')
    return source(names)
  }
}
