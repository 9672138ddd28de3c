import type { ColumnType } from 'kysely'

/** A jsonb column whose top level is an object. */
export type JsonObject = Record<string, unknown>

/** A column that PostgreSQL computes, and that no statement writes. */
export type Computed<T> = ColumnType<T, never, never>

/** A timestamptz: RFC 3339 text with microseconds when read (see timestamp.ts), a Date or such text when written. */
export type TimestampColumn = ColumnType<string, string | Date, string | Date>

/** A timestamptz that may hold NULL, but is never set to it. */
export type FilledTimestamp = ColumnType<string | null, string | Date | undefined, string | Date>

/** A jsonb column that may hold NULL, or JSON that is no object. */
export type MetadataColumn = ColumnType<unknown, JsonObject | undefined, JsonObject>

/** A timestamptz that has a default. */
export type GeneratedTimestamp = ColumnType<string, string | Date | undefined, string | Date>

/** A column that may hold NULL, but is never set to it. */
export type Filled<T> = ColumnType<T | null, T, T>
