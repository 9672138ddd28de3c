/** The size of a JSON number whose exponent is written out, as PostgreSQL prints it. */
export interface NumberSize {
  /** Characters, with sign and point. */
  readonly length: number
  /** Digits behind the point. */
  readonly fractionDigits: number
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/**
 * The size of a JSON number that is written out: `1e2` is `100`, `1.5e-3` is `0.0015`. It is computed,
 * because `1e100000000` would become a hundred million characters.
 */
export function numberSize(literal: string): NumberSize {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? []
  const shift = Number(exponent)
  const fractionDigits = Math.max(0, fraction.length - shift)
  const wholeDigits = Math.max(1, whole.length + shift)
  return { length: sign.length + wholeDigits + (fractionDigits > 0 ? 1 + fractionDigits : 0), fractionDigits }
}
