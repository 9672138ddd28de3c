/** A row of the answer to a call for many items, with the place of its item. */
export interface NumberedRow {
  /** Place of the item in the call, from 1: the column `WITH ORDINALITY` of its `unnest`. */
  readonly item: number
}

/**
 * Puts the rows of an answer in the order of the items that were sent.
 * @returns a result for each item; undefined for an item that the answer leaves out
 */
export function orderResults<Row extends NumberedRow, Result>(
  items: readonly unknown[],
  rows: readonly Row[],
  toResult: (row: Row) => Result,
): readonly (Result | undefined)[] {
  const results: (Result | undefined)[] = items.map(() => undefined)
  for (const row of rows) results[row.item - 1] = toResult(row)
  return results
}
