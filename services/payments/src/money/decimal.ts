/** An exact decimal number: `digits` · 10^−`scale`. */
export interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

/** Reads `7.4558`. @throws RangeError unless the text is digits with at most one point between them */
export function readDecimal(text: string): Decimal {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  if (whole === undefined) throw new RangeError('not a decimal number')
  return { digits: BigInt(whole + fraction), scale: fraction.length }
}

/** Writes a number without zeros at its end: `7.5`, `8`. */
export function printDecimal({ digits, scale }: Decimal): string {
  const text = digits.toString().padStart(scale + 1, '0')
  const fraction = text.slice(text.length - scale).replace(/0+$/, '')
  const whole = text.slice(0, text.length - scale)
  return fraction === '' ? whole : `${whole}.${fraction}`
}
