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

/** A migration file exports one of these. It imports Kysely alone and is never edited after merge. */
export type MigrationSource = (names: Names) => Migration

/** The files of one service by name, in order: `{ '0001-create-users': createUsers, … }`. */
export type MigrationSources = Readonly<Record<string, MigrationSource>>
