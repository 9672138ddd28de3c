/**
 * A limit that a program sets. Nothing compares as larger than NaN, so it would be no limit at all.
 * @throws RangeError for what is no number from `min` on
 */
export function checkLimit(name: string, value: number, min = 0): number {
  if (!(value >= min)) throw new RangeError(`${name} must be a number from ${min} on, not ${value}`)
  return value
}
