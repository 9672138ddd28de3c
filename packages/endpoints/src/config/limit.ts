import type { MultipartLimits } from '../body/multipart.ts'

/**
 * Checks a limit of the application. NaN would be no limit at all, because no number is larger.
 * @throws RangeError for a value that is not a number of at least `min`
 */
export function checkLimit(name: string, value: number, min = 0): number {
  if (!(value >= min)) throw new RangeError(`${name} must be a number of at least ${min}, not ${value}`)
  return value
}

/**
 * Completes the limits of a form with the limits of `otherwise`.
 * @throws RangeError for a value that is not a number, Error for an unknown name
 */
export function multipartLimits(given: Partial<MultipartLimits> = {}, otherwise: MultipartLimits): MultipartLimits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(otherwise, name)) throw new Error(`multipart has no limit ${name}`)
    checkLimit(`multipart.${name}`, value)
  }
  return { ...otherwise, ...given }
}
