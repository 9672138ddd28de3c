const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
}
const DURATION = /^(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)/

/** Returns the duration in milliseconds, or `undefined` if the text is not a duration. */
export function parseDuration(value: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1_000
  let rest = value
  let ms = 0
  while (rest !== '') {
    const part = DURATION.exec(rest)?.[0]
    if (part === undefined) return undefined
    const unit = part.replace(/^[\d.]+/, '')
    ms += Number.parseFloat(part) * (UNIT_MS[unit] ?? Number.NaN)
    rest = rest.slice(part.length)
  }
  return value === '' ? undefined : ms
}
