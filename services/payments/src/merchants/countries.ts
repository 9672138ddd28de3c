import table from './countries.json' with { type: 'json' }

const CODES: ReadonlySet<string> = new Set(table.countries.map(({ code }) => code))

/** Whether this is a country code of ISO 3166-1 (two upper-case letters) where a company may be registered. */
export function isCountry(code: string): boolean {
  return CODES.has(code)
}
