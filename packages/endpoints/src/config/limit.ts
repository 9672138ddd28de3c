import type { MultipartLimits } from '../body/multipart.ts'

/**
 * A limit that a program sets. Nothing compares as larger than NaN, so it would be no limit at all.
 * @throws RangeError for what is no number from `min` on
 */
export function checkLimit(name: string, value: number, min = 0): number {
  if (!(value >= min)) throw new RangeError(`${name} must be a number from ${min} on, not ${value}`)
  return value
}

/**
 * The limits of a form: those that are given, else those of `otherwise`.
 * @throws RangeError for what is no number, Error for a limit of another name
 */
export function multipartLimits(given: Partial<MultipartLimits> = {}, otherwise: MultipartLimits): MultipartLimits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(otherwise, name)) throw new Error(`multipart has no limit ${name}`)
    checkLimit(`multipart.${name}`, value)
  }
  return { ...otherwise, ...given }
}
