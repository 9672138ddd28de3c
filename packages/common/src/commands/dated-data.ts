/** Data that others change, and the day since when they may have changed. */
export interface DatedData {
  readonly name: string
  /** `2026-11-29`. */
  readonly asOf: string
}

const YEAR_MS = 366 * 86_400_000

/** The data that are older than a year, for `doctor` and for a nightly check. */
export function findOldData(data: readonly DatedData[], now: Date): readonly DatedData[] {
  return data.filter(({ asOf }) => now.getTime() - Date.parse(asOf) > YEAR_MS)
}
