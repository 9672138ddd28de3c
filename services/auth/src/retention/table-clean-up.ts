import type { AuthTables } from '../database.ts'

/** How the expired rows of a table are found, so that a batch costs the same for a table of any size. */
export type TableCleanUp = IndexCleanUp | WalkCleanUp

/** A clean-up by the front of an index, whose first column is `column`. */
export interface IndexCleanUp {
  readonly by: 'index'
  readonly table: keyof AuthTables
  readonly column: string
  /** A row has expired when its column is earlier than this. */
  readonly before: Date
  /** Undefined: all rows of the table expire. */
  readonly only: 'unverified' | 'anonymous' | 'unconfirmed' | undefined
}

/**
 * Deletes rows in a walk along the primary key, which is ordered by time. The walk ends at the first row that was created at
 * `until` or later. An index would slow down an update that runs often.
 */
export type WalkCleanUp =
  | {
      readonly by: 'walk'
      readonly table: 'refresh_tokens'
      /** A spent token has expired when its last update is earlier than this. */
      readonly until: Date
    }
  | {
      readonly by: 'walk'
      readonly table: 'sessions'
      readonly until: Date
      /** A session has expired when it began earlier than this. Undefined: sessions may last for ever. */
      readonly startedBefore: Date | undefined
      /** A session has expired when its last refresh is earlier than this. Undefined: sessions may be idle. */
      readonly refreshedBefore: Date | undefined
    }

/**
 * The place where a clean-up continues: the last id of a walk; in an index, its front, or the last row of a batch in which rows
 * were refused.
 */
export type CleanUpPlace = string

/** Rows that something of a neighbour refuses to delete: a foreign key without a cascade, or a trigger. */
export interface RefusedRows {
  readonly rows: number
  /** The error of PostgreSQL for the first of them. */
  readonly cause: unknown
}

/** How many rows a batch of a clean-up has removed, and where the next batch begins. */
export interface CleanUpBatch {
  readonly removed: number
  /** Undefined: no row was refused. */
  readonly refused?: RefusedRows
  /** Whether it deleted as many rows as a batch may, so that more may be left. */
  readonly isFull: boolean
  /** Undefined: nothing is left. */
  readonly next: CleanUpPlace | undefined
}
