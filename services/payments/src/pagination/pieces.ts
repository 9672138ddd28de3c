/** What one statement reads of a list at most, so that none keeps others waiting for long: rows, and entries that hang on them. */
export const PIECE = { rows: 100, entries: 500 } as const

/** Reads so many rows, or entries of them, when their turn has come. */
export type InTurn = <T>(size: number, read: () => Promise<T>) => Promise<T>

/** Rows of a page, in its order. */
export interface Piece<Row> {
  readonly rows: readonly Row[]
  /** Whether more of the page follow. */
  readonly isCut: boolean
}
