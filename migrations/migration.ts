import type { RawBuilder } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Identifiers of one service in one database: its schema, and the prefix that DB_NAMESPACE puts before every name. */
export interface Names {
  /** The service's schema, such as `auth`. */
  readonly schema: string
  /** `app_` if DB_NAMESPACE is `app`, otherwise empty. */
  readonly prefix: string
  /** The schema of the service's job queue, such as `auth_jobs` or `app_auth_jobs`. */
  readonly jobSchema: string
  /** `"schema"."prefix_name"`: a table, function, sequence or type. */
  id(name: string): RawBuilder<unknown>
  /** `"prefix_name"` for an index in CREATE INDEX, a constraint or a trigger, where PostgreSQL forbids a schema. */
  local(name: string): RawBuilder<unknown>
}

/** PostgreSQL truncates longer names. */
const NAME_BYTES_MAX = 63

/** The stored name of an index, constraint or trigger. Names of supabase/auth with a prefix may exceed the limit. */
export function localName(prefix: string, name: string): string {
  return (prefix + name).slice(0, NAME_BYTES_MAX)
}

/**
 * The servers that store a table if the database is distributed over several servers.
 * - `owned`: the node of each row's owner. Every key contains the owner's column.
 * - `reference`: every node has a copy.
 * - `local`: only the coordinator.
 * - `claim`: only the coordinator too. Citus manages the table, so a transaction that writes it commits in two phases on every
 *   written node. The claim and the writes that depend on it are then stored together or not at all.
 */
export type TableClass = 'owned' | 'reference' | 'local' | 'claim'

/** A migration, and the class of each table that it creates, if the service's database may be distributed. */
export interface ServiceMigration extends Migration {
  readonly tables?: Readonly<Record<string, TableClass>>
  /**
   * The steps in a database that another program is serving, instead of `up` and `down`. An existing table of that program with
   * the same name stays, with everything that refers to it. Steps that would hold a lock for long are left to the command that
   * adopts.
   */
  readonly inPlace?: Required<Migration>
  /** The columns that `inPlace` adds to tables of that program, by table, in the syntax of CREATE TABLE. */
  readonly adds?: Readonly<Record<string, readonly string[]>>
  /** Tables of that program with names that this migration needs. They are moved away before it runs. */
  readonly replaces?: readonly string[]
}

/** The only export of a migration file, which imports Kysely and its own folder. Never edited after its first release. */
export type MigrationSource = (names: Names) => ServiceMigration

/** The migrations of a service by name, in order: `{ '0001-create-users': inFile(() => import(…)), … }`. */
export type MigrationSources = Readonly<Record<string, (names: Names) => ServiceMigration | Promise<ServiceMigration>>>

/**
 * The only export of a migration file. The file is loaded when the migration runs, because most starts need only the name. The
 * promise rejects with an Error if the file has any other export.
 */
export function inFile(load: () => Promise<Readonly<Record<string, MigrationSource>>>): MigrationSources[string] {
  return async (names) => {
    const [source, ...others] = Object.values(await load())
    if (source === undefined || others.length > 0) throw new Error('the file of a migration exports one function')
    return source(names)
  }
}
