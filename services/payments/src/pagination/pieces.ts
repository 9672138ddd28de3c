/**
 * The bounds of one statement that reads a list, so that no statement keeps others waiting for long: rows, and the entries
 * that belong to them. After a piece with more bytes, the next one has fewer rows.
 */
export const PIECE = { rows: 100, entries: 500, bytes: 1_000_000 } as const

/** Calls `read` when it is the client's turn. `size` is the number of rows or entries. */
export type InTurn = <T>(size: number, read: () => Promise<T>) => Promise<T>

/** Rows of a page, in its order. */
export interface Piece<Row> {
  readonly rows: readonly Row[]
  /** Whether the page has more rows. */
  readonly isCut: boolean
}
