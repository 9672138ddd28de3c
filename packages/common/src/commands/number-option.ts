import { InvalidArgumentError, Option } from 'commander'

/** The bounds of a number, and what it is without the option. */
interface NumberRange {
  /** The least value. Default: 1. */
  readonly min?: number
  readonly max: number
  readonly usual?: number
}

/** An option that takes a whole number, such as `--limit <rows>`. Any other text is wrong usage. */
export function numberOption(flags: string, description: string, { min = 1, max, usual }: NumberRange): Option {
  const option = new Option(flags, description).argParser((text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (number >= min && number <= max) return number
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  })
  return usual === undefined ? option : option.default(usual)
}
